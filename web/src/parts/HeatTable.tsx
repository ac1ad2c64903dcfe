// A matrix as a heat map: a table, so that every value can be read, reached by keyboard and heard.
import type { CSSProperties } from "react";

/** The most that `--heat` is, in percent of the color: text stays legible on it, light or dark. */
const MOST_PERCENT = 42;
const LEAST_PERCENT = 4;

/** How strongly a value is colored, from the least of the matrix to the greatest; null: not at all. */
export function heat(value: number | null, least: number, greatest: number): number | null {
  if (value === null) return null;
  const share = greatest > least ? (value - least) / (greatest - least) : 1;
  return Math.round(LEAST_PERCENT + share * (MOST_PERCENT - LEAST_PERCENT));
}

export interface HeatCell {
  value: number;
  text: string;
  /** More text, for the pointer. */
  title?: string;
}

/** Rows and columns have the same `names`; `mark` distinguishes those in `marked`. */
export function HeatTable({
  caption,
  corner,
  names,
  cells,
  marked,
  mark,
}: {
  caption: string;
  corner: string;
  names: readonly string[];
  cells: readonly (readonly (HeatCell | null)[])[];
  marked: readonly string[];
  mark: string;
}) {
  const values = cells.flat().flatMap((cell) => (cell ? [cell.value] : []));
  const [least, greatest] = [Math.min(...values), Math.max(...values)];
  const head = (name: string) =>
    marked.includes(name) ? (
      <>
        {name} <span className="marked">{mark}</span>
      </>
    ) : (
      name
    );
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <section className="scroll" tabIndex={0} aria-label={caption}>
      <table className="heat">
        <caption className="visually-hidden">{caption}</caption>
        <thead>
          <tr>
            <th scope="col">{corner}</th>
            {names.map((name) => (
              <th key={name} scope="col" className="n">
                {head(name)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {cells.map((row, from) => (
            <tr key={names[from]}>
              <th scope="row">{head(names[from] ?? "")}</th>
              {row.map((cell, to) => (
                <td
                  key={names[to]}
                  className="n"
                  title={cell?.title}
                  style={
                    cell
                      ? ({ "--heat": `${heat(cell.value, least, greatest)}%` } as CSSProperties)
                      : undefined
                  }
                >
                  {cell ? cell.text : <span className="missing">—</span>}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
