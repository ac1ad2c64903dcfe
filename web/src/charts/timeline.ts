// Phases, stages, and the load of the host: a strip, bars and lanes on one time axis.
import { bytes } from "../format";
import type { Lane, PhaseSpan } from "../generated/types";
import type { Known } from "../missing";
import { duration, percent, rate } from "../units";
import { type Bar, barSeries, nameRoom, rowHeight } from "./bars-in-time";
import { base, type Drawing, quietAxis, tip, type View } from "./view";

/**
 * A lane with lines over time; `t_s` if their times differ from those of the host, `marks` are
 * times to highlight.
 */
export interface Track extends Omit<Lane, "unit" | "missing"> {
  unit: Lane["unit"] | "tasks" | "B" | "s" | "rows" | "rows/s";
  unitName?: string;
  t_s?: readonly number[];
  marks?: readonly number[];
  /** Each value holds until the next one. */
  steps?: boolean;
}

/** The drawn data from 0 on, in seconds; only the part in `window` is shown. */
export interface Timed {
  spans: PhaseSpan[];
  t_s: readonly number[];
  lanes: Track[];
  bars?: Bar[];
  window?: readonly [number, number] | undefined;
}

const PHASES_PX = 34;
const TITLE_PX = 26;
const LANE_PX = 96;
const AXIS_PX = 28;
const GAP_PX = 10;
const LEFT_PX = 52;
const RIGHT_PX = 10;

/** A number on an axis: `0.5`, `1,500`, `2M`. */
const short = (value: number) =>
  value.toLocaleString("en-US", {
    maximumSignificantDigits: 3,
    notation: value < 1e6 ? "standard" : "compact",
  });

const UNITS: Readonly<
  Record<Track["unit"], { name: string; scale: number; tell(value: number): string }>
> = {
  fraction: { name: "% of all cores", scale: 100, tell: percent },
  "B/s": { name: "MB/s", scale: 1e-6, tell: rate },
  B: { name: "MB", scale: 1e-6, tell: bytes },
  tasks: { name: "mean", scale: 1, tell: short },
  s: { name: "s", scale: 1, tell: duration },
  rows: { name: "rows", scale: 1, tell: short },
  "rows/s": { name: "rows/s", scale: 1, tell: short },
};

const scaled = ({ unit }: Track, value: Known) =>
  value === null ? null : value * UNITS[unit].scale;
const endOf = (span: PhaseSpan) => span.started_s + span.elapsed_s;

const LEAST_S = 1e-3;

/** A scale of two equal steps up to a round number; noise must not fill it, so at least 1. */
function halves(lane: Track): { max: number; interval: number } {
  const values = lane.lines.map((line) => line.values.map((value) => scaled(lane, value) ?? 0));
  const tops = lane.stacked
    ? (values[0] ?? []).map((_, at) => values.reduce((sum, line) => sum + (line[at] ?? 0), 0))
    : values.flat();
  const most = tops.reduce((a, b) => Math.max(a, b), lane.unit === "s" ? LEAST_S : 1);
  const power = 10 ** Math.floor(Math.log10(most));
  const max = ([1, 2, 4, 6, 8, 10].find((step) => step * power >= most) ?? 10) * power;
  return { max, interval: max / 2 };
}

/** The phases as a strip of named blocks. */
function phaseStrip(spans: PhaseSpan[], view: View) {
  return {
    type: "custom",
    xAxisIndex: 0,
    yAxisIndex: 0,
    data: spans.map((span) => [span.started_s, 0]),
    tooltip: {
      trigger: "item",
      formatter: ({ dataIndex }: { dataIndex: number }) => {
        const span = spans[dataIndex];
        if (!span) return "";
        return tip(span.name, [
          `from ${duration(span.started_s)}, took ${duration(span.elapsed_s)}`,
        ]);
      },
    },
    renderItem: (
      params: { dataIndex: number; coordSys: { x: number; width: number } },
      api: { coord(point: [number, number]): [number, number] },
    ) => {
      const span = spans[params.dataIndex];
      if (!span) return null;
      const { x: low, width: room } = params.coordSys;
      const [x, y] = api.coord([span.started_s, 0]);
      const left = Math.max(low, x);
      const right = Math.min(low + room, api.coord([endOf(span), 0])[0]);
      if (right < low || left > low + room) return null;
      const width = Math.max(1, right - left - 1);
      return {
        type: "group",
        children: [
          {
            type: "rect",
            shape: { x: left, y: y - 13, width, height: 26 },
            style: { fill: view.color(params.dataIndex % 2 ? "phase-odd" : "phase-even") },
          },
          {
            type: "text",
            style: {
              // A phase too short for its name is named in the table.
              text: width > 40 ? `${span.name} · ${duration(span.elapsed_s)}` : "",
              x: left + 7,
              y,
              width: width - 12,
              overflow: "truncate",
              verticalAlign: "middle",
              fill: view.color("ink"),
              font: `600 12px ${view.font}`,
            },
          },
        ],
      };
    },
  };
}

/** Upright lines through the bars where phases meet. */
function barEdges(edges: number[], gridIndex: number, view: View) {
  return {
    type: "custom",
    xAxisIndex: gridIndex,
    yAxisIndex: gridIndex,
    silent: true,
    tooltip: { show: false },
    z: 1,
    data: edges.map((at) => [at, 0]),
    renderItem: (
      params: { dataIndex: number; coordSys: { y: number; height: number } },
      api: { coord(point: [number, number]): [number, number] },
    ) => {
      const { y, height } = params.coordSys;
      const x = api.coord([edges[params.dataIndex] ?? 0, 0])[0];
      return {
        type: "line",
        shape: { x1: x, y1: y, x2: x, y2: y + height },
        style: { stroke: view.color("outline"), lineDash: [4, 4], lineWidth: 1 },
      };
    },
  };
}

/** The lines of every lane, from the grid `first` on; the first of each draws the edges too. */
function laneLines(
  lanes: Track[],
  times: readonly number[],
  first: number,
  edges: number[],
  view: View,
) {
  const noted = { color: view.color("throat"), type: "solid", width: 2 };
  return lanes.flatMap((lane, place) =>
    lane.lines.map((line, number) => ({
      type: "line",
      name: line.name,
      xAxisIndex: place + first,
      yAxisIndex: place + first,
      data: (lane.t_s ?? times).map((at, row) => [at, scaled(lane, line.values[row] ?? null)]),
      connectNulls: false,
      ...(lane.steps ? { step: "end" } : {}),
      showSymbol: times.length < 25 && !lane.stacked,
      symbolSize: 4,
      lineStyle: { width: lane.stacked ? 0.75 : 1.75, color: view.color(line.role) },
      itemStyle: { color: view.color(line.role) },
      ...(lane.stacked
        ? { stack: lane.title, areaStyle: { color: view.color(line.role), opacity: 0.9 } }
        : {}),
      ...(number === 0
        ? {
            markLine: {
              silent: true,
              symbol: "none",
              label: { show: false },
              lineStyle: { color: view.color("outline"), type: "dashed", width: 1 },
              data: [
                ...edges.map((at) => ({ xAxis: at })),
                ...(lane.marks ?? []).map((at) => ({ xAxis: at, lineStyle: noted })),
              ],
            },
          }
        : {}),
    })),
  );
}

/** The place in `moments` that is the nearest to `at`. */
function nearest(moments: readonly number[], at: number): number {
  const after = moments.findIndex((moment) => moment >= at);
  if (after < 0) return moments.length - 1;
  const before = Math.max(0, after - 1);
  return at - (moments[before] ?? at) < (moments[after] ?? at) - at ? before : after;
}

/** The phases and stages at the time under the pointer. */
function momentTip({ spans, t_s: times, bars = [] }: Timed, lanes: Track[]) {
  return (items: { axisValue: number; componentSubType: string }[]) => {
    const item = items.find(({ componentSubType }) => componentSubType === "line");
    if (!item) return "";
    const moments = times.length > 0 ? times : (lanes[0]?.t_s ?? []);
    const at = moments[nearest(moments, item.axisValue)] ?? 0;
    const phase = spans.find((span) => at >= span.started_s && at <= endOf(span));
    const running = bars.filter((bar) => at >= bar.from_s && at <= bar.to_s);
    const lines = lanes.flatMap((lane) =>
      lane.lines.map((line) => {
        const value = line.values[nearest(lane.t_s ?? times, at)] ?? null;
        return `${lane.title}, ${line.name}: ${value === null ? "—" : UNITS[lane.unit].tell(value)}`;
      }),
    );
    return tip(`${at.toFixed(1)} s${phase ? ` · ${phase.name}` : ""}`, [
      ...running.map((bar) => `Stage ${bar.label}`),
      ...lines,
    ]);
  };
}

function laneTitle(lane: Track, top: number, view: View) {
  return {
    text: `${lane.title}, ${lane.unitName ?? UNITS[lane.unit].name}`,
    left: 0,
    top,
    padding: 0,
    textStyle: {
      fontSize: 12,
      fontWeight: 600,
      color: view.color("muted"),
      fontFamily: view.font,
    },
  };
}

/** Phases, bars and lanes one below the other, so that what happened together stands together. */
export function timeAxis(timed: Timed, view: View): Drawing {
  const { spans, t_s: times, bars = [] } = timed;
  const lanes = timed.lanes.filter((lane) => lane.lines.length > 0);
  const ends = [...spans.map(endOf), ...bars.map((bar) => bar.to_s)];
  // Where nothing else is drawn, the lanes are.
  if (ends.length === 0) ends.push(...lanes.map((lane) => (lane.t_s ?? times).at(-1) ?? 0));
  if (ends.length === 0) return null;
  const end = Math.max(1e-3, ...ends);
  const [low, high] = timed.window ?? [0, end];
  const shown = bars.filter((bar) => bar.to_s >= low && bar.from_s <= high);
  const first = shown.length > 0 ? 2 : 1;
  const left = shown.length > 0 ? Math.max(LEFT_PX, nameRoom(shown, view)) : LEFT_PX;
  const box = { left, right: RIGHT_PX };
  const axis = quietAxis(view);
  const barsPx = shown.length * rowHeight(view);
  const phasesPx = spans.length > 0 ? PHASES_PX : 0;
  const barsEnd = phasesPx + (shown.length > 0 ? barsPx + GAP_PX : 0);
  const top = (place: number) => barsEnd + 8 + TITLE_PX + place * (LANE_PX + TITLE_PX + GAP_PX);
  const height = (lanes.length === 0 ? barsEnd : top(lanes.length - 1) + LANE_PX) + AXIS_PX;
  const grids = first + lanes.length;

  const xAxis = (gridIndex: number) => ({
    type: "value",
    gridIndex,
    min: low,
    max: high,
    splitNumber: view.narrow ? 4 : 8,
    ...axis,
    splitLine: { show: false },
    axisLine: { show: gridIndex > 0, lineStyle: { color: view.color("outline") } },
    axisLabel: {
      ...axis.axisLabel,
      show: gridIndex === grids - 1,
      showMinLabel: low === 0,
      showMaxLabel: false,
      formatter: (value: number) => `${Number(value.toFixed(2))} s`,
    },
    axisPointer: { show: gridIndex >= first, label: { show: false } },
  });
  const rows = (gridIndex: number, count: number) => ({
    type: "category",
    gridIndex,
    inverse: true,
    data: Array.from({ length: count }, (_, row) => String(row)),
    show: false,
  });

  const bounds = spans.flatMap((span) => [span.started_s, endOf(span)]);
  const edges = [...new Set(bounds)].filter((at) => at > low && at < high);

  return {
    height,
    option: {
      ...base(view),
      axisPointer: { link: [{ xAxisIndex: "all" }], lineStyle: { color: view.color("outline") } },
      tooltip: {
        ...(base(view).tooltip as object),
        trigger: "axis",
        formatter: momentTip(timed, lanes),
      },
      title: lanes.map((lane, place) => laneTitle(lane, top(place) - TITLE_PX + 2, view)),
      grid: [
        { ...box, top: 4, height: Math.max(0, phasesPx - 8) },
        ...(first === 2 ? [{ ...box, top: phasesPx, height: barsPx }] : []),
        ...lanes.map((_, place) => ({ ...box, top: top(place), height: LANE_PX })),
      ],
      xAxis: Array.from({ length: grids }, (_, gridIndex) => xAxis(gridIndex)),
      yAxis: [
        rows(0, 1),
        ...(first === 2 ? [rows(1, shown.length)] : []),
        ...lanes.map((lane, place) => ({
          type: "value",
          gridIndex: place + first,
          min: 0,
          ...(lane.unit === "fraction" ? { max: 100, interval: 50 } : halves(lane)),
          ...axis,
          axisLabel: { ...axis.axisLabel, formatter: short },
          axisPointer: { show: false },
        })),
      ],
      series: [
        phaseStrip(spans, view),
        ...(first === 2 ? [barEdges(edges, 1, view), barSeries(shown, 1, view)] : []),
        ...laneLines(lanes, times, first, edges, view),
      ],
    },
  };
}
