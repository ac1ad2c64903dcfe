// Ratios of times around 1: the effect of each value, and every setting that it comes from.
import {
  behindGroup,
  groupName,
  logAxis,
  MOST_ROWS,
  within,
  withLine,
} from "../../../charts/common";
import { type Row, rowsChart } from "../../../charts/rows";
import type { Behind, Drawing, View } from "../../../charts/view";
import { plain, ratio } from "../../../format";
import type { Effect, Effects, PartEffect } from "../../../generated/types";

/** Not a key of conditions, but the name of a machine. */
export const MACHINE = "machine";

const POINTS_MOST = 400; // a row cannot show more

/** The color is the outcome's, which the interval decided. */
const ROLES: Record<Effect["outcome"], string> = {
  faster: "write",
  slower: "throat",
  "no difference": "outline",
  "cannot tell": "outline",
  depends: "outline",
  confounded: "outline",
};

/** The trials of a value and of the baseline that it is compared with. */
export const behindEffect = (keys: readonly string[], one: Effect): Behind => [
  ...behindGroup(keys, one.value),
  ...behindGroup(keys, one.baseline),
];

/** Whether it is faster or slower by itself, but not surely with all values that are shown. */
export const perhaps = ({ outcome, sure }: Effect) =>
  (outcome === "faster" || outcome === "slower") && !sure;

/** Whether a value leads the verdict. */
const leads = (data: Effects, one: Effect) => data.main !== null && data.effects[data.main] === one;

const axisName = ({ narrow }: View, base: string) =>
  `${narrow ? "relative time" : `time relative to ${base}, all else being equal`}; below 1 is faster`;

const settings = (count: number) => `${count} ${count === 1 ? "setting" : "settings"}`;

function chart(rows: Row[], values: number[], base: string, view: View): Drawing {
  if (rows.length === 0) return null;
  const axis = logAxis([1, ...values.filter((value) => value > 0)], view.narrow ? 4 : 9);
  const scale = { ...axis, name: axisName(view, base), format: plain };
  const placed = rows.map((row) => ("text" in row ? { ...row, textAt: axis.maximum } : row));
  return withLine(rowsChart(placed, scale, view, 260), 1, view);
}

/** Effects with something matched, a row each; below the interval the range of 80% of settings. */
export function effects(data: Effects, view: View): Drawing {
  const known = data.effects.filter(({ ratio: value }) => value !== null).slice(0, MOST_ROWS);
  const ends: number[] = [];
  const rows = known.map((one): Row => {
    const { ratio: value, interval, low_tenth: low, high_tenth: high } = one;
    if (value === null) return { label: "", details: [] };
    ends.push(value);
    if (interval) ends.push(interval.low, interval.high);
    const said = `${ratio(value)}${interval ? ` ${within(interval, ratio)}` : ""}`;
    return {
      label: groupName(data.keys, one.value),
      ...(leads(data, one) ? { bold: true } : {}),
      behind: behindEffect(data.keys, one),
      ...(interval ? { whisker: [interval.low, interval.high] as [number, number] } : {}),
      marks: [{ at: value, role: ROLES[one.outcome], shape: perhaps(one) ? "ring" : "dot" }],
      text: view.narrow ? said : `${said}, ${settings(one.strata)}`,
      details: [
        perhaps(one) ? `perhaps: ${one.verdict}` : one.verdict,
        `less time in ${one.below}, more in ${one.above} of ${settings(one.strata)}`,
        ...(low !== null && high !== null && one.strata > 1
          ? [`80% of them between ${ratio(low)} and ${ratio(high)}`]
          : []),
      ],
    };
  });
  return chart(rows, ends, data.baseline ? groupName(data.keys, data.baseline) : "", view);
}

const thinned = (points: readonly number[]) =>
  points.length <= POINTS_MOST
    ? points
    : points.filter((_, place) => place % Math.ceil(points.length / POINTS_MOST) === 0);

/** Every setting of the values with something matched: an interval hides the rare extreme one. */
export function strata(data: Effects, view: View): Drawing {
  const known = data.effects.filter(({ points }) => points.length > 0).slice(0, MOST_ROWS);
  const rows = known.map(
    (one): Row => ({
      label: groupName(data.keys, one.value),
      ...(leads(data, one) ? { bold: true } : {}),
      behind: behindEffect(data.keys, one),
      marks: thinned(one.points).map((at) => ({ at, role: ROLES[one.outcome], shape: "line" })),
      text: settings(one.strata),
      details: [`less time in ${one.below}, more in ${one.above} of ${settings(one.strata)}`],
    }),
  );
  const ends = known.flatMap(({ points }) => [points[0] ?? 1, points[points.length - 1] ?? 1]);
  return chart(rows, ends, data.baseline ? groupName(data.keys, data.baseline) : "", view);
}

/** The effect for each value of another key, such as each kind of work. */
export function parts(
  key: string,
  all: readonly PartEffect[],
  base: string,
  behind: Behind,
  view: View,
): Drawing {
  const ends = all.flatMap(({ ratio: value, interval }) =>
    interval ? [value, interval.low, interval.high] : [value],
  );
  const rows = all.slice(0, MOST_ROWS).map((part): Row => {
    const { interval } = part;
    const said = `${ratio(part.ratio)}${interval ? ` ${within(interval, ratio)}` : ""}`;
    const role =
      !interval || (interval.low <= 1 && interval.high >= 1)
        ? "outline"
        : part.ratio < 1
          ? "write"
          : "throat";
    return {
      label: groupName([key], [part.value]),
      ...(key === MACHINE ? {} : { behind: [[key, part.value] as const, ...behind] }),
      ...(interval ? { whisker: [interval.low, interval.high] as [number, number] } : {}),
      marks: [{ at: part.ratio, role, shape: "dot" }],
      text: view.narrow ? said : `${said}, ${settings(part.strata)}`,
      details: [`${settings(part.strata)}, ${part.trials} trials`],
    };
  });
  return chart(rows, ends, base, view);
}
