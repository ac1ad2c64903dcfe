// Rows of bars against a time axis that others share: a name on the left, a bar that may be divided,
// and how long it took. On a narrow screen the name stands above its bar.
import type { CustomSeriesOption } from "echarts/charts";
import { textWidth } from "./plot";
import { tip, type View } from "./view";

export interface Bar {
  label: string;
  bold: boolean;
  from_s: number;
  to_s: number;
  /** Its parts, end to end, in seconds. */
  parts: { from: number; to: number; role: string; outlined: boolean }[];
  text: string;
  details: string[];
}

const BAR_PX = 14;
const GAP_PX = 6;
const FONT_PX = 12;

/** How high one row is. */
export const rowHeight = (view: View) => (view.narrow ? 36 : 24);

/** How much room the names need on the left of the time axis. */
export const nameRoom = (bars: Bar[], view: View) =>
  view.narrow
    ? 0
    : Math.min(
        Math.max(...bars.map(({ label }) => textWidth(label, FONT_PX))) + 24,
        0.24 * view.width,
      );

type Child = Record<string, unknown>;

interface Frame {
  x: number;
  width: number;
}

/** How long the bar took: after it, before it, or within, where there is room first. */
function elapsed(bar: Bar, [left, right]: [number, number], y: number, frame: Frame, view: View) {
  const width = textWidth(bar.text, FONT_PX);
  const after = right + GAP_PX + width <= frame.x + frame.width;
  const before = left - GAP_PX - width >= frame.x;
  const x = after ? right + GAP_PX : before ? left - GAP_PX : right - GAP_PX;
  return {
    type: "text",
    style: {
      text: bar.text,
      x,
      y,
      align: after ? "left" : "right",
      verticalAlign: "middle",
      fill: view.color("ink"),
      stroke: view.color("surface"),
      lineWidth: 3,
      font: `${bar.bold ? 600 : 400} ${FONT_PX}px ${view.font}`,
    },
  };
}

function name(bar: Bar, middle: number, frame: Frame, view: View): Child {
  return {
    type: "text",
    style: {
      text: bar.label,
      x: view.narrow ? 0 : frame.x - 12,
      y: view.narrow ? middle - rowHeight(view) / 2 + 9 : middle,
      align: view.narrow ? "left" : "right",
      verticalAlign: "middle",
      fill: view.color("ink"),
      stroke: view.color("surface"),
      lineWidth: 3,
      font: `${bar.bold ? 600 : 400} ${FONT_PX}px ${view.font}`,
      width: view.narrow ? view.width - 4 : frame.x - 20,
      overflow: "truncate",
    },
  };
}

/** The bars as a series of the grid at `gridIndex`; its vertical axis has a category for each. */
export function barSeries(bars: Bar[], gridIndex: number, view: View): CustomSeriesOption {
  return {
    type: "custom",
    xAxisIndex: gridIndex,
    yAxisIndex: gridIndex,
    clip: false,
    data: bars.map((bar, row) => [bar.from_s, row]),
    tooltip: {
      trigger: "item",
      formatter: ({ dataIndex }: { dataIndex: number }) => {
        const bar = bars[dataIndex];
        return bar ? tip(bar.label, bar.details) : "";
      },
    } as never,
    renderItem: (params, api) => {
      const bar = bars[params.dataIndex];
      if (!bar) return null;
      const frame = params.coordSys as unknown as Frame;
      const point = (at: number) => api.coord([at, params.dataIndex]) as [number, number];
      const x = (at: number) => Math.min(frame.x + frame.width, Math.max(frame.x, point(at)[0]));
      const middle = point(bar.from_s)[1];
      const y = middle + (view.narrow ? 8 : 0);
      const box = (from: number, to: number, style: Child): Child => ({
        type: "rect",
        shape: { x: from, y: y - BAR_PX / 2, width: Math.max(1, to - from), height: BAR_PX },
        style,
      });
      // The whole row answers to the pointer: a bar may be a pixel wide.
      const row = {
        type: "rect",
        shape: {
          x: 0,
          y: middle - rowHeight(view) / 2,
          width: frame.x + frame.width,
          height: rowHeight(view),
        },
        style: { fill: "transparent" },
      };
      const ends: [number, number] = [x(bar.from_s), x(bar.to_s)];
      const whole = box(...ends, { fill: view.color("idle"), stroke: view.color("outline") });
      const parts = bar.parts
        .filter((part) => x(part.to) > x(part.from))
        .map((part) =>
          box(x(part.from), x(part.to), {
            fill: view.color(part.role),
            ...(part.outlined ? { stroke: view.color("outline"), lineWidth: 1 } : {}),
          }),
        );
      return {
        type: "group",
        children: [
          row,
          whole,
          ...parts,
          name(bar, middle, frame, view),
          elapsed(bar, ends, y, frame, view),
        ],
      } as never;
    },
  };
}
