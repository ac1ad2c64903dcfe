// Time against cost: which configuration is fastest, which is cheapest, and which ones tie.

import { useCallback, useEffect, useId, useState } from "react";
import { Link } from "wouter";
import { askedInWords } from "../../../asked";
import { reach } from "../../../charts/common";
import { commandOf } from "../../../commands";
import { exported, useTwin } from "../../../data";
import { dollars, keyName, plain, ratio, seconds, sentence } from "../../../format";
import { PAGES } from "../../../generated/pages";
import type { RankedGroup, RankingData } from "../../../generated/types";
import { byInterest } from "../../../keys";
import {
  Answer,
  Choice,
  Common,
  Controls,
  fewValues,
  groupCells,
  intervalCell,
  LogChoice,
  Parameter,
  Suggestions,
  spreadCell,
  spreadCells,
  spreadColumns,
  Typed,
  useFitting,
  useLog,
} from "../../../parts/Analysis";
import { Asked } from "../../../parts/Asked";
import type { View } from "../../../parts/Chart";
import { Figure, type Legend } from "../../../parts/Figure";
import { Filters } from "../../../parts/Filters";
import { KeyPicker } from "../../../parts/Keys";
import { Page } from "../../../parts/Page";
import { type Cell, type Column, DataTable } from "../../../parts/Table";
import { type Edit, useSearch } from "../../../state";
import { href } from "../../../url";
import { type CostDisplay, costScatter, MOST_BUBBLES } from "./charts";
import { isReference, references } from "./references";

const OBJECTIVES = [
  ["time", "time"],
  ["cost", "cost"],
  ["cost-time", "cost × time"],
  ["pareto", "time and cost (Pareto)"],
] as const;

const PLUS = /^([^=]+)=(.*):([0-9.]*)$/;

interface Plus {
  key: string;
  value: string;
  usd: string;
}

const plusOf = (search: URLSearchParams): Plus[] =>
  search.getAll("plus").flatMap((text) => {
    const [, key, value, usd] = PLUS.exec(text) ?? [];
    return key !== undefined && value !== undefined && usd !== undefined
      ? [{ key, value, usd }]
      : [];
  });

const putPlus = (edit: Edit, all: readonly Plus[]) =>
  edit(
    (next) => {
      next.delete("plus");
      for (const { key, value, usd } of all) next.append("plus", `${key}=${value}:${usd}`);
    },
    { replace: true },
  );

/** Whether the API takes a parameter: prices only of keys that are grouped by, for example. */
function fits(name: string, value: string, search: URLSearchParams): boolean {
  const given = search.has("usd_per_hour");
  if (name === "prices") return !given;
  if (name === "plus") return given && search.getAll("by").includes(PLUS.exec(value)?.[1] ?? "");
  return given || search.has("prices") || name !== "objective";
}

const ONCE = "one matched setting only"; // as in results/ranking/matched_ranking.py

const WORKLOADS = new URLSearchParams([["by", "workload"]]);

/** Asks, where the URL asks nothing, about the workload with most trials by its most used setting. */
function useExample() {
  const [search, edit] = useSearch();
  const needed = !exported && search.size === 0;
  const { data: known } = useTwin(needed ? "/api/keys" : null);
  const { data: works } = useTwin(needed ? "/api/groups" : null, WORKLOADS);
  const settings = known?.keys.filter((key) => key.kind === "configuration" && fewValues(key));
  const by = settings && byInterest(settings)[0]?.key;
  const most = works && [...works.groups].sort((a, b) => b.n - a.n)[0];
  const work = most?.key[0];
  useEffect(() => {
    if (!needed || by === undefined || work == null) return;
    edit(
      (next) => {
        next.append("where", `workload=${work}`);
        next.append("by", by);
      },
      { replace: true },
    );
  }, [needed, by, work, edit]);
}

/** Adds a price for one value of a key that is grouped by. */
function MorePrices({ data, priced }: { data: RankingData; priced: readonly Plus[] }) {
  const id = useId();
  const [, edit] = useSearch();
  const [usd, setUsd] = useState("");
  const [chosen, setChosen] = useState("");
  const taken = new Set(priced.map(({ key, value }) => `${key}=${value}`));
  const free = data.by.flatMap((key, place) => {
    const values = new Set(data.groups.map((group) => group.key[place] ?? null));
    return [...values]
      .filter((value) => value !== null && !taken.has(`${key}=${value}`))
      .map((value) => ({ key, value: String(value) }));
  });
  const one = free.find(({ key, value }) => `${key}=${value}` === chosen) ?? free[0];
  if (!one) return null;
  return (
    <form
      className="controls"
      onSubmit={(event) => {
        event.preventDefault();
        putPlus(edit, [...priced, { ...one, usd }]);
        setUsd("");
        setChosen("");
      }}
    >
      <div className="field">
        <label htmlFor={id}>Surcharge where</label>
        <select
          id={id}
          value={`${one.key}=${one.value}`}
          onChange={({ target }) => setChosen(target.value)}
        >
          {free.map(({ key, value }) => (
            <option key={`${key}=${value}`} value={`${key}=${value}`}>
              {keyName(key)} is {value}
            </option>
          ))}
        </select>
      </div>
      <div className="field">
        <label htmlFor={`${id}-usd`}>US$ per hour</label>
        <input
          id={`${id}-usd`}
          value={usd}
          size={8}
          inputMode="decimal"
          pattern="[0-9]+(\.[0-9]+)?"
          required
          autoComplete="off"
          onChange={({ target }) => setUsd(target.value)}
        />
      </div>
      <button type="submit">Add</button>
    </form>
  );
}

/** The hourly prices, their date and source; every edit is in the URL. */
function PriceSheet({ data }: { data: RankingData | undefined }) {
  const [search, edit] = useSearch();
  const priced = plusOf(search);
  const put = (place: number, usd: string) =>
    putPlus(
      edit,
      usd === ""
        ? priced.filter((_, at) => at !== place)
        : priced.map((one, at) => (at === place ? { ...one, usd } : one)),
    );
  return (
    <section className="card prices" id="prices" aria-label="Prices">
      <h2>Prices</h2>
      <div className="controls">
        {!search.has("usd_per_hour") && (
          <Choice
            label="Without a price"
            param="prices"
            options={[
              ["", "use recorded costs if every trial has one"],
              ["recorded", "use recorded costs, even if only some trials have one"],
            ]}
          />
        )}
        <Parameter label="As of" param="price_as_of" kind="date" />
        <Parameter label="Source" param="price_source" hint="source of the price" />
      </div>
      {priced.length > 0 && (
        <>
          <h3>Surcharges by value, US$ per hour</h3>
          <ul className="price-list">
            {priced.map(({ key, value, usd }, place) => (
              <li key={`${key}=${value}`}>
                <span>
                  {keyName(key)} <strong>{value}</strong>
                </span>
                <Typed
                  label={`US$ per hour added where ${keyName(key)} is ${value}`}
                  hidden
                  kind="usd"
                  value={usd}
                  onValue={(next) => put(place, next)}
                />
                <button
                  type="button"
                  className="quiet"
                  aria-label={`Remove the price of ${keyName(key)} ${value}`}
                  onClick={() => put(place, "")}
                >
                  ×
                </button>
              </li>
            ))}
          </ul>
        </>
      )}
      {data && search.has("usd_per_hour") && <MorePrices data={data} priced={priced} />}
      {data?.prices?.usd_per_hour === null && (
        <p className="aside">{sentence(data.prices.source ?? "")}</p>
      )}
    </section>
  );
}

/** The price sheet of an exported page: as it was. */
function Charged({ data }: { data: RankingData }) {
  const { prices } = data;
  if (!prices) return null;
  if (prices.usd_per_hour === null) return <p className="aside">{sentence(prices.source ?? "")}</p>;
  const plus = prices.plus.map(([key, value, usd]) => `${keyName(key)} ${value} ${plain(usd)}`);
  return (
    <p className="aside">
      Prices in US$ per hour for {prices.per === "node" ? "each node" : "the whole cluster"}:{" "}
      {plain(prices.usd_per_hour)}
      {plus.length > 0 ? `; surcharges: ${plus.join(", ")}` : ""}. Date:{" "}
      {prices.as_of ?? "not given"}. Source: {prices.source ?? "not given"}.
    </p>
  );
}

const LEGEND: Legend = [
  ["standing-best", "best"],
  ["standing-tied", "tied with the best"],
  ["standing-worse", "worse"],
  ["standing-unknown", "can't tell"],
  ["standing-frontier", "on the Pareto frontier"],
];

/** Everything of each group, a number a column. */
function twinOf(data: RankingData) {
  const columns: Column[] = [
    ...data.by.map((key) => ({ name: keyName(key) })),
    { name: "rank", number: true },
    { name: "standing" },
    { name: "n", number: true },
    ...spreadColumns("time", "s"),
    ...spreadColumns("cost", "US$"),
    { name: "fastest (s)", number: true },
    { name: "cost of the fastest (US$)", number: true },
    { name: "US$ per hour", number: true },
    { name: "on the frontier" },
    { name: "p", number: true },
  ];
  const rows = data.groups.map((group): Cell[] => [
    ...group.key,
    group.rank,
    group.standing,
    group.n,
    ...spreadCells(group.elapsed_s),
    ...spreadCells(group.cost_usd),
    group.best_elapsed_s,
    group.best_cost_usd,
    group.usd_per_hour,
    group.on_frontier ? "yes" : (group.frontier ?? "no"),
    group.p_value,
  ]);
  return { columns, rows };
}

function Scatter({ data }: { data: RankingData }) {
  const [search] = useSearch();
  const log = useLog(() => data.groups.flatMap(({ elapsed_s }) => reach(elapsed_s)));
  const normalised = search.get("show") === "normalised";
  const draw = useCallback(
    (view: View) => {
      const display: CostDisplay = { log, normalised };
      return costScatter(data, display, view);
    },
    [data, log, normalised],
  );
  const where = normalised
    ? "The quadrants meet halfway between the lowest and the highest median."
    : "The quadrants meet at the medians of the groups.";
  return (
    <Figure
      title="Time against cost"
      caption={
        <>
          Each bubble is a group at its median time and cost. Its area shows the number of trials,
          its whiskers the intervals of both medians. Lower left is better. {where}
          {data.groups.length > MOST_BUBBLES &&
            " Groups at the top or on the frontier are drawn individually; the others are merged with their neighbors."}
        </>
      }
      draw={draw}
      table={twinOf(data)}
      file="time-against-cost"
      legend={LEGEND}
    >
      <div className="controls">
        <Choice
          label="Axes"
          param="show"
          options={[
            ["absolute", "seconds and US$"],
            ["normalised", "normalized, 0 to 1"],
          ]}
        />
        <LogChoice log={log} />
      </div>
    </Figure>
  );
}

function standing({
  standing: word,
  reason,
  p_value: p,
  on_frontier,
  frontier,
}: RankedGroup): Cell {
  const details = [
    ...(reason ? [reason] : []),
    ...(p === null || reason?.includes("p =")
      ? []
      : [`p = ${p < 0.001 ? "below 0.001" : p.toPrecision(2)}`]),
    ...(on_frontier ? ["on the Pareto frontier"] : []),
    ...(frontier === "cannot tell" ? ["on the frontier: can't tell"] : []),
  ];
  return {
    value: word,
    show: (
      <>
        {word === "best" ? <strong>best</strong> : shortStanding({ standing: word, reason })}
        {details.length > 0 && <small>{details.join("; ")}</small>}
      </>
    ),
  };
}

/** A tie with a reason rests on too little to be sure. */
const shortStanding = ({ standing: word, reason }: Pick<RankedGroup, "standing" | "reason">) =>
  word === "tied" && reason === ONCE ? "may tie" : word;

/** The rank, and the standing in a word: a narrow screen shows it first. */
const rankCell = ({ rank, standing: word, reason }: RankedGroup): Cell => ({
  value: rank,
  show: (
    <>
      {rank ?? "—"}
      <small className="place">{shortStanding({ standing: word, reason })}</small>
    </>
  ),
});

const costTime = (value: number) => `${value.toFixed(value < 10 ? 2 : 1)} US$ s`;

/** Links to the next questions. */
function Verdict({ data }: { data: RankingData }) {
  const [search] = useSearch();
  const conditions = [...data.verdict.matchAll(/--where ([^ =]+)=([^ .;,]+)/g)].filter(
    ([, , value]) => value !== "VALUE",
  );
  const also = (text: string) => {
    const asked = new URLSearchParams(search);
    asked.append("where", text);
    return href(PAGES.cost.path, asked);
  };
  const perNode = () => {
    const asked = new URLSearchParams(search);
    asked.set("per", "node");
    return href(PAGES.cost.path, asked);
  };
  if (exported) return null;
  return (
    <section aria-label="Next steps">
      <p className="ways">
        {data.verdict.includes("--usd-per-node-hour") && (
          <Link className="button" href={perNode()}>
            use it as the price per node
          </Link>
        )}
        {conditions.map(([, key, value]) => (
          <Link key={key} className="button" href={also(`${key}=${value}`)}>
            only {key}={value}
          </Link>
        ))}
      </p>
    </section>
  );
}

const ratioCells = (group: RankedGroup): Cell[] =>
  isReference(group)
    ? [{ value: group.ratio, show: "reference" }, null]
    : [intervalCell(group.ratio, group.ratio_interval, ratio), group.settings];

function RankingTable({ data }: { data: RankingData }) {
  const [search] = useSearch();
  const priced = data.prices !== null;
  const matched = data.basis === "matched";
  const sets = matched && data.groups.some(({ set }) => set !== null && set > 1);
  const product = data.objective === "cost-time" || data.objective === "cost x time";
  const columns: Column[] = [
    { name: "rank", number: true },
    ...data.by.map((key) => ({ name: keyName(key) })),
    ...(matched
      ? [
          { name: "ratio", number: true },
          { name: "matched settings", number: true },
        ]
      : []),
    ...(sets ? [{ name: "set", number: true }] : []),
    { name: "median time", number: true },
    ...(priced ? [{ name: "median cost", number: true }] : []),
    ...(product ? [{ name: "cost × time", number: true }] : []),
    { name: "n", number: true },
    { name: "fastest", number: true },
    ...(priced ? [{ name: "its cost", number: true }] : []),
    { name: "standing" },
  ];
  const rows = data.groups.map((group): Cell[] => [
    rankCell(group),
    ...groupCells(data.by, group.key, search, group.meanings),
    ...(matched ? ratioCells(group) : []),
    ...(sets ? [group.set] : []),
    spreadCell(group.elapsed_s, seconds),
    ...(priced ? [spreadCell(group.cost_usd, dollars)] : []),
    ...(product ? [spreadCell(group.cost_time, costTime)] : []),
    group.n,
    group.best_elapsed_s === null
      ? null
      : { value: group.best_elapsed_s, show: seconds(group.best_elapsed_s) },
    ...(priced
      ? [
          group.best_cost_usd === null
            ? null
            : { value: group.best_cost_usd, show: dollars(group.best_cost_usd) },
        ]
      : []),
    standing(group),
  ]);
  const name = OBJECTIVES.find(([value]) => value === data.objective)?.[1] ?? data.objective;
  return (
    <section>
      <h2>Ranking by {name}</h2>
      {data.basis === "matched" && (
        <p className="aside">
          Ratios compare each group with {references(data)} in matched settings, all else being
          equal. Medians cover all trials of a group, so don't compare them with each other.
        </p>
      )}
      <div className="panel ranked standings">
        <DataTable columns={columns} rows={rows} caption={`Groups by ${name}`} />
      </div>
      <p className="aside">
        A group is called worse only if a statistical test shows it. The chance that the truly best
        group is called worse is at most {plain(100 * data.alpha)}%. The interval of each median is
        below it. Don't rank by the fastest trial: groups with more trials have lower minimums.
      </p>
    </section>
  );
}

export default function Cost() {
  useExample();
  const search = useFitting(fits);
  const twin = useTwin("/api/cost", search);
  const given = search.has("usd_per_hour");
  const priced = given || search.has("prices");
  return (
    <Page
      title={PAGES.cost.title}
      asked={askedInWords(search)}
      intro="Which configuration is fastest, which is cheapest at your prices, and which ones tie with the best."
    >
      {!priced && twin.data?.prices === null && (
        <p className="card">
          {exported
            ? "This ranks time, because no price is given."
            : "This ranks time, because no price is known. Next: enter a price in US$ per hour."}
        </p>
      )}
      <Filters />
      <Controls>
        <KeyPicker
          label="Group by"
          param="by"
          multiple
          {...(twin.data ? { fallback: twin.data.by } : {})}
        />
        <Choice
          label="Rank by"
          param="objective"
          options={priced ? OBJECTIVES : OBJECTIVES.slice(0, 1)}
        />
        <Parameter label="US$ per hour" param="usd_per_hour" kind="usd" hint="3.50" />
        <Choice
          label="For"
          param="per"
          options={[
            ["cluster", "the whole cluster"],
            ["node", "each node"],
          ]}
        />
      </Controls>
      <Asked command={commandOf(PAGES.cost.path, search)} />
      <Answer
        twin={twin}
        what="ranking"
        empty={(data) =>
          data.groups.length === 0
            ? "No trial matches the conditions. Remove one of them, or group by other keys."
            : null
        }
        codes={(data) => <Common caption={data.caption} explained={data.explained} />}
        controls={!exported && <PriceSheet data={twin.data} />}
      >
        {(data) => (
          <>
            {exported && <Charged data={data} />}
            {data.by.length === 0 ? (
              <Suggestions
                param="by"
                text="Choose the keys to group by. Each of these has a few values:"
                only={fewValues}
              />
            ) : (
              <>
                <Verdict data={data} />
                {data.prices && data.basis !== "refused" && <Scatter data={data} />}
                <RankingTable data={data} />
              </>
            )}
          </>
        )}
      </Answer>
    </Page>
  );
}
