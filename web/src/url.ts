// URLs: the state of a page is its query.
import type { Behind } from "./charts/view";
import { PAGES } from "./generated/pages";

/** Parameters that only say how a page shows its data: the answer does not depend on them. */
const DISPLAY = new Set(["columns", "host", "log", "pick", "show", "tab"]);

/** One spelling of a URL: without display parameters, the rest sorted by name. */
export function canonical(path: string, search = new URLSearchParams()): string {
  const rest = new URLSearchParams([...search].filter(([name]) => !DISPLAY.has(name)));
  rest.sort();
  return rest.size ? `${path}?${rest}` : path;
}

/** The parameters that select trials: carried from one page to the next. */
export function selectionOf(search: URLSearchParams): URLSearchParams {
  const selection = new URLSearchParams();
  for (const where of search.getAll("where")) selection.append("where", where);
  if (search.get("excluded")) selection.set("excluded", "1");
  return selection;
}

/** The key that a condition is on. */
export const keyOf = (text: string) => /^[^=<>]+/.exec(text)?.[0] ?? text;

/**
 * The list of the trials that `search` selects and that have these values of keys as well; several
 * values of one key are alternatives.
 */
export function trialsAt(search: URLSearchParams, values: Behind = []): string {
  const there = new Set(values.map(([key]) => key));
  const selection = selectionOf(search);
  const others = selection.getAll("where").filter((text) => !there.has(keyOf(text)));
  selection.delete("where");
  for (const text of others) selection.append("where", text);
  for (const [key, value, relation = "="] of values) {
    selection.append("where", `${key}${relation}${value ?? ""}`);
  }
  return href(PAGES.repository.path, selection);
}

/** `path` with `search`, without a question mark where there is nothing to ask. */
export const href = (path: string, search: URLSearchParams) =>
  search.size ? `${path}?${search}` : path;

/** Whether `text` is a group by the keys that are grouped by: a JSON list with a value of each. */
export function isGroup(text: string, by: readonly string[]): boolean {
  try {
    const values: unknown = JSON.parse(text);
    return Array.isArray(values) && values.length === by.length;
  } catch {
    return false;
  }
}
