// Tables that are read by eye, by screen reader and, as CSV, by programs.
import { type ReactNode, useMemo, useState } from "react";
import { Link } from "wouter";
import { count, plain, type Scalar } from "../format";
import { stacked } from "./stacked";

export interface Column {
  name: string;
  /** Numbers stand to the right. */
  number?: boolean;
}

/** A column of numbers. */
export const number = (name: string): Column => ({ name, number: true });

/** A bare value is shown as it is; `value` goes into the CSV, `show` onto the page. */
export type Cell = Scalar | { value: Scalar; show: ReactNode };

/** The name of a group: a link where a server has its trials, with the meaning of a code. */
export function NameCell({
  text,
  url,
  meaning,
}: {
  text: string;
  url: string | undefined;
  meaning: string | null | undefined;
}) {
  return (
    <>
      {url === undefined ? text : <Link href={url}>{text}</Link>}
      {meaning && <small>{meaning}</small>}
    </>
  );
}

/** A figure with the mark of a bound. */
export const bounded = (mark: string, cell: Cell): Cell => {
  const { value, show } =
    cell !== null && typeof cell === "object" ? cell : { value: cell, show: cell };
  return mark === "" || cell === null
    ? cell
    : {
        value,
        show: (
          <>
            {`${mark} `}
            {show}
          </>
        ),
      };
};

/** A text that is cut to one line on the page; the mouse shows the rest, the CSV has it. */
export const oneLine = (text: string): Cell => ({
  value: text,
  show: (
    <span className="one-line" title={text}>
      {text}
    </span>
  ),
});

const whole = (cell: Cell): cell is { value: Scalar; show: ReactNode } =>
  typeof cell === "object" && cell !== null;

function shown(cell: Cell): ReactNode {
  if (whole(cell)) return cell.show;
  if (cell === null) return <span className="missing">—</span>;
  return typeof cell === "number" ? plain(cell) : String(cell);
}

const sortsBy = (cell: Cell | undefined): Scalar =>
  cell === undefined ? null : whole(cell) ? cell.value : cell;

/** Numbers by size, texts as people order them. */
const before = (a: Scalar, b: Scalar): number =>
  typeof a === "number" && typeof b === "number"
    ? a - b
    : String(a).localeCompare(String(b), "en", { numeric: true });

interface Order {
  at: number;
  descending: boolean;
}

/** The rows in the order of one column: what is missing last either way, equal ones as they were. */
export function inOrder(
  rows: readonly (readonly Cell[])[],
  order: Order | null,
): readonly (readonly Cell[])[] {
  if (!order) return rows;
  const known = rows.filter((row) => sortsBy(row[order.at]) !== null);
  const missing = rows.filter((row) => sortsBy(row[order.at]) === null);
  known.sort((a, b) => before(sortsBy(a[order.at]), sortsBy(b[order.at])));
  return [...(order.descending ? known.reverse() : known), ...missing];
}

/** A column's head: a click sorts by the column, another click reverses the order. */
function Head({
  column: { name, number },
  at,
  order,
  put,
}: {
  column: Column;
  at: number;
  order: Order | null;
  put: (order: Order) => void;
}) {
  const sorted = order?.at === at ? order : null;
  return (
    <th
      scope="col"
      className={number ? "n" : undefined}
      aria-sort={sorted ? (sorted.descending ? "descending" : "ascending") : undefined}
    >
      <button
        type="button"
        className="sort"
        onClick={() => put({ at, descending: sorted !== null && !sorted.descending })}
      >
        {name}
      </button>
    </th>
  );
}

/** With more rows a table shows these first: thousands are slow to lay out. */
const MOST_ROWS = 300;

/**
 * A table; its first column names its rows. It scrolls by itself if it's too wide; with many
 * columns, or with `long` cells, the cells stack on a narrow screen.
 */
export function DataTable({
  columns,
  rows,
  caption,
  long = false,
}: {
  columns: readonly Column[];
  rows: readonly (readonly Cell[])[];
  caption: string;
  long?: boolean;
}) {
  const [order, setOrder] = useState<Order | null>(null);
  const ordered = useMemo(() => inOrder(rows, order), [rows, order]);
  const [all, setAll] = useState(false);
  const shownRows = all ? rows.length : MOST_ROWS;
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <section className="scroll" tabIndex={0} aria-label={caption}>
        <table className={stacked(long ? Number.POSITIVE_INFINITY : columns.length)}>
          <caption className="visually-hidden">{caption}</caption>
          <thead>
            <tr>
              {columns.map((column, at) => (
                <Head key={column.name} column={column} at={at} order={order} put={setOrder} />
              ))}
            </tr>
          </thead>
          <tbody>
            {ordered.slice(0, shownRows).map((row, place) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: rows have no other name
              <tr key={place}>
                {row.map((cell, at) => {
                  const { name, number } = columns[at] ?? { name: String(at) };
                  return at === 0 ? (
                    <th key={name} scope="row" className={number ? "n" : undefined}>
                      {shown(cell)}
                    </th>
                  ) : (
                    <td key={name} className={number ? "n" : undefined} data-name={name}>
                      {shown(cell)}
                    </td>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      {rows.length > shownRows && (
        <p className="aside">
          The first {count(shownRows)} of {count(rows.length)} rows.{" "}
          <button type="button" className="quiet" onClick={() => setAll(true)}>
            Show all
          </button>
        </p>
      )}
    </>
  );
}

/** A field of a CSV file; a spreadsheet must not take a text for a formula. */
function field(cell: Cell): string {
  const value = whole(cell) ? cell.value : cell;
  if (value === null) return "";
  const text = String(value);
  const safe = typeof value === "string" && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** The table as CSV (RFC 4180), null as an empty field. */
export const csv = (columns: readonly Column[], rows: readonly (readonly Cell[])[]) =>
  [columns.map(({ name }) => name), ...rows]
    .map((row) => `${row.map((cell) => field(cell)).join(",")}\r\n`)
    .join("");

/** Hands `text` to the reader as a file. */
export function save(name: string, text: string, type = "text/csv;charset=utf-8"): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}
