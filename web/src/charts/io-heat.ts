// The requests of a trial over time, in cells: where on the disk they are, and how long they take.

import { bytes, count } from "../format";
import type { IoHeat, IoPattern, IoStage } from "../generated/types";
import { duration, latency } from "../units";
import { type Counted, drawn, powerAxis, type Scale } from "./io";
import { type Mark, type Panel, panels, type Shared } from "./panels";
import type { Drawing, View } from "./view";

export type HeatChart = "places" | "times";

/** How cells and their values are shown. */
export interface Shown {
  counted: Counted;
  scale: Scale;
  stages: readonly IoStage[];
  window: Window;
}

/** From when to when, in seconds. */
export type Window = readonly [number, number];

/** The strip of stages has this part of a panel's height. */
const STRIP = 0.08;
/** How high a chart is of which there is one. */
const CLOSER_PX = 260;

const amountsOf = (heat: IoHeat, counted: Counted): readonly number[] =>
  counted === "bytes" && heat.bytes ? heat.bytes : heat.cells.map(([, , requests]) => requests);

/** The names of the stages that ran between two times. */
const during = (stages: readonly IoStage[], from: number, to: number) =>
  stages
    .filter((stage) => stage.from_s < to && stage.until_s > from)
    .map(({ name, phase }) => `stage ${name} (${phase})`);

/** A file with requests in a cell, if known. */
export function fileAt({ names, files }: IoHeat, at: number): string | null {
  const number = files[at] ?? 0;
  const name = names[Math.abs(number) - 1];
  if (name === undefined) return null;
  return number < 0 ? `${name} and others` : name;
}

/** Cells, the darker the more is in them. */
function heatMarks(
  heat: IoHeat,
  { counted, scale, stages }: Shown,
  up: (value: number) => number,
  told: (low: number, high: number) => string,
): Mark[] {
  const amounts = amountsOf(heat, counted);
  const most = amounts.reduce((a, b) => Math.max(a, b), 1);
  const part = (amount: number) =>
    scale === "linear" ? amount / most : Math.log1p(amount) / Math.log1p(most);
  return heat.cells.map(([column, row, requests], at) => {
    const from = heat.start_s + column * heat.column_s;
    const to = from + heat.column_s;
    const [low, high] = [heat.rows[row] ?? 0, heat.rows[row + 1] ?? heat.rows[row] ?? 0];
    const size = heat.bytes?.[at];
    const file = fileAt(heat, at);
    return {
      from,
      to,
      low: up(low),
      high: up(high),
      role: "read",
      // Of little there is still something to be seen.
      opacity: 0.2 + 0.8 * part(amounts[at] ?? 0),
      title: `from ${duration(from)}`,
      lines: [
        told(low, high),
        `${count(requests)} requests${size === undefined ? "" : `, ${bytes(size)}`}`,
        ...(file ? [file] : []),
        ...during(stages, from, to),
      ],
    };
  });
}

/** A strip above the cells, on their axis of time, with the stages in it. */
function strip(stages: readonly IoStage[], low: number, high: number): Mark[] {
  return stages.map(({ name, phase, from_s, until_s }) => ({
    from: from_s,
    to: until_s,
    low,
    high,
    role: phase === "map" ? "cpu-user" : "memory",
    title: `stage ${name}`,
    lines: [phase, `${duration(from_s)} to ${duration(until_s)}`],
  }));
}

function heatChart(
  all: readonly Panel[],
  { stages, window: [minimum, maximum] }: Shown,
  axis: (marks: readonly Mark[]) => Shared,
  view: View,
  plotPx?: number,
): Drawing {
  const marks = all.flatMap((panel) => panel.marks);
  if (marks.length === 0) return null;
  const length = maximum - minimum;
  const step = [
    1e-3, 2e-3, 5e-3, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 60, 120, 300, 600, 1800,
    3600, 7200,
  ].find((each) => 4 * each >= length);
  const first = step ? Math.ceil(minimum / step) : 0;
  const steps = step ? Math.floor(maximum / step) - first : 0;
  const ticks = step
    ? Array.from({ length: steps + 1 }, (_, place) => Number(((first + place) * step).toFixed(6)))
    : [minimum, maximum];
  const y = axis(marks);
  const above = STRIP * (y.maximum - y.minimum || 1);
  const seen = stages.filter((stage) => stage.until_s > minimum && stage.from_s < maximum);
  const withStages = all.map((panel) => ({
    ...panel,
    marks: [...panel.marks, ...strip(seen, y.maximum + above / 4, y.maximum + above)],
  }));
  const raised = seen.length > 0 ? { ...y, maximum: y.maximum + above } : y;
  return panels(withStages, { minimum, maximum, ticks, format: duration }, raised, view, plotPx);
}

const placeMarks = (heat: IoHeat, shown: Shown) =>
  heatMarks(
    heat,
    shown,
    (value) => value,
    (low, high) => `disk offset ${bytes(low)} to ${bytes(high)}`,
  );

function placeAxis(marks: readonly Mark[]): Shared {
  const minimum = marks.reduce((a, { low }) => Math.min(a, low), Number.POSITIVE_INFINITY);
  const maximum = marks.reduce((a, { high }) => Math.max(a, high), 0);
  return { minimum, maximum, ticks: [minimum, (minimum + maximum) / 2, maximum], format: bytes };
}

const timeMarks = (heat: IoHeat, shown: Shown) =>
  heatMarks(
    heat,
    shown,
    (value) => Math.log10(Math.max(value, 1e-9)),
    (low, high) => `${latency(low)} to ${latency(high)}`,
  );

const timeAxis = (marks: readonly Mark[]) =>
  powerAxis(
    marks.flatMap(({ low, high }) => [low, high]),
    10,
    latency,
  );

/** Where on the disk requests are over time. */
export function placesChart(patterns: readonly IoPattern[], shown: Shown, view: View): Drawing {
  const all = drawn(patterns).map(
    ({ name, places }): Panel => ({ title: name, marks: places ? placeMarks(places, shown) : [] }),
  );
  return heatChart(all, shown, placeAxis, view);
}

/** How long requests took over time. */
export function timesOverChart(patterns: readonly IoPattern[], shown: Shown, view: View): Drawing {
  const all = drawn(patterns).map(
    ({ name, times_over }): Panel => ({
      title: name,
      marks: times_over ? timeMarks(times_over, shown) : [],
    }),
  );
  return heatChart(all, shown, timeAxis, view);
}

/** One chart of one pattern, as wide as the page. */
export function zoomChart(
  title: string,
  chart: HeatChart,
  heat: IoHeat,
  shown: Shown,
  view: View,
): Drawing {
  const marks = chart === "places" ? placeMarks(heat, shown) : timeMarks(heat, shown);
  const axis = chart === "places" ? placeAxis : timeAxis;
  return heatChart([{ title, marks }], shown, axis, view, CLOSER_PX);
}

/** A part has no more columns, if there are cells that wide. */
const COLUMNS_MOST = 512;

/** A window so many times as long around its middle, moved by a part of it, within 0 and `end`. */
export function moved([from, until]: Window, longer: number, by: number, end: number): Window {
  const length = Math.min(end, (until - from) * longer);
  const middle = (from + until) / 2 + (until - from) * by;
  const begin = Math.min(Math.max(0, middle - length / 2), end - length);
  return [begin, begin + length];
}

/** The finest of the same cells in several widths that has no more columns in the window. */
export function finest(
  found: readonly { heat: IoHeat }[],
  [from, until]: Window,
): IoHeat | undefined {
  const heats = found.map(({ heat }) => heat).sort((a, b) => a.column_s - b.column_s);
  return heats.find(({ column_s }) => until - from <= COLUMNS_MOST * column_s) ?? heats.at(-1);
}

/** The columns that begin or end within the window. */
export function cut(heat: IoHeat, [from, until]: Window): IoHeat {
  const columnOf = (at: number) => Math.floor((at - heat.start_s) / heat.column_s);
  const [first, last] = [columnOf(from), columnOf(until)];
  const kept = heat.cells.map(([column]) => column >= first && column <= last);
  return {
    ...heat,
    cells: heat.cells.filter((_, at) => kept[at]),
    bytes: heat.bytes?.filter((_, at) => kept[at]) ?? null,
    files: heat.files.filter((_, at) => kept[at]),
  };
}
