// Shared by the charts of the analysis pages: axes, colors of groups, names that don't overlap.
import type { CustomSeriesOption } from "echarts/charts";
import { type Key, type Scalar, seconds, size, valueText } from "../format";
import type { Interval, SpreadData } from "../generated/types";
import { logTicks } from "../units";
import { type Box, meet, type Shape, textWidth } from "./plot";
import { type Axis, axisOf, timeUnit } from "./scale";
import type { Behind, Drawing, View } from "./view";

/** With so many rows a chart takes no further group; its table has all. */
export const MOST_ROWS = 40;

const ROLES = ["read", "write", "memory", "blocked", "cpu-user", "network"] as const;

/** The color of the group at `index`; they come round again after six. */
export const roleOf = (index: number): string => ROLES[index % ROLES.length] ?? "read";
export const MOST_ROLES = ROLES.length;

const tenths = (step: number) => Array.from({ length: 90 / step }, (_, at) => 1 + (at * step) / 10);
const LOG_STEPS: readonly (readonly number[])[] = [
  tenths(1),
  tenths(2),
  [1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.8, 2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9],
  [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9],
  [1, 1.5, 2, 3, 5, 7],
  [1, 2, 3, 5],
  [1, 2, 5],
  [1, 3],
  [1],
];

/** Below this factor from end to end, ticks an equal difference apart are as good. */
const EVEN_RANGE = 2;

/** A logarithmic axis that holds all `values` (above 0), with at most `most` steps. */
export function logAxis(values: number[], most: number): Axis {
  const [minimum, maximum] = [Math.min(...values) / 1.08, Math.max(...values) * 1.08];
  const choices = LOG_STEPS.map((steps) => logTicks(minimum, maximum, steps));
  const ticks =
    maximum / minimum < EVEN_RANGE
      ? axisOf([minimum, maximum], most, { logRange: EVEN_RANGE }).ticks.filter(
          (tick) => tick >= minimum && tick <= maximum,
        )
      : (choices.find((each) => each.length <= most + 1) ?? choices[choices.length - 1]);
  const span = Math.log(maximum / minimum);
  const share = (value: number) => Math.log(value / minimum) / span;
  return { log: true, minimum, maximum, ticks: ticks ?? [], share };
}

/** An axis to the requested scale; 0 or less has no logarithm. */
export const axisFor = (values: number[], most: number, log: boolean): Axis =>
  log && values.every((value) => value > 0)
    ? logAxis(values, most)
    : axisOf(values, most, { logRange: Number.POSITIVE_INFINITY });

/** A value of `key` as text: amounts of bytes with their unit. */
export function valueName(key: string, value: Scalar): string {
  const amount = key.endsWith("_bytes") && value !== null ? Number(value) : Number.NaN;
  return amount > 0 ? size(amount) : valueText(value);
}

/** The values that a group of `by` stands for: `IB · SSD`. */
export const groupName = (by: readonly string[], key: Key): string =>
  key.length === 0
    ? "all trials"
    : key.map((value, place) => valueName(by[place] ?? "", value)).join(" · ");

/** The values of `by` that a group has: its trials are behind its mark. */
export const behindGroup = (by: readonly string[], key: Key): Behind =>
  by.flatMap((name, place) => [[name, key[place] ?? null] as const]);

/** `[3.1, 4.2]` */
export const within = ({ low, high }: Interval, tell: (value: number) => string): string =>
  `[${tell(low)}, ${tell(high)}]`;

/** The values of a spread that its mark and its whiskers reach. */
export const reach = ({ median, interval }: SpreadData): number[] =>
  [median, interval?.low, interval?.high].filter((value) => value != null);

/** The lines of a tooltip about a spread. */
export function told(spread: SpreadData, tell: (value: number) => string = seconds): string[] {
  if (spread.median === null) return [`n = ${spread.n}: ${spread.reason ?? "no value"}`];
  const { interval } = spread;
  return [
    `median ${tell(spread.median)}, n = ${spread.n}`,
    interval
      ? `${(100 * interval.level).toFixed(0)}% interval ${within(interval, tell)}`
      : `no interval: ${spread.reason ?? "too few trials"}`,
  ];
}

/** An axis of values of either sign, and 0. */
export function signedAxis(values: number[], most: number): Axis {
  const [least, greatest] = [Math.min(0, ...values), Math.max(0, ...values)];
  const span = greatest - least || 1;
  // Shifted up so that the steps are those of an axis of positive values.
  const { ticks } = axisOf([0, span * 1.04], most, { fromZero: true });
  const step = (ticks[1] ?? span) - (ticks[0] ?? 0);
  const first = Math.floor((least - 0.02 * span) / step);
  const last = Math.ceil((greatest + 0.02 * span) / step);
  const at = (place: number) => Number((place * step).toPrecision(12));
  const [minimum, maximum] = [at(first), at(last)];
  return {
    log: false,
    minimum,
    maximum,
    ticks: Array.from({ length: last - first + 1 }, (_, place) => at(first + place)),
    share: (value) => (value - minimum) / (maximum - minimum),
  };
}

/** Seconds on an axis in the unit that reads best. */
export function timeScale(valuesS: number[], most: number, { log = false, fromZero = false } = {}) {
  // Where the scale is logarithmic the middle of the axis is as good a place as its end.
  const least = Math.min(...valuesS);
  const greatest = Math.max(...valuesS);
  const unit = timeUnit(log && least > 0 ? Math.sqrt(least * greatest) : greatest);
  const values = valuesS.map((value) => value / unit.seconds);
  const axis = fromZero ? axisOf([0, ...values], most, { fromZero }) : axisFor(values, most, log);
  return { unit, axis };
}

/** An upright line across the whole plane of a drawing with rows, where nothing differs. */
export function withLine(drawing: Drawing, at: number, view: View): Drawing {
  if (!drawing) return null;
  const line: CustomSeriesOption = {
    type: "custom",
    silent: true,
    tooltip: { show: false },
    z: 1,
    data: [[at, 0]],
    renderItem: (params, api) => {
      const frame = params.coordSys as unknown as { y: number; height: number };
      const [x] = api.coord([at, 0]) as [number, number];
      const shape = { x1: x, y1: frame.y, x2: x, y2: frame.y + frame.height };
      return { type: "line", shape, style: { stroke: view.color("outline"), lineWidth: 1.5 } };
    },
  };
  const { series } = drawing.option as { series: CustomSeriesOption[] };
  return { ...drawing, option: { ...drawing.option, series: [...series, line] } };
}

/** A thing at its pixels that may have a name next to it. */
export interface Place {
  x: number;
  y: number;
  radius: number;
  text: string;
  role: string;
  bold?: boolean;
  /** Named even where the name covers something. */
  must?: boolean;
  /** Not named at all rather than across a line. */
  clear?: boolean;
}

const LABEL_PX = 12;

/** Names next to their places, first ones first: each where it overlaps nothing, or not at all. */
export function names(
  places: Place[],
  taken: Box[],
  lines: Box[],
  frame: Box,
  view: View,
): Shape[] {
  const around = ({ x, y, radius: r }: Place) => ({
    left: x - r - 1,
    top: y - r - 1,
    right: x + r + 1,
    bottom: y + r + 1,
  });
  const boxes = [...taken, ...places.map(around)];
  return places.flatMap(({ x, y, radius, text, role, bold, must, clear }): Shape[] => {
    const width = textWidth(text, LABEL_PX) + 4;
    const near = radius + 3;
    const far = 0.7 * radius + 3;
    const inside = [
      [x + near, y - 7],
      [x - near - width, y - 7],
      [x + far, y - far - 12],
      [x - far - width, y - far - 12],
      [x + far, y + far - 2],
      [x - far - width, y + far - 2],
      ...[width / 2, 10, width - 10].flatMap((shift) => [
        [x - shift, y - radius - 17],
        [x - shift, y + radius + 3],
      ]),
    ]
      .map(([left = 0, top = 0]) => ({ left, top, right: left + width, bottom: top + 14 }))
      .filter((box) => box.left >= frame.left && box.right <= frame.right)
      .filter((box) => box.top >= frame.top && box.bottom <= frame.bottom);
    const covered = (box: Box, others: Box[]) => others.filter((other) => meet(box, other)).length;
    const [free] = inside
      .filter((box) => covered(box, boxes) === 0 && !(clear && covered(box, lines) > 0))
      .sort((a, b) => covered(a, lines) - covered(b, lines));
    const [least] = must ? inside.sort((a, b) => covered(a, boxes) - covered(b, boxes)) : [];
    const box = free ?? least;
    if (!box) return [];
    boxes.push(box);
    return [
      {
        type: "text",
        style: {
          text,
          x: box.left + 2,
          y: box.top + 7,
          verticalAlign: "middle",
          fill: view.color(role),
          stroke: view.color("surface"),
          lineWidth: 3,
          font: `${bold ? 600 : 400} ${LABEL_PX}px ${view.font}`,
        },
      },
    ];
  });
}
