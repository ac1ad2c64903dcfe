// The limits of the devices, and how much of them the sorts used.

import type {
  DeviceRate,
  PhaseUse,
  RandomRead,
  ReportData,
  ReportLatency,
} from "../../../generated/types";
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
import { count, requestTime, share } from "../../../report-units";
import { rate } from "../../../units";
import { latencies, network, rates } from "./charts/devices";

const rateColumns = (first: string, second: string): Column<DeviceRate>[] => [
  { head: first, names: true, cell: (row) => row.label },
  { head: second, cell: (row) => row.where },
  { head: "Setting", cell: (row) => row.setting },
  { head: "Mean", kind: "n", cell: (row) => <Tell value={row.mean_bytes_per_s} as={rate} /> },
  { head: "Lowest", kind: "n", cell: (row) => <Tell value={row.minimum_bytes_per_s} as={rate} /> },
  { head: "Highest", kind: "n", cell: (row) => <Tell value={row.maximum_bytes_per_s} as={rate} /> },
  { head: "Iterations", kind: "n", cell: (row) => row.iterations },
];

const USES: Column<PhaseUse>[] = [
  { head: "Sort", names: true, cell: (use) => use.sort },
  { head: "Phase", cell: (use) => use.phase },
  { head: "Read", kind: "n", cell: (use) => <Tell value={use.read_bytes_per_s} as={rate} /> },
  { head: "Written", kind: "n", cell: (use) => <Tell value={use.write_bytes_per_s} as={rate} /> },
  { head: "Limit", kind: "n", cell: (use) => <Tell value={use.limit_bytes_per_s} as={rate} /> },
  { head: "Share", kind: "n", cell: (use) => <Tell value={use.share_of_limit} as={share} /> },
  { head: "Mix", cell: (use) => use.limit_name },
];

const READS: Column<RandomRead>[] = [
  { head: "Request", names: true, cell: (read) => read.label },
  { head: "Requests per second", kind: "n", cell: (read) => <Tell value={read.iops} as={count} /> },
  { head: "Rate", kind: "n", cell: (read) => <Tell value={read.bytes_per_s} as={rate} /> },
];

const latencyColumns = (first: ReportLatency): Column<ReportLatency>[] => [
  { head: "Mode", names: true, cell: (latency) => latency.label },
  ...first.quantiles_s.map(
    ([name], place): Column<ReportLatency> => ({
      head: name,
      kind: "n",
      cell: ({ quantiles_s }) => (
        <Tell value={quantiles_s[place]?.[1] ?? { reason: "not measured" }} as={requestTime} />
      ),
    }),
  ),
];

interface Part {
  data: ReportData;
  charts: Plain<ReportData>;
}

function Disk({ data, charts }: Part) {
  return (
    <figure>
      <figcaption>
        <h3>Disk</h3>
        <p>
          Top: measured disk rates; whiskers show the lowest and highest iteration. Bottom, on the
          same scale: the rate of each sort phase, and the disk's limit for that mix of reads and
          writes.
        </p>
      </figcaption>
      {isMissing(data.rates) ? (
        <Nothing>{words(data.rates)}</Nothing>
      ) : (
        <>
          <Legend
            entries={[
              ["read", "read"],
              ["write", "write"],
              ["limit", "limit for the mix"],
            ]}
          />
          <Chart
            label="Disk rates measured by the probe, and the rates of each phase of each sort"
            draw={(view) => rates(charts, view)}
          />
          <Twin label="disk rates">
            <Grid columns={rateColumns("Mode", "Where")} rows={data.rates} />
          </Twin>
        </>
      )}
      {data.uses.length > 0 && (
        <Twin label="disk use by phase">
          <Grid columns={USES} rows={data.uses} />
        </Twin>
      )}
    </figure>
  );
}

function DiskLatency({ data, charts }: Part) {
  const [first] = data.latencies;
  if (!first && data.random_reads.length === 0) return null;
  return (
    <figure>
      <figcaption>
        <h3>Disk latency</h3>
        <p>
          Time per request, on a logarithmic scale. Half of the requests are faster than p50, 99 in
          100 are faster than p99.
        </p>
      </figcaption>
      {first && (
        <>
          <Legend
            entries={[
              ["latency-1", "p50"],
              ["latency-3", "p90, p99, p99.9"],
              ["latency-5", "slowest"],
            ]}
          />
          <Chart
            label="Percentiles of disk request time per mode"
            draw={(view) => latencies(charts, view)}
          />
          <Twin label="disk latency">
            <Grid columns={latencyColumns(first)} rows={data.latencies} />
          </Twin>
        </>
      )}
      {data.random_reads.length > 0 && (
        <Twin label="random reads" open>
          <Grid columns={READS} rows={data.random_reads} />
        </Twin>
      )}
    </figure>
  );
}

function Network({ data, charts }: Part) {
  return (
    <figure>
      <figcaption>
        <h3>Network</h3>
        <p>{data.network_label}. A sort on one machine doesn't use it.</p>
      </figcaption>
      {isMissing(data.network) ? (
        <Nothing>{words(data.network)}</Nothing>
      ) : (
        <>
          <Chart
            label="Network rates measured by the probe"
            draw={(view) => network(charts, view)}
          />
          <Twin label="network rates">
            <Grid columns={rateColumns("Pattern", "Figure")} rows={data.network} />
          </Twin>
        </>
      )}
    </figure>
  );
}

export function Limits({ data, charts }: Part) {
  return (
    <Section id="limits" title="Device limits, and how much of them the sort used">
      <Disk data={data} charts={charts} />
      <DiskLatency data={data} charts={charts} />
      <Network data={data} charts={charts} />
    </Section>
  );
}
