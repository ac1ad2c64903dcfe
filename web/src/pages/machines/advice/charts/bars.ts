// The cost of the job per type, three times: what storage, an ideal and the real network make of it.
import { type Row, rowsChart } from "../../../../charts/rows";
import { axisOf } from "../../../../charts/scale";
import type { Drawing, View } from "../../../../charts/view";
import type { NetworkCosts } from "../../../../generated/types";
import type { Plain } from "../../../../missing";
import { usd } from "../../../../units";

/** The networks, each with its color and its name for readers. */
export const NETWORKS = [
  ["unlimited", "predicted", "storage only"],
  ["baseline", "read", "ideal network"],
  ["at scale", "measured", "observed network"],
] as const;

/** Costs beyond this many times the median would press all others flat: their bars are cut. */
const CUT = 5;

const valuesOf = (bar: Plain<NetworkCosts>) =>
  NETWORKS.flatMap(([key]) => {
    const value = bar.usd[key] ?? null;
    return value === null ? [] : [value];
  });

/** Where the scale ends: at the greatest cost that is not far beyond the others. */
function greatest(values: number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const median = sorted[Math.floor(sorted.length / 2)] ?? 1;
  return Math.max(...sorted.filter((value) => value <= CUT * median));
}

function rowOf(bar: Plain<NetworkCosts>, end: number): Row {
  return {
    label: bar.instance_type,
    lanes: NETWORKS.map(([key, role]) => {
      const value = bar.usd[key] ?? null;
      if (value === null) return { to: null, role, text: "— unknown" };
      return { to: Math.min(value, end), role, text: usd(value), cut: value > end };
    }),
    details: NETWORKS.map(([key, , words]) => {
      const value = bar.usd[key] ?? null;
      return `${words} ${value === null ? "unknown" : usd(value)}`;
    }),
  };
}

export function bars(rows: readonly Plain<NetworkCosts>[], view: View): Drawing {
  const known = rows.filter((bar) => valuesOf(bar).length > 0);
  const values = known.flatMap(valuesOf);
  if (values.length === 0) return null;
  // On a narrow screen the scale leaves room for the amounts at the ends of the bars.
  const axis = axisOf([0, greatest(values)], view.narrow ? 4 : 8, { fromZero: true });
  const room = view.narrow ? 1 + 76 / (view.width - 90) : 1;
  return rowsChart(
    known.map((bar) => rowOf(bar, axis.maximum)),
    {
      minimum: 0,
      maximum: axis.maximum * room,
      ticks: axis.ticks,
      name: "cost (US$)",
      format: (value) => `$${value.toLocaleString("en-US")}`,
    },
    view,
  );
}
