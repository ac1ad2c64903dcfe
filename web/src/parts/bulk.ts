// From single trials to the comparison of the repeat groups that they stand for.

import { condition, type Scalar } from "../format";
import { PAGES } from "../generated/pages";
import type { TrialRow } from "../generated/types";

const COLUMNS = [
  "workload",
  "scale",
  "engine",
  "engine_version",
  "instance_type",
  "network",
  "hosts",
] as const;
const PREFIX = "configuration.";
const KEYS_MOST = 8;
const KEYS_SHOWN = 4;

/** The value of `key`, a column or a configuration key, null where the trial has none. */
export function fieldOf(row: TrialRow, key: string): Scalar {
  if (Object.hasOwn(row, key) && key !== "configuration") return row[key as "workload"] ?? null;
  const name = key.startsWith(PREFIX) ? key.slice(PREFIX.length) : key;
  return row.configuration[name] ?? null;
}

/**
 * The page that compares the repeat groups of `rows`, named by what differs between them; by the
 * group itself where that is too much to be a name. Undefined where they are one group.
 */
export function comparisonOf(rows: readonly TrialRow[]): string | undefined {
  const groups = new Map(rows.map((row) => [row.group, row]));
  if (groups.size < 2) return undefined;
  const each = [...groups.values()];
  const settings = new Set(each.flatMap(({ configuration }) => Object.keys(configuration)));
  const keys = [...COLUMNS, ...[...settings].sort().map((name) => PREFIX + name)];
  // Configuration values are compared as text: 2 and "2" are one value.
  const told = (row: TrialRow, key: string): Scalar => {
    const value = fieldOf(row, key);
    return value !== null && key.startsWith(PREFIX) ? String(value) : value;
  };
  const differing = keys.filter((key) => new Set(each.map((row) => told(row, key))).size > 1);
  const named = (by: readonly string[]) =>
    new Set(each.map((row) => JSON.stringify(by.map((key) => told(row, key)))));
  const enough = differing.length <= KEYS_MOST && named(differing).size === groups.size;
  const by = enough ? differing : [...differing.slice(0, KEYS_SHOWN), "group"];
  const search = new URLSearchParams();
  for (const group of groups.keys()) search.append("where", condition("group", group));
  for (const key of by) search.append("by", key);
  for (const group of named(by)) search.append("group", group);
  return `${PAGES.compare.path}?${search}`;
}
