// Catalogs of machines: what there is, what is known of a type and from where, what changed.

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

/** Leads to all that is known of a type; in a file, its name. */
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
  { head: "An hour", kind: "n", cell: (row) => <Tell value={row.price_usd_per_hour} as={price} /> },
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
            Price of an hour against what the machine brings, both logarithmic. A hollow point has a
            price older than a year; a type of which either is not known is only in the table.
          </p>
        </figcaption>
        <div className="controls">
          <label className="field">
            <span>Brings</span>
            <select value={brings} onChange={(event) => choose(event.target.value as Brings)}>
              {Object.entries(BRINGS).map(([field, { name }]) => (
                <option key={field} value={field}>
                  {name}
                </option>
              ))}
            </select>
          </label>
        </div>
        <Chart label={`Price of an hour against ${BRINGS[brings].name}, by type`} draw={draw} />
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
            ? { reason: fact.note || "the catalog does not say why" }
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

/** How a value is known in both catalogs, where it differs. */
function kindsOf({ old, new: now }: Change): string {
  const [before, after] = [old?.kind ?? "—", now?.kind ?? "—"];
  return before === after ? before : `${before} -> ${after}`;
}

function Changes({ of: { removed, added, changes: changed } }: { of: CatalogDifference }) {
  const draw = useMemo(() => (view: View) => changes(changed, view), [changed]);
  return (
    <Section id="changes" title="What changed">
      {removed.length > 0 && <p>No longer there: {removed.join(", ")}</p>}
      {added.length > 0 && <p>New: {added.join(", ")}</p>}
      {changed.length === 0 ? (
        <Nothing>
          {removed.length + added.length === 0
            ? "The two catalogs say the same."
            : "What both know is the same."}
        </Nothing>
      ) : (
        <figure>
          <figcaption>
            <p>The greatest relative changes; the table has all, prices first.</p>
          </figcaption>
          <Chart label="Relative changes of figures, the greatest first" draw={draw} />
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
                      as={(by) => `${(100 * by).toFixed(1)} %`}
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
    <Section id="catalogs" title="How much is known">
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
            { head: "From", kind: "date", cell: (row) => row.oldest ?? "—" },
            { head: "To", kind: "date", cell: (row) => row.newest ?? "—" },
            { head: "Prices", kind: "n", cell: (row) => plain(row.prices) },
            { head: "Over a year", kind: "n", cell: (row) => plain(row.stale_prices) },
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
    ...(page.catalogs.length > 0 ? [["catalogs", "How much is known"] as [string, string]] : []),
    ...(facts.length > 0 ? [["facts", "What is known"] as [string, string]] : []),
    ...(page.types.length > 0 ? [["types", "Machines"] as [string, string]] : []),
    ...(page.difference ? [["changes", "What changed"] as [string, string]] : []),
  ];
  return (
    <div className="report">
      <p className="question">Catalogs of machines</p>
      <h1>{page.title}</h1>
      <p className="meta">
        <Moment at={page.generated_at} />
      </p>
      {sections.length > 1 && <Sections of={sections} />}
      <Lines texts={page.warnings} />
      {page.catalogs.length > 0 && <Summaries page={page} />}
      {facts.length > 0 && (
        <Section id="facts" title="What is known">
          <Scroll label="what is known of the type">
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

/** Which catalog, and which other to compare it with. */
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
      {pick("catalog", "Catalog", "all of them", names)}
      {chosen &&
        pick(
          "against",
          "What changed to",
          "nothing: show its machines",
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
