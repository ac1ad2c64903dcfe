// Unknown values are `Missing` with a reason; charts get them as null and leave them out.
import type { Missing } from "./generated/types";

export type Known = number | null;

/** `T` with null in the place of whatever is missing. */
export type Plain<T> = T extends object
  ? keyof T extends keyof Missing
    ? null
    : { [Name in keyof T]: Plain<T[Name]> }
  : T;

export const isMissing = (value: unknown): value is Missing =>
  typeof value === "object" &&
  value !== null &&
  "reason" in value &&
  Object.keys(value).length === 1;

/** `value` with null in the place of whatever is missing. */
export function plain<T>(value: T): Plain<T> {
  if (isMissing(value)) return null as Plain<T>;
  if (Array.isArray(value)) return value.map(plain) as Plain<T>;
  if (typeof value !== "object" || value === null) return value as Plain<T>;
  const entries = Object.entries(value).map(([name, each]) => [name, plain(each)]);
  return Object.fromEntries(entries) as Plain<T>;
}
