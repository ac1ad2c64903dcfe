// Keys as people ask for them: in which order they are offered, and which one a typing error meant.
import { keyName } from "./format";
import type { KeyInfo } from "./generated/types";

/** The most used keys, in this order. */
const ASKED_FIRST = [
  "workload",
  "engine",
  "disk",
  "disks",
  "net",
  "network",
  "maps",
  "compression",
  "hosts",
  "cluster",
  "instance_type",
  "memory",
  "workers",
  "cores",
  "scale",
  "input_bytes",
];

const place = (key: string) => {
  const at = ASKED_FIRST.indexOf(keyName(key).replace(/ /g, "_"));
  return at < 0 ? ASKED_FIRST.length : at;
};

/** Whether it's one of the most used keys. */
export const isAskedFirst = ({ key, distinct }: KeyInfo) =>
  distinct > 1 && place(key) < ASKED_FIRST.length;

/** The most used keys first, the others by how many trials have a value of them. */
export const byInterest = (keys: readonly KeyInfo[]): KeyInfo[] =>
  [...keys].sort((a, b) => place(a.key) - place(b.key) || b.n - a.n || (a.key < b.key ? -1 : 1));

/** How many letters have to be added, dropped, changed or swapped with the next. */
function distance(a: string, b: string): number {
  const rows = [Array.from({ length: b.length + 1 }, (_, at) => at)];
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      const least = Math.min(
        (rows[i - 1]?.[j] ?? 0) + 1,
        (row[j - 1] ?? 0) + 1,
        (rows[i - 1]?.[j - 1] ?? 0) + (same ? 0 : 1),
      );
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      row.push(swapped ? Math.min(least, (rows[i - 2]?.[j - 2] ?? 0) + 1) : least);
    }
    rows.push(row);
  }
  return rows[a.length]?.[b.length] ?? 0;
}

/** The one of `known` that `text` was most likely to be: a third of its letters may be wrong. */
export function nearest(text: string, known: Iterable<string>): string | undefined {
  const wanted = text.toLowerCase();
  let found: string | undefined;
  let least = Math.max(1, Math.floor(wanted.length / 3)) + 1;
  for (const each of known) {
    const far = distance(wanted, each.toLowerCase());
    if (far < least) [found, least] = [each, far];
  }
  return found;
}
