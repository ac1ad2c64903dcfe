// A page's width, colors and type, without a page; colors are their roles' names.
import type { Drawing, View } from "../../src/charts/view";

export const view = (width = 1000): View => ({
  width,
  narrow: width < 640,
  font: "sans-serif",
  color: (role) => role,
});

export interface Placed {
  type: string;
  shape?: Record<string, unknown>;
  style?: Record<string, unknown>;
  children?: Placed[];
}

export interface Drawn {
  title?: { text: string; top: number }[];
  grid: { top: number; height: number; left: number }[];
  xAxis: { min: number; max: number }[];
  yAxis: { max?: number; interval?: number }[];
  series: {
    type: string;
    name?: string;
    data: unknown[];
    renderItem?(params: { dataIndex: number }): Placed;
  }[];
}

/** What a chart hands to ECharts. */
export function drawn(drawing: Drawing): Drawn & { height: number } {
  if (!drawing) throw new Error("nothing is drawn");
  return { ...(drawing.option as unknown as Drawn), height: drawing.height };
}

/** The shapes of the series at `place` that stand at pixels known beforehand. */
export const shapes = (chart: Drawn, place: number): Placed[] =>
  (chart.series[place]?.data ?? []).flatMap(
    (_, dataIndex) => chart.series[place]?.renderItem?.({ dataIndex }).children ?? [],
  );
