// The texts of the rows of jobs.
import { usd } from "../../../format";
import type { FleetJob } from "../../../generated/types";

/** `1.7 min (0.99–2.3 min)`: the saving without what the row says anyway. */
export const savingText = ({ saving }: Pick<FleetJob, "saving">): string =>
  (saving ?? "").replace(/^saves (about )?/, "").replace(/ of [^()]*$/, "");

/** A cost to the cent, or with more digits below 10 cents: `$4.20`, `$0.0042`. */
export function costText(cost: number): string {
  if (cost <= 0 || cost >= 0.0995) return usd(cost);
  if (cost < 5e-5) return "<$0.0001";
  return `$${cost.toFixed(cost >= 0.00995 ? 3 : 4)}`;
}

/** The cost of the saved time: `about $0.42`; empty without a price. */
export function worthText({ saving_usd: saved }: Pick<FleetJob, "saving_usd">): string {
  if (saved === null) return "";
  const text = costText(saved);
  return text.startsWith("<") ? `under ${text.slice(1)}` : `about ${text}`;
}

/** Whether a text of the job contains all words of `wanted`, in any case. */
export function inFleet(job: FleetJob, wanted: string): boolean {
  const { name, application, engine, state, finding, fix, trend } = job;
  const text = [name, application, engine, state, finding, fix, trend?.text]
    .join(" ")
    .toLowerCase();
  return wanted
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

/** The points of a line through `values` in a box; equal values lie in its middle. */
export function sparkline(values: readonly number[], width: number, height: number): string {
  const low = Math.min(...values);
  const span = Math.max(...values) - low;
  const inner = height - 4;
  return values
    .map((value, at) => {
      const x = 1 + ((width - 2) * at) / Math.max(values.length - 1, 1);
      const y = 2 + inner * (span ? 1 - (value - low) / span : 0.5);
      return `${x.toFixed(1)},${y.toFixed(1)}`;
    })
    .join(" ");
}
