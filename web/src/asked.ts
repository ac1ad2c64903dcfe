// The question of a page in words.
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
