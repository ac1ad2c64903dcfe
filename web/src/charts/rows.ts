// One chart for many questions: labeled rows against one scale. A row may have bars end to end,
// an interval, marks and a text at its end. On a narrow screen the label stands above its row.
import type { CustomSeriesOption } from "echarts/charts";
import { type Behind, base, type Drawing, quietAxis, tip, type View } from "./view";

export interface Row {
  label: string;
  bold?: boolean;
  heading?: boolean;
  bars?: { from: number; to: number; role: string; outlined?: boolean }[];
  /** Thin bars one under the other, each with its text; null: not known. */
  lanes?: { to: number | null; role: string; text: string; cut?: boolean }[];
  whisker?: [number, number];
  band?: { from: number; to: number; role: string };
  marks?: { at: number; role: string; shape: "dot" | "ring" | "line"; text?: string }[];
  text?: string;
  textRole?: string;
  textAt?: number;
  details: string[];
  behind?: Behind;
}

export interface Scale {
  minimum: number;
  maximum: number;
  log?: boolean;
  ticks?: number[];
  name: string;
  format(value: number): string;
}

type Child = Record<string, unknown>;

const AXIS_PX = 44;

/** Where one row is drawn: its scale, its middle, the middle of its bars and of a label above. */
interface Place {
  at(value: number): number;
  middle: number;
  y: number;
  above: number;
  left: number;
}

const HALF_PX = 8;
const LANE_PX = 15;

function labelOf(row: Row, { middle, above: aboveY, left }: Place, view: View): Child {
  const above = view.narrow && !row.heading;
  const start = view.narrow || row.heading;
  // Above its row the label shares the line with the row's text.
  const beside = view.width - 14 - 7.4 * (row.text?.length ?? 0);
  return {
    type: "text",
    style: {
      text: row.label,
      x: start ? 0 : left - 12,
      y: above ? aboveY : middle + (row.heading ? 6 : 0),
      align: start ? "left" : "right",
      verticalAlign: "middle",
      fill: view.color(row.heading ? "muted" : "ink"),
      font: `${row.bold || row.heading ? 600 : 400} 13px ${view.font}`,
      width: above ? beside : row.heading ? view.width - 8 : left - 20,
      overflow: "truncate",
    },
  };
}

function barsOf(row: Row, { at, y }: Place, view: View): Child[] {
  const box = (from: number, to: number, least: number, style: Child): Child => ({
    type: "rect",
    shape: {
      x: at(from),
      y: y - HALF_PX,
      width: Math.max(least, at(to) - at(from)),
      height: 2 * HALF_PX,
    },
    style,
  });
  const band = row.band
    ? [box(row.band.from, row.band.to, 1, { fill: view.color(row.band.role), opacity: 0.35 })]
    : [];
  const bars = (row.bars ?? [])
    .filter((bar) => bar.to > bar.from)
    .map((bar) =>
      box(bar.from, bar.to, 0.75, {
        fill: view.color(bar.role),
        ...(bar.outlined ? { stroke: view.color("outline"), lineWidth: 1 } : {}),
      }),
    );
  return [...band, ...bars];
}

function lanesOf(row: Row, { at, y }: Place, view: View): Child[] {
  const lanes = row.lanes ?? [];
  return lanes.flatMap((lane, place): Child[] => {
    const middle = y + (place - (lanes.length - 1) / 2) * LANE_PX;
    const [left, right] = [at(0), at(lane.to ?? 0)];
    const bar: Child = {
      type: "rect",
      shape: { x: left, y: middle - 5, width: Math.max(1, right - left), height: 10 },
      style: { fill: view.color(lane.role) },
    };
    // A gap near its end says that the bar goes on beyond the scale.
    const gap: Child = {
      type: "polygon",
      shape: {
        points: [
          [right - 16, middle + 6],
          [right - 10, middle - 6],
          [right - 6, middle - 6],
          [right - 12, middle + 6],
        ],
      },
      style: { fill: view.color("surface") },
    };
    const text: Child = {
      type: "text",
      style: {
        text: lane.text,
        x: right + 6,
        y: middle,
        verticalAlign: "middle",
        stroke: view.color("surface"),
        lineWidth: 3,
        fill: view.color(lane.to === null ? "muted" : "ink"),
        font: `400 11px ${view.font}`,
      },
    };
    return [...(lane.to === null ? [] : [bar]), ...(lane.cut ? [gap] : []), text];
  });
}

function whiskerOf(row: Row, { at, y }: Place, view: View): Child[] {
  if (!row.whisker) return [];
  const [low, high] = [at(row.whisker[0]), at(row.whisker[1])];
  const ends = [
    [low, y, high, y],
    [low, y - 4, low, y + 4],
    [high, y - 4, high, y + 4],
  ];
  const style = { stroke: view.color("ink"), lineWidth: 1.25 };
  return ends.map(([x1, y1, x2, y2]) => ({ type: "line", shape: { x1, y1, x2, y2 }, style }));
}

function marksOf(row: Row, { at, y }: Place, view: View): Child[] {
  return (row.marks ?? []).flatMap((mark): Child[] => {
    const x = at(mark.at);
    const color = view.color(mark.role);
    const dot: Child = {
      type: "circle",
      shape: { cx: x, cy: y, r: 5 },
      style: { fill: color, stroke: view.color("surface"), lineWidth: 1.5 },
    };
    const ring: Child = {
      type: "circle",
      shape: { cx: x, cy: y, r: 4 },
      style: { fill: view.color("surface"), stroke: color, lineWidth: 2 },
    };
    const line: Child = {
      type: "line",
      shape: { x1: x, y1: y - HALF_PX - 4, x2: x, y2: y + HALF_PX + 4 },
      style: { stroke: color, lineWidth: 2.5 },
    };
    const name: Child = {
      type: "text",
      style: {
        text: mark.text,
        x,
        y: y - 9,
        align: "center",
        verticalAlign: "bottom",
        fill: view.color("muted"),
        font: `400 11px ${view.font}`,
      },
    };
    const shape = { dot, ring, line }[mark.shape];
    return mark.text && !view.narrow ? [shape, name] : [shape];
  });
}

function textOf(row: Row, { at, above, y }: Place, view: View): Child[] {
  if (!row.text) return [];
  const style = {
    text: row.text,
    x: view.narrow ? view.width - 2 : at(row.textAt ?? 0) + 8,
    y: view.narrow ? above : y,
    align: view.narrow ? "right" : "left",
    verticalAlign: "middle",
    // A halo keeps the text readable across the lines of the scale.
    stroke: view.color("surface"),
    lineWidth: 3,
    fill: view.color(row.textRole ?? "ink"),
    font: `${row.bold ? 600 : 400} 12px ${view.font}`,
  };
  return [{ type: "text", style }];
}

/** Keeps the lines of the scale off a heading. */
const lid = ({ middle }: Place, view: View): Child => ({
  type: "rect",
  shape: { x: 0, y: middle - 6, width: view.width, height: 25 },
  style: { fill: view.color("surface") },
});

function shapes(row: Row, place: Place, view: View): Child[] {
  const label = labelOf(row, place, view);
  if (row.heading) return [lid(place, view), label];
  const parts = [barsOf, lanesOf, whiskerOf, marksOf, textOf];
  return [label, ...parts.flatMap((part) => part(row, place, view))];
}

/** `rows` from top to bottom against `scale`; `room` px stay free on the right for the texts. */
export function rowsChart(rows: Row[], scale: Scale, view: View, room = 110): Drawing {
  if (!rows.some((row) => !row.heading)) return null;
  const lanes = Math.max(0, ...rows.map((row) => row.lanes?.length ?? 0));
  const barsHeight = lanes ? lanes * LANE_PX + 14 : 34;
  const labelHeight = view.narrow ? (lanes ? 16 : 12) : 0;
  const rowHeight = barsHeight + labelHeight;
  const longest = Math.max(...rows.map(({ heading, label }) => (heading ? 0 : label.length)));
  const left = view.narrow ? 2 : Math.min(9 * longest + 28, 300, Math.round(view.width * 0.3));
  const axis = quietAxis(view);
  const series: CustomSeriesOption = {
    type: "custom",
    clip: false,
    data: rows.map((_, index) => [scale.minimum, index]),
    renderItem: (params, api) => {
      const row = rows[params.dataIndex];
      if (!row) return null;
      const coord = (value: number) => api.coord([value, params.dataIndex]) as [number, number];
      const at = (value: number) => coord(scale.log ? Math.max(value, scale.minimum) : value)[0];
      const middle = coord(scale.minimum)[1];
      const above = middle - rowHeight / 2 + 11;
      const y = middle + (view.narrow ? 8 : 0);
      const place = { at, middle, y, above, left };
      return { type: "group", children: shapes(row, place, view) } as never;
    },
  };
  return {
    height: rows.length * rowHeight + AXIS_PX,
    behind: ({ dataIndex }) => rows[dataIndex]?.behind,
    option: {
      ...base(view),
      tooltip: {
        ...(base(view).tooltip as object),
        formatter: (item: { dataIndex: number }) => {
          const row = rows[item.dataIndex];
          return row && !row.heading ? tip(row.label, row.details) : "";
        },
      },
      grid: {
        left,
        right: view.narrow ? 14 : room,
        top: 4,
        bottom: AXIS_PX - 4,
        containLabel: false,
      },
      xAxis: {
        type: scale.log ? "log" : "value",
        min: scale.minimum,
        max: scale.maximum,
        name: scale.name,
        nameLocation: "middle",
        nameGap: 26,
        splitNumber: view.narrow ? 3 : 6,
        ...axis,
        splitLine: { ...axis.splitLine, showMaxLine: false },
        axisLabel: {
          ...axis.axisLabel,
          ...(scale.ticks ? {} : { showMaxLabel: false }),
          formatter: scale.format,
          ...(scale.ticks ? { customValues: scale.ticks } : {}),
        },
        ...(scale.ticks ? { axisTick: { show: false, customValues: scale.ticks } } : {}),
      },
      yAxis: {
        type: "category",
        inverse: true,
        data: rows.map((_, index) => String(index)),
        show: false,
      },
      series: [series],
    },
  };
}
