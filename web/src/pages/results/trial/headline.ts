// The headline of a job, and the largest parts of the job's time.
import { capital, count } from "../../../format";
import type { Phase } from "../../../generated/record";
import type { JobData, JobPart } from "../../../generated/types";

/** The answer in one line: how it failed, or the answer of the diagnosis. */
export function headlineOf({ failure, sentence, silence }: JobData): string {
  if (failure) return `The application ${failure.split(":", 1)[0]}`;
  return (sentence ?? capital(silence ?? "no findings")).replace(/\.$/, "");
}

/** The phase that took the longest: of a job its stage, with the call that caused it. */
export function longestPhase(phases: readonly Phase[]): Phase | undefined {
  return [...phases].sort((a, b) => b.elapsed_s - a.elapsed_s)[0];
}

const BARS = 5;

export const bySize = (parts: readonly JobPart[]) => [...parts].sort((a, b) => b.time_s - a.time_s);

export const total = (parts: readonly JobPart[], of: (part: JobPart) => number) =>
  parts.reduce((sum, part) => sum + of(part), 0);

/** The largest parts of the application's time, and one for all others. */
export function barsOf(parts: readonly JobPart[]): JobPart[] {
  const known = bySize(parts).filter(({ share }) => share > 0);
  if (known.length <= BARS + 1) return known;
  const rest = known.slice(BARS);
  const other = {
    part: "other",
    words: `other (${count(rest.length)} parts)`,
    time_s: total(rest, (part) => part.time_s),
    share: total(rest, (part) => part.share),
  };
  return [...known.slice(0, BARS), other];
}
