// The spread of simulated times: of the job with its references, and of the nodes.
import {
  items,
  labelRoom,
  layer,
  type Named,
  type Plot,
  plotOf,
  type Shape,
  textWidth,
} from "../../../charts/plot";
import { axisOf, timeUnit } from "../../../charts/scale";
import { base, type Drawing, tip, type View } from "../../../charts/view";
import type { Histogram, NodeTimes, TimeMark } from "../../../generated/types";
import { duration } from "../../../units";

const ROW_PX = 16;
const LABEL_PX = 12;

interface Line {
  role: string;
  width: number;
  dash?: number[];
}

const LINES: Record<TimeMark["kind"], Line> = {
  median: { role: "ink", width: 2 },
  quantile: { role: "ink", width: 1.25, dash: [4, 3] },
  formula: { role: "write", width: 2 },
  measured: { role: "blocked", width: 2 },
  deadline: { role: "throat", width: 2, dash: [6, 3] },
};

const number = (value: number) => value.toLocaleString("en-US", { maximumFractionDigits: 6 });

/** Beyond this many times the longest simulated time a mark is left to the table. */
const FAR = 1.5;

/** The first and last time that occur. */
function endsOf({ edges_s: edges, counts }: Histogram): [number, number] | null {
  const used = counts.flatMap((count, bin) => (count > 0 ? [bin] : []));
  const [first, last] = [edges[used[0] ?? -1], edges[(used[used.length - 1] ?? -2) + 1]];
  return first === undefined || last === undefined ? null : [first, last];
}

interface Label {
  mark: TimeMark;
  text: string;
  at: number;
  middle: number;
  half: number;
  row: number;
}

/** Names of the marks above the plot, in as many rows as keep them apart; row 0 is the lowest. */
function labelsOf(marks: readonly TimeMark[], x: (valueS: number) => number, view: View): Label[] {
  const ends: number[] = [];
  return [...marks]
    .sort((a, b) => a.at_s - b.at_s)
    .map((mark) => {
      // A narrow screen has no room for the times; the table below has them.
      const text = view.narrow ? mark.name : `${mark.name} ${duration(mark.at_s)}`;
      const half = Math.min(view.width, textWidth(text, LABEL_PX) + 12) / 2;
      const at = x(mark.at_s);
      const middle = Math.min(view.width - half, Math.max(half, at));
      const free = ends.findIndex((end) => end <= middle - half);
      const row = free < 0 ? ends.length : free;
      ends[row] = middle + half;
      return { mark, text, at, middle, half, row };
    });
}

function marksOf(labels: Label[], plot: Plot, view: View): Shape[] {
  const lines = labels.map(({ mark, at, row }): Shape => {
    const { role, width, dash } = LINES[mark.kind];
    return {
      type: "line",
      shape: { x1: at, y1: plot.box.top - 2 - row * ROW_PX, x2: at, y2: plot.box.bottom },
      style: { stroke: view.color(role), lineWidth: width, ...(dash ? { lineDash: dash } : {}) },
    };
  });
  // Behind a name no line of another mark may show.
  const blanks = labels.map(
    ({ middle, half, row }): Shape => ({
      type: "rect",
      shape: {
        x: middle - half + 4,
        y: plot.box.top - 3 - (row + 1) * ROW_PX,
        width: 2 * half - 8,
        height: ROW_PX,
      },
      style: { fill: view.color("surface") },
    }),
  );
  const names = labels.map(
    ({ mark, text, middle, half, row }): Shape => ({
      type: "text",
      style: {
        text,
        x: middle,
        y: plot.box.top - 4 - row * ROW_PX,
        align: "center",
        verticalAlign: "bottom",
        fill: view.color(mark.kind === "deadline" ? "throat" : "ink"),
        ...(2 * half < view.width ? {} : { width: view.width - 8, overflow: "truncate" }),
        font: `${mark.kind === "median" ? 600 : 400} ${LABEL_PX}px ${view.font}`,
      },
    }),
  );
  return [...lines, ...blanks, ...names];
}

function barsOf({ edges_s: edges, counts }: Histogram, x: Plot["x"], y: Plot["y"], view: View) {
  const bottom = y(0);
  const total = counts.reduce((sum, count) => sum + count, 0);
  return counts.map((count, bin): Shape[] => {
    const [from, to] = [x(edges[bin] ?? 0), x(edges[bin + 1] ?? 0)];
    const top = Math.min(bottom - 1, y((100 * count) / total));
    const width = Math.max(2, to - from - (to - from > 4 ? 1 : 0));
    if (count === 0) return [];
    return [
      {
        type: "rect",
        shape: { x: from, y: top, width, height: bottom - top },
        style: { fill: view.color("read") },
      },
    ];
  });
}

function draw(
  histogram: Histogram,
  marks: readonly TimeMark[],
  range: [number, number],
  noun: string,
  view: View,
): Drawing {
  const { edges_s: edges, counts } = histogram;
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (total === 0) return null;
  const unit = timeUnit(range[1]);
  const horizontal = axisOf(
    range.map((time) => time / unit.seconds),
    view.narrow ? 4 : 9,
  );
  const shares = counts.map((count) => (100 * count) / total);
  const vertical: Named = {
    axis: axisOf([0, ...shares], 4, { fromZero: true }),
    name: `share of the ${noun}`,
    format: (value) => `${number(value)}%`,
  };
  const left = labelRoom(vertical);
  const right = view.width - 18;
  const across = (timeS: number) => left + horizontal.share(timeS / unit.seconds) * (right - left);
  const shown = marks.filter(({ at_s }) => at_s >= range[0] && at_s <= range[1]);
  const labels = labelsOf(shown, across, view);
  const rows = labels.reduce((most, { row }) => Math.max(most, row + 1), 0);
  const top = 26 + rows * ROW_PX;
  const bottom = top + (marks.length > 0 ? 220 : 130);
  const plot = plotOf(
    { axis: horizontal, name: `time (${unit.name})`, format: number },
    vertical,
    { left, top, right, bottom },
    view,
    12 + rows * ROW_PX,
  );
  const origin: [number, number] = [horizontal.minimum, 0];
  return {
    height: bottom + 46,
    option: {
      ...base(view),
      ...plot.option,
      tooltip: {
        ...(base(view).tooltip as object),
        formatter: ({ dataIndex: bin }: { dataIndex: number }) =>
          tip(`${duration(edges[bin] ?? 0)} to ${duration(edges[bin + 1] ?? 0)}`, [
            `${(counts[bin] ?? 0).toLocaleString("en-US")} ${noun}, ${(shares[bin] ?? 0).toFixed(1)}%`,
          ]),
      },
      series: [
        items(barsOf(histogram, across, plot.y, view), origin, { z: 2 }),
        layer(marksOf(labels, plot, view), origin, 3),
      ],
    },
  };
}

/** Times of the job. Marks far beyond what was simulated stay in the table. */
export function histogram(of: Histogram, marks: readonly TimeMark[], view: View): Drawing {
  const ends = endsOf(of);
  if (!ends) return null;
  const near = marks
    .map((mark) => mark.at_s)
    .filter((at) => at <= FAR * ends[1] && at >= ends[0] / FAR);
  const range: [number, number] = [Math.min(ends[0], ...near), Math.max(ends[1], ...near)];
  return draw(of, marks, range, "trials", view);
}

/** Finishing times of the nodes in one phase; all phases to the same scale of time. */
export function nodes(phases: readonly NodeTimes[], view: View, index: number): Drawing {
  const all = phases.flatMap((phase) => endsOf(phase.histogram) ?? []);
  const phase = phases[index];
  if (!phase || all.length === 0) return null;
  return draw(phase.histogram, [], [Math.min(...all), Math.max(...all)], "nodes", view);
}
