// The advisor's answer: the options as a chart and a table, the effect of the network on the ranking,
// where the figures come from, and the excluded types.
import { type ReactNode, useCallback } from "react";
import { capital } from "../../../format";
import type {
  AdvicePage,
  Bounds,
  ExplainedTerm,
  Explanation,
  Missing,
  NetworkCosts,
  Option,
  OptionRow,
} from "../../../generated/types";
import { isMissing, plain } from "../../../missing";
import { Chart, type View } from "../../../parts/Chart";
import {
  type Column,
  Commands,
  Grid,
  Legend,
  Lines,
  Moment,
  Nothing,
  Scroll,
  Section,
  Sections,
  Tell,
  Twin,
  words,
} from "../../../parts/Sections";
import { count, size, usd } from "../../../report-units";
import { duration, rate } from "../../../units";
import { bars, NETWORKS } from "./charts/bars";
import { pareto } from "./charts/pareto";

/** So many types have their three bars drawn; the table has all. */
const BARS_DRAWN = 24;

interface Ranged {
  value: Bounds | Missing;
  as: (value: number) => string;
  least: boolean;
}

/** The ends of a range, where it has two. */
const ends = (value: Bounds | Missing, as: Ranged["as"]) =>
  !isMissing(value) && value.low !== value.high ? ([as(value.low), as(value.high)] as const) : null;

const Middle = ({ value, as, least }: Ranged) => (
  <>
    {least && !isMissing(value) && "≥ "}
    <Tell value={isMissing(value) ? value : value.value} as={as} />
  </>
);

function RangeCell(ranged: Ranged) {
  const both = ends(ranged.value, ranged.as);
  return (
    <>
      <Middle {...ranged} />
      {both && (
        <small>
          <span className="whole">{both[0]}</span> to <span className="whole">{both[1]}</span>
        </small>
      )}
    </>
  );
}

function RangeFigure({ label, ...ranged }: Ranged & { label: string }) {
  return (
    <li>
      <span className="label">{label}</span>
      <span className="value">
        <Middle {...ranged} />
      </span>
      <span className="note">{ends(ranged.value, ranged.as)?.join(" to ")}</span>
    </li>
  );
}

const why = (option: Option, field: string): Missing => ({
  reason: option.missing[field] ?? "unknown",
});

const costOf = (option: Option) => option.cost_usd ?? why(option, "cost_usd");

const priceAge = ({ price_as_of: day, price_is_stale: stale, missing }: Option) => (
  <>
    {words(day ?? { reason: missing.price_as_of ?? "the price has no date" })}
    {stale && ", old"}
  </>
);

function narrowest({ option: { phases } }: OptionRow): ReactNode {
  if (phases.length === 0) return <span className="missing">—</span>;
  return phases.map(({ name, narrowest: resource, certain }, place) => (
    <span key={name}>
      {place > 0 && "; "}
      {name}: {resource}
      {!certain && " (uncertain)"}
    </span>
  ));
}

const OPTIONS: Column<OptionRow>[] = [
  {
    head: "Type",
    names: true,
    cell: ({ option, chosen }) => (
      <>
        {option.instance_type}
        {chosen && <strong className="throat"> chosen</strong>}
      </>
    ),
  },
  { head: "Nodes", kind: "n", cell: ({ option }) => count(option.nodes) },
  {
    head: "Time",
    kind: "n",
    cell: ({ option }) => (
      <RangeCell value={option.time_s} as={duration} least={option.lower_bound} />
    ),
  },
  {
    head: "Cost",
    kind: "n",
    cell: ({ option }) => <RangeCell value={costOf(option)} as={usd} least={option.lower_bound} />,
  },
  { head: "Frontier", cell: ({ frontier }) => frontier },
  { head: "Limited by", kind: "formula", cell: narrowest },
  {
    head: "Weakest input",
    cell: ({ option: { weakest } }) => weakest ?? "none",
  },
  { head: "Price as of", kind: "date", cell: ({ option }) => priceAge(option) },
];

function Chosen({ row: { option, note } }: { row: OptionRow }) {
  return (
    <ul className="figures">
      <li>
        <span className="label">Machines</span>
        <span className="value">
          {count(option.nodes)} × {option.instance_type}
        </span>
        <span className="note">{note}</span>
      </li>
      <RangeFigure label="Time" value={option.time_s} as={duration} least={option.lower_bound} />
      <RangeFigure label="Cost" value={costOf(option)} as={usd} least={option.lower_bound} />
      <li>
        <span className="label">Price as of</span>
        <span className="value">{priceAge(option)}</span>
      </li>
    </ul>
  );
}

function Options({ page }: { page: AdvicePage }) {
  const { options, curve, deadline_s, budget_usd } = page;
  const asked = deadline_s !== null || budget_usd !== null;
  const least = options.some(({ option }) => option.lower_bound);
  const draw = useCallback(
    (view: View) => pareto({ options, curve, deadline_s, budget_usd }, view),
    [options, curve, deadline_s, budget_usd],
  );
  return (
    <Section id="options" title="Time against cost">
      <figure>
        <figcaption>
          <p>
            Each mark is a number of nodes of one type. Whiskers show the bounds from the known
            ranges of the inputs; on a crowded chart only those of the chosen option. An option is
            on the frontier if no other is both faster and cheaper. Where ranges overlap, that's
            unknown (can't tell). The line is the chosen type with other numbers of nodes, start-up
            included.
            {asked && " A deadline or budget far from every option isn't drawn."}
          </p>
        </figcaption>
        {options.length === 0 ? (
          <Nothing>
            No option qualifies. The excluded types and the reasons are listed below.
          </Nothing>
        ) : (
          <>
            <Legend
              entries={[
                ["chosen", "chosen"],
                ["frontier", "on the frontier"],
                ["cannot-tell", "can't tell"],
                ["beaten", "dominated"],
                ...(least ? ([["at-least", "lower bound"]] as const) : []),
                ...(asked ? ([["asked", "deadline or budget"]] as const) : []),
              ]}
            />
            <Chart
              label="Cost against time of the job per option, with ranges and the frontier"
              draw={draw}
            />
            <Twin label="options" open>
              <Grid columns={OPTIONS} rows={options} under={({ note }) => note} />
            </Twin>
            {least && (
              <p className="aside">
                ≥ marks a lower bound: a rate is known only as an advertised limit, which programs
                don't reach.
              </p>
            )}
            {options.some(({ option }) => option.price_is_stale) && (
              <p className="aside">“old” marks a price that is more than a year old.</p>
            )}
          </>
        )}
      </figure>
    </Section>
  );
}

const BARS: Column<NetworkCosts>[] = [
  { head: "Type", names: true, cell: (row) => row.instance_type },
  { head: "Nodes", kind: "n", cell: (row) => count(row.nodes) },
  ...NETWORKS.map(
    ([network, , words]): Column<NetworkCosts> => ({
      head: `${words.charAt(0).toUpperCase()}${words.slice(1)}`,
      kind: "n",
      cell: ({ usd: of }) => <Tell value={of[network] ?? { reason: "not priced" }} as={usd} />,
    }),
  ),
];

const isPriced = ({ usd: of }: NetworkCosts) => !Object.values(of).every(isMissing);

function NetworkBars({ rows }: { rows: NetworkCosts[] }) {
  const drawn = Math.min(rows.filter(isPriced).length, BARS_DRAWN);
  const draw = useCallback(
    (view: View) => bars(plain(rows.filter(isPriced).slice(0, BARS_DRAWN)), view),
    [rows],
  );
  return (
    <Section id="bars" title="Effect of the network on the ranking">
      <figure>
        <figcaption>
          <p>
            Cost per type for three networks: none (storage is the only limit), the network between
            two nodes, and the network observed with that many nodes.
            {drawn < rows.length &&
              ` The chart shows the first ${drawn} types with a known cost, the table all ${rows.length}.`}
          </p>
        </figcaption>
        {rows.length === 0 ? (
          <Nothing>No type was priced.</Nothing>
        ) : (
          <>
            <Legend
              entries={[
                ["storage-only", "storage only"],
                ["ideal-network", "ideal network"],
                ["observed-network", "observed network"],
              ]}
            />
            <Chart
              label="Cost of the job per type with storage only, an ideal network and the observed network"
              draw={draw}
            />
            <Twin label="cost by network">
              <Grid columns={BARS} rows={rows} />
            </Twin>
          </>
        )}
      </figure>
    </Section>
  );
}

const noRate = ({ demand_bytes: moved }: ExplainedTerm): Missing => ({
  reason: moved === null ? "not a rate" : "assumed unlimited",
});

const TERMS: Column<ExplainedTerm>[] = [
  { head: "Phase", cell: (row) => row.phase },
  {
    head: "Term",
    names: true,
    cell: (row) => (
      <>
        {row.what} ({row.resource}){row.narrowest && <strong className="throat"> narrowest</strong>}
      </>
    ),
  },
  { head: "Formula", kind: "formula", cell: (row) => `${row.equation}: ${row.formula}` },
  {
    head: "Data",
    kind: "n",
    cell: (row) => <Tell value={row.demand_bytes ?? noRate(row)} as={size} />,
  },
  {
    head: "Rate per node",
    kind: "n",
    cell: (row) => <Tell value={row.rate?.value ?? noRate(row)} as={rate} />,
  },
  {
    head: "Range",
    kind: "n",
    cell: (row) =>
      row.rate ? `${rate(row.rate.low)} to ${rate(row.rate.high)}` : words(noRate(row)),
  },
  { head: "Time", kind: "n", cell: (row) => duration(row.seconds.value) },
  { head: "Kind", cell: (row) => row.rate?.kind ?? "assumed" },
];

function origin(row: ExplainedTerm) {
  const { source, note, as_of: day } = row.rate ?? { source: "", note: "", as_of: null };
  const from = [source, note].filter(Boolean).join("; ");
  return (
    <>
      {words(row.rate ? from : noRate(row))}; {words(day ?? { reason: "no date is given" })}
    </>
  );
}

const titleOf = ({ option }: Explanation) =>
  `${count(option.nodes)} × ${option.instance_type}, ${option.durability}`;

/** The input that changes the time most. */
function decisive({ sensitivity: [most] }: Explanation): string | Missing {
  if (!most) return { reason: "no input has a range" };
  const [low, high] = most.time_s;
  return `the ${most.rate.replace(/_/g, " ")} rate. At the two ends of its range the job takes ${duration(low)} or ${duration(high)}.`;
}

function Explained({ explain }: { explain: AdvicePage["explain"] }) {
  return (
    <Section id="explained" title="Where the figures come from">
      {explain.length === 0 && <Nothing>No type was chosen. Enter one to explain.</Nothing>}
      {explain.map((each) => (
        <figure key={titleOf(each)}>
          <figcaption>
            <h3>{titleOf(each)}</h3>
            <p>This input changes the answer most: {words(decisive(each))}</p>
          </figcaption>
          <Scroll label={`terms of ${titleOf(each)}`}>
            <Grid columns={TERMS} rows={each.terms} under={origin} />
          </Scroll>
        </figure>
      ))}
    </Section>
  );
}

const EXCLUDED: Column<AdvicePage["exclusions"][number]>[] = [
  { head: "Reason", names: true, cell: (row) => row.reason },
  { head: "Types", kind: "n", cell: (row) => count(row.count) },
  { head: "Examples", cell: (row) => row.examples.join(", ") || "none named" },
];

function LeftOut({ rows }: { rows: AdvicePage["exclusions"] }) {
  return (
    <Section id="excluded" title="Excluded types, and why">
      {rows.length === 0 ? (
        <Nothing>No type was excluded.</Nothing>
      ) : (
        <figure>
          <Scroll label="excluded types">
            <Grid columns={EXCLUDED} rows={rows} />
          </Scroll>
        </figure>
      )}
    </Section>
  );
}

/** The answer below its heading, which is a page's first one or stands below the form's. */
export function AdviceAnswer({ page, first }: { page: AdvicePage; first: boolean }) {
  const Heading = first ? "h1" : "h2";
  const chosen = page.options.find((row) => row.chosen);
  return (
    <div className="report">
      <p className="question">{capital(page.question)}</p>
      <Heading className="answer">{page.answer}</Heading>
      <p className="meta">
        <Moment at={page.generated_at} />
      </p>
      <Section id="answer" title="The answer" hidden>
        {chosen && <Chosen row={chosen} />}
        <Lines texts={page.reasons} />
      </Section>
      <Sections
        of={[
          ["options", "Options"],
          ["bars", "Effect of the network"],
          ["explained", "Where the figures come from"],
          ["excluded", "Excluded types"],
          ["assumed", "Assumptions and commands"],
        ]}
      />
      <Options page={page} />
      <NetworkBars rows={page.bars} />
      <Explained explain={page.explain} />
      <LeftOut rows={page.exclusions} />
      <Section id="assumed" title="Assumptions">
        {page.assumptions.length > 0 ? (
          <Lines texts={page.assumptions} />
        ) : (
          <Nothing>None.</Nothing>
        )}
        {page.commands.length > 0 && (
          <>
            <h3>Run it in a terminal</h3>
            <Commands commands={page.commands} />
          </>
        )}
      </Section>
      <p className="provenance">
        Every number comes from the catalog, from a measurement, or from the formula given with it.
      </p>
    </div>
  );
}
