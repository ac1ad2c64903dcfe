// Where the time of two jobs went, one above the other on one scale.
import { type Row, rowsChart } from "../../../charts/rows";
import { axisOf, timeUnit } from "../../../charts/scale";
import type { Drawing, View } from "../../../charts/view";
import { duration, plain } from "../../../format";
import type { JobDifference } from "../../../generated/types";

/** The colors of the parts that differ most; all others share the last. */
export const ROLES = ["read", "write", "memory", "throat", "blocked", "cpu-user"] as const;
export const OTHERS = "idle";

type Part = JobDifference["parts"][number];

/** The parts with a color of their own, those that differ most first. */
export const colored = (parts: readonly Part[]) => parts.slice(0, ROLES.length);

function rowOf(label: string, parts: readonly Part[], of: (part: Part) => number): Row {
  let from = 0;
  const shown = colored(parts).map((part, place) => ({
    part: part.part,
    time: of(part),
    role: ROLES[place] ?? OTHERS,
  }));
  const rest = parts.slice(ROLES.length).reduce((sum, part) => sum + of(part), 0);
  const all = [...shown, { part: "everything else", time: rest, role: OTHERS }];
  const bars = all.map(({ time, role }) => {
    const bar = { from, to: from + time, role, outlined: role === OTHERS };
    from = bar.to;
    return bar;
  });
  return {
    label,
    bars,
    text: duration(from),
    textAt: from,
    details: all
      .filter(({ time }) => time > 0)
      .map(({ part, time }) => `${part} ${duration(time)}`),
  };
}

/** Two bars; their parts have the same colors and order. */
export function twoJobs({ parts }: JobDifference, view: View): Drawing {
  const rows = [
    rowOf("before", parts, (part) => part.before_s),
    rowOf("after", parts, (part) => part.after_s),
  ];
  const most = Math.max(...rows.map(({ textAt }) => textAt ?? 0));
  if (most <= 0) return null;
  const unit = timeUnit(most);
  const axis = axisOf([0, most / unit.seconds], view.narrow ? 4 : 8, { fromZero: true });
  const scaled = rows.map((row) => ({
    ...row,
    bars: (row.bars ?? []).map((bar) => ({
      ...bar,
      from: bar.from / unit.seconds,
      to: bar.to / unit.seconds,
    })),
    textAt: (row.textAt ?? 0) / unit.seconds,
  }));
  const scale = { ...axis, name: `elapsed time (${unit.name})`, format: plain };
  return rowsChart(scaled, scale, view, 80);
}
