// URLs: the state of a page is its query.

/** Parameters that only say how a page shows its data: the answer does not depend on them. */
const DISPLAY = new Set(["columns", "host", "log", "pick", "show", "tab"]);

/** One spelling of a URL: without display parameters, the rest sorted by name. */
export function canonical(path: string, search = new URLSearchParams()): string {
  const rest = new URLSearchParams([...search].filter(([name]) => !DISPLAY.has(name)));
  rest.sort();
  return rest.size ? `${path}?${rest}` : path;
}

/** What chooses trials: carried from one page to the next. */
export function selectionOf(search: URLSearchParams): URLSearchParams {
  const selection = new URLSearchParams();
  for (const where of search.getAll("where")) selection.append("where", where);
  if (search.get("excluded")) selection.set("excluded", "1");
  return selection;
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
