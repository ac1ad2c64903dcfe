// Ratios with their intervals around 1: speedups, and effects of one parameter.

import { keyName, plain, ratio, seconds, valueText } from "../format";
import type {
  ImprovedConfiguration,
  Improvement,
  Interval,
  ParameterEffect,
  Speedups,
} from "../generated/types";
import { groupName, logAxis, MOST_ROWS, told, within, withLine } from "./common";
import { type Row, rowsChart } from "./rows";
import type { Drawing, View } from "./view";

interface Ratio {
  label: string;
  bold?: boolean;
  value: number;
  interval: Interval | null;
  note: string;
  verdict: string;
  details: string[];
}

type Line = Ratio | { heading: string };

const isRatio = (line: Line): line is Ratio => "value" in line;

/** Whose verdict is that it cannot be told is neither better nor worse, wherever its dot lies. */
function colour({ value, interval, verdict }: Ratio, better: "above" | "below"): string {
  if (!interval || verdict.startsWith("cannot tell") || (interval.low <= 1 && interval.high >= 1))
    return "outline";
  return value > 1 === (better === "above") ? "write" : "throat";
}

function ratiosChart(lines: Line[], name: string, better: "above" | "below", view: View): Drawing {
  const known = lines.filter(isRatio);
  if (known.length === 0) return null;
  const ends = known.flatMap(({ value, interval }) =>
    interval ? [value, interval.low, interval.high] : [value],
  );
  const axis = logAxis([1, ...ends.filter((end) => end > 0)], view.narrow ? 4 : 9);
  const rows = lines.map((line): Row => {
    if (!isRatio(line)) return { label: line.heading, heading: true, details: [] };
    const { label, value, interval, note, verdict, details } = line;
    const said = `${ratio(value)}${interval ? ` ${within(interval, ratio)}` : ""}`;
    return {
      label,
      ...(line.bold ? { bold: true } : {}),
      ...(interval ? { whisker: [interval.low, interval.high] as [number, number] } : {}),
      marks: [{ at: value, role: colour(line, better), shape: "dot" }],
      text: view.narrow ? said : `${said}${note ? `, ${note}` : ""}`,
      textAt: axis.maximum,
      details: [...details, verdict],
    };
  });
  const scale = { ...axis, name, format: plain };
  return withLine(rowsChart(rows, scale, view, 260), 1, view);
}

/** Under each heading its ratios; from `MOST_ROWS` on no further group begins. */
function underHeadings<T>(
  parts: readonly T[],
  headingOf: (part: T) => string | null,
  lineOf: (part: T) => Ratio | null,
): Line[] {
  const lines: Line[] = [];
  let last: string | null = null;
  for (const part of parts) {
    const line = lineOf(part);
    if (!line) continue;
    const heading = headingOf(part);
    const begins = heading === null || heading !== last;
    if (begins && lines.length >= MOST_ROWS) break;
    if (begins && heading !== null) lines.push({ heading });
    last = heading;
    lines.push(line);
  }
  return lines;
}

/** Speedups by value of the factor, under each group of `by`. */
export function speedups(data: Speedups, view: View): Drawing {
  const against = data.definition === "aloja" ? "the mean of all" : valueText(data.baseline);
  const lines = underHeadings(
    data.speedups,
    (one) => (data.by.length > 0 ? groupName(data.by, one.key) : null),
    (one): Ratio | null => {
      if (one.speedup === null) return null;
      const { interval, n, median_s: medianS, baseline_median_s: otherS } = one;
      return {
        label: valueText(one.value),
        value: one.speedup,
        interval,
        note: data.definition === "aloja" ? `n = ${n}` : `n = ${n} / ${one.n_baseline}`,
        details: [
          `${ratio(one.speedup)}${interval ? ` ${within(interval, ratio)}` : ", no interval"}`,
          ...(medianS === null ? [] : [`median ${seconds(medianS)}, n = ${n}`]),
          ...(otherS === null || data.definition === "aloja"
            ? []
            : [`${against}: median ${seconds(otherS)}, n = ${one.n_baseline}`]),
        ],
        verdict: one.verdict,
      };
    },
  );
  return ratiosChart(lines, speedupName(against, view), "above", view);
}

const effectLine = (effect: ParameterEffect): Ratio | null =>
  effect.ratio === null
    ? null
    : {
        label: `${valueText(effect.value)} / ${valueText(effect.baseline)}`,
        value: effect.ratio,
        interval: effect.interval,
        note: `${effect.strata} ${effect.strata === 1 ? "pair" : "pairs"}`,
        details: [
          `${effect.strata} matched strata, ${effect.trials} trials`,
          effect.interval ? `interval ${within(effect.interval, ratio)}` : "no interval",
        ],
        verdict: effect.verdict,
      };

const effectsName = ({ narrow }: View) =>
  `${narrow ? "relative time" : "time relative to the baseline, all else equal"}; below 1 is faster`;

const speedupName = (against: string, { narrow }: View) =>
  `speedup${narrow ? "" : ` over ${against}`}; above 1 is faster`;

/** The effect of each value of one parameter where all else is equal. */
export const effects = (data: readonly ParameterEffect[], view: View): Drawing =>
  ratiosChart(
    underHeadings(data, () => null, effectLine),
    effectsName(view),
    "below",
    view,
  );

/** The effect of each single key of the configurations. */
export function effectsByKey(data: Improvement, view: View): Drawing {
  const parts = Object.entries(data.effects).flatMap(([key, all]) =>
    all.map((effect) => ({ key, effect })),
  );
  const lines = underHeadings(
    parts,
    ({ key }) => keyName(key),
    ({ effect }) => effectLine(effect),
  );
  return ratiosChart(lines, effectsName(view), "below", view);
}

/** Configurations by how many times faster they are than the baseline. */
export function improvements(data: Improvement, view: View): Drawing {
  const lines = underHeadings(
    data.configurations,
    () => null,
    (one: ImprovedConfiguration): Ratio | null =>
      one.speedup === null
        ? null
        : {
            label: groupName(data.by, one.key),
            value: one.speedup,
            interval: one.interval,
            note: `n = ${one.elapsed_s.n}`,
            details: [
              `${ratio(one.speedup)}${one.interval ? ` ${within(one.interval, ratio)}` : ""}`,
              ...told(one.elapsed_s),
              ...(one.changes.length > 0 ? [`changes: ${one.changes.join("; ")}`] : []),
            ],
            verdict: one.verdict,
          },
  );
  const baseline = data.baseline ? groupName(data.by, data.baseline) : "the baseline";
  return ratiosChart(lines, speedupName(baseline, view), "above", view);
}
