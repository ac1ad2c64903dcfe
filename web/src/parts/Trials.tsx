// A list of trials: sorted by the server, picked by the reader.

import { Link } from "wouter";
import { exported } from "../data";
import { bytes, keyName, moment, plain, seconds } from "../format";
import { PAGES } from "../generated/pages";
import type { TrialRow } from "../generated/types";
import type { Edit } from "../state";
import { fieldOf } from "./bulk";

const COUNTS = new Set(["elapsed_s", "hosts", "input_bytes", "repetition", "warnings"]);

const isNumber = (key: string) => COUNTS.has(key) || key.endsWith("bytes");

const NAMES: Record<string, string> = {
  elapsed_s: "time",
  input_bytes: "input",
  started_at: "started",
  instance_type: "instance",
};

export const columnName = (key: string) => NAMES[key] ?? keyName(key);

/** The state of a trial; what failed says how. */
export function State({ row }: { row: TrialRow }) {
  if (row.state === "succeeded")
    return row.warm_up ? <span className="badge quiet">warm-up</span> : <>succeeded</>;
  const what = [row.failure_kind, row.failure].filter((each) => each !== null).join(": ");
  return (
    <>
      <span className={row.state === "failed" ? "badge bad" : "badge quiet"}>{row.state}</span>
      {what && <small>{what}</small>}
    </>
  );
}

function Value({ row, at }: { row: TrialRow; at: string }) {
  const value = fieldOf(row, at);
  if (at === "state") return <State row={row} />;
  if (value === null) return <span className="missing">—</span>;
  if (at === "elapsed_s") return <>{seconds(Number(value))}</>;
  if (typeof value === "number" && at.endsWith("bytes")) return <>{bytes(value)}</>;
  if (at === "started_at") return <span className="whole">{moment(String(value))}</span>;
  if (at === "id" || at === "group") return <code>{String(value)}</code>;
  return <>{typeof value === "number" ? plain(value) : String(value)}</>;
}

/** The short name of a trial: the end of its id, where ids differ. */
const short = (id: string) => (id.length > 10 ? `…${id.slice(-8)}` : id);

export interface Picks {
  picked: readonly string[];
  toggle: (ids: readonly string[], on: boolean) => void;
}

export interface Sorting {
  sort: string;
  descending: boolean;
  edit: Edit;
}

function Head({ at, sorting }: { at: string; sorting: Sorting | undefined }) {
  const sorted = sorting?.sort === at;
  const order = sorted ? (sorting.descending ? "descending" : "ascending") : undefined;
  const numeric = isNumber(at) ? "n" : undefined;
  if (!sorting || exported)
    return (
      <th scope="col" className={numeric} aria-sort={order}>
        {columnName(at)}
      </th>
    );
  const turn = () =>
    sorting.edit((next) => {
      next.delete("cursor");
      next.set("sort", at);
      next.set("desc", sorted && !sorting.descending ? "1" : "0");
    });
  return (
    <th scope="col" className={numeric} aria-sort={order}>
      <button type="button" className="sort" onClick={turn}>
        {columnName(at)}
        <span aria-hidden="true">{sorted ? (sorting.descending ? "↓" : "↑") : ""}</span>
      </button>
    </th>
  );
}

/** The rows as a table; `reasons` has why a trial is excluded, by the exclusion's id. */
export function Trials({
  caption,
  rows,
  columns,
  picks,
  sorting,
  reasons = new Map(),
}: {
  caption: string;
  rows: readonly TrialRow[];
  columns: readonly string[];
  picks?: Picks;
  sorting?: Sorting;
  reasons?: ReadonlyMap<string, string>;
}) {
  const ids = rows.map(({ id }) => id);
  const all = ids.length > 0 && ids.every((id) => picks?.picked.includes(id));
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <section className="scroll" tabIndex={0} aria-label={caption}>
      <table className="trials stacks">
        <caption className="visually-hidden">{caption}</caption>
        <thead>
          <tr>
            {picks && (
              <th scope="col" className="tick">
                <label>
                  <span className="visually-hidden">Pick all trials of this page</span>
                  <input
                    type="checkbox"
                    checked={all}
                    onChange={({ target }) => picks.toggle(ids, target.checked)}
                  />
                </label>
              </th>
            )}
            <th scope="col">trial</th>
            {columns.map((key) => (
              <Head key={key} at={key} sorting={sorting} />
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => {
            const picked = picks?.picked.includes(row.id) ?? false;
            return (
              <tr key={row.id} className={picked ? "picked" : undefined}>
                {picks && (
                  <td className="tick">
                    <label>
                      <span className="visually-hidden">Pick {row.id}</span>
                      <input
                        type="checkbox"
                        checked={picked}
                        onChange={({ target }) => picks.toggle([row.id], target.checked)}
                      />
                    </label>
                  </td>
                )}
                <th scope="row">
                  {exported ? (
                    <code>{short(row.id)}</code>
                  ) : (
                    <Link href={`${PAGES.repository.path}/${row.id}`} title={row.id}>
                      <code>{short(row.id)}</code>
                    </Link>
                  )}
                  {row.excluded !== null && (
                    <small>
                      <span className="badge bad">excluded</span> {reasons.get(row.excluded) ?? ""}
                    </small>
                  )}
                </th>
                {columns.map((key) => (
                  <td
                    key={key}
                    className={isNumber(key) ? "n" : undefined}
                    data-name={columnName(key)}
                  >
                    <Value row={row} at={key} />
                  </td>
                ))}
              </tr>
            );
          })}
        </tbody>
      </table>
    </section>
  );
}
