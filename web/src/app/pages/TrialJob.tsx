// A job as its engine accounts for it: the narrowest point, stages over time, bounds.
import { useCallback } from "react";
import { causeRole, jobStages, sharesOf, UNATTRIBUTED } from "../charts/job";
import { useTwin } from "../data";
import { bytes, count, duration, percent, plain } from "../format";
import { Figure } from "../parts/Figure";
import { Pending, ProblemBox } from "../parts/Page";
import { type Cell, type Column, DataTable } from "../parts/Table";
import type { JobData } from "../types";

const time = (value: number | null): Cell =>
  value === null ? null : { value, show: duration(value) };
const share = (value: number | null): Cell =>
  value === null ? null : { value, show: percent(value) };
const number = (name: string): Column => ({ name, number: true });

function Stages({ data, file }: { data: JobData; file: string }) {
  const draw = useCallback(
    (view: Parameters<typeof jobStages>[1]) => jobStages(data, view),
    [data],
  );
  const causes = data.stages[0]?.causes.map(({ cause }) => cause) ?? [];
  const rows = data.stages.map((stage): Cell[] => {
    const shares = new Map(sharesOf(stage).map((part) => [part.cause, part.share]));
    return [
      `${stage.label} ${stage.name}`,
      stage.outcome,
      time(stage.started_s),
      time(stage.elapsed_s),
      stage.tasks,
      stage.slots,
      stage.waves === null
        ? null
        : { value: stage.waves, show: plain(Number(stage.waves.toFixed(1))) },
      share(stage.slot_use),
      stage.skew === null
        ? null
        : { value: stage.skew, show: plain(Number(stage.skew.toFixed(1))) },
      stage.stragglers,
      stage.spilled_bytes === null
        ? null
        : { value: stage.spilled_bytes, show: bytes(stage.spilled_bytes) },
      time(stage.task_s),
      ...stage.causes.map(
        ({ cause, time_s }): Cell => (time_s === null ? null : share(shares.get(cause) ?? 0)),
      ),
      share(shares.get(UNATTRIBUTED) ?? 0),
      stage.verdict,
    ];
  });
  const caption = [
    "Each stage from its submission to its end; its colours are shares of its tasks' time, not moments.",
    "Stages in bold are on the critical path.",
    ...(data.stages_left_out > 0
      ? [`${count(data.stages_left_out)} stages with less task time are left out.`]
      : []),
  ].join(" ");
  return (
    <Figure
      title="Stages of the job"
      caption={caption}
      draw={draw}
      file={`${file}-job`}
      legend={[...causes, UNATTRIBUTED].map((cause) => [causeRole(cause), cause] as const)}
      table={{
        columns: [
          { name: "Stage" },
          { name: "Outcome" },
          number("Began"),
          number("Took"),
          number("Tasks"),
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
        ],
        rows,
      }}
    />
  );
}

/** What the engine's own account tells of a trial. */
export function TrialJob({ id }: { id: string }) {
  const { data, problem } = useTwin<JobData>(`/api/trials/${encodeURIComponent(id)}/job`);
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
        <>
          <p>{data.verdict}</p>
          <DataTable
            caption="Parts of the critical path"
            columns={[{ name: "On the critical path" }, number("Time"), number("Share")]}
            rows={data.parts
              .filter((part) => part.share >= 0.005)
              .map((part): Cell[] => [part.words, time(part.time_s), share(part.share)])}
          />
          <Stages data={data} file={id} />
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
        </>
      )}
    </section>
  );
}
