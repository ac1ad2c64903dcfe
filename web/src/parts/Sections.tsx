// The building blocks of reports: quantities that may be missing, facts, legends, and tables that
// may be the twin of a chart.
import "./sections.css";
import { type ReactNode, useRef } from "react";
import type { Missing, ReportFact } from "../generated/types";
import { onPage } from "../here";
import { isMissing } from "../missing";
import { stacked } from "./stacked";
import { saveTable } from "./table-csv";

/** `value` as text by `as`, or a dash and the reason if missing. */
export function Tell<T>({ value, as = String }: { value: T | Missing; as?: (value: T) => string }) {
  if (!isMissing(value)) return as(value);
  return (
    <span className="missing">
      — <span className="reason">{value.reason}</span>
    </span>
  );
}

export const words = (value: string | Missing) => <Tell value={value} />;

/** A time in UTC, to the second; midnight as the day only. */
export const utc = (moment: string) =>
  `${new Date(moment).toISOString().slice(0, 19).replace("T", " ")} UTC`.replace(/ 00:00:00.*/, "");

export function Moment({ at }: { at: string }) {
  return <time dateTime={at}>{utc(at)}</time>;
}

export interface Column<Row> {
  head: string;
  cell(row: Row, place: number): ReactNode;
  /** `n` numbers stand right; the others are classes of the style sheet. */
  kind?: "n" | "date" | "source" | "formula";
  /** The cell names its row. */
  names?: boolean;
}

interface GridOf<Row> {
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  /** A second line across the whole row. */
  under?: (row: Row) => ReactNode;
  total?: (row: Row, place: number) => boolean;
}

/** A table: one head a column, one cell naming each row. */
export function Grid<Row>({ columns, rows, under, total }: GridOf<Row>) {
  const cellOf = (column: Column<Row>, row: Row, place: number) =>
    column.names ? (
      <th scope="row" className={column.kind} key={column.head}>
        {column.cell(row, place)}
      </th>
    ) : (
      <td className={column.kind} key={column.head} data-name={column.head}>
        {column.cell(row, place)}
      </td>
    );
  return (
    <table className={stacked(columns.length)}>
      <thead>
        <tr>
          {columns.map(({ head, kind }) => (
            <th scope="col" className={kind === "n" ? "n" : undefined} key={head}>
              {head}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.flatMap((row, place) => {
          const more = under?.(row);
          const kind = total?.(row, place) ? "total" : more ? "priced" : undefined;
          const first = (
            // Rows of a report never move: their place is their name.
            // biome-ignore lint/suspicious/noArrayIndexKey: see above
            <tr className={kind} key={place}>
              {columns.map((column) => cellOf(column, row, place))}
            </tr>
          );
          if (!more) return [first];
          return [
            first,
            // biome-ignore lint/suspicious/noArrayIndexKey: see above
            <tr key={`${place} more`}>
              <td className="source" colSpan={columns.length}>
                {more}
              </td>
            </tr>,
          ];
        })}
      </tbody>
    </table>
  );
}

/** A table in a frame that scrolls by itself. */
export function Scroll({ label, children }: { label: string; children: ReactNode }) {
  return (
    // biome-ignore lint/a11y: what scrolls must be reachable by the keyboard
    <div className="scroll" role="region" aria-label={label} tabIndex={0}>
      {children}
    </div>
  );
}

interface TwinOf {
  label: string;
  open?: boolean;
  children: ReactNode;
}

/** The table that says what a picture shows; it can be saved. */
export function Twin({ label, open = false, children }: TwinOf) {
  const place = useRef<HTMLDetailsElement>(null);
  return (
    <details className="twin" open={open} ref={place}>
      <summary>Table: {label}</summary>
      <Scroll label={label}>{children}</Scroll>
      <button
        type="button"
        className="quiet"
        onClick={() => {
          const table = place.current?.querySelector("table");
          if (table) saveTable(table, label);
        }}
      >
        Download as CSV<span className="visually-hidden">: {label}</span>
      </button>
    </details>
  );
}

export function Facts({ facts }: { facts: readonly ReportFact[] }) {
  return (
    <dl className="facts">
      {facts.map(({ label, value }) => (
        <div key={label}>
          <dt>{label}</dt>
          <dd>{words(value)}</dd>
        </div>
      ))}
    </dl>
  );
}

export function Lines({ texts }: { texts: readonly string[] }) {
  if (texts.length === 0) return null;
  return (
    <ul className="notices">
      {texts.map((text) => (
        <li key={text}>{onPage(text)}</li>
      ))}
    </ul>
  );
}

/** Colors and their names. */
export function Legend({ entries }: { entries: readonly (readonly [string, string])[] }) {
  return (
    <ul className="legend">
      {entries.map(([role, name]) => (
        <li key={role}>
          <span className={`swatch ${role}`} aria-hidden="true" />
          {name}
        </li>
      ))}
    </ul>
  );
}

export function Commands({ commands }: { commands: readonly string[] }) {
  return (
    // biome-ignore lint/a11y: what scrolls must be reachable by the keyboard
    <pre tabIndex={0} role="region" aria-label="Commands">
      <code>{commands.map((command) => `${command}\n`).join("")}</code>
    </pre>
  );
}

interface SectionOf {
  id: string;
  title: string;
  hidden?: boolean;
  children: ReactNode;
}

/** A part of a report that its list of sections names. */
export function Section({ id, title, hidden = false, children }: SectionOf) {
  return (
    <section id={id} aria-labelledby={`${id}-title`} className="part">
      <h2 id={`${id}-title`} className={hidden ? "visually-hidden" : undefined}>
        {title}
      </h2>
      {children}
    </section>
  );
}

/** Opens the element with this id, and every folded section around it. */
export function reveal(id: string): void {
  for (let at = document.getElementById(id); at; at = at.parentElement) {
    if (at instanceof HTMLDetailsElement) at.open = true;
  }
}

/** A link to a section of the same page, which it unfolds. */
export function SectionLink({ to, children }: { to: string; children: ReactNode }) {
  return (
    <a href={`#${to}`} onClick={() => reveal(to)}>
      {children}
    </a>
  );
}

/** The id and the name of each section. */
export type SectionList = readonly (readonly [id: string, name: string])[];

/** Links to the sections of a page; a short page needs none. */
export function Sections({ of, above = 1 }: { of: SectionList; above?: number }) {
  if (of.length <= above) return null;
  return (
    <nav aria-label="On this page" className="sections">
      <p aria-hidden="true">On this page</p>
      <ul>
        {of.map(([id, name]) => (
          <li key={id}>
            <SectionLink to={id}>{name}</SectionLink>
          </li>
        ))}
      </ul>
    </nav>
  );
}

interface FoldedOf {
  id: string;
  title: string;
  open?: boolean;
  children: ReactNode;
}

/** A part of a long page that is folded; its heading unfolds it. */
export function Folded({ id, title, open = false, children }: FoldedOf) {
  return (
    <details className="folded" id={id} open={open}>
      <summary>
        <h3>{title}</h3>
      </summary>
      {children}
    </details>
  );
}

export const Nothing = ({ children }: { children: ReactNode }) => (
  <p className="nothing">{children}</p>
);
