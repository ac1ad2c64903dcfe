// The batches of a streaming query over time: what each did, rates, state, the watermark.
import type { Track } from "../../../../charts/timeline";
import type { JobData } from "../../../../generated/types";
import { REST } from "./job";

export type Batches = JobData["batches"][number];

/** The color of each part of the driver's work for a batch. */
const ROLES: Readonly<Record<string, string>> = {
  "its jobs": "read",
  planning: "blocked",
  "asking the sources": "memory",
  "writing down what was done": "write",
};

/** The lanes of the batches, in a trial in which the application began at `beganS`. */
export function batchLanes(batches: Batches, beganS: number): Track[] {
  const times = batches.t_s.map((at) => beganS + at);
  const slowest = times[batches.took_s.indexOf(Math.max(...batches.took_s))];
  const lane = (
    title: string,
    unit: Track["unit"],
    lines: readonly (readonly [name: string, role: string, values: readonly (number | null)[]])[],
  ): Track => ({
    title,
    unit,
    stacked: false,
    t_s: times,
    lines: lines
      .filter(([, , values]) => values.some((value) => value !== null))
      .map(([name, role, values]) => ({ name, role, values: [...values] })),
  });
  const parts = batches.parts.map(
    ({ what, time_s }) => [what, ROLES[what] ?? REST, [...time_s, time_s.at(-1) ?? null]] as const,
  );
  return [
    {
      ...lane("Batch duration", "s", parts),
      t_s: [...times, (times.at(-1) ?? 0) + (batches.took_s.at(-1) ?? 0)],
      steps: true,
      stacked: true,
      marks: slowest === undefined ? [] : [slowest],
    },
    lane("Rates", "rows/s", [
      ["input", "memory", batches.input_rows_per_s],
      ["processed", "write", batches.rows_per_s],
    ]),
    lane("State rows", "rows", [["state rows", "read", batches.state_rows]]),
    lane("State memory", "B", [["state", "memory", batches.state_bytes]]),
    lane("Watermark delay", "s", [["watermark", "blocked", batches.late_s]]),
  ].filter(({ lines }) => lines.length > 0);
}
