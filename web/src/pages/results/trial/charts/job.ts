// Stages of a job over time, each divided by the causes of its tasks' time.
import type { Bar } from "../../../../charts/bars-in-time";
import { type Row, rowsChart } from "../../../../charts/rows";
import { axisOf, timeUnit } from "../../../../charts/scale";
import type { Track } from "../../../../charts/timeline";
import type { Drawing, View } from "../../../../charts/view";
import { duration, percent, plain } from "../../../../format";
import type { JobData, JobStage } from "../../../../generated/types";

/** The color of each cause; all others are unattributed. */
const ROLES: Readonly<Record<string, string>> = {
  cpu: "read",
  "garbage collection": "throat",
  "shuffle fetch wait": "memory",
  "shuffle write": "write",
  "scheduler delay": "blocked",
  deserialization: "cpu-user",
  "result serialization": "cpu-system",
  "getting result": "outline",
  "Python workers": "python",
  "reading input": "scan",
  "state store": "memory",
  spilling: "spill",
  "writing output": "output",
  "off-CPU, cause unknown": "waiting",
  "waiting for maps": "blocked",
};
export const UNATTRIBUTED = "unattributed";
export const REST = "idle";

export const causeRole = (cause: string) => ROLES[cause] ?? REST;

/** Each part of the tasks' time of `stage` with its share, in the engine's order, the rest last. */
export function sharesOf({ causes, unattributed_s: rest, task_s: whole }: JobStage) {
  if (whole <= 0) return [];
  return [...causes, { cause: UNATTRIBUTED, time_s: rest }].flatMap(({ cause, time_s: timeS }) =>
    timeS ? [{ cause, share: timeS / whole }] : [],
  );
}

const MOST_STAGES = 60;
const MOST_BARS = 24;

type TimedStage = JobStage & { started_s: number; elapsed_s: number };

/** The stages with known times, in their order; of very many, the `most` longest. */
function longest(stages: readonly JobStage[], most: number): TimedStage[] {
  const timed = stages.filter(
    (stage): stage is TimedStage => stage.started_s !== null && stage.elapsed_s !== null,
  );
  const kept = new Set([...timed].sort((a, b) => b.elapsed_s - a.elapsed_s).slice(0, most));
  return timed.filter((stage) => kept.has(stage));
}

/** The bar of a stage that began at `at`, divided by the causes of its tasks' time. */
function partsOf(stage: TimedStage, at: number) {
  let from = at;
  return sharesOf(stage).map(({ cause, share }) => {
    const part = { from, to: from + share * stage.elapsed_s, role: causeRole(cause) };
    from = part.to;
    return { ...part, outlined: part.role === REST };
  });
}

const detailsOf = (stage: TimedStage, start: number): string[] => [
  `started at ${duration(start)}, took ${duration(stage.elapsed_s)}: ${stage.tasks} tasks on ${stage.slots} slots`,
  ...sharesOf(stage).map(({ cause, share }) => `${cause} ${percent(share)}`),
  ...(stage.reason ? [stage.reason] : []),
  stage.verdict,
  ...(stage.meanwhile ? [stage.meanwhile] : []),
];

/** The stage's duration, and its outcome unless it succeeded. */
const endText = ({ elapsed_s: elapsed, outcome }: TimedStage) =>
  duration(elapsed) + (outcome === "succeeded" ? "" : ` · ${outcome}`);

const nameOf = ({ label, name }: JobStage) => `${label} ${name}`;

/** The stages on the clock of a trial in which the application began at `beganS`. */
export const stageBars = (data: JobData, beganS: number): Bar[] =>
  longest(data.stages, MOST_BARS).map((stage) => ({
    label: nameOf(stage),
    bold: stage.on_critical_path,
    from_s: beganS + stage.started_s,
    to_s: beganS + stage.started_s + stage.elapsed_s,
    parts: partsOf(stage, beganS + stage.started_s),
    text: endText(stage),
    details: detailsOf(stage, beganS + stage.started_s),
  }));

/** From when to when the stage `label` ran, on the same clock. */
export function stageSpan({ stages }: JobData, label: string, beganS: number) {
  const stage = stages.find((each) => each.label === label);
  if (!stage || stage.started_s === null || stage.elapsed_s === null) return undefined;
  return { started_s: beganS + stage.started_s, elapsed_s: stage.elapsed_s };
}

/** How many tasks ran, on the same clock. */
export const tasksLane = ({ running }: JobData, beganS: number): Track[] =>
  running
    ? [
        {
          title: "Running tasks",
          unit: "tasks",
          stacked: true,
          lines: [{ name: "tasks", role: "memory", values: [...running.tasks] }],
          t_s: running.t_s.map((at) => beganS + at),
        },
      ]
    : [];

/** The color of each kind of local file; others have none. */
const KIND_ROLES: Readonly<Record<string, string>> = {
  shuffle: "read",
  shuffle_index: "cpu-system",
  spill: "write",
  cached: "memory",
};

const words = (kind: string) => kind.replaceAll("_", " ");

/** When an earlier tier first had no room for files that went to `tier`, by kind of file. */
const overflowsTo = ({ tiers }: JobData, tier: string, beganS: number) =>
  tiers.flatMap(({ tier: of, first_overflow_s: at }) =>
    of === tier && at !== null ? [beganS + at] : [],
  );

/** The bytes on each tier, by kind of file, on the same clock. */
export function tierLanes(data: JobData, beganS: number): Track[] {
  const { t_s = [], lines = [] } = data.tier_levels ?? {};
  const tiers = [...new Set(lines.map(({ tier }) => tier))];
  return tiers.map((tier) => ({
    title: `On ${tier}`,
    unit: "B",
    stacked: true,
    lines: lines
      .filter((line) => line.tier === tier)
      .map(({ kind, present_bytes: values }) => ({
        name: words(kind),
        role: KIND_ROLES[kind] ?? REST,
        values: [...values],
      })),
    t_s: t_s.map((at) => beganS + at),
    marks: overflowsTo(data, tier, beganS),
  }));
}

/** The color of each kind of memory. */
const MEMORY_ROLES: Readonly<Record<string, string>> = {
  heap: "memory",
  execution: "write",
  storage: "read",
  "JVM off the heap": "cpu-system",
  Python: "python",
};

/** The memory of some executors on the same clock, with their limits as level lines. */
export const memoryLanes = ({ memory }: JobData, beganS: number): Track[] =>
  memory.map(({ executor_id, t_s, lines, heap_bytes: heap, region_bytes: region }) => ({
    title: executor_id === "driver" ? "Driver memory" : `Memory of executor ${executor_id}`,
    unit: "B",
    stacked: false,
    lines: [
      ...lines.map(({ what, bytes: values }) => ({
        name: what,
        role: MEMORY_ROLES[what] ?? REST,
        values: [...values],
      })),
      ...[
        { name: "heap size", role: "limit", level: heap },
        { name: "execution and storage limit", role: "outline", level: region },
      ].flatMap(({ level, ...line }) =>
        level === null ? [] : [{ ...line, values: t_s.map(() => level) }],
      ),
    ],
    t_s: t_s.map((at) => beganS + at),
  }));

/** A row for each stage from its submission to its end; its colors are shares of task time. */
export function jobStages(data: JobData, view: View): Drawing {
  const shown = longest(data.stages, MOST_STAGES);
  if (shown.length === 0) return null;
  const ends = shown.map(({ started_s, elapsed_s }) => started_s + elapsed_s);
  const unit = timeUnit(Math.max(...ends));
  const axis = axisOf([0, ...ends.map((end) => end / unit.seconds)], view.narrow ? 4 : 8, {
    fromZero: true,
  });
  const rows = shown.map(
    (stage): Row => ({
      label: nameOf(stage),
      bold: stage.on_critical_path,
      bars: partsOf(stage, stage.started_s).map((part) => ({
        ...part,
        from: part.from / unit.seconds,
        to: part.to / unit.seconds,
      })),
      text: endText(stage),
      textAt: (stage.started_s + stage.elapsed_s) / unit.seconds,
      details: detailsOf(stage, stage.started_s),
    }),
  );
  const scale = {
    ...axis,
    name: `time since the application started (${unit.name})`,
    format: plain,
  };
  return rowsChart(rows, scale, view, 260);
}
