// The load of a trial's hosts over time, on one scale; the narrowest host is marked.
import { useCallback } from "react";
import { useTwin } from "../../../data";
import { percent, rate } from "../../../format";
import type { HostsOverTime } from "../../../generated/types";
import { Figure } from "../../../parts/Figure";
import { Pending, ProblemBox } from "../../../parts/Page";
import { type Cell, number } from "../../../parts/Table";
import { useSearch } from "../../../state";
import { latency } from "../../../units";
import { firstShown, hostsChart, SHOWN, type Shown } from "./charts/hosts";

type View = Parameters<typeof hostsChart>[2];

const share = (value: number | null | undefined): Cell =>
  value == null ? null : { value, show: percent(value) };
const rated = (value: number | null | undefined): Cell =>
  value == null ? null : { value, show: rate(value) };

/** The means of each host over the whole trial. */
const tableOf = ({ hosts }: HostsOverTime) => ({
  columns: [
    { name: "Host" },
    { name: "Rack" },
    number("CPU busy"),
    { name: "Busiest disk" },
    number("Disk busy"),
    number("Network in"),
    number("Network out"),
    number("Share of link rate"),
    number("Clock error"),
    { name: "Narrowest" },
  ],
  rows: hosts.map(({ host, rack, mean, clock_error_s, narrowest }): Cell[] => [
    host,
    rack,
    share(mean?.cpu_busy),
    mean?.disk ?? null,
    share(mean?.disk_busy),
    rated(mean?.net_receive_bytes_per_s),
    rated(mean?.net_transmit_bytes_per_s),
    share(mean?.network_busy),
    clock_error_s === null ? null : { value: clock_error_s, show: latency(clock_error_s) },
    narrowest ? { value: "narrowest", show: <span className="marked">narrowest</span> } : "",
  ]),
});

function Multiples({ id, found }: { id: string; found: HostsOverTime }) {
  const [search, edit] = useSearch();
  const asked = search.get("device") ?? "";
  const shown: Shown = asked in SHOWN ? (asked as Shown) : firstShown(found);
  const draw = useCallback((view: View) => hostsChart(found, shown, view), [found, shown]);
  const unit = shown === "network" ? "MB/s" : "% of the time";
  return (
    <Figure
      title={`${SHOWN[shown]}, host by host`}
      caption={`All hosts share one scale (${unit}) and the trial's time axis, corrected by each host's measured clock offset.`}
      draw={draw}
      file={`${id}-hosts`}
      table={tableOf(found)}
    >
      <div className="controls">
        <div className="field">
          <label htmlFor="device">Device</label>
          <select
            id="device"
            value={shown}
            onChange={({ target }) =>
              edit((next) => next.set("device", target.value), { replace: true })
            }
          >
            {Object.entries(SHOWN).map(([key, name]) => (
              <option key={key} value={key}>
                {name}
              </option>
            ))}
          </select>
        </div>
      </div>
    </Figure>
  );
}

/** The hosts of a trial; nothing if only one was watched. */
export function Hosts({ id }: { id: string }) {
  const { data, problem, pending } = useTwin("/api/trials/{id}/hosts", undefined, id);
  if (data && data.hosts.length === 0) return null;
  return (
    <section aria-labelledby="hosts-over-time">
      <h2 id="hosts-over-time">Hosts compared</h2>
      {pending && <Pending what="the hosts' series" lines={20} />}
      {problem && <ProblemBox problem={problem} />}
      {data?.sentence && <p>{data.sentence}</p>}
      {data && <Multiples id={id} found={data} />}
    </section>
  );
}
