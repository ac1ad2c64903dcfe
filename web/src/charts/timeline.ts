// Phases of one sort above what its host did meanwhile: processor, disk, network on one time axis.
import type { Charts, Known, Lane, Sort, Span } from "../data";
import { duration, percent, rate } from "../format";
import { base, type Drawing, quietAxis, tip, type View } from "../view";

const PHASES_PX = 34;
const TITLE_PX = 26;
const LANE_PX = 96;
const AXIS_PX = 28;

const told = (lane: Lane, value: number) =>
  lane.unit === "fraction" ? percent(value) : rate(value);
const scaled = (lane: Lane, value: Known) =>
  value === null ? null : lane.unit === "fraction" ? value * 100 : value / 1e6;

/** A scale of two equal steps up to a round number; noise must not fill it, so at least 1 MB/s. */
function halves(lane: Lane): { max: number; interval: number } {
  const values = lane.lines.flatMap((line) => line.values.map((value) => (value ?? 0) / 1e6));
  const most = Math.max(1, ...values);
  const power = 10 ** Math.floor(Math.log10(most));
  const max = ([1, 2, 4, 6, 8, 10].find((step) => step * power >= most) ?? 10) * power;
  return { max, interval: max / 2 };
}

/** The phases as a strip of named blocks. */
function phaseStrip(spans: Span[], view: View) {
  return {
    type: "custom",
    xAxisIndex: 0,
    yAxisIndex: 0,
    data: spans.map((span) => [span.started_s, 0]),
    tooltip: { show: false },
    renderItem: (
      params: { dataIndex: number },
      api: { coord(point: [number, number]): [number, number] },
    ) => {
      const span = spans[params.dataIndex];
      if (!span) return null;
      const [x, y] = api.coord([span.started_s, 0]);
      const width = Math.max(1, api.coord([span.started_s + span.elapsed_s, 0])[0] - x - 1);
      const text = `${span.name} · ${duration(span.elapsed_s)}`;
      return {
        type: "group",
        children: [
          {
            type: "rect",
            shape: { x, y: y - 13, width, height: 26 },
            style: { fill: view.color(params.dataIndex % 2 ? "phase-odd" : "phase-even") },
          },
          {
            type: "text",
            style: {
              // A phase too short for its name is named in the table.
              text: width > 40 ? text : "",
              x: x + 7,
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

/** The lines of every lane; the first of each also draws the borders of the phases. */
function laneLines(lanes: Lane[], times: number[], edges: number[], view: View) {
  return lanes.flatMap((lane, place) =>
    lane.lines.map((line, number) => ({
      type: "line",
      name: line.name,
      xAxisIndex: place + 1,
      yAxisIndex: place + 1,
      data: times.map((at, row) => [at, scaled(lane, line.values[row] ?? null)]),
      connectNulls: false,
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
              data: edges.map((at) => ({ xAxis: at })),
            },
          }
        : {}),
    })),
  );
}

/** What the host did at the moment under the pointer. */
function momentTip({ timeline: { spans, t_s: times } }: Sort, lanes: Lane[]) {
  return (items: { dataIndex: number; componentSubType: string }[]) => {
    const row = items.find((item) => item.componentSubType === "line")?.dataIndex;
    if (row === undefined) return "";
    const at = times[row] ?? 0;
    const phase = spans.find((s) => at >= s.started_s && at <= s.started_s + s.elapsed_s);
    const lines = lanes.flatMap((lane) =>
      lane.lines.map((line) => {
        const value = line.values[row] ?? null;
        return `${lane.title}, ${line.name}: ${value === null ? "—" : told(lane, value)}`;
      }),
    );
    return tip(`${at.toFixed(1)} s${phase ? ` · ${phase.name}` : ""}`, lines);
  };
}

function laneTitle(lane: Lane, top: number, view: View) {
  return {
    text: `${lane.title}, ${lane.unit === "fraction" ? "% of all cores" : "MB/s"}`,
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

export function timeline(data: Charts, view: View, index: number): Drawing {
  const sort = data.sorts[index];
  if (!sort || sort.timeline.spans.length === 0) return null;
  const { spans, t_s: times } = sort.timeline;
  const lanes = sort.timeline.lanes.filter((lane) => lane.lines.length > 0);
  const end = Math.max(1e-3, ...spans.map((span) => span.started_s + span.elapsed_s));
  const left = 52;
  const right = 10;
  const axis = quietAxis(view);
  const top = (place: number) => PHASES_PX + 8 + TITLE_PX + place * (LANE_PX + TITLE_PX + 10);
  const height =
    lanes.length === 0 ? PHASES_PX + AXIS_PX : top(lanes.length - 1) + LANE_PX + AXIS_PX;

  const xAxis = (gridIndex: number, last: boolean) => ({
    type: "value",
    gridIndex,
    min: 0,
    max: end,
    splitNumber: view.narrow ? 4 : 8,
    ...axis,
    splitLine: { show: false },
    axisLine: { show: gridIndex > 0, lineStyle: { color: view.color("outline") } },
    axisLabel: {
      ...axis.axisLabel,
      show: last,
      showMaxLabel: false,
      formatter: (value: number) => `${Number(value.toFixed(2))} s`,
    },
    axisPointer: { show: gridIndex > 0, label: { show: false } },
  });

  const bounds = spans.flatMap((span) => [span.started_s, span.started_s + span.elapsed_s]);
  const edges = [...new Set(bounds)].filter((at) => at > 0 && at < end);

  return {
    height,
    option: {
      ...base(view),
      axisPointer: { link: [{ xAxisIndex: "all" }], lineStyle: { color: view.color("outline") } },
      tooltip: {
        ...(base(view).tooltip as object),
        trigger: "axis",
        formatter: momentTip(sort, lanes),
      },
      title: lanes.map((lane, place) => laneTitle(lane, top(place) - TITLE_PX + 2, view)),
      grid: [
        { left, right, top: 4, height: PHASES_PX - 8 },
        ...lanes.map((_, place) => ({ left, right, top: top(place), height: LANE_PX })),
      ],
      xAxis: [
        xAxis(0, lanes.length === 0),
        ...lanes.map((_, place) => xAxis(place + 1, place === lanes.length - 1)),
      ],
      yAxis: [
        { type: "category", gridIndex: 0, data: ["phase"], show: false },
        ...lanes.map((lane, place) => ({
          type: "value",
          gridIndex: place + 1,
          min: 0,
          ...(lane.unit === "fraction" ? { max: 100, interval: 50 } : halves(lane)),
          ...axis,
          axisLabel: {
            ...axis.axisLabel,
            formatter: (value: number) =>
              value.toLocaleString("en-US", { maximumFractionDigits: 1 }),
          },
          axisPointer: { show: false },
        })),
      ],
      series: [phaseStrip(spans, view), ...laneLines(lanes, times, edges, view)],
    },
  };
}
