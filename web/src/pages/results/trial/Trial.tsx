// One trial: its summary, whether it counts, its details, and where it comes from.

import { type ReactNode, useCallback, useMemo } from "react";
import { Link } from "wouter";
import { exported, useTwin } from "../../../data";
import { bytes, count, moment, plain, rate, seconds, sentence } from "../../../format";
import { PAGES } from "../../../generated/pages";
import type { Trial as Record_ } from "../../../generated/record";
import type { TrialDetail } from "../../../generated/types";
import { Exclude } from "../../../parts/Exclude";
import { Facts, HostFacts } from "../../../parts/Facts";
import { Figure } from "../../../parts/Figure";
import { Missing, Page, Pending, ProblemBox } from "../../../parts/Page";
import { Sections } from "../../../parts/Sections";
import { type Cell, DataTable } from "../../../parts/Table";
import { Trials } from "../../../parts/Trials";
import { useSearch } from "../../../state";
import { siblings } from "./charts/siblings";
import { DiskIo } from "./DiskIo";
import { Hosts } from "./Hosts";
import { longestPhase } from "./headline";
import { JobDetails } from "./Job";
import { Disks, Network } from "./SeveralHosts";
import { JobSummary } from "./Summary";
import { severalWatched, trialSections } from "./sections";
import { Timeline, useJob } from "./Timeline";

const MOST_OPEN = 20; // lines of settings or files; more are folded

const ENDED: Readonly<Record<string, string>> = {
  failed: "it failed",
  invalid: "its output is invalid",
  interrupted: "it was interrupted",
  unknown: "the log doesn't say how it ended",
};

/** How a trial stands that has not succeeded, as a clause. */
const stateClause = (state: string) => ENDED[state] ?? `it is still ${state}`;

/** Why a trial doesn't count, empty if it does. */
const againstIt = (trial: Record_, { exclusions }: TrialDetail): string[] => [
  ...(trial.state === "succeeded" ? [] : [stateClause(trial.state)]),
  ...(trial.warm_up ? ["it's a warm-up, which is shown but not counted"] : []),
  ...(exclusions.length > 0 ? ["an exclusion rule covers it"] : []),
];

/** The bottleneck of a trial without a job log, and the next step. */
function Answer({ trial, detail }: { trial: Record_; detail: TrialDetail }) {
  if (detail.bottleneck === null) return null;
  const disturbed = trial.warnings.some(({ code }) => code === "VEN-MEASURE-DISTURBED");
  const others = new URLSearchParams([
    ["where", `workload=${trial.workload.name}`],
    ["where", `engine=${trial.engine.name}`],
  ]);
  return (
    <section aria-labelledby="summary">
      <h2 id="summary">{detail.bottleneck}</h2>
      <p>
        Next:{" "}
        {disturbed ? (
          "other programs disturbed this trial, so stop them and measure again."
        ) : exported ? (
          "compare it with trials that have other disks, cores or settings."
        ) : (
          <>
            <Link href={`${PAGES.repository.path}?${others}`}>
              compare it with other trials of {trial.workload.name} on {trial.engine.name}
            </Link>
            .
          </>
        )}
      </p>
    </section>
  );
}

/** Whether a trial counts in the statistics of its group, and its warnings. */
function Validity({ trial, detail }: { trial: Record_; detail: TrialDetail }) {
  const against = againstIt(trial, detail);
  return (
    <section aria-labelledby="validity">
      <h2 id="validity">Does it count?</h2>
      <p>
        {against.length === 0
          ? "Yes: it succeeded, isn't a warm-up, and no exclusion rule covers it."
          : `No: ${against.join("; ")}.`}
      </p>
      {trial.failure && (
        <div className="failure">
          <p>
            <strong>{trial.failure.kind}</strong>: {trial.failure.message}
          </p>
          <p className="aside">
            <code>{trial.failure.code}</code>
          </p>
        </div>
      )}
      {detail.exclusions.map(({ id, reason, author, created_at }) => (
        <div className="failure" key={id}>
          <p>
            <strong>Excluded</strong>: {reason}
          </p>
          <p className="aside">
            {author.text}, {moment(created_at)} ·{" "}
            <Link href={PAGES.exclusions.path}>exclusions</Link>
          </p>
        </div>
      ))}
      {trial.warnings.length > 0 && (
        <>
          <h3>Warnings</h3>
          <ul className="notices">
            {trial.warnings.map(({ code, message }) => (
              <li key={code + message}>
                <code>{code}</code> {message}
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
}

function Siblings({ trial, detail }: { trial: Record_; detail: TrialDetail }) {
  const group = useMemo(
    () =>
      [...detail.siblings, trial].flatMap(({ id, elapsed_s, warm_up, state }) =>
        elapsed_s !== null && state === "succeeded" ? [{ id, elapsed_s, warm_up }] : [],
      ),
    [detail.siblings, trial],
  );
  const draw = useCallback(
    (view: Parameters<typeof siblings>[2]) => siblings(group, trial.id, view),
    [group, trial.id],
  );
  const whole = new URLSearchParams({ where: `group=${detail.group}` });
  return (
    <section aria-labelledby="siblings">
      <h2 id="siblings">Repeat group</h2>
      {detail.siblings.length === 0 ? (
        <p>
          This is the only trial of its repeat group, so how much its time varies is unknown. More
          repetitions would show it.
        </p>
      ) : (
        <>
          <Figure
            title="Times in the repeat group"
            caption="Trials with the same workload, engine, cluster and configuration."
            draw={draw}
            file={`${trial.id}-group`}
            legend={[
              ["this-trial", "this trial"],
              ["other-trial", "other trials"],
            ]}
            table={{
              columns: [{ name: "Trial" }, { name: "Time", number: true }, { name: "Counted" }],
              rows: group.map(({ id, elapsed_s, warm_up }): Cell[] => [
                id,
                { value: elapsed_s, show: seconds(elapsed_s) },
                warm_up ? "no (warm-up)" : "yes",
              ]),
            }}
          />
          <div className="panel siblings">
            <Trials
              caption="Other trials of the repeat group"
              rows={detail.siblings}
              columns={["state", "elapsed_s", "repetition", "started_at", "disturbed", "warnings"]}
            />
          </div>
          {!exported && (
            <p className="aside">
              <Link href={`${PAGES.repository.path}?${whole}`}>This group in the repository</Link>
            </p>
          )}
        </>
      )}
    </section>
  );
}

function Samples({ trial }: { trial: Record_ }) {
  const samples = trial.samples.filter(({ metric }) => !metric.startsWith("stage_"));
  if (samples.length === 0) return null;
  const shown = (value: number, unit: string) =>
    unit === "B" ? bytes(value) : unit === "B/s" ? rate(value) : `${plain(value)} ${unit}`;
  return (
    <details className="more">
      <summary>Samples ({count(samples.length)})</summary>
      <DataTable
        caption="Samples"
        columns={[
          { name: "Metric" },
          { name: "Value", number: true },
          { name: "Phase" },
          { name: "Labels" },
        ]}
        rows={samples.map(({ metric, value, unit, phase, labels, missing_reason }): Cell[] => [
          metric,
          value === null
            ? { value: null, show: <Missing reason={missing_reason ?? "not reported"} /> }
            : { value, show: shown(value, unit) },
          phase ?? "",
          Object.entries(labels)
            .map(([key, of]) => `${key} ${of}`)
            .join(", "),
        ])}
      />
    </details>
  );
}

/** A list of `n` lines, folded if they are many. */
function FoldedIfLong({ title, n, children }: { title: string; n: number; children: ReactNode }) {
  if (n <= MOST_OPEN) return children;
  return (
    <details className="more">
      <summary>
        {title} ({count(n)})
      </summary>
      {children}
    </details>
  );
}

function Files({ trial }: { trial: Record_ }) {
  if (trial.artifacts.length === 0) return <p className="nothing">No files were kept.</p>;
  const address = (name: string) =>
    `/api/trials/${trial.id}/artifacts/${name.split("/").map(encodeURIComponent).join("/")}`;
  return (
    <DataTable
      caption="Files"
      columns={[{ name: "File" }, { name: "Kind" }, { name: "Size", number: true }]}
      rows={trial.artifacts.map(({ name, kind, size_bytes }): Cell[] => [
        {
          value: name,
          show: exported ? (
            name
          ) : (
            <a href={address(name)} download>
              {name}
            </a>
          ),
        },
        kind,
        { value: size_bytes, show: bytes(size_bytes) },
      ])}
    />
  );
}

/** The figures of a trial at a glance. */
function Figures({ trial, detail }: { trial: Record_; detail: TrialDetail }) {
  const { cluster, workload } = trial;
  const named = cluster.name ?? cluster.instance_type;
  const longest = named === null ? longestPhase(trial.phases) : undefined;
  return (
    <ul className="figures">
      <li>
        <span className="label">Time</span>
        <span className="value">
          {trial.elapsed_s === null ? (
            <Missing reason={trial.failure?.message ?? stateClause(trial.state)} />
          ) : (
            seconds(trial.elapsed_s)
          )}
        </span>
        <span className="note">{trial.state}</span>
      </li>
      {(workload.input_bytes !== null || workload.scale !== null) && (
        <li>
          <span className="label">Input</span>
          <span className="value">
            {workload.input_bytes === null ? workload.scale : bytes(workload.input_bytes)}
          </span>
          <span className="note">{workload.input_bytes === null ? "scale" : workload.scale}</span>
        </li>
      )}
      {cluster.hosts.length === 1 && longest ? (
        <li>
          <span className="label">Longest phase</span>
          <span className="value">{seconds(longest.elapsed_s)}</span>
          <span className="note">{longest.name}</span>
        </li>
      ) : (
        <li>
          <span className="label">Hosts</span>
          <span className="value">{count(cluster.hosts.length)}</span>
          <span className="note">
            {cluster.name === null || exported ? (
              (cluster.name ?? cluster.instance_type)
            ) : (
              <Link href={`${PAGES.clusters.path}?${new URLSearchParams({ name: cluster.name })}`}>
                {cluster.name}
              </Link>
            )}
          </span>
        </li>
      )}
      {detail.cost && (
        <li>
          <span className="label">Cost</span>
          <span className="value">
            {detail.cost.text ?? <Missing reason={detail.cost.missing_reason ?? "not reported"} />}
          </span>
          <span className="note">
            {detail.cost.basis ??
              (cluster.price
                ? `${cluster.price.amount} ${cluster.price.currency} per ${cluster.price.per}`
                : "reported by the source")}
          </span>
        </li>
      )}
      {(trial.warm_up || detail.siblings.length > 0) && (
        <li>
          <span className="label">Repetition</span>
          <span className="value">{trial.warm_up ? "warm-up" : count(trial.repetition)}</span>
          <span className="note">{detail.siblings.length + 1} in the repeat group</span>
        </li>
      )}
    </ul>
  );
}

/** The time against the prediction that was stored before the run. */
function Predicted({ trial, detail }: { trial: Record_; detail: TrialDetail }) {
  if (detail.prediction === null) return null;
  const like = new URLSearchParams({ where: `workload=${trial.workload.name}` });
  return (
    <p>
      {sentence(detail.prediction)}{" "}
      {!exported && (
        <Link href={`${PAGES.predictions.path}?${like}`}>Other predictions of this workload</Link>
      )}
    </p>
  );
}

function Body({ detail }: { detail: TrialDetail }) {
  const trial = detail.trial as unknown as Record_;
  const { cluster, workload, engine, software, provenance } = trial;
  const configuration = Object.entries(trial.configuration).sort(([a], [b]) => (a < b ? -1 : 1));
  const { data: job } = useJob(trial.id, detail);
  // The findings or the failure of a job come first, unless its trial doesn't count otherwise.
  const counts = againstIt({ ...trial, state: "succeeded" }, detail).length === 0;
  const jobFirst = detail.has_job && counts && ["succeeded", "failed"].includes(trial.state);
  const validity = <Validity trial={trial} detail={detail} />;
  return (
    <>
      <Figures trial={trial} detail={detail} />
      <Predicted trial={trial} detail={detail} />
      {!detail.has_job && <Answer trial={trial} detail={detail} />}
      {!jobFirst && validity}
      {detail.has_job && <JobSummary trial={trial} detail={detail} />}
      <Sections of={trialSections(detail, job, severalWatched(trial))} above={4} />
      {jobFirst && validity}
      {detail.between_hosts && <Network found={detail.between_hosts} />}
      {detail.disks_of_hosts && <Disks found={detail.disks_of_hosts} />}
      {detail.has_job && <JobDetails trial={trial} detail={detail} />}
      {severalWatched(trial) && <Hosts id={trial.id} />}
      <Timeline trial={trial} detail={detail} />
      {detail.has_io && <DiskIo id={trial.id} />}
      <Siblings trial={trial} detail={detail} />
      <section aria-labelledby="made-of">
        <h2 id="made-of">Workload and settings</h2>
        <div className="cards">
          <Facts
            title="Workload and engine"
            facts={[
              ["workload", `${workload.name} ${workload.version}`],
              ["scale", workload.scale],
              ["records", workload.input_records],
              ["engine", `${engine.name} ${engine.version}`],
              ["experiment", trial.experiment],
              ["seed", trial.seed],
            ]}
          />
          {configuration.length <= MOST_OPEN && (
            <Facts title="Configuration" facts={configuration} />
          )}
          <Facts
            title="Cluster"
            facts={[
              ["hosts", cluster.hosts.length],
              ["instance type", cluster.instance_type],
              ["network", cluster.network],
              ...Object.entries(cluster.disks_by_role).map(
                ([role, disks]) => [`disks: ${role}`, disks.join(", ")] as const,
              ),
              [
                "price",
                cluster.price &&
                  `${cluster.price.amount} ${cluster.price.currency} per ${cluster.price.per}, ${cluster.price.as_of} (${cluster.price.source})`,
              ],
            ]}
          />
          <Facts
            title="Provenance"
            facts={[
              ["kind", provenance.kind],
              ["source", provenance.source],
              ["digest", provenance.digest],
              ["started", trial.started_at && moment(trial.started_at)],
              ["Venturi", software.venturi_version],
              ["git", software.git_sha],
              ["build", software.build_profile],
              ["kernel", software.kernel],
              ...Object.entries(software.others),
            ]}
          />
        </div>
        {configuration.length > MOST_OPEN && (
          <FoldedIfLong title="All settings" n={configuration.length}>
            <Facts title="Configuration" facts={configuration} />
          </FoldedIfLong>
        )}
        <HostFacts hosts={cluster.hosts} />
        <Samples trial={trial} />
      </section>
      <section aria-labelledby="files">
        <h2 id="files">Logs and files</h2>
        <FoldedIfLong title="All files" n={trial.artifacts.length}>
          <Files trial={trial} />
        </FoldedIfLong>
      </section>
      <section aria-labelledby="record">
        <h2 id="record">Raw record</h2>
        <details className="more">
          <summary>Show the JSON</summary>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable */}
          <pre className="record" tabIndex={0}>
            {JSON.stringify(trial, null, 2)}
          </pre>
        </details>
        <Exclude label="Exclude this trial" conditions={[`id=${trial.id}`]} n={1} />
      </section>
    </>
  );
}

export default function TrialPage({ id }: { id: string }) {
  const [search] = useSearch();
  const { data, problem, pending } = useTwin("/api/trials/{id}", search, id);
  const trial = data?.trial as unknown as Record_ | undefined;
  const title = trial
    ? `${trial.workload.name}${trial.workload.scale ? ` ${trial.workload.scale}` : ""} on ${trial.engine.name}`
    : PAGES.trial.title;
  return (
    <Page
      title={title}
      intro={
        <>
          Trial <code>{id}</code>
          {trial && trial.state !== "succeeded" && <span className="state">{trial.state}</span>}
        </>
      }
    >
      {pending && <Pending what="the trial" lines={30} />}
      {problem && <ProblemBox problem={problem} />}
      {data && <Body detail={data} />}
    </Page>
  );
}
