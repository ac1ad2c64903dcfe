// A job as its engine accounts for it: the narrowest point, stages over time, bounds.
import { useCallback, useMemo } from "react";
import { Link } from "wouter";
import { type Track, timeAxis } from "../../../charts/timeline";
import { exported } from "../../../data";
import { bytes, count, duration, moment, percent, plain, rate } from "../../../format";
import { PAGES } from "../../../generated/pages";
import type { Trial } from "../../../generated/record";
import type { JobData, JobStage, TrialDetail } from "../../../generated/types";
import { Figure, type Legend } from "../../../parts/Figure";
import { Pending, ProblemBox } from "../../../parts/Page";
import { type Cell, type Column, DataTable, number, oneLine } from "../../../parts/Table";
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
import { Cores, Executors, Findings, Jobs, Losses, Outlook } from "./Findings";
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
  number("Host: processor"),
  number("Host: processor, by others"),
  number("Host: waiting for I/O"),
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

/** Every stage with all that is known of it; on the trial's clock with what its host did. */
function tableOf({ stages, began_s: began }: JobData) {
  const causes = stages[0]?.causes.map(({ cause }) => cause) ?? [];
  const rows = stages.map((stage): Cell[] => {
    const shares = new Map(sharesOf(stage).map((part) => [part.cause, part.share]));
    return [
      oneLine(`${stage.label} ${stage.name}`),
      stage.outcome,
      time(stage.started_s === null ? null : stage.started_s + (began ?? 0)),
      time(stage.elapsed_s),
      stage.tasks,
      stage.slots,
      tenths(stage.waves),
      share(stage.slot_use),
      tenths(stage.skew),
      stage.stragglers,
      stage.spilled_bytes === null
        ? null
        : { value: stage.spilled_bytes, show: bytes(stage.spilled_bytes) },
      time(stage.task_s),
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
    number("Began"),
    number("Took"),
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
    { name: "Narrowest" },
    ...(began === null ? [] : HOST_COLUMNS),
  ];
  return { columns, rows };
}

const LEAST_SHARE = 0.005;

/** The parts of the application's time; those that are hardly anything are one row. */
function partRows({ parts }: JobData): Cell[][] {
  const rest = parts.filter((part) => part.share > 0 && part.share < LEAST_SHARE);
  const sum = (of: (part: (typeof rest)[number]) => number) =>
    rest.reduce((all, part) => all + of(part), 0);
  return [
    ...parts
      .filter((part) => part.share >= LEAST_SHARE)
      .map((part): Cell[] => [part.words, time(part.time_s), share(part.share)]),
    ...(rest.length > 0
      ? [
          [
            `${count(rest.length)} part${rest.length > 1 ? "s" : ""} of less than 0.5% each`,
            time(sum((part) => part.time_s)),
            share(sum((part) => part.share)),
          ],
        ]
      : []),
  ];
}

/** The colours of causes, without those that can be seen nowhere. */
function causeLegend({ stages }: JobData): Legend {
  const parts = stages.flatMap(sharesOf).filter((part) => part.share >= LEAST_SHARE);
  const there = new Set(parts.map(({ cause }) => cause));
  const causes = stages[0]?.causes.map(({ cause }) => cause) ?? [];
  return [...causes, UNATTRIBUTED]
    .filter((cause) => there.has(cause))
    .map((cause) => [causeRole(cause), cause] as const);
}

const captionOf = ({ stages_left_out: left, applications }: JobData) => [
  "Each stage from its submission to its end; its colours are shares of its tasks' time, not moments.",
  "Stages in bold are on the critical path.",
  ...(left > 0 ? [`${count(left)} stages with less task time are left out.`] : []),
  ...(applications > 1
    ? [`Of ${count(applications)} applications at once, this is one that failed, else the longest.`]
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

/** Chooses what part of the trial the chart shows; the page's URL keeps it. */
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
  if (pending) return <Pending what="the host's series" lines={30} />;
  return (
    <>
      {problem && <ProblemBox problem={problem} />}
      <Figure
        title={
          lanes.length > 0 ? "Stages over processor, disk and network" : "Stages and running tasks"
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

/** What lay on which tier of local storage over the stages, and what an earlier one had no room for. */
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
      caption="What was there, as each process of Spark told at intervals. Tiers are filled in this order; a red line is when an earlier one first had no room for a kind of file."
      draw={draw}
      file={`${trial.id}-tiers`}
      legends={[["Stages", causeLegend(data)], ...laneLegends(lanes)]}
      open
      table={{
        columns: [
          { name: "Tier" },
          { name: "Files of" },
          { name: "Rule" },
          number("Bytes"),
          number("Most at once"),
          number("Places"),
          number("Overflowed"),
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

/** What the engine's own account tells of a trial. */
export function TrialJob({ trial, detail }: { trial: Trial; detail: TrialDetail }) {
  const { data, problem } = useJob(trial.id, detail);
  return (
    <section aria-labelledby="job">
      <h2 id="job">Where the job's time went</h2>
      {problem ? (
        <ProblemBox problem={problem} />
      ) : !data ? (
        <Pending what="the engine's account" lines={20} />
      ) : data.missing_reason ? (
        <p className="nothing">{data.missing_reason}</p>
      ) : (
        <Account trial={trial} detail={detail} data={data} />
      )}
    </section>
  );
}

/** The longest stage of which the host's part is known. */
function longestSeen({ stages }: JobData): JobStage | undefined {
  return stages
    .filter(({ meanwhile }) => meanwhile !== null)
    .sort((a, b) => (b.elapsed_s ?? 0) - (a.elapsed_s ?? 0))[0];
}

const SKEWED = 2; // times the median task

/** Stages of which a task took or moved far more than the median one, or that had stragglers. */
function Uneven({ stages }: { stages: readonly JobStage[] }) {
  const uneven = stages
    .filter(
      ({ skew, skew_bytes: moved, stragglers }) =>
        stragglers > 0 || Math.max(skew ?? 0, moved ?? 0) >= SKEWED,
    )
    .sort((a, b) => b.task_s - a.task_s);
  return (
    <>
      <h3>Skew and stragglers</h3>
      {uneven.length === 0 ? (
        <p>
          No stage had a task that took {SKEWED} times as long as its median one, or moved {SKEWED}{" "}
          times as many bytes.
        </p>
      ) : (
        <DataTable
          caption="Skew and stragglers"
          columns={[
            { name: "Stage" },
            number("Attempts"),
            number("Longest / median task"),
            number("Most / median bytes"),
            number("Stragglers"),
            number("Task time"),
          ]}
          rows={uneven.map((stage): Cell[] => [
            `${stage.label} ${stage.name}`,
            stage.tasks,
            tenths(stage.skew),
            tenths(stage.skew_bytes),
            stage.stragglers,
            time(stage.task_s),
          ])}
        />
      )}
    </>
  );
}

const SHOWN_BESIDE = 5;

/** Leads to this job beside another: those of its repeat group are offered. */
function Beside({ trial, detail }: { trial: Trial; detail: TrialDetail }) {
  if (exported) return null;
  const path = (before?: string) =>
    `${PAGES.jobs.path}?${new URLSearchParams({ ...(before && { before }), after: trial.id })}`;
  return (
    <p className="aside">
      Why was it slower, or faster? Beside{" "}
      {detail.siblings.slice(0, SHOWN_BESIDE).map(({ id, started_at: started }) => (
        <span key={id}>
          <Link href={path(id)}>{started === null ? id : moment(started)}</Link>,{" "}
        </span>
      ))}
      <Link href={path()}>another job</Link>.
    </p>
  );
}

function Account({ trial, detail, data }: { trial: Trial; detail: TrialDetail; data: JobData }) {
  const { began_s: began, began_reason: unaligned } = data;
  const seen = longestSeen(data);
  return (
    <>
      {data.failure && (
        <div className="failure">
          <p>
            <strong>The application {data.failure}</strong>
          </p>
          {data.stages.map(
            ({ label, name, reason }) =>
              reason && (
                <p key={label}>
                  Stage {label} {name}: {reason}
                </p>
              ),
          )}
        </div>
      )}
      <ul className="notices">
        <li>{data.verdict}</li>
        {seen && (
          <li>
            stage {seen.label}, the longest: {seen.meanwhile}
          </li>
        )}
      </ul>
      <Findings data={data} />
      <Beside trial={trial} detail={detail} />
      <DataTable
        caption="Where the time went"
        columns={[{ name: "Where the time went" }, number("Time"), number("Share")]}
        rows={partRows(data)}
      />
      {began === null ? (
        <>
          {detail.has_series && <p className="aside">Not on the host's time axis: {unaligned}.</p>}
          <Stages data={data} file={trial.id} />
        </>
      ) : (
        <StagesOverHost trial={trial} detail={detail} data={data} beganS={began} />
      )}
      <Tasks trial={trial} job={data} />
      {data.tiers.length > 0 && <Tiers trial={trial} data={data} />}
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
      <h3>How much sooner it could have ended</h3>
      <DataTable
        caption="Bounds"
        columns={[{ name: "Without" }, number("As recorded"), number("At most")]}
        rows={data.bounds.map((bound): Cell[] => [
          bound.without,
          time(bound.recorded_s),
          time(bound.at_most_s),
        ])}
      />
      <p className="aside">
        By a replay of its tasks without that waiting: what the engine recorded as such, and at most
        all that could be such. Time without a cause counts in each, so they do not add up.
      </p>
    </>
  );
}
