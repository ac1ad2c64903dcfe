// The headline of a job, the saving of a finding, and the largest parts of the job's time.
import { capital, count, duration, percent } from "../../../format";
import type { Finding, JobData, JobPart } from "../../../generated/types";

/** The most that its fix can save: time, or other resources. */
export const savingOf = ({ saves_s: saves, share, spares }: Finding): string => {
  const savings = [
    saves > 0 && `${duration(saves)} (${percent(share)})`,
    spares !== null && `${spares.what} (${percent(spares.share)})`,
  ];
  return `up to ${savings.filter(Boolean).join(" and ")} can be saved`;
};

/** The answer in one line: how it failed, the biggest finding, or no finding. */
export function headlineOf({ failure, findings: [first], silence }: JobData): string {
  if (failure) return `The application ${failure.split(":", 1)[0]}`;
  if (first) return `Biggest finding: ${first.title}, ${savingOf(first)}`;
  return capital(silence ?? "no findings");
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
