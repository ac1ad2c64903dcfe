// A cluster: differences between its hosts, its probes, hosts, links, disks and trials.
import { Link } from "wouter";
import { exported, useTwin } from "../../../data";
import { bytes, count, moment, plain, sentence } from "../../../format";
import { PAGES } from "../../../generated/pages";
import type {
  ClusterCard,
  ClusterPage,
  HostCard,
  NamedCluster,
  ProbeSeen,
} from "../../../generated/types";
import { Facts } from "../../../parts/Facts";
import { Page, Pending, ProblemBox } from "../../../parts/Page";
import { type SectionList, Sections } from "../../../parts/Sections";
import { type Cell, DataTable, number } from "../../../parts/Table";
import { Trials } from "../../../parts/Trials";
import { useSearch } from "../../../state";
import { latency, lineRate } from "../../../units";
import { linkText } from "./links";

/** Leads to a trial; in a file, its name. */
function TrialLink({ id, text }: { id: string; text: string }) {
  return exported ? text : <Link href={`${PAGES.repository.path}/${id}`}>{text}</Link>;
}

const clockText = ({ clock }: HostCard): Cell =>
  clock && {
    value: clock.offset_s,
    show: `${clock.offset_s < 0 ? "−" : ""}${latency(Math.abs(clock.offset_s))} ± ${latency(clock.error_s)}`,
  };

function Hosts({ hosts }: { hosts: readonly HostCard[] }) {
  return (
    <section aria-labelledby="hosts">
      <h2 id="hosts">Hosts</h2>
      <div className="panel">
        <DataTable
          caption="Hosts"
          columns={[
            { name: "Host" },
            { name: "Roles" },
            { name: "Rack" },
            { name: "Links" },
            number("Memory"),
            number("Threads"),
            { name: "CPU" },
            { name: "Kernel" },
            number("Clock offset"),
          ]}
          rows={hosts.map((host): Cell[] => [
            host.name,
            host.roles.join(", "),
            host.rack,
            Object.entries(host.links)
              .map(([network, link]) => linkText(network, link))
              .join("; "),
            host.memory_bytes === null
              ? null
              : { value: host.memory_bytes, show: bytes(host.memory_bytes) },
            host.threads,
            host.processor,
            host.kernel,
            clockText(host),
          ])}
        />
      </div>
    </section>
  );
}

function Disks({ hosts }: { hosts: readonly HostCard[] }) {
  const rows = hosts.flatMap((host) =>
    host.disks.map((disk): Cell[] => [
      host.name,
      disk.disk_class,
      disk.folder,
      disk.device,
      disk.model,
      disk.size_bytes === null ? null : { value: disk.size_bytes, show: bytes(disk.size_bytes) },
      disk.file_system,
    ]),
  );
  return (
    <section aria-labelledby="disks">
      <h2 id="disks">Disks</h2>
      {rows.length === 0 ? (
        <p className="nothing">The cluster file lists no disks.</p>
      ) : (
        <div className="panel">
          <DataTable
            caption="Disks of the hosts"
            columns={[
              { name: "Host" },
              { name: "Class" },
              { name: "Folder" },
              { name: "Device" },
              { name: "Model" },
              number("Size"),
              { name: "File system" },
            ]}
            rows={rows}
          />
        </div>
      )}
    </section>
  );
}

/** The answer in one line: whether the hosts differ. */
function headlineOf({ hosts, differences }: ClusterCard): string {
  if (hosts.length < 2) return "This cluster has one host";
  if (differences.length === 0) return `No difference between the ${count(hosts.length)} hosts`;
  const found =
    differences.length === 1 ? "1 difference" : `${count(differences.length)} differences`;
  return `${found} between hosts`;
}

function Differences({ card }: { card: ClusterCard }) {
  return (
    <section aria-labelledby="differences">
      <h2 id="differences">{headlineOf(card)}</h2>
      {card.differences.length > 0 && (
        <ul className="notices">
          {card.differences.map((text) => (
            <li key={text}>{text}</li>
          ))}
        </ul>
      )}
      {card.differences.length === 0 && card.hosts.length > 1 && (
        <p>Hosts with the same roles have the same recorded facts.</p>
      )}
      {card.clocks && <p>{sentence(card.clocks)}</p>}
      <p className="aside">
        Next: <code>venturi cluster check</code> checks more, on the hosts as they are now.
      </p>
    </section>
  );
}

function Probe({
  title,
  seen,
  command,
}: {
  title: string;
  seen: ProbeSeen | null;
  command: string;
}) {
  return (
    <div className="card">
      <h3>{title}</h3>
      {seen === null ? (
        <p className="nothing">
          Not measured yet: <code>{command}</code>
        </p>
      ) : (
        <>
          <p>{seen.sentence ?? "This probe compared no hosts."}</p>
          <p className="aside">
            <TrialLink
              id={seen.trial}
              text={`Trial, ${seen.started_at === null ? seen.state : moment(seen.started_at)}`}
            />
            {seen.state !== "succeeded" && <span className="state">{seen.state}</span>}
            {seen.disturbed && <span className="state">disturbed</span>}
            {seen.folders.length > 0 && `, folders ${seen.folders.join(", ")}`}
          </p>
        </>
      )}
    </div>
  );
}

const dilation = ({ dilation: k, dilate_cpu }: ClusterCard): string | null =>
  k === null
    ? null
    : `rates divided by ${plain(k)}${dilate_cpu === null ? "" : `, CPU speed ${dilate_cpu ? "too" : "unchanged"}`}`;

function Whole({ card }: { card: ClusterCard }) {
  const { price } = card;
  return (
    <section aria-labelledby="whole">
      <h2 id="whole">Facts</h2>
      <div className="cards">
        <Facts
          title="Cluster"
          facts={[
            ["hosts", card.hosts.length],
            ["data network", card.network],
            ["instance type", card.instance_type],
            ["emulated", dilation(card)],
            [
              "price",
              price &&
                `${plain(price.amount)} ${price.currency} per ${price.per}, ${price.as_of} (${price.source})`,
            ],
          ]}
        />
        {card.racks.length > 0 && (
          <Facts
            title="Racks"
            facts={card.racks.map(
              ({ name, within, uplink_bytes_per_s: rate }) =>
                [
                  name,
                  [rate === null ? "uplink: rate unknown" : `uplink: ${lineRate(rate)}`]
                    .concat(within === null ? [] : [`within ${within}`])
                    .join(", "),
                ] as const,
            )}
          />
        )}
      </div>
    </section>
  );
}

function Choice({ clusters, name }: { clusters: readonly NamedCluster[]; name: string }) {
  const [, edit] = useSearch();
  return (
    <div className="controls">
      <div className="field">
        <label htmlFor="cluster">Cluster</label>
        <select
          id="cluster"
          value={name}
          onChange={({ target }) => edit((next) => next.set("name", target.value))}
        >
          {clusters.map((each) => (
            <option key={each.name} value={each.name}>
              {each.name} ({count(each.trials)} {each.trials === 1 ? "trial" : "trials"})
            </option>
          ))}
        </select>
      </div>
    </div>
  );
}

const SECTIONS: SectionList = [
  ["probes", "Newest probes"],
  ["whole", "Facts"],
  ["hosts", "Hosts"],
  ["disks", "Disks"],
  ["trials", "Trials"],
];

function Body({ card, page }: { card: ClusterCard; page: ClusterPage }) {
  const total = page.clusters.find(({ name }) => name === card.name)?.trials ?? 0;
  return (
    <>
      <Differences card={card} />
      <Sections of={SECTIONS} />
      <section aria-labelledby="probes">
        <h2 id="probes">Newest probes</h2>
        <div className="cards">
          <Probe
            title="Network"
            seen={page.net}
            command={`venturi probe net --cluster FILE|lab:${card.name}`}
          />
          <Probe
            title="Disks"
            seen={page.disk}
            command={`venturi probe disk --cluster FILE|lab:${card.name}`}
          />
        </div>
      </section>
      <Whole card={card} />
      <Hosts hosts={card.hosts} />
      <Disks hosts={card.hosts} />
      <section aria-labelledby="trials">
        <h2 id="trials">
          {page.trials.length < total
            ? `Newest ${count(page.trials.length)} of ${count(total)} trials on this cluster`
            : `Trials on this cluster (${count(total)})`}
        </h2>
        <div className="panel">
          <Trials
            caption={`Trials on ${card.name}`}
            rows={page.trials}
            columns={[
              "workload",
              "engine",
              "state",
              "elapsed_s",
              "started_at",
              "disturbed",
              "warnings",
            ]}
          />
        </div>
      </section>
    </>
  );
}

export default function ClustersPage() {
  const [search] = useSearch();
  const { data, problem, pending } = useTwin("/api/clusters", search);
  const card = data?.chosen;
  return (
    <Page
      title={card ? `Cluster ${card.name}` : PAGES.clusters.title}
      intro={
        card && (
          <>
            As recorded by <TrialLink id={card.as_of_trial} text="its newest trial" />
            {card.as_of !== null && `, ${moment(card.as_of)}`}.
          </>
        )
      }
    >
      {pending && <Pending what="clusters" lines={20} />}
      {problem && <ProblemBox problem={problem} />}
      {data && !card && (
        <p className="nothing">
          No trial has run on a cluster yet. <code>venturi probe net --cluster FILE</code> measures
          a cluster's network; <code>venturi cluster check FILE</code> checks its hosts.
        </p>
      )}
      {data && card && !exported && data.clusters.length > 1 && (
        <Choice clusters={data.clusters} name={card.name} />
      )}
      {data && card && <Body card={card} page={data} />}
    </Page>
  );
}
