// A plane with two axes that ECharts draws, and shapes at pixels that we know beforehand.
import type { CustomSeriesOption } from "echarts/charts";
import type { EChartsCoreOption } from "echarts/core";
import type { Axis } from "./scale";
import { quietAxis, type View } from "./view";

export type Shape = Record<string, unknown>;

export interface Box {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

export interface Named {
  axis: Axis;
  name: string;
  format(value: number): string;
}

export interface Plot {
  box: Box;
  x(value: number): number;
  y(value: number): number;
  option: EChartsCoreOption;
}

/** The plane inside `box`; the name of its vertical axis stands `nameGap` px above it. */
export function plotOf(
  horizontal: Named,
  vertical: Named,
  box: Box,
  view: View,
  nameGap = 14,
): Plot {
  const quiet = quietAxis(view);
  const axis = ({ axis: { log, minimum, maximum, ticks }, name, format }: Named) => ({
    type: log ? "log" : "value",
    min: minimum,
    max: maximum,
    name,
    ...quiet,
    splitLine: { show: true, lineStyle: { color: view.color("line") } },
    axisLabel: { ...quiet.axisLabel, formatter: format, customValues: ticks },
    axisTick: { show: false, customValues: ticks },
  });
  return {
    box,
    x: (value) => box.left + horizontal.axis.share(value) * (box.right - box.left),
    y: (value) => box.bottom - vertical.axis.share(value) * (box.bottom - box.top),
    option: {
      grid: {
        left: box.left,
        top: box.top,
        width: box.right - box.left,
        height: box.bottom - box.top,
        outerBoundsMode: "none", // the pixels below must be those of ECharts
      },
      xAxis: { ...axis(horizontal), nameLocation: "middle", nameGap: 28 },
      yAxis: {
        ...axis(vertical),
        nameLocation: "end",
        nameGap,
        nameTextStyle: { ...quiet.nameTextStyle, align: "left", padding: [0, 0, 0, 8 - box.left] },
      },
    },
  };
}

/** Shapes that the pointer finds, one group of them per datum, at (`x`, `y`) of the axes. */
export function items(
  groups: Shape[][],
  [x, y]: [number, number],
  more: object = {},
): CustomSeriesOption {
  return {
    type: "custom",
    clip: false,
    data: groups.map(() => [x, y]),
    renderItem: ({ dataIndex }) => ({ type: "group", children: groups[dataIndex] ?? [] }) as never,
    ...more,
  };
}

/** Shapes that only stand there. */
export const layer = (shapes: Shape[], at: [number, number], z: number): CustomSeriesOption =>
  items([shapes], at, { silent: true, tooltip: { show: false }, z });

/** Roughly how wide `text` is at `size` px. */
export const textWidth = (text: string, size: number) => 0.6 * size * text.length;

/** How much room the labels of a vertical axis need on its left. */
export const labelRoom = ({ axis, format }: Named) =>
  20 + Math.max(...axis.ticks.map((tick) => textWidth(format(tick), 12)));

export const meet = (a: Box, b: Box) =>
  a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
