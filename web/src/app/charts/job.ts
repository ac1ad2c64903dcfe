// Stages of a job over time, each divided by what its tasks' time went to.
import { type Row, rowsChart } from "../../rows";
import { axisOf, timeUnit } from "../../scale";
import type { Drawing, View } from "../../view";
import { duration, percent, plain } from "../format";
import type { JobData, JobStage } from "../types";

/** The colour of each cause; what has none is unattributed. */
const ROLES: Readonly<Record<string, string>> = {
  cpu: "read",
  "garbage collection": "throat",
  "shuffle fetch wait": "memory",
  "shuffle write": "write",
  "scheduler delay": "blocked",
  deserialisation: "cpu-user",
  "result serialisation": "cpu-system",
  "getting result": "outline",
};
export const UNATTRIBUTED = "unattributed";
const REST = "idle";

export const causeRole = (cause: string) => ROLES[cause] ?? REST;

/** Each part of the tasks' time of `stage` with its share, in the engine's order, the rest last. */
export function sharesOf({ causes, unattributed_s: rest, task_s: whole }: JobStage) {
  if (whole <= 0) return [];
  return [...causes, { cause: UNATTRIBUTED, time_s: rest }].flatMap(({ cause, time_s: timeS }) =>
    timeS ? [{ cause, share: timeS / whole }] : [],
  );
}

const MOST_STAGES = 60;

/** A row for each stage from its submission to its end; its colours are shares of task time. */
export function jobStages(data: JobData, view: View): Drawing {
  const timed = data.stages.filter(
    (stage): stage is JobStage & { started_s: number; elapsed_s: number } =>
      stage.started_s !== null && stage.elapsed_s !== null,
  );
  if (timed.length === 0) return null;
  const longest = [...timed].sort((a, b) => b.elapsed_s - a.elapsed_s).slice(0, MOST_STAGES);
  const shown = timed.filter((stage) => longest.includes(stage));
  const ends = shown.map(({ started_s, elapsed_s }) => started_s + elapsed_s);
  const unit = timeUnit(Math.max(...ends));
  const axis = axisOf([0, ...ends.map((end) => end / unit.seconds)], view.narrow ? 4 : 8, {
    fromZero: true,
  });
  const rows = shown.map((stage): Row => {
    const { started_s: start, elapsed_s: elapsed } = stage;
    let at = start;
    const parts = sharesOf(stage).map(({ cause, share }) => {
      const from = at;
      at += share * elapsed;
      return {
        from: from / unit.seconds,
        to: at / unit.seconds,
        role: causeRole(cause),
        cause,
        share,
      };
    });
    return {
      label: `${stage.label} ${stage.name}`,
      bold: stage.on_critical_path,
      bars: parts.map(({ from, to, role }) => ({ from, to, role, outlined: role === REST })),
      text: duration(elapsed),
      textAt: (start + elapsed) / unit.seconds,
      details: [
        `from ${duration(start)}, took ${duration(elapsed)}, ${stage.tasks} tasks on ${stage.slots} slots`,
        ...parts.map(({ cause, share }) => `${cause} ${percent(share)}`),
        stage.verdict,
      ],
    };
  });
  const scale = {
    ...axis,
    name: `time since the application began (${unit.name})`,
    format: plain,
  };
  return rowsChart(rows, scale, view, 260);
}
