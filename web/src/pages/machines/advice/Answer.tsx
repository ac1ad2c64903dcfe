// The advisor's answer: the options as a picture and a table, what the network does to the ranking,
// where the figures come from, and what was left out.
import { type ReactNode, useCallback } from "react";
import type {
  AdvicePage,
  BarRow,
  ExplainRow,
  Missing,
  OptionRow,
  Span as Range,
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
import { bars } from "./charts/bars";
import { pareto } from "./charts/pareto";

/** So many types have their three bars drawn; the table has all. */
const BARS_DRAWN = 24;

interface Ranged {
  value: Range | Missing;
  as: (value: number) => string;
  least: boolean;
}

/** The ends of a range, where it has two. */
const ends = (value: Range | Missing, as: Ranged["as"]) =>
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

const priceAge = (option: OptionRow) => (
  <>
    {words(option.price_as_of)}
    {option.price_is_stale && ", old"}
  </>
);

function narrowest({ bottlenecks }: OptionRow): ReactNode {
  if (bottlenecks.length === 0) return <span className="missing">—</span>;
  return bottlenecks.map(({ phase, resource, certain }, place) => (
    <span key={phase}>
      {place > 0 && "; "}
      {phase}: {words(resource)}
      {!certain && !isMissing(resource) && " (not certain)"}
    </span>
  ));
}

const OPTIONS: Column<OptionRow>[] = [
  {
    head: "Type",
    names: true,
    cell: (option) => (
      <>
        {option.instance_type}
        {option.chosen && <strong className="throat"> chosen</strong>}
        {option.knee && " (knee)"}
      </>
    ),
  },
  { head: "Nodes", kind: "n", cell: (option) => count(option.nodes) },
  {
    head: "Time",
    kind: "n",
    cell: ({ time_s, lower_bound }) => (
      <RangeCell value={time_s} as={duration} least={lower_bound} />
    ),
  },
  {
    head: "Cost of the time used",
    kind: "n",
    cell: ({ cost_usd, lower_bound }) => (
      <RangeCell value={cost_usd} as={usd} least={lower_bound} />
    ),
  },
  { head: "Billed", kind: "n", cell: (option) => <Tell value={option.billed_usd} as={usd} /> },
  { head: "Frontier", cell: (option) => option.frontier },
  { head: "Narrowest", kind: "formula", cell: narrowest },
  { head: "Inputs", cell: (option) => option.kinds.join(", ") || "none" },
  { head: "Price as of", kind: "date", cell: priceAge },
];

function Chosen({ option }: { option: OptionRow }) {
  return (
    <ul className="figures">
      <li>
        <span className="label">Machines</span>
        <span className="value">
          {count(option.nodes)} × {option.instance_type}
        </span>
        <span className="note">{option.note}</span>
      </li>
      <RangeFigure label="Time" value={option.time_s} as={duration} least={option.lower_bound} />
      <RangeFigure
        label="Cost of the time used"
        value={option.cost_usd}
        as={usd}
        least={option.lower_bound}
      />
      <li>
        <span className="label">Billed</span>
        <span className="value">
          {option.lower_bound && !isMissing(option.billed_usd) && "≥ "}
          <Tell value={option.billed_usd} as={usd} />
        </span>
        <span className="note">price as of {priceAge(option)}</span>
      </li>
    </ul>
  );
}

function Options({ page }: { page: AdvicePage }) {
  const { options, deadline_s, budget_usd } = page;
  const asked = deadline_s !== null || budget_usd !== null;
  const least = options.some((option) => option.lower_bound);
  const draw = useCallback(
    (view: View) => pareto(plain({ options, deadline_s, budget_usd }), view),
    [options, deadline_s, budget_usd],
  );
  return (
    <Section id="options" title="Time against cost">
      <figure>
        <figcaption>
          <p>
            Each mark is a number of nodes of one type. Whiskers are the bounds that the known
            ranges of the inputs allow. On the frontier no other option is both faster and cheaper;
            where ranges overlap, that cannot be told.
            {asked && " A deadline or budget far from every option is not drawn."}
          </p>
        </figcaption>
        {options.length === 0 ? (
          <Nothing>No option is left: see what was left out, and why.</Nothing>
        ) : (
          <>
            <Legend
              entries={[
                ["chosen", "chosen"],
                ["frontier", "on the frontier"],
                ["cannot-tell", "cannot tell"],
                ["beaten", "beaten"],
                ...(least ? ([["at-least", "at least so much"]] as const) : []),
                ...(asked ? ([["asked", "deadline or budget"]] as const) : []),
              ]}
            />
            <Chart
              label="Cost against time of the job per option, with their ranges and the frontier"
              draw={draw}
            />
            <Twin label="options" open>
              <Grid columns={OPTIONS} rows={options} under={(option) => option.note} />
            </Twin>
            {least && (
              <p className="aside">
                ≥ : at least so much; a rate is only known as an advertised limit, which no program
                reaches.
              </p>
            )}
            {options.some((option) => option.price_is_stale) && (
              <p className="aside">old: the price is more than a year old.</p>
            )}
          </>
        )}
      </figure>
    </Section>
  );
}

const BARS: Column<BarRow>[] = [
  { head: "Type", names: true, cell: (row) => row.instance_type },
  {
    head: "Storage only",
    kind: "n",
    cell: (row) => <Tell value={row.storage_only_usd} as={usd} />,
  },
  {
    head: "Ideal network",
    kind: "n",
    cell: (row) => <Tell value={row.ideal_network_usd} as={usd} />,
  },
  {
    head: "Observed network",
    kind: "n",
    cell: (row) => <Tell value={row.observed_network_usd} as={usd} />,
  },
  { head: "Note", kind: "source", cell: (row) => row.note },
];

const isPriced = (row: BarRow) =>
  ![row.storage_only_usd, row.ideal_network_usd, row.observed_network_usd].every(isMissing);

function NetworkBars({ rows }: { rows: BarRow[] }) {
  const drawn = Math.min(rows.filter(isPriced).length, BARS_DRAWN);
  const draw = useCallback(
    (view: View) => bars(plain(rows.filter(isPriced).slice(0, BARS_DRAWN)), view),
    [rows],
  );
  return (
    <Section id="bars" title="What the network does to the ranking">
      <figure>
        <figcaption>
          <p>
            Cost of the time used per type, three times: as if only storage had a limit, with the
            network as between two nodes, and with the network as it is at that many nodes.
            {drawn < rows.length &&
              ` The picture has the first ${drawn} types of which a cost is known, the table all ${rows.length}.`}
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
            <Twin label="cost by what limits it">
              <Grid columns={BARS} rows={rows} />
            </Twin>
          </>
        )}
      </figure>
    </Section>
  );
}

function rateRange({ low_bytes_per_s: low, high_bytes_per_s: high }: ExplainRow) {
  if (isMissing(low) || isMissing(high)) {
    return <Tell value={isMissing(low) ? low : high} as={rate} />;
  }
  return `${rate(low)} to ${rate(high)}`;
}

const TERMS: Column<ExplainRow>[] = [
  { head: "Phase", cell: (row) => row.phase },
  {
    head: "Term",
    names: true,
    cell: (row) => (
      <>
        {row.term}
        {row.binding && <strong className="throat"> narrowest</strong>}
      </>
    ),
  },
  { head: "Formula", kind: "formula", cell: (row) => row.formula },
  { head: "Moves", kind: "n", cell: (row) => <Tell value={row.demand_bytes} as={size} /> },
  {
    head: "Rate of a node",
    kind: "n",
    cell: (row) => <Tell value={row.rate_bytes_per_s} as={rate} />,
  },
  { head: "Range", kind: "n", cell: rateRange },
  { head: "Takes", kind: "n", cell: (row) => <Tell value={row.time_s} as={duration} /> },
  { head: "Known as", cell: (row) => row.kind },
];

const origin = ({ source, as_of }: ExplainRow) => (
  <>
    {words(source)}; {words(as_of)}
  </>
);

function Explained({ explain }: { explain: AdvicePage["explain"] }) {
  return (
    <Section id="explained" title="Where the figures come from">
      {explain.length === 0 && <Nothing>No type was asked about; name one to explain.</Nothing>}
      {explain.map(({ title, rows, matters_most }) => (
        <figure key={title}>
          <figcaption>
            <h3>{title}</h3>
            <p>What would change the answer most: {words(matters_most)}</p>
          </figcaption>
          <Scroll label={`terms of ${title}`}>
            <Grid columns={TERMS} rows={rows} under={origin} />
          </Scroll>
        </figure>
      ))}
    </Section>
  );
}

const EXCLUDED: Column<AdvicePage["exclusions"][number]>[] = [
  { head: "Reason", names: true, cell: (row) => row.reason },
  { head: "Types", kind: "n", cell: (row) => count(row.count) },
  { head: "Such as", cell: (row) => row.examples.join(", ") || "none named" },
];

function LeftOut({ rows }: { rows: AdvicePage["exclusions"] }) {
  return (
    <Section id="excluded" title="Left out, and why">
      {rows.length === 0 ? (
        <Nothing>Nothing was left out.</Nothing>
      ) : (
        <figure>
          <Scroll label="types left out">
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
  const [chosen] = page.options.filter((option) => option.chosen);
  return (
    <div className="report">
      <p className="question">{page.question}</p>
      <Heading className="answer">{page.answer}</Heading>
      <p className="meta">
        <Moment at={page.generated_at} />
      </p>
      <Sections
        of={[
          ["options", "Options"],
          ["bars", "Storage and network"],
          ["explained", "Why"],
          ["excluded", "Left out"],
          ["assumed", "Assumptions"],
        ]}
      />
      <Section id="answer" title="The answer" hidden>
        {chosen && <Chosen option={chosen} />}
        <Lines texts={page.reasons} />
      </Section>
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
            <h3>Do it again</h3>
            <Commands commands={page.commands} />
          </>
        )}
      </Section>
      <p className="provenance">
        Every number here comes from the catalog, from a measurement, or from a formula named beside
        it.
      </p>
    </div>
  );
}
