// Small charts in rows, all on the same two axes, each with rectangles in it.
import { base, type Drawing, quietAxis, tip, type View } from "./view";

/** An axis that all panels share, in its own coordinates: of a logarithmic one these are powers. */
export interface Shared {
  minimum: number;
  maximum: number;
  ticks: number[];
  format(value: number): string;
}

/** A rectangle in the coordinates of the axes, and the text of its tooltip. */
export interface Mark {
  from: number;
  to: number;
  low: number;
  high: number;
  role: string;
  opacity?: number;
  title: string;
  lines: readonly string[];
}

export interface Panel {
  title: string;
  marks: readonly Mark[];
}

const CELL_PX = 230;
const PLOT_PX = 110;
const TITLE_PX = 22;
const TITLE_LETTER_PX = 6.8;
const GAP_PX = 14;
const AXIS_PX = 24;

/** How many panels fit into a row with room for their titles. */
const columnsOf = (panels: readonly Panel[], besidePx: number, width: number) => {
  const longest = Math.max(...panels.map(({ title }) => title.length));
  const cell = Math.max(CELL_PX, besidePx + TITLE_LETTER_PX * longest);
  return Math.max(1, Math.min(panels.length, Math.floor(width / cell)));
};

const rectangles = (panel: Panel, place: number, view: View) => ({
  type: "custom",
  xAxisIndex: place,
  yAxisIndex: place,
  clip: true,
  data: panel.marks.map(({ from, low }) => [from, low]),
  renderItem: (
    { dataIndex }: { dataIndex: number },
    api: { coord(point: [number, number]): [number, number] },
  ) => {
    const mark = panel.marks[dataIndex];
    if (!mark) return null;
    const [left, bottom] = api.coord([mark.from, mark.low]);
    const [right, top] = api.coord([mark.to, mark.high]);
    return {
      type: "rect",
      // Whatever there is of it is seen.
      shape: {
        x: left,
        y: Math.min(top, bottom - 1),
        width: Math.max(1, right - left),
        height: Math.max(1, bottom - top),
      },
      style: { fill: view.color(mark.role), opacity: mark.opacity ?? 1 },
    };
  },
});

/** The panels, as many in a row as there is room for; null where there is nothing in any. */
export function panels(
  all: readonly Panel[],
  x: Shared,
  y: Shared,
  view: View,
  plotPx: number = PLOT_PX,
): Drawing {
  if (all.every(({ marks }) => marks.length === 0)) return null;
  const leftPx = 12 + 7 * Math.max(...y.ticks.map((tick) => y.format(tick).length));
  // The last tick's text stands half behind the end of its axis.
  const last = x.ticks.at(-1);
  const rightPx = Math.max(GAP_PX, last === undefined ? 0 : 4 * x.format(last).length);
  const columns = columnsOf(all, leftPx + rightPx, view.width);
  const cell = view.width / columns;
  const left = (place: number) => (place % columns) * cell;
  const top = (place: number) =>
    Math.floor(place / columns) * (TITLE_PX + plotPx + AXIS_PX + GAP_PX);
  const axis = quietAxis(view);
  const scale = ({ minimum, maximum, ticks, format }: Shared, gridIndex: number) => ({
    type: "value",
    gridIndex,
    min: minimum,
    max: maximum,
    ...axis,
    axisTick: { show: false, customValues: ticks },
    axisLabel: { ...axis.axisLabel, customValues: ticks, formatter: format },
    axisPointer: { show: false },
  });
  return {
    height: top(all.length - 1) + TITLE_PX + plotPx + AXIS_PX,
    option: {
      ...base(view),
      tooltip: {
        ...(base(view).tooltip as object),
        trigger: "item",
        formatter: ({ seriesIndex, dataIndex }: { seriesIndex: number; dataIndex: number }) => {
          const panel = all[seriesIndex];
          const mark = panel?.marks[dataIndex];
          return panel && mark ? tip(`${panel.title} · ${mark.title}`, mark.lines) : "";
        },
      },
      title: all.map(({ title }, place) => ({
        text: title,
        left: left(place) + leftPx,
        top: top(place) + 2,
        padding: 0,
        textStyle: {
          fontSize: 12,
          fontWeight: 600,
          color: view.color("muted"),
          fontFamily: view.font,
          width: cell - leftPx - rightPx,
          overflow: "truncate",
        },
      })),
      grid: all.map((_, place) => ({
        left: left(place) + leftPx,
        top: top(place) + TITLE_PX,
        width: cell - leftPx - rightPx,
        height: plotPx,
        outerBoundsMode: "none",
      })),
      xAxis: all.map((_, place) => ({
        ...scale(x, place),
        splitLine: { show: false },
        axisLine: { show: true, onZero: false, lineStyle: { color: view.color("outline") } },
      })),
      yAxis: all.map((_, place) => scale(y, place)),
      series: all.map((panel, place) => rectangles(panel, place, view)),
    },
  };
}
