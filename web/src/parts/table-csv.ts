// A table of a report as a CSV file, as its reader sees it.
import { csv, save } from "./Table";

const texts = (row: HTMLTableRowElement) =>
  [...row.cells].map((cell) => cell.textContent?.trim() ?? "");

/** Hands `table` to the reader as a file named after `label`. */
export function saveTable(table: HTMLTableElement, label: string): void {
  const [heads, ...rows] = [...table.rows].map(texts);
  const name = label
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .slice(0, 60);
  save(
    `${name}.csv`,
    csv(
      (heads ?? []).map((head) => ({ name: head })),
      rows,
    ),
  );
}
