// Values of a catalog in words.
import { count, plain } from "../../../format";
import type { Fact } from "../../../generated/types";

/** A value in full where it is whole, else to six digits. */
const figure = (value: number) => (Number.isInteger(value) ? count(value) : plain(value));

/** A value with its unit, or a dash. */
export function valueText(fact: Fact | null): string {
  if (fact === null || fact.value === null) return "—";
  if (typeof fact.value === "string") return fact.value;
  return fact.unit === "1" ? figure(fact.value) : `${figure(fact.value)} ${fact.unit}`;
}

/** `low to high`, as far as known. */
export function rangeText({ low, high }: Fact): string {
  if (low === null && high === null) return "";
  return [low, high].map((end) => (end === null ? "—" : figure(end))).join(" to ");
}
