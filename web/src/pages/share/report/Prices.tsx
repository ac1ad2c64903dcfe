// Predicted and measured times, and the job's time and cost elsewhere.

import type { PredictedTime, PriceRow, ReportData } from "../../../generated/types";
import { isMissing, type Plain } from "../../../missing";
import { Chart } from "../../../parts/Chart";
import {
  type Column,
  Grid,
  Legend,
  Nothing,
  Section,
  Tell,
  Twin,
  words,
} from "../../../parts/Sections";
import { count, hourly, ratio, usd } from "../../../report-units";
import { duration, rate } from "../../../units";
import { predicted } from "./charts/predicted";
import { prices } from "./charts/prices";

interface Part {
  data: ReportData;
  charts: Plain<ReportData>;
}

type Range = [PriceRow["cost_usd"], PriceRow["cost_usd"]];
type Compared = PredictedTime & { sort: string; last: boolean };

function interval({ predicted_s, low_s, high_s }: PredictedTime) {
  if (isMissing(predicted_s)) return "—";
  if (isMissing(low_s) || isMissing(high_s)) {
    return <Tell value={isMissing(low_s) ? low_s : high_s} as={duration} />;
  }
  return `${duration(low_s)} to ${duration(high_s)}`;
}

const COMPARED: Column<Compared>[] = [
  { head: "Sort", names: true, cell: (row) => row.sort },
  { head: "Phase", cell: (row) => row.phase },
  { head: "Predicted", kind: "n", cell: (row) => <Tell value={row.predicted_s} as={duration} /> },
  { head: "Interval", kind: "n", cell: interval },
  { head: "Measured", kind: "n", cell: (row) => <Tell value={row.measured_s} as={duration} /> },
  {
    head: "Measured / predicted",
    kind: "n",
    cell: (row) => <Tell value={row.measured_over_predicted} as={ratio} />,
  },
  { head: "Formula", kind: "formula", cell: (row) => row.formula || "none" },
];

export function Predicted({ data, charts }: Part) {
  const rows = data.sorts.flatMap(({ label, comparisons }) =>
    comparisons.map((row, place) => ({
      ...row,
      sort: label,
      last: place === comparisons.length - 1,
    })),
  );
  return (
    <Section id="predicted" title="Predicted against measured">
      {data.sorts.length === 0 ? (
        <Nothing>No sort was recorded.</Nothing>
      ) : (
        <figure>
          <figcaption>
            <p>
              Measured time divided by predicted time: 1.0 means exactly as predicted. The
              prediction uses only the disk probe. Its band comes from the fastest and slowest
              iterations of the probe.
            </p>
          </figcaption>
          <Legend
            entries={[
              ["predicted", "predicted, with its band"],
              ["measured", "measured"],
            ]}
          />
          <Chart
            label="Predicted and measured time of each phase and of each whole sort"
            draw={(view) => predicted(charts, view)}
          />
          <Twin label="predicted and measured times" open>
            <Grid columns={COMPARED} rows={rows} total={(row) => row.last} />
          </Twin>
        </figure>
      )}
    </Section>
  );
}

const atLeast = (price: PriceRow, value: PriceRow["cost_usd"], as: (value: number) => string) => (
  <>
    {price.lower_bound && "≥ "}
    <Tell value={value} as={as} />
  </>
);

const range = (price: PriceRow, [low, high]: Range, as: (value: number) => string) =>
  !price.lower_bound &&
  !isMissing(low) &&
  !isMissing(high) && (
    <small>
      {as(low)} to {as(high)}
    </small>
  );

const KNOWN: Column<PriceRow>[] = [
  { head: "Type", names: true, cell: (price) => price.instance_type },
  { head: "Nodes", kind: "n", cell: (price) => <Tell value={price.nodes} as={count} /> },
  {
    head: "Time",
    kind: "n",
    cell: (price) => (
      <>
        {atLeast(price, price.elapsed_s, duration)}
        {range(price, [price.elapsed_low_s, price.elapsed_high_s], duration)}
      </>
    ),
  },
  {
    head: "Cost",
    kind: "n",
    cell: (price) => (
      <>
        {atLeast(price, price.cost_usd, usd)}
        {range(price, [price.cost_low_usd, price.cost_high_usd], usd)}
      </>
    ),
  },
  { head: "Bottleneck", cell: (price) => words(price.bottleneck) },
  {
    head: "Storage per node",
    kind: "n",
    cell: (price) => (
      <>
        <Tell value={price.storage_bytes_per_s} as={rate} />
        <small>{price.storage_kind}</small>
      </>
    ),
  },
  {
    head: "Network per node",
    kind: "n",
    cell: (price) => (
      <>
        <Tell value={price.network_bytes_per_s} as={rate} />
        <small>{price.network_kind}</small>
      </>
    ),
  },
  {
    head: "Price per node-hour",
    kind: "n",
    cell: (price) => (
      <>
        <Tell value={price.price_usd_per_hour} as={hourly} />
        <small>
          {words(price.price_as_of)}
          {price.price_is_stale && ", old"}
        </small>
      </>
    ),
  },
];

const UNKNOWN: Column<PriceRow>[] = [
  { head: "Type", names: true, cell: (price) => price.instance_type },
  { head: "Nodes", kind: "n", cell: (price) => <Tell value={price.nodes} as={count} /> },
  {
    head: "Time",
    kind: "source",
    cell: (price) => <Tell value={price.elapsed_s} as={duration} />,
  },
  { head: "Cost", cell: (price) => <Tell value={price.cost_usd} as={usd} /> },
  {
    head: "Price per node-hour",
    kind: "n",
    cell: (price) => <Tell value={price.price_usd_per_hour} as={hourly} />,
  },
  { head: "Price as of", kind: "date", cell: (price) => words(price.price_as_of) },
];

const sources = (price: PriceRow) => (
  <>
    Storage: {words(price.storage_known)}. Network: {words(price.network_known)}. Price:{" "}
    {words(price.price_source)}.
  </>
);

function Table({
  job,
  rows,
  charts,
}: {
  job: string;
  rows: PriceRow[];
  charts: Plain<ReportData>;
}) {
  const known = rows.filter((price) => price.known);
  const unknown = rows.filter((price) => !price.known);
  return (
    <figure>
      <figcaption>
        <p>
          The fewest nodes that hold the data three times (input, intermediate, output), billed for
          the time they run. Time follows from each node's storage and network rates. Both scales
          are logarithmic.
        </p>
      </figcaption>
      {known.length === 0 ? (
        <Nothing>No type in the catalog has all the required rates.</Nothing>
      ) : (
        <>
          <Legend
            entries={[
              ["best", "cheapest"],
              ["measured", "priced"],
              ["least", "lower bound: network known only as a line rate"],
            ]}
          />
          <Chart
            label={`Cost against time of ${job} per instance type`}
            draw={(view) => prices(charts, view)}
          />
          <Twin label={`price of ${job}`} open>
            <Grid columns={KNOWN} rows={known} under={sources} />
          </Twin>
          {known.some((price) => price.lower_bound) && (
            <p className="aside">
              ≥ marks a lower bound: the network is known only by its line rate, which programs
              don't reach.
            </p>
          )}
          {known.some((price) => price.price_is_stale) && (
            <p className="aside">
              “old” marks a price that is more than a year older than this report.
            </p>
          )}
        </>
      )}
      {unknown.length > 0 && (
        <Twin label={`${unknown.length} types without a predicted cost, and why`}>
          <Grid columns={UNKNOWN} rows={unknown} />
        </Twin>
      )}
    </figure>
  );
}

export function Prices({ data, charts }: Part) {
  return (
    <Section id="price" title={`Time and cost of ${data.job} elsewhere`}>
      {isMissing(data.prices) ? (
        <Nothing>{words(data.prices)}</Nothing>
      ) : (
        <Table job={data.job} rows={data.prices} charts={charts} />
      )}
    </Section>
  );
}
