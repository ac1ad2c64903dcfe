// Which machines, how many, at which cost: the question is the URL, the advisor answers it.

import { type FormEvent, type ReactNode, useId } from "react";
import { exported, useTwin } from "../../../data";
import { PAGES } from "../../../generated/pages";
import { Page, Pending, ProblemBox } from "../../../parts/Page";
import { useSearch } from "../../../state";
import { AdviceAnswer } from "./Answer";

const DURABILITIES = [
  ["2-io", "no fault tolerance (two passes)"],
  ["replicated", "replicas on other nodes"],
  ["volumes", "network volumes"],
] as const;
const OBJECTIVES = [
  ["recommended", "cost and few nodes"],
  ["cheapest", "cost"],
  ["fastest", "time"],
] as const;
const NETWORKS = [
  ["at-scale", "as observed in a large cluster"],
  ["baseline", "as measured between two nodes"],
  ["unlimited", "unlimited (storage only)"],
] as const;

/** Assumptions for rates that weren't measured; the first of each is the catalog's. */
const DISKS = [
  ["", "taking turns: R W / (R + W)"],
  ["half", "half the disks read: min(R, W) / 2"],
  ["both", "no interference: min(R, W)"],
] as const;
const PRICES = [
  ["", "on demand"],
  ["spot", "spot (ignoring lost nodes)"],
] as const;
const EXCHANGES = [
  ["", "(N-1)/N of the data"],
  ["all", "all data (as in the 2015 paper)"],
] as const;

interface FieldOf {
  name: string;
  label: string;
  placeholder: string;
  required?: boolean;
  type?: "number" | "text";
}

/** The default data size. */
const SORT = "100TB";

const FIELDS: readonly FieldOf[] = [
  { name: "sort", label: "Data size", placeholder: SORT, required: true },
  { name: "deadline", label: "Deadline (optional)", placeholder: "30min" },
  { name: "budget", label: "Budget, US$ (optional)", placeholder: "500", type: "number" },
  { name: "nodes", label: "Nodes (optional)", placeholder: "any number", type: "number" },
  { name: "explain", label: "Explain a type (optional)", placeholder: "i8g.4xlarge:80" },
];

const ASSUMPTIONS: readonly FieldOf[] = [
  {
    name: "network_share",
    label: "Usable share of the line rate, %",
    placeholder: "94",
    type: "number",
  },
  {
    name: "network_low",
    label: "Worst network, % of its rate",
    placeholder: "50",
    type: "number",
  },
  { name: "fill", label: "Max disk fill, %", placeholder: "100", type: "number" },
  { name: "max_nodes", label: "Available nodes", placeholder: "330", type: "number" },
  { name: "assume", label: "Rate if unknown", placeholder: "NVMe=1000MB/s/TB" },
  { name: "volumes", label: "Network volumes per node", placeholder: "gp3:4,hours=730" },
];

function Field({ of, value }: { of: FieldOf; value: string }) {
  const id = useId();
  const { name, label, placeholder, required = false, type = "text" } = of;
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <input
        id={id}
        name={name}
        type={type}
        min={type === "number" ? 0 : undefined}
        step="any"
        defaultValue={value}
        placeholder={placeholder}
        required={required}
        autoComplete="off"
        spellCheck={false}
      />
    </div>
  );
}

type Choices = readonly (readonly [value: string, words: string])[];

function Choice(of: { name: string; label: string; choices: Choices; value: string }) {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>{of.label}</label>
      <select id={id} name={of.name} defaultValue={of.value}>
        {of.choices.map(([value, words]) => (
          <option key={value} value={value}>
            {words}
          </option>
        ))}
      </select>
    </div>
  );
}

function Boxes(of: { name: string; legend: string; choices: Choices; on: readonly string[] }) {
  return (
    <fieldset className="field">
      <legend>{of.legend}</legend>
      {of.choices.map(([value, words]) => (
        <label className="check" key={value}>
          <input
            type="checkbox"
            name={of.name}
            value={value}
            defaultChecked={of.on.includes(value)}
          />
          {words}
        </label>
      ))}
    </fieldset>
  );
}

/** Whether the question makes assumptions. */
const supposes = (search: URLSearchParams) =>
  [...ASSUMPTIONS.map(({ name }) => name), "disks", "price", "exchange"].some((name) =>
    search.has(name),
  );

/** The question; asking it puts it into the URL. */
function Question(): ReactNode {
  const [search, edit] = useSearch();
  const { data: known } = useTwin("/api/catalogs");
  const ask = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    edit((next) => {
      for (const name of [...next.keys()]) next.delete(name);
      for (const [name, value] of form) {
        if (typeof value === "string" && value.trim()) next.append(name, value.trim());
      }
    });
  };
  const one = (name: string, fallback = "") => search.get(name) ?? fallback;
  const some = (name: string, fallback: string) =>
    search.has(name) ? search.getAll(name) : [fallback];
  return (
    // The way back to an earlier URL must refill the form.
    <form className="card advice" onSubmit={ask} key={search.toString()}>
      {FIELDS.map((of) => (
        <Field key={of.name} of={of} value={one(of.name, of.name === "sort" ? SORT : "")} />
      ))}
      <Choice
        name="objective"
        label="Optimize for"
        choices={OBJECTIVES}
        value={one("objective", "recommended")}
      />
      <Choice
        name="network"
        label="Network"
        choices={NETWORKS}
        value={one("network", "at-scale")}
      />
      {known && (
        <Boxes
          name="catalog"
          legend="Catalogs"
          choices={known.catalogs.map(({ name, types, newest_price }) => [
            name,
            `${name}: ${types} types${newest_price ? `, prices of ${newest_price}` : ""}`,
          ])}
          on={some("catalog", known.default)}
        />
      )}
      <Boxes
        name="durability"
        legend="Fault tolerance"
        choices={DURABILITIES}
        on={some("durability", "2-io")}
      />
      <details className="more" open={supposes(search)}>
        <summary>Assumptions</summary>
        <div className="assumptions">
          <Choice
            name="disks"
            label="Concurrent reads and writes"
            choices={DISKS}
            value={one("disks")}
          />
          {ASSUMPTIONS.map((of) => (
            <Field key={of.name} of={of} value={one(of.name)} />
          ))}
          <Choice name="price" label="Price" choices={PRICES} value={one("price")} />
          <Choice
            name="exchange"
            label="Shuffle traffic over the network"
            choices={EXCHANGES}
            value={one("exchange")}
          />
        </div>
      </details>
      <button type="submit" className="main">
        Get advice
      </button>
    </form>
  );
}

export default function Advice() {
  const [search] = useSearch();
  const { data, problem, pending, stale } = useTwin("/api/advice", search);
  if (exported) {
    return data ? <AdviceAnswer page={data} first /> : problem && <ProblemBox problem={problem} />;
  }
  return (
    <Page
      title={PAGES.advice.title}
      intro="Which machines to choose for a sort, how many, their cost, and how certain that is."
    >
      <Question />
      {problem && <ProblemBox problem={problem} />}
      {pending && <Pending what="advice" lines={30} />}
      {data && (
        <div className={stale ? "stale" : undefined} aria-busy={stale}>
          <AdviceAnswer page={data} first={false} />
        </div>
      )}
    </Page>
  );
}
