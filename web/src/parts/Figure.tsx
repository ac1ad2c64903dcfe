// A chart with its table twin and its download.
import type { ReactNode } from "react";
import { Chart, type Chosen, type Drawing, type View } from "./Chart";
import { type Cell, type Column, csv, DataTable, save } from "./Table";

/** A color's role (a class of `.swatch`) and its meaning. */
export type Legend = readonly (readonly [role: string, name: string])[];

/** The part of a chart that a legend explains, where colors mean different things in each part. */
export type PartLegend = readonly [part: string, legend: Legend];

function Colors({ legend, of }: { legend: Legend; of?: string }) {
  return (
    <ul className="legend" aria-label={of}>
      {of && (
        <li className="of" aria-hidden="true">
          {of}
        </li>
      )}
      {legend.map(([role, name]) => (
        <li key={role + name}>
          <span className={`swatch ${role}`} aria-hidden="true" />
          {name}
        </li>
      ))}
    </ul>
  );
}

export function Figure({
  id,
  title,
  caption,
  draw,
  nothing,
  table,
  file,
  legend,
  legends,
  onSelect,
  open = false,
  children,
}: {
  /** The target of a link in the page's list of sections. */
  id?: string;
  title: string;
  caption?: ReactNode;
  draw: (view: View) => Drawing;
  /** The text where there is nothing to draw. */
  nothing?: string | undefined;
  table: { columns: readonly Column[]; rows: readonly (readonly Cell[])[] };
  /** The name of the downloaded file, without its ending. */
  file: string;
  legend?: Legend;
  legends?: readonly PartLegend[];
  onSelect?: (chosen: Chosen) => void;
  /** Whether the table is open from the beginning. */
  open?: boolean;
  /** Controls of the chart, above it. */
  children?: ReactNode;
}) {
  return (
    <figure id={id}>
      <figcaption>
        <h3>{title}</h3>
        {caption && <p>{caption}</p>}
      </figcaption>
      {children}
      {legend && <Colors legend={legend} />}
      {legends?.map(([part, each]) => (
        <Colors key={part} of={part} legend={each} />
      ))}
      <Chart label={title} draw={draw} nothing={nothing} onSelect={onSelect} />
      <details className="twin" open={open}>
        <summary>Table: {title}</summary>
        <DataTable columns={table.columns} rows={table.rows} caption={title} />
        <button
          type="button"
          className="quiet"
          onClick={() => save(`${file}.csv`, csv(table.columns, table.rows))}
        >
          Download as CSV
        </button>
      </details>
    </figure>
  );
}
