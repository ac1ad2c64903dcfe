// The question of a page in words, and as the command that answers it in a terminal.
import { keyName } from "./format";

const joined = (texts: readonly string[]) =>
  texts.length < 2 ? texts.join("") : `${texts.slice(0, -1).join(", ")} and ${texts.at(-1)}`;

/** `by net and disk, where workload=terasort`; nothing of nothing. */
export function askedInWords(search: URLSearchParams): string {
  const settings = search.getAll("key");
  const by = search.getAll("by");
  const x = search.get("x");
  const where = search.getAll("where");
  // Trials picked by hand have names that mean nothing to a reader.
  const picked = where.filter((text) => /^(group|id)=/.test(text)).length;
  const conditions = where.filter((text) => !/^(group|id)=/.test(text));
  return [
    settings.length > 0 ? `of ${joined(settings.map(keyName))}` : "",
    x ? `with ${keyName(x)}` : "",
    by.length > 0 ? `by ${joined(by.map(keyName))}` : "",
    picked > 0 ? `of ${picked} picked` : "",
    conditions.length > 0 ? `where ${joined(conditions)}` : "",
  ]
    .filter(Boolean)
    .join(", ");
}

/** A word of a command as a shell takes it. */
export const quoted = (text: string) =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

/** The names of a page's parameters in a terminal: each value of PARAM is given with OPTION. */
export type Options = Readonly<Record<string, string>>;

/** The command of the question `search`: `venturi rank --by net --where workload=terasort`. */
export function commandOf(
  verb: string,
  search: URLSearchParams,
  options: Options,
  first: readonly string[] = [],
): string {
  const words = Object.entries({ ...options, where: "--where" }).flatMap(([param, option]) =>
    search.getAll(param).flatMap((value) => [option, quoted(value)]),
  );
  return ["venturi", verb, ...first.map(quoted), ...words].join(" ");
}
