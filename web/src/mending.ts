// Ways out of a question that was refused: the mistyped part corrected, or left out.
import { keyName } from "./format";
import type { Problem } from "./generated/types";
import { keyOf } from "./url";

export interface Way {
  text: string;
  search: URLSearchParams;
}

/** The suggestions of the hint. */
function meant(hint: string): string[] {
  const [, list] = /did you mean (.+?)\?/.exec(hint) ?? [];
  return list ? list.split(/, | or /).map((each) => each.trim()) : [];
}

/** `search` with each parameter's value as `change` gives it; undefined leaves it out. */
function changed(
  search: URLSearchParams,
  change: (name: string, value: string) => string | undefined,
): URLSearchParams {
  const next = new URLSearchParams();
  for (const [name, value] of search) {
    const made = change(name, value);
    if (made !== undefined) next.append(name, made);
  }
  return next;
}

/** Whether `field` names a parameter: itself, a key that it holds, or a condition on it. */
const isOf = (field: string, name: string, value: string) =>
  name === field || value === field || (name === "where" && keyOf(value) === field);

/** The questions that were perhaps meant, then the one without what was refused. */
export function waysOut(search: URLSearchParams, { where, hint }: Problem): Way[] {
  const { field } = where;
  if (typeof field !== "string") return [];
  if (![...search].some(([name, value]) => isOf(field, name, value))) return [];
  const known = meant(hint).map((candidate) => ({
    text: candidate,
    search: changed(search, (name, value) => {
      if (!isOf(field, name, value)) return value;
      if (name !== "where") return candidate;
      // Either the key of a condition was wrong, which the hint then names, or its value.
      const isKey = hint.includes("venturi keys");
      const rest = value.slice(keyOf(value).length);
      return isKey ? candidate + rest : `${field}=${candidate}`;
    }),
  }));
  const without = changed(search, (name, value) => (isOf(field, name, value) ? undefined : value));
  return [...known, { text: `continue without ${keyName(field)}`, search: without }];
}
