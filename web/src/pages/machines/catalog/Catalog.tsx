// Machine catalogs: their types, the facts of a type with their sources, and changes.

import { useEffect, useMemo, useState } from "react";
import { Link } from "wouter";
import { exported, useTwin } from "../../../data";
import { bytes, plain } from "../../../format";
import { PAGES } from "../../../generated/pages";
import type {
  CatalogDifference,
  CatalogPage,
  Change,
  Fact,
  TypeRow,
} from "../../../generated/types";
import { Chart, type View } from "../../../parts/Chart";
import { Pending, ProblemBox } from "../../../parts/Page";
import {
  type Column,
  Commands,
  Grid,
  Lines,
  Moment,
  Nothing,
  Scroll,
  Section,
  Sections,
  Tell,
  Twin,
} from "../../../parts/Sections";
import { useSearch } from "../../../state";
import { BRINGS, type Brings, changes, typesByPrice } from "./charts";
import { rangeText, valueText } from "./facts";

const price = (value: number) => `$${plain(value)}`;
const rate = (value: number) => `${bytes(value)}/s`;

/** A link to the facts of a type; in a file, its name. */
function TypeLink({ name }: { name: string }) {
  const [search] = useSearch();
  if (exported) return name;
  const to = new URLSearchParams({ catalog: search.get("catalog") ?? "", type: name });
  return <Link href={`${PAGES.catalog.path}?${to}`}>{name}</Link>;
}

const TYPE_COLUMNS: readonly Column<TypeRow>[] = [
  { head: "Type", names: true, cell: (row) => <TypeLink name={row.instance_type} /> },
  { head: "vCPUs", kind: "n", cell: (row) => <Tell value={row.vcpus} as={plain} /> },
  { head: "Memory", kind: "n", cell: (row) => <Tell value={row.memory_bytes} as={bytes} /> },
  { head: "Local disks", kind: "n", cell: (row) => <Tell value={row.local_bytes} as={bytes} /> },
  { head: "Storage", kind: "n", cell: (row) => <Tell value={row.storage_bytes_per_s} as={rate} /> },
  { head: "Network", kind: "n", cell: (row) => <Tell value={row.network_bytes_per_s} as={rate} /> },
  {
    head: "Price per hour",
    kind: "n",
    cell: (row) => <Tell value={row.price_usd_per_hour} as={price} />,
  },
  {
    head: "As of",
    kind: "date",
    cell: (row) => (
      <>
        <Tell value={row.price_as_of} />
        {row.price_is_stale && " (over a year)"}
      </>
    ),
  },
];

function Types({ page: { types, chosen } }: { page: CatalogPage }) {
  const [brings, choose] = useState<Brings>("memory_bytes");
  const draw = useMemo(
    () => (view: View) => typesByPrice(types, brings, chosen, view),
    [types, brings, chosen],
  );
  return (
    <Section id="types" title="Machines">
      <figure>
        <figcaption>
          <p>
            Price per hour against one of the machine's capacities, both on logarithmic scales.
            Hollow points have a price more than a year old. Types with an unknown price or capacity
            are only in the table.
          </p>
        </figcaption>
        <div className="controls">
          <label className="field">
            <span>Capacity</span>
            <select value={brings} onChange={(event) => choose(event.target.value as Brings)}>
              {Object.entries(BRINGS).map(([field, { name }]) => (
                <option key={field} value={field}>
                  {name}
                </option>
              ))}
            </select>
          </label>
        </div>
        <Chart label={`Price per hour against ${BRINGS[brings].name}, by type`} draw={draw} />
        <Twin label="machines" open>
          <Grid columns={TYPE_COLUMNS} rows={types} />
        </Twin>
      </figure>
    </Section>
  );
}

const FACT_COLUMNS: readonly Column<[string, Fact]>[] = [
  { head: "Attribute", names: true, cell: ([attribute]) => attribute },
  {
    head: "Value",
    cell: ([, fact]) => (
      <Tell
        value={
          fact.value === null
            ? { reason: fact.note || "the catalog gives no reason" }
            : valueText(fact)
        }
      />
    ),
  },
  { head: "Range", cell: ([, fact]) => rangeText(fact) },
  { head: "Kind", cell: ([, fact]) => fact.kind },
  { head: "As of", kind: "date", cell: ([, fact]) => fact.value !== null && fact.as_of },
  {
    head: "Source",
    kind: "source",
    cell: ([, { source, note, value }]) =>
      [source, value !== null && note].filter(Boolean).join("; "),
  },
];

/** The kind of a value in both catalogs, where it differs. */
function kindsOf({ old, new: now }: Change): string {
  const [before, after] = [old?.kind ?? "—", now?.kind ?? "—"];
  return before === after ? before : `${before} -> ${after}`;
}

function Changes({ of: { removed, added, changes: changed } }: { of: CatalogDifference }) {
  const draw = useMemo(() => (view: View) => changes(changed, view), [changed]);
  return (
    <Section id="changes" title="Changes">
      {removed.length > 0 && <p>Removed: {removed.join(", ")}</p>}
      {added.length > 0 && <p>Added: {added.join(", ")}</p>}
      {changed.length === 0 ? (
        <Nothing>
          {removed.length + added.length === 0
            ? "The two catalogs are identical."
            : "The types in both catalogs have the same values."}
        </Nothing>
      ) : (
        <figure>
          <figcaption>
            <p>The largest relative changes. The table has all changes, prices first.</p>
          </figcaption>
          <Chart label="Relative changes of figures, largest first" draw={draw} />
          <Twin label="changes" open>
            <Grid
              columns={[
                { head: "Type", names: true, cell: (row) => row.instance_type },
                { head: "Attribute", cell: (row) => row.attribute },
                { head: "Old", kind: "n", cell: (row) => valueText(row.old) },
                { head: "New", kind: "n", cell: (row) => valueText(row.new) },
                {
                  head: "Change",
                  kind: "n",
                  cell: (row) => (
                    <Tell
                      value={row.relative ?? { reason: "not two numbers in one unit" }}
                      as={(by) => `${(100 * by).toFixed(1)}%`}
                    />
                  ),
                },
                { head: "Kind", cell: kindsOf },
              ]}
              rows={changed}
            />
          </Twin>
        </figure>
      )}
    </Section>
  );
}

function Summaries({ page }: { page: CatalogPage }) {
  return (
    <Section id="catalogs" title="Coverage">
      <Scroll label="catalogs">
        <Grid
          columns={[
            {
              head: "Catalog",
              names: true,
              cell: ({ name }) =>
                exported ? (
                  name
                ) : (
                  <Link href={`${PAGES.catalog.path}?catalog=${name}`}>{name}</Link>
                ),
            },
            { head: "Types", kind: "n", cell: (row) => plain(row.types) },
            { head: "Values", kind: "n", cell: (row) => plain(row.values) },
            { head: "Unknown", kind: "n", cell: (row) => plain(row.unknown) },
            { head: "Oldest", kind: "date", cell: (row) => row.oldest ?? "—" },
            { head: "Newest", kind: "date", cell: (row) => row.newest ?? "—" },
            { head: "Prices", kind: "n", cell: (row) => plain(row.prices) },
            { head: "Over a year old", kind: "n", cell: (row) => plain(row.stale_prices) },
          ]}
          rows={page.catalogs}
        />
      </Scroll>
    </Section>
  );
}

function Whole({ page }: { page: CatalogPage }) {
  const facts = Object.entries(page.facts);
  const sections: [string, string][] = [
    ...(page.catalogs.length > 0 ? [["catalogs", "Coverage"] as [string, string]] : []),
    ...(facts.length > 0 ? [["facts", "Facts"] as [string, string]] : []),
    ...(page.types.length > 0 ? [["types", "Machines"] as [string, string]] : []),
    ...(page.difference ? [["changes", "Changes"] as [string, string]] : []),
  ];
  return (
    <div className="report">
      <p className="question">Machine catalogs</p>
      <h1>{page.title}</h1>
      <p className="meta">
        <Moment at={page.generated_at} />
      </p>
      {sections.length > 1 && <Sections of={sections} />}
      <Lines texts={page.warnings} />
      {page.catalogs.length > 0 && <Summaries page={page} />}
      {facts.length > 0 && (
        <Section id="facts" title="Facts">
          <Scroll label="facts of the type">
            <Grid columns={FACT_COLUMNS} rows={facts} />
          </Scroll>
        </Section>
      )}
      {page.types.length > 0 && <Types page={page} />}
      {page.difference && <Changes of={page.difference} />}
      {page.commands.length > 0 && <Commands commands={page.commands} />}
    </div>
  );
}

/** Chooses a catalog, and another one to compare it with. */
function Choice() {
  const [search, edit] = useSearch();
  const { data } = useTwin("/api/catalogs");
  const names = data?.catalogs.map(({ name }) => name) ?? [];
  const chosen = search.get("catalog") ?? "";
  const pick = (name: string, label: string, empty: string, options: string[]) => (
    <label className="field">
      <span>{label}</span>
      <select
        value={search.get(name) ?? ""}
        onChange={({ target }) =>
          edit((next) => {
            next.delete("type");
            if (name === "catalog") next.delete("against");
            if (target.value) next.set(name, target.value);
            else next.delete(name);
          })
        }
      >
        <option value="">{empty}</option>
        {options.map((option) => (
          <option key={option}>{option}</option>
        ))}
      </select>
    </label>
  );
  return (
    <div className="controls below-nav">
      {pick("catalog", "Catalog", "all catalogs", names)}
      {chosen &&
        pick(
          "against",
          "Compare with",
          "no other: show its machines",
          names.filter((name) => name !== chosen),
        )}
    </div>
  );
}

export default function Catalog() {
  const [search] = useSearch();
  const { data, problem } = useTwin("/api/catalog", search);
  useEffect(() => {
    document.title = `${data?.title ?? PAGES.catalog.title} · Venturi`;
  }, [data]);
  return (
    <>
      {!exported && <Choice />}
      {problem ? <ProblemBox problem={problem} /> : data ? <Whole page={data} /> : <Pending />}
    </>
  );
}
