// The result of a probe of several hosts: the network between them, their disks compared.
import { percent, rate } from "../../../format";
import type { BetweenHosts, DisksOfHosts } from "../../../generated/types";
import { type HeatCell, HeatTable } from "../../../parts/HeatTable";
import { type Cell, DataTable, number } from "../../../parts/Table";

const rated = (value: number): Cell => ({ value, show: rate(value) });
const share = (value: number | null): Cell =>
  value === null ? null : { value, show: percent(value) };
const slow = <span className="marked">slow</span>;

/** The rates of pairs, a row for each sender. */
export const cellsOf = ({ hosts, matrix }: BetweenHosts): (HeatCell | null)[][] =>
  matrix.map((row, from) =>
    row.map((pair, to) =>
      pair === null
        ? null
        : {
            value: pair.bytes_per_s,
            text: rate(pair.bytes_per_s),
            title: `${hosts[from]} to ${hosts[to]}: median of ${pair.n} iterations ${rate(pair.bytes_per_s)}, lowest ${rate(pair.least_bytes_per_s)}`,
          },
    ),
  );

/** NetBench between hosts. */
export function Network({ found }: { found: BetweenHosts }) {
  const slowHosts = found.standings.filter((each) => each.slow).map(({ host }) => host);
  return (
    <section aria-labelledby="between-hosts">
      <h2 id="between-hosts">Network between hosts</h2>
      <p>{found.sentence}</p>
      <figure>
        <figcaption>
          <h3>From row host to column host</h3>
          <p>Median of the iterations. A stronger color means a faster pair.</p>
        </figcaption>
        <HeatTable
          caption="Rates between pairs of hosts"
          corner="From"
          names={found.hosts}
          cells={cellsOf(found)}
          marked={slowHosts}
          mark="slow"
        />
      </figure>
      <h3>Each host with one peer at a time</h3>
      <div className="panel">
        <DataTable
          caption="Hosts compared"
          columns={[
            { name: "Host" },
            number("Rate"),
            number("Relative to the others' median"),
            { name: "Slow" },
          ]}
          rows={found.standings.map((each): Cell[] => [
            each.host,
            rated(each.bytes_per_s),
            share(each.share),
            each.slow ? { value: "slow", show: slow } : "",
          ])}
        />
      </div>
      <h3>All to all: the slowest host decides</h3>
      <div className="panel">
        <DataTable
          caption="All to all"
          columns={[
            number("Hosts"),
            { name: "Without" },
            { name: "Slowest host" },
            number("Its rate"),
            number("Mean of all"),
            number("Gain"),
          ]}
          rows={[
            ...found.sizes.map((size): Cell[] => [
              size.hosts,
              "",
              size.slowest,
              rated(size.bytes_per_s),
              rated(size.mean_bytes_per_s),
              "",
            ]),
            ...found.culled.map((step): Cell[] => [
              step.hosts,
              step.dropped.join(", "),
              step.slowest,
              rated(step.bytes_per_s),
              "",
              step.gain === null
                ? null
                : {
                    value: step.gain,
                    show: `${step.gain >= 0 ? "+" : "−"}${percent(Math.abs(step.gain))}`,
                  },
            ]),
          ]}
        />
      </div>
    </section>
  );
}

/** DiskBench on several hosts. */
export function Disks({ found }: { found: DisksOfHosts }) {
  return (
    <section aria-labelledby="disks-of-hosts">
      <h2 id="disks-of-hosts">Disks by host</h2>
      <p>{found.sentence}</p>
      <div className="panel">
        <DataTable
          caption="Disk rates while all hosts are busy"
          columns={[
            { name: "Host" },
            { name: "Folder" },
            { name: "Test" },
            number("Rate"),
            number("Relative to its peers' median"),
            number("Relative to its rate alone"),
            { name: "Slow" },
          ]}
          rows={found.disks.map((each): Cell[] => [
            each.host,
            each.folder,
            each.mode === "read_write" ? `mixed ${each.role}` : each.mode.replace("_", " "),
            each.rate === null
              ? null
              : {
                  value: each.rate,
                  show: each.unit === "B/s" ? rate(each.rate) : `${Math.round(each.rate)}/s`,
                },
            share(each.share),
            share(each.of_alone),
            each.slow ? { value: "slow", show: slow } : "",
          ])}
        />
      </div>
    </section>
  );
}
