// A trial over time: its phases, its stages, and the load of its host.
import { useCallback, useMemo } from "react";
import { stages } from "../../../charts/stages";
import { type Track, timeAxis } from "../../../charts/timeline";
import { exported, useTwin } from "../../../data";
import { bytes, duration, percent, rate, seconds } from "../../../format";
import type { Trial } from "../../../generated/record";
import type { TrialDetail } from "../../../generated/types";
import { Figure, type PartLegend } from "../../../parts/Figure";
import { Pending, ProblemBox } from "../../../parts/Page";
import { type Cell, type Column, DataTable } from "../../../parts/Table";
import { useSearch } from "../../../state";
import { lanesOf, stagesOf } from "./charts/utilisation";

type View = Parameters<typeof timeAxis>[1];

const NONE: readonly string[] = [];
const NEVER: readonly number[] = [];

/** The load of the host that the page's URL names; `hosts` has the names of all. */
export function useHost(trial: Trial, detail: TrialDetail) {
  const [search] = useSearch();
  const {
    data: series,
    problem,
    pending,
  } = useTwin(detail.has_series ? "/api/trials/{id}/series" : null, search, trial.id);
  const lanes = useMemo(() => (series ? lanesOf(series) : []), [series]);
  const said = !detail.has_series
    ? "No host metrics were recorded with this trial."
    : (series?.missing_reason ??
      (series?.thinned
        ? "Each point is the mean of several samples; for the busiest disk, the maximum."
        : null));
  const hosts = series?.hosts ?? NONE;
  const host = search.get("host") ?? series?.host ?? "";
  return { t_s: series?.t_s ?? NEVER, hosts, host, lanes, said, problem, pending };
}

/** The analysis of the job; requested once, however often it is used. */
export const useJob = (id: string, detail: TrialDetail) =>
  useTwin(detail.has_job ? "/api/trials/{id}/job" : null, undefined, id);

/** Chooses one of several hosts; an exported page has one and shows its name. */
export function HostChoice({ hosts, host }: { hosts: readonly string[]; host: string }) {
  const [, edit] = useSearch();
  if (hosts.length < 2) return null;
  if (exported) return <p className="aside">Host: {host}</p>;
  return (
    <div className="field">
      <label htmlFor="host">Host</label>
      <select
        id="host"
        value={host}
        onChange={({ target }) => edit((next) => next.set("host", target.value), { replace: true })}
      >
        {hosts.map((name) => (
          <option key={name}>{name}</option>
        ))}
      </select>
    </div>
  );
}

/** The colors of each lane, except a lane with one line that its title names. */
export const laneLegends = (lanes: readonly Track[]): PartLegend[] =>
  lanes
    .filter(({ unit, lines }) => unit === "B/s" || unit === "B" || lines.length > 1)
    .map(({ title, lines }) => [title, lines.map(({ role, name }) => [role, name] as const)]);

/** Each phase with the mean host load during it. */
function loadsOf(trial: Trial, times: readonly number[], lanes: readonly Track[]) {
  const columns: Column[] = [
    { name: "Phase" },
    { name: "Started", number: true },
    { name: "Duration", number: true },
    ...lanes.flatMap((lane) =>
      lane.lines.map(({ name }) => ({ name: `${lane.title}: ${name}`, number: true })),
    ),
  ];
  const rows = trial.phases.map((phase): Cell[] => {
    const inside = times.map(
      (at) => at >= phase.started_s && at <= phase.started_s + phase.elapsed_s,
    );
    const means = lanes.flatMap((lane) =>
      lane.lines.map(({ values }): Cell => {
        const known = values.filter((value, at) => value !== null && inside[at]) as number[];
        if (known.length === 0) return null;
        const mean = known.reduce((total, value) => total + value, 0) / known.length;
        return { value: mean, show: lane.unit === "fraction" ? percent(mean) : rate(mean) };
      }),
    );
    return [
      phase.name,
      { value: phase.started_s, show: seconds(phase.started_s) },
      { value: phase.elapsed_s, show: duration(phase.elapsed_s) },
      ...means,
    ];
  });
  return { columns, rows };
}

function Phases({ trial, detail }: { trial: Trial; detail: TrialDetail }) {
  const { t_s, hosts, host, lanes, said, problem, pending } = useHost(trial, detail);
  const job = useJob(trial.id, detail);
  const draw = useCallback(
    (view: View) => timeAxis({ spans: trial.phases, t_s, lanes }, view),
    [trial, t_s, lanes],
  );
  if (trial.phases.length === 0)
    return <p className="nothing">No phases were recorded with this trial.</p>;
  if (pending || job.pending) return <Pending what="host metrics" lines={24} />;
  const table = loadsOf(trial, t_s, lanes);
  // On the clock of the trial the stages stand in one chart with all this, further up.
  if (job.data?.began_s != null) return <DataTable caption="Phases and host load" {...table} />;
  return (
    <>
      {problem && <ProblemBox problem={problem} />}
      <Figure
        title="Phases and host load over time"
        caption={said}
        draw={draw}
        file={`${trial.id}-phases`}
        legends={laneLegends(lanes)}
        table={table}
      >
        {hosts.length > 1 && (
          <div className="controls">
            <HostChoice hosts={hosts} host={host} />
          </div>
        )}
      </Figure>
    </>
  );
}

/** The stages of Venturi's own engine, from the trial's samples. */
function Stages({ trial }: { trial: Trial }) {
  const found = useMemo(() => stagesOf(trial), [trial]);
  const draw = useCallback((view: View) => stages(found, view), [found]);
  if (found.length === 0) return null;
  return (
    <Figure
      title="Stages"
      caption="Each bar runs from a stage's first to its last activity. Its colors show how its workers spent that time, as shares."
      draw={draw}
      file={`${trial.id}-stages`}
      legend={[
        ["useful", "busy"],
        ["idle", "idle"],
        ["memory", "waiting for memory"],
        ["blocked", "blocked"],
      ]}
      table={{
        columns: [
          { name: "Stage" },
          { name: "Phase" },
          { name: "Device" },
          { name: "Workers", number: true },
          { name: "Bytes", number: true },
          { name: "Busy", number: true },
          { name: "CPU time", number: true },
          { name: "Waiting for a core", number: true },
          { name: "Idle", number: true },
          { name: "Waiting for memory", number: true },
          { name: "Blocked", number: true },
          { name: "Page faults", number: true },
        ],
        rows: found.map((stage): Cell[] => [
          stage.name,
          stage.phase,
          stage.device,
          stage.workers,
          stage.bytes === null ? null : { value: stage.bytes, show: bytes(stage.bytes) },
          ...[
            stage.useful_s,
            stage.cpu_s,
            stage.core_wait_s,
            stage.idle_s,
            stage.waiting_for_memory_s,
            stage.blocked_s,
          ].map((value): Cell => (value === null ? null : { value, show: duration(value) })),
          stage.page_faults,
        ]),
      }}
    />
  );
}

export function Timeline({ trial, detail }: { trial: Trial; detail: TrialDetail }) {
  return (
    <section aria-labelledby="phases">
      <h2 id="phases">Phases and host load</h2>
      {detail.narrowest.length > 0 && (
        <ul className="notices">
          {detail.narrowest.map((sentence) => (
            <li key={sentence}>{sentence}</li>
          ))}
        </ul>
      )}
      <Phases trial={trial} detail={detail} />
      <Stages trial={trial} />
    </section>
  );
}
