import type { EChartsCoreOption } from "echarts/core";
import type { Scalar } from "../format";

/** The canvas of a chart: its width in px, and the page's colors and type. */
export interface View {
  width: number;
  narrow: boolean;
  font: string;
  color(role: string): string;
}

/** Values of keys, or bounds of them, of which the trials that have them are behind a mark. */
export type Behind = readonly (readonly [key: string, value: Scalar, relation?: ">=" | "<="])[];

/** A choice in a chart: a datum of a series, by their places. */
export interface Chosen {
  seriesIndex: number;
  dataIndex: number;
}

/**
 * A chart: what ECharts draws, how high, and which trials are behind what is chosen in it. Null:
 * there is nothing known to draw.
 */
export type Drawing = {
  height: number;
  option: EChartsCoreOption;
  behind?: (chosen: Chosen) => Behind | undefined;
} | null;

/** Below this width labels stand above their bars. */
const NARROW_PX = 640;

/** Colors are the page's custom properties, so that charts follow its light and dark. */
export function viewOf(element: HTMLElement): View {
  const style = getComputedStyle(element);
  return {
    width: element.clientWidth,
    narrow: element.clientWidth < NARROW_PX,
    font: style.fontFamily,
    color: (role) => style.getPropertyValue(`--${role}`).trim() || "currentColor",
  };
}

/** A tooltip's content, built from text nodes: no name of a trial can become markup. */
export function tip(title: string, lines: readonly string[]): HTMLElement {
  const box = document.createElement("div");
  box.className = "tip";
  const head = document.createElement("strong");
  head.textContent = title;
  box.append(head);
  for (const text of lines) {
    const line = document.createElement("div");
    line.textContent = text;
    box.append(line);
  }
  return box;
}

/** A tooltip of a chart of points; `told` has the content for the point at an index. */
export const pointTip = (view: View, told: (index: number) => HTMLElement | "") => ({
  ...(base(view).tooltip as object),
  formatter: ({ dataIndex }: { dataIndex: number }) => told(dataIndex),
});

/** The settings that every chart shares. */
export function base(view: View): EChartsCoreOption {
  return {
    animation: false,
    aria: { enabled: false }, // the element around it has the name, the table the content
    textStyle: { fontFamily: view.font, color: view.color("ink") },
    tooltip: {
      confine: true,
      backgroundColor: view.color("surface"),
      borderColor: view.color("line"),
      textStyle: { color: view.color("ink"), fontSize: 13 },
    },
  };
}

/** Style of an axis that stays behind the data. */
export function quietAxis(view: View) {
  return {
    axisLine: { show: false },
    axisTick: { show: false },
    axisLabel: { color: view.color("muted"), fontSize: 12, hideOverlap: true },
    splitLine: { lineStyle: { color: view.color("line") } },
    nameTextStyle: { color: view.color("muted"), fontSize: 12 },
  };
}
