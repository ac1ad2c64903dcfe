import { expect, test } from "vitest";
import { type Timed, timeAxis } from "../../src/charts/timeline";
import type { Trial } from "../../src/generated/record";
import type { JobData, JobStage, SeriesData } from "../../src/generated/types";
import {
  sharesOf,
  stageBars,
  stageSpan,
  tierLanes,
} from "../../src/pages/results/trial/charts/job";
import { batchLanes } from "../../src/pages/results/trial/charts/streams";
import { lanesOf, stagesOf } from "../../src/pages/results/trial/charts/utilisation";
import { drawn, view } from "./view";

const stage = (label: string, more: Partial<JobStage>): JobStage =>
  ({
    label,
    name: "map",
    outcome: "succeeded",
    started_s: 0,
    elapsed_s: 10,
    task_s: 40,
    causes: [],
    unattributed_s: 40,
    on_critical_path: false,
    ...more,
  }) as JobStage;

const job = (stages: JobStage[], more: Partial<JobData> = {}) =>
  ({ stages, running: null, tiers: [], tier_levels: null, ...more }) as unknown as JobData;

const TIMED: Timed = {
  spans: [
    { name: "map", started_s: 0, elapsed_s: 6 },
    { name: "reduce", started_s: 6, elapsed_s: 4 },
  ],
  t_s: [0, 5, 10],
  lanes: [
    {
      title: "Processor",
      unit: "fraction",
      stacked: true,
      lines: [{ name: "user", role: "cpu-user", values: [0.1, null, 0.5] }],
    },
    {
      title: "Disk",
      unit: "B/s",
      stacked: false,
      lines: [{ name: "read", role: "read", values: [0, 3e8, 1e8] }],
    },
    { title: "Network", unit: "B/s", stacked: false, lines: [] },
  ],
};

test("phases, bars and lanes stand one below the other and do not meet", () => {
  const bars = stageBars(job([stage("0", {}), stage("1", { started_s: 5 })]), 0);
  for (const timed of [TIMED, { ...TIMED, bars }]) {
    for (const width of [1200, 390]) {
      const { grid, title = [], height, series } = drawn(timeAxis(timed, view(width)));
      expect(grid).toHaveLength(timed.bars ? 4 : 3); // a lane without lines is none
      for (const [place, { top }] of grid.entries()) {
        const above = grid[place - 1];
        if (above) expect(top).toBeGreaterThanOrEqual(above.top + above.height);
      }
      expect(title).toHaveLength(2);
      for (const { top } of title) {
        const over = grid.filter((each) => top < each.top + each.height && each.top < top + 14);
        expect(over).toEqual([]);
      }
      const last = grid[grid.length - 1];
      expect((last?.top ?? 0) + (last?.height ?? 0)).toBeLessThan(height);
      expect(new Set(grid.map(({ left }) => left)).size).toBe(1);
      expect(series.filter(({ type }) => type === "line")).toHaveLength(2);
    }
  }
});

test("lanes are in the units of their axes, and a gap stays a gap", () => {
  const { series, yAxis, xAxis } = drawn(timeAxis(TIMED, view()));
  const lines = series.filter(({ type }) => type === "line").map(({ data }) => data);
  expect(lines).toEqual([
    [
      [0, 10],
      [5, null],
      [10, 50],
    ],
    [
      [0, 0],
      [5, 300],
      [10, 100],
    ],
  ]);
  expect(yAxis.slice(1).map(({ max, interval }) => [max, interval])).toEqual([
    [100, 50],
    [400, 200],
  ]);
  expect(xAxis.map(({ min, max }) => [min, max])).toEqual(Array(3).fill([0, 10]));
});

test("of a window only the bars that reach into it have a row", () => {
  const bars = stageBars(job([stage("0", {}), stage("1", { started_s: 50 })]), 0);
  const all = drawn(timeAxis({ ...TIMED, bars }, view()));
  const some = drawn(timeAxis({ ...TIMED, bars, window: [40, 60] }, view()));
  expect((all.grid[1]?.height ?? 0) / (some.grid[1]?.height ?? 1)).toBe(2);
  expect(some.xAxis.map(({ min, max }) => [min, max])).toEqual(Array(4).fill([40, 60]));
});

test("each tier has a lane in its order, by kind of file, and marks when it was first overflowed to", () => {
  const use = (tier: string, kind: string, first: number | null) =>
    ({ tier, kind, first_overflow_s: first }) as JobData["tiers"][number];
  const told = job([stage("0", {})], {
    tiers: [use("ssd", "shuffle", null), use("last", "shuffle", 7), use("last", "spill", 4)],
    tier_levels: {
      t_s: [0, 5],
      lines: [
        { tier: "ssd", kind: "shuffle", present_bytes: [0, 2_000_000] },
        { tier: "ssd", kind: "spill", present_bytes: [0, 1_000_000] },
        { tier: "last", kind: "shuffle_index", present_bytes: [0, 3_000_000] },
      ],
    },
  });
  const lanes = tierLanes(told, 100);
  expect(lanes.map(({ title, marks }) => [title, marks])).toEqual([
    ["On ssd", []],
    ["On last", [107, 104]],
  ]);
  const { series, title } = drawn(
    timeAxis({ spans: [], t_s: [100, 105], lanes, bars: stageBars(told, 100) }, view()),
  );
  const lines = series.filter(({ type }) => type === "line");
  expect(lines.map(({ name }) => name)).toEqual(["shuffle", "spill", "shuffle index"]);
  expect(lines[2]?.data).toEqual([
    [100, 0],
    [105, 3],
  ]);
  expect(title?.map(({ text }) => text)).toEqual(["On ssd, MB", "On last, MB"]);
  expect(tierLanes(job([]), 0)).toEqual([]);
});

test("batches have a lane for all that is told, and a mark at the slowest", () => {
  const batches = {
    stream: "s",
    batch: [4, 5, 6],
    t_s: [0, 10, 20],
    took_s: [0.2, 0.7, 0.3],
    parts: [
      { what: "its jobs", time_s: [0.1, 0.4, 0.2] },
      { what: "planning", time_s: [null, null, null] },
      { what: "the rest", time_s: [0.1, 0.3, 0.1] },
    ],
    rows: [100, 100, 100],
    input_rows_per_s: [null, 10, 10],
    rows_per_s: [500, 143, 333],
    state_rows: [null, null, null],
    state_bytes: [null, null, null],
    late_s: [null, 30, 30],
  };
  const lanes = batchLanes(batches, 100);
  expect(lanes.map(({ title, marks }) => [title, marks])).toEqual([
    ["Batch duration", [110]],
    ["Rates", undefined],
    ["Watermark delay", undefined],
  ]);
  expect(lanes[0]?.lines.map(({ name, role }) => [name, role])).toEqual([
    ["its jobs", "read"],
    ["the rest", "idle"],
  ]);
  const { series, title, xAxis, yAxis } = drawn(timeAxis({ spans: [], t_s: [], lanes }, view()));
  expect(series.filter(({ type }) => type === "line")).toHaveLength(5);
  expect(title?.map(({ text }) => text)).toContain("Rates, rows/s");
  expect(xAxis[0]?.max).toBe(120.3); // the end of the last batch
  // What is stacked has room for its sum.
  expect(yAxis.slice(1).map(({ max }) => max)).toEqual([0.8, 600, 40]);
});

test("without phases, bars and lanes there is nothing to draw", () => {
  expect(timeAxis({ spans: [], t_s: [], lanes: [] }, view())).toBeNull();
});

test("a stage is divided by what its tasks' time went to, end to end", () => {
  const one = stage("3", {
    started_s: 2,
    causes: [
      { cause: "cpu", time_s: 20, reason: null },
      { cause: "shuffle write", time_s: null, reason: null },
    ],
    unattributed_s: 20,
  });
  expect(sharesOf(one)).toEqual([
    { cause: "cpu", share: 0.5 },
    { cause: "unattributed", share: 0.5 },
  ]);
  expect(sharesOf(stage("3", { task_s: 0 }))).toEqual([]);
  const [bar] = stageBars(job([one]), 100);
  expect([bar?.from_s, bar?.to_s]).toEqual([102, 112]);
  expect(bar?.parts.map(({ from, to, role }) => [from, to, role])).toEqual([
    [102, 107, "read"],
    [107, 112, "idle"],
  ]);
  expect(stageSpan(job([one]), "3", 100)).toEqual({ started_s: 102, elapsed_s: 10 });
  expect(stageSpan(job([one]), "4", 100)).toBeUndefined();
});

test("of very many stages the longest are drawn, in their order; those without times are not", () => {
  const many = Array.from({ length: 30 }, (_, at) =>
    stage(String(at), { elapsed_s: 1 + (at % 2) }),
  );
  const bars = stageBars(job([...many, stage("lost", { started_s: null })]), 0);
  const labels = bars.map(({ label }) => Number.parseInt(label, 10));
  expect(labels).toHaveLength(24);
  expect(labels).toEqual([...labels].sort((a, b) => a - b));
  expect(labels.filter((at) => at % 2 === 1)).toHaveLength(15);
});

const line = (metric: string, device: string | null, values: (number | null)[]) => ({
  metric,
  device,
  unit: "",
  values,
  lowest: [] as (number | null)[],
  highest: [] as (number | null)[],
});

test("what a host did: states added up, partitions and loopback not counted twice", () => {
  const data = {
    hosts: ["h1"],
    host: "h1",
    t_s: [0, 1],
    thinned: false,
    missing_reason: null,
    lines: [
      line("cpu_user", null, [0.2, null]),
      line("cpu_nice", null, [0.1, null]),
      line("cpu_iowait", null, [0, 0]),
      line("disk_read_bytes_per_s", "sda", [100, 200]),
      line("disk_read_bytes_per_s", "sda1", [100, 200]),
      line("disk_read_bytes_per_s", "nvme0n1", [1, null]),
      line("disk_read_bytes_per_s", "dm-0", [101, 200]),
      line("disk_busy", "sda", [0.5, 0.25]),
      line("disk_busy", "nvme0n1", [0.75, null]),
      line("net_receive_bytes_per_s", "lo", [7, 7]),
    ],
  } satisfies SeriesData;
  const lanes = lanesOf(data).map(({ title, lines }) => [
    title,
    lines.map(({ name, values }) => [name, values.map((value) => value && +value.toFixed(3))]),
  ]);
  expect(lanes).toEqual([
    ["CPU", [["user", [0.3, null]]]],
    ["Disk", [["read", [101, 200]]]],
    ["Disk busy", [["busiest disk", [0.75, 0.25]]]],
  ]);
});

test("of a series that was thinned the busiest disk is shown at its peaks", () => {
  const data = {
    hosts: ["h1"],
    host: "h1",
    t_s: [0, 1],
    thinned: true,
    missing_reason: null,
    lines: [{ ...line("disk_busy", "sda", [0.1, 0.2]), lowest: [0, 0], highest: [1, 0.3] }],
  } satisfies SeriesData;
  expect(lanesOf(data)[0]?.lines[0]?.values).toEqual([1, 0.3]);
});

test("the stages of a trial stand in the order of its phases", () => {
  const sample = (metric: string, phase: string, name: string, value: number) => ({
    metric,
    phase,
    labels: { stage: name },
    value,
  });
  const trial = {
    phases: [{ name: "map" }, { name: "reduce" }],
    samples: [
      sample("stage_useful_s", "reduce", "write", 3),
      sample("stage_useful_s", "map", "read", 1),
      sample("stage_idle_s", "map", "read", 2),
      sample("elapsed_s", "map", "read", 9),
    ],
  } as unknown as Trial;
  const found = stagesOf(trial).map((one) => [one.phase, one.name, one.useful_s, one.idle_s]);
  expect(found).toEqual([
    ["map", "read", 1, 2],
    ["reduce", "write", 3, null],
  ]);
});
