// A job as its engine accounts for it: stages over time, tasks, queries, executors, bounds.
import { useCallback, useMemo } from "react";
import { type Track, timeAxis } from "../../../charts/timeline";
import { bytes, count, duration, percent, plain, rate } from "../../../format";
import type { Trial } from "../../../generated/record";
import type { JobData, JobStage, TrialDetail } from "../../../generated/types";
import { Figure, type Legend } from "../../../parts/Figure";
import { Pending, ProblemBox } from "../../../parts/Page";
import { Folded } from "../../../parts/Sections";
import { bounded, type Cell, type Column, DataTable, number, oneLine } from "../../../parts/Table";
import { useSearch } from "../../../state";
import { Caches } from "./Caches";
import {
  causeRole,
  jobStages,
  sharesOf,
  stageBars,
  stageSpan,
  tasksLane,
  tierLanes,
  UNATTRIBUTED,
} from "./charts/job";
import { Cores, Executors, Jobs, Losses, Outlook } from "./Findings";
import { Memory } from "./Memory";
import { Queries } from "./Queries";
import { Streams } from "./Streams";
import { Tasks } from "./Tasks";
import { HostChoice, laneLegends, useHost, useJob } from "./Timeline";

type View = Parameters<typeof jobStages>[1];

const time = (value: number | null): Cell =>
  value === null ? null : { value, show: duration(value) };
const share = (value: number | null | undefined): Cell =>
  value == null ? null : { value, show: percent(value) };
const rated = (value: number | null | undefined): Cell =>
  value == null ? null : { value, show: rate(value) };
const tenths = (value: number | null): Cell =>
  value === null ? null : { value, show: plain(Number(value.toFixed(1))) };

const HOST_COLUMNS: Column[] = [
  number("Host: CPU"),
  number("Host: CPU used by other programs"),
  number("Host: I/O wait"),
  { name: "Host: busiest disk" },
  number("Host: disk busy"),
  number("Host: disk read"),
  number("Host: disk written"),
  number("Host: network received"),
  number("Host: network sent"),
  { name: "Host and engine" },
];

const hostCells = ({ host, meanwhile }: JobStage): Cell[] => [
  share(host?.cpu_busy),
  share(host?.cpu_others),
  share(host?.cpu_iowait),
  host?.disk ?? null,
  share(host?.disk_busy),
  rated(host?.disk_read_bytes_per_s),
  rated(host?.disk_write_bytes_per_s),
  rated(host?.net_receive_bytes_per_s),
  rated(host?.net_transmit_bytes_per_s),
  meanwhile === null ? null : oneLine(meanwhile),
];

/** The mark of a figure of which the log has only a part. */
const least = (stage: JobStage) => (stage.partial ? "≥" : "");

/** Every stage with its figures; on the trial's clock also those of its host. */
function tableOf({ stages, began_s: began }: JobData) {
  const causes = stages[0]?.causes.map(({ cause }) => cause) ?? [];
  const rows = stages.map((stage): Cell[] => {
    const shares = new Map(sharesOf(stage).map((part) => [part.cause, part.share]));
    return [
      oneLine(`${stage.label} ${stage.name}`),
      stage.outcome,
      time(stage.started_s === null ? null : stage.started_s + (began ?? 0)),
      bounded(stage.time_bound, time(stage.elapsed_s)),
      bounded(least(stage), stage.tasks),
      stage.slots,
      tenths(stage.waves),
      share(stage.slot_use),
      tenths(stage.skew),
      stage.stragglers,
      bounded(
        least(stage),
        stage.spilled_bytes === null
          ? null
          : { value: stage.spilled_bytes, show: bytes(stage.spilled_bytes) },
      ),
      bounded(least(stage), time(stage.task_s)),
      ...stage.causes.map(
        ({ cause, time_s }): Cell => (time_s === null ? null : share(shares.get(cause) ?? 0)),
      ),
      share(shares.get(UNATTRIBUTED) ?? 0),
      oneLine(stage.verdict),
      ...(began === null ? [] : hostCells(stage)),
    ];
  });
  const columns: Column[] = [
    { name: "Stage" },
    { name: "Outcome" },
    number("Started"),
    number("Duration"),
    number("Attempts"),
    number("Slots"),
    number("Waves"),
    number("Slot use"),
    number("Longest / median task"),
    number("Stragglers"),
    number("Spilled"),
    number("Task time"),
    ...causes.map(number),
    number(UNATTRIBUTED),
    { name: "Narrowest point" },
    ...(began === null ? [] : HOST_COLUMNS),
  ];
  return { columns, rows };
}

const LEAST_SHARE = 0.005;

/** The colors of causes, without those that are too small to see. */
function causeLegend({ stages }: JobData): Legend {
  const parts = stages.flatMap(sharesOf).filter((part) => part.share >= LEAST_SHARE);
  const there = new Set(parts.map(({ cause }) => cause));
  const causes = stages[0]?.causes.map(({ cause }) => cause) ?? [];
  return [...causes, UNATTRIBUTED]
    .filter((cause) => there.has(cause))
    .map((cause) => [causeRole(cause), cause] as const);
}

const captionOf = ({ stages_left_out: left, applications }: JobData) => [
  "Each bar runs from a stage's submission to its end. Its colors show how its tasks' time was divided, not when things happened.",
  "Stages in bold are on the critical path.",
  ...(left > 0 ? [`${count(left)} stages with less task time aren't shown.`] : []),
  ...(applications > 1
    ? [
        `The trial ran ${count(applications)} applications concurrently. This is one that failed or, if none did, the longest.`,
      ]
    : []),
];

function Stages({ data, file }: { data: JobData; file: string }) {
  const draw = useCallback((view: View) => jobStages(data, view), [data]);
  return (
    <Figure
      title="Stages of the job"
      caption={captionOf(data).join(" ")}
      draw={draw}
      file={`${file}-job`}
      legend={causeLegend(data)}
      table={tableOf(data)}
    />
  );
}

const WHOLE = "";

/** Chooses the part of the trial that the chart shows; the page's URL keeps it. */
function WindowChoice({ trial, data }: { trial: Trial; data: JobData }) {
  const [search, edit] = useSearch();
  const choose = (value: string) =>
    edit((next) => (value === WHOLE ? next.delete("show") : next.set("show", value)), {
      replace: true,
    });
  return (
    <div className="field">
      <label htmlFor="window">Show</label>
      <select
        id="window"
        value={search.get("show") ?? WHOLE}
        onChange={({ target }) => choose(target.value)}
      >
        <option value={WHOLE}>the whole trial</option>
        <optgroup label="Phases">
          {trial.phases.map(({ name }, place) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: two phases may have one name
            <option key={place} value={`phase-${place}`}>
              {name}
            </option>
          ))}
        </optgroup>
        <optgroup label="Stages">
          {data.stages.map(({ label, name }) => (
            <option key={label} value={`stage-${label}`}>{`${label} ${name}`}</option>
          ))}
        </optgroup>
      </select>
    </div>
  );
}

const MARGIN = 0.05;

/** The part of the trial that `show` names, with a little before and after it. */
function windowOf(show: string | null, trial: Trial, data: JobData, beganS: number) {
  const [kind, which] = show?.split("-", 2) ?? [];
  const phase = kind === "phase" ? trial.phases[Number(which)] : undefined;
  const span = phase ?? (kind === "stage" ? stageSpan(data, which ?? "", beganS) : undefined);
  if (!span || span.elapsed_s <= 0) return undefined;
  const margin = MARGIN * span.elapsed_s;
  const from = Math.max(0, span.started_s - margin);
  return [from, span.started_s + span.elapsed_s + margin] as const;
}

/** Phases, stages, tasks and the host's devices on one time axis. */
function StagesOverHost({
  trial,
  detail,
  data,
  beganS,
}: {
  trial: Trial;
  detail: TrialDetail;
  data: JobData;
  beganS: number;
}) {
  const [search] = useSearch();
  const show = search.get("show");
  const { t_s, hosts, host, lanes, said, problem, pending } = useHost(trial, detail);
  const tracks: Track[] = useMemo(
    () => [...tasksLane(data, beganS), ...lanes],
    [data, beganS, lanes],
  );
  const draw = useCallback(
    (view: View) =>
      timeAxis(
        {
          spans: trial.phases,
          t_s,
          lanes: tracks,
          bars: stageBars(data, beganS),
          window: windowOf(show, trial, data, beganS),
        },
        view,
      ),
    [trial, t_s, tracks, data, beganS, show],
  );
  if (pending) return <Pending what="host metrics" lines={30} />;
  return (
    <>
      {problem && <ProblemBox problem={problem} />}
      <Figure
        title={
          lanes.length > 0 ? "Stages with CPU, disk and network load" : "Stages and running tasks"
        }
        caption={[...captionOf(data), said].filter(Boolean).join(" ")}
        draw={draw}
        file={`${trial.id}-job`}
        legends={[["Stages", causeLegend(data)], ...laneLegends(tracks)]}
        table={tableOf(data)}
      >
        <div className="controls">
          <WindowChoice trial={trial} data={data} />
          <HostChoice hosts={hosts} host={host} />
        </div>
      </Figure>
    </>
  );
}

/** Bytes on each tier of local storage over the stages, and when an earlier tier was full. */
function Tiers({ trial, data }: { trial: Trial; data: JobData }) {
  const began = data.began_s ?? 0;
  const lanes = useMemo(() => tierLanes(data, began), [data, began]);
  const draw = useCallback(
    (view: View) =>
      timeAxis(
        {
          spans: data.began_s === null ? [] : trial.phases,
          t_s: lanes[0]?.t_s ?? [],
          lanes,
          bars: stageBars(data, began),
        },
        view,
      ),
    [trial, data, lanes, began],
  );
  return (
    <Figure
      title="Local files by tier"
      caption="Bytes on each tier, as Spark's processes reported them at intervals. Tiers are filled in this order. A red line marks when an earlier tier first had no room for a kind of file."
      draw={draw}
      file={`${trial.id}-tiers`}
      legends={[["Stages", causeLegend(data)], ...laneLegends(lanes)]}
      open
      table={{
        columns: [
          { name: "Tier" },
          { name: "Kind of file" },
          { name: "Rule" },
          number("Total bytes"),
          number("Peak"),
          number("Placements"),
          number("Overflows"),
          number("First overflow"),
        ],
        rows: data.tiers.map((use): Cell[] => [
          use.tier,
          use.kind.replaceAll("_", " "),
          use.rule,
          { value: use.seen_bytes, show: bytes(use.seen_bytes) },
          { value: use.peak_bytes, show: bytes(use.peak_bytes) },
          use.placements,
          use.overflows,
          time(use.first_overflow_s === null ? null : began + use.first_overflow_s),
        ]),
      }}
    />
  );
}

/** The sections of a job below its summary. */
export function JobDetails({ trial, detail }: { trial: Trial; detail: TrialDetail }) {
  const { data } = useJob(trial.id, detail);
  if (!data || data.missing_reason || data.dropped) return null; // the summary says why
  return (
    <section aria-labelledby="job">
      <h2 id="job">Job details</h2>
      <Account trial={trial} detail={detail} data={data} />
    </section>
  );
}

const SKEWED = 2; // times the median task

/** Stages with stragglers, or with a task that took or moved far more than the median task. */
function Uneven({ stages }: { stages: readonly JobStage[] }) {
  const uneven = stages
    .filter(
      ({ skew, skew_bytes: moved, stragglers }) =>
        stragglers > 0 || Math.max(skew ?? 0, moved ?? 0) >= SKEWED,
    )
    .sort((a, b) => b.task_s - a.task_s);
  return (
    <>
      <h3 id="skew">Skew and stragglers</h3>
      {uneven.length === 0 ? (
        <p>
          No stage had a task that took or moved at least {SKEWED} times as much as its median task.
        </p>
      ) : (
        <DataTable
          caption="Skew and stragglers"
          columns={[
            { name: "Stage" },
            number("Attempts"),
            number("Longest / median task"),
            number("Max / median bytes"),
            number("Stragglers"),
            number("Task time"),
          ]}
          rows={uneven.map((stage): Cell[] => [
            `${stage.label} ${stage.name}`,
            bounded(least(stage), stage.tasks),
            tenths(stage.skew),
            tenths(stage.skew_bytes),
            stage.stragglers,
            bounded(least(stage), time(stage.task_s)),
          ])}
        />
      )}
    </>
  );
}

function Account({ trial, detail, data }: { trial: Trial; detail: TrialDetail; data: JobData }) {
  const { began_s: began, began_reason: unaligned } = data;
  return (
    <>
      <div id="stages">
        {began === null ? (
          <>
            {detail.has_series && (
              <p className="aside">Not aligned with the host's metrics: {unaligned}.</p>
            )}
            <Stages data={data} file={trial.id} />
          </>
        ) : (
          <StagesOverHost trial={trial} detail={detail} data={data} beganS={began} />
        )}
      </div>
      <Tasks trial={trial} job={data} />
      {data.tiers.length > 0 && (
        <div id="tiers">
          <Tiers trial={trial} data={data} />
        </div>
      )}
      <Queries data={data} />
      <Caches data={data} />
      <Streams trial={trial} data={data} />
      <Uneven stages={data.stages} />
      <Losses data={data} />
      <Executors data={data} />
      <Memory trial={trial} data={data} />
      <Cores data={data} />
      <Outlook data={data} />
      <Jobs data={data} />
      <Folded id="bounds" title="Upper bounds: time saved without each kind of waiting">
        <DataTable
          caption="Upper bounds"
          columns={[{ name: "Without" }, number("As recorded"), number("At most")]}
          rows={data.bounds.map((bound): Cell[] => [
            bound.without,
            time(bound.recorded_s),
            time(bound.at_most_s),
          ])}
        />
        <p className="aside">
          Each row replays the job's tasks without that kind of waiting. “As recorded” removes the
          time that the engine recorded as such. “At most” removes all time that could be such. Time
          without a known cause counts in every row, so the rows don't add up.
        </p>
      </Folded>
    </>
  );
}
