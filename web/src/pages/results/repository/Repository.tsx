// All trials: filtered by facets and conditions, listed by the chosen columns, downloaded.

import { useMemo } from "react";
import { Link } from "wouter";
import { commandOf } from "../../../commands";
import { exported, useTwin } from "../../../data";
import { count, trials } from "../../../format";
import { PAGES } from "../../../generated/pages";
import type { KeyInfo, TrialPage } from "../../../generated/types";
import { Asked } from "../../../parts/Asked";
import { comparisonOf } from "../../../parts/bulk";
import { Exclude } from "../../../parts/Exclude";
import { Filters } from "../../../parts/Filters";
import { Page, Pending, ProblemBox } from "../../../parts/Page";
import { Refusal } from "../../../parts/server/Refusal";
import { columnName, Trials } from "../../../parts/Trials";
import { type Edit, useSearch } from "../../../state";
import { selectionOf } from "../../../url";

const ALWAYS = ["workload", "state", "elapsed_s"];
const USUAL = [
  "workload",
  "elapsed_s",
  "state",
  "hosts",
  "instance_type",
  "network",
  "scale",
  "engine",
];
const SETTINGS_SHOWN = 4;
const PICKS_MOST = 20;
const FORMATS = [
  ["ndjson", "NDJSON"],
  ["records", "Whole records"],
  ["csv", "CSV"],
  ["parquet", "Parquet"],
] as const;

/** Columns in which trials differ: default ones that vary, then settings that most trials have. */
function usualColumns(keys: readonly KeyInfo[]): string[] {
  const varies = new Map(keys.map(({ key, distinct }) => [key, distinct > 1]));
  const settings = keys
    .filter(({ kind, distinct }) => kind === "configuration" && distinct > 1)
    .sort((a, b) => b.n - a.n)
    .slice(0, SETTINGS_SHOWN)
    .map(({ key }) => key);
  return [...USUAL.filter((key) => ALWAYS.includes(key) || varies.get(key)), ...settings];
}

function ColumnChoice({
  keys,
  columns,
  edit,
}: {
  keys: readonly KeyInfo[];
  columns: readonly string[];
  edit: Edit;
}) {
  const put = (next: readonly string[]) =>
    edit(
      (search) => {
        search.delete("columns");
        for (const key of next) search.append("columns", key);
      },
      { replace: true },
    );
  return (
    <details className="more">
      <summary>Columns</summary>
      <ul className="columns">
        {keys
          .filter(({ key }) => key !== "id")
          .map(({ key }) => (
            <li key={key}>
              <label className="check">
                <input
                  type="checkbox"
                  checked={columns.includes(key)}
                  onChange={({ target }) =>
                    put(target.checked ? [...columns, key] : columns.filter((each) => each !== key))
                  }
                />
                {columnName(key)}
              </label>
            </li>
          ))}
      </ul>
      <button type="button" className="quiet" onClick={() => put([])}>
        Default columns
      </button>
    </details>
  );
}

/** The actions for the selected trials. */
function Picked({ picked, edit }: { picked: readonly string[]; edit: Edit }) {
  const ask = new URLSearchParams({ excluded: "1", limit: String(PICKS_MOST) });
  for (const id of picked) ask.append("where", `id=${id}`);
  const { data, problem } = useTwin("/api/trials", ask);
  const rows = data?.rows.filter(({ id }) => picked.includes(id)) ?? [];
  const comparison = comparisonOf(rows);
  return (
    <section className="more" aria-label="Picked trials">
      <div className="actions">
        <strong>{trials(picked.length)} picked</strong>
        {comparison ? (
          <Link className="button main" href={comparison}>
            Compare their repeat groups
          </Link>
        ) : (
          <span className="aside">
            {picked.length < 2
              ? "Pick trials of two or more repeat groups to compare them."
              : "They belong to one repeat group, so there is nothing to compare."}
          </span>
        )}
        <button
          type="button"
          className="quiet"
          onClick={() => edit((next) => next.delete("pick"), { replace: true })}
        >
          Clear the selection
        </button>
      </div>
      {problem && <ProblemBox problem={problem} />}
      <Exclude
        label="Exclude the picked trials"
        conditions={picked.map((id) => `id=${id}`)}
        n={picked.length}
      />
    </section>
  );
}

function Downloads({ search, columns }: { search: URLSearchParams; columns: readonly string[] }) {
  const address = (format: string) => {
    const ask = selectionOf(search);
    ask.set("format", format);
    if (search.has("columns")) for (const key of columns) ask.append("columns", key);
    return `/api/download?${ask}`;
  };
  return (
    <details className="more">
      <summary>Download these trials</summary>
      <p className="aside">
        {search.has("columns")
          ? "The chosen columns of all trials that match the conditions."
          : "All columns of all trials that match the conditions."}
      </p>
      <ul className="actions">
        {FORMATS.map(([format, name]) => (
          <li key={format}>
            <a className="button" href={address(format)} download>
              {name}
            </a>
          </li>
        ))}
      </ul>
    </details>
  );
}

function Paging({ page, edit, search }: { page: TrialPage; edit: Edit; search: URLSearchParams }) {
  if (exported)
    return page.next_cursor === null ? null : (
      <p className="aside">
        This file has the first {count(page.rows.length)} trials; a server shows the others.
      </p>
    );
  const turn = (cursor: string | null) => {
    edit((next) => {
      if (cursor === null) next.delete("cursor");
      else next.set("cursor", cursor);
    });
    window.scrollTo(0, 0);
  };
  return (
    <div className="paging">
      {search.has("cursor") && (
        <button type="button" onClick={() => turn(null)}>
          First page
        </button>
      )}
      {page.next_cursor !== null && (
        <button type="button" onClick={() => turn(page.next_cursor)}>
          Next {count(Number(search.get("limit") ?? 50))}
        </button>
      )}
    </div>
  );
}

function Summary({ page, search }: { page: TrialPage; search: URLSearchParams }) {
  const also = new URLSearchParams(search);
  also.set("excluded", "1");
  also.delete("cursor");
  return (
    <p role="status">
      <strong>{trials(page.total)}</strong>
      {page.excluded > 0 && !search.has("excluded") && (
        <>
          , plus {count(page.excluded)} <Link href={PAGES.exclusions.path}>excluded</Link> (
          <Link href={`${PAGES.repository.path}?${also}`}>show them</Link>)
        </>
      )}
    </p>
  );
}

/** Why the list is empty, with a button to remove each condition. */
function Nothing({ where, edit }: { where: readonly string[]; edit: Edit }) {
  if (where.length === 0) return <p className="nothing">No trial has been recorded yet.</p>;
  const without = (text: string) =>
    edit((next) => {
      next.delete("where");
      next.delete("cursor");
      for (const each of where) if (each !== text) next.append("where", each);
    });
  return (
    <div className="nothing">
      <p>No trial matches {where.length > 1 ? "all these conditions" : "this condition"}.</p>
      {!exported && (
        <ul className="actions">
          {where.map((text) => (
            <li key={text}>
              <button type="button" onClick={() => without(text)}>
                Continue without {text}
              </button>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

export default function Repository() {
  const [search, edit] = useSearch();
  const { data: keys } = useTwin("/api/keys");
  const { data: page, problem, pending, stale } = useTwin("/api/trials", search);
  const { data: rules } = useTwin(!exported && search.has("excluded") ? "/api/exclusions" : null);
  const usual = useMemo(() => usualColumns(keys?.keys ?? []), [keys]);
  const columns = search.has("columns") ? search.getAll("columns") : usual;
  const picked = search.getAll("pick");
  const toggle = (ids: readonly string[], on: boolean) =>
    edit(
      (next) => {
        const others = picked.filter((id) => !ids.includes(id));
        next.delete("pick");
        for (const id of on ? [...others, ...ids].slice(-PICKS_MOST) : others)
          next.append("pick", id);
      },
      { replace: true },
    );
  const reasons = new Map(rules?.exclusions.map(({ id, reason }) => [id, reason]));
  const where = search.getAll("where");
  return (
    <Page title={PAGES.repository.title} intro="All recorded trials, including failed ones.">
      <div className="with-aside">
        <Filters open={window.matchMedia("(min-width: 1000px)").matches} />
        <div>
          {problem && <Refusal problem={problem} />}
          {(pending || !keys) && !problem && <Pending what="trials" lines={30} />}
          {page && keys && (
            <>
              <Summary page={page} search={search} />
              {!exported && (
                <div className="tools">
                  <ColumnChoice keys={keys.keys} columns={columns} edit={edit} />
                  {page.total > 0 && <Downloads search={search} columns={columns} />}
                  <Exclude label="Exclude this selection" conditions={where} n={page.total} />
                </div>
              )}
              <Asked command={commandOf(PAGES.repository.path, search)} />
              {picked.length > 0 && !exported && <Picked picked={picked} edit={edit} />}
              {page.rows.length === 0 ? (
                <Nothing where={where} edit={edit} />
              ) : (
                <div className={stale ? "panel stale" : "panel"} aria-busy={stale}>
                  <Trials
                    caption="Trials"
                    rows={page.rows}
                    columns={columns}
                    reasons={reasons}
                    {...(exported ? {} : { picks: { picked, toggle } })}
                    sorting={{
                      sort: search.get("sort") ?? "started_at",
                      descending: search.get("desc") !== "0",
                      edit,
                    }}
                  />
                </div>
              )}
              <Paging page={page} edit={edit} search={search} />
            </>
          )}
        </div>
      </div>
    </Page>
  );
}
