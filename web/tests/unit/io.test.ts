import { expect, test } from "vitest";
import {
  ccdfChart,
  distance,
  powers,
  seeksChart,
  sizesChart,
  timesChart,
} from "../../src/charts/io";
import {
  cut,
  fileAt,
  finest,
  moved,
  placesChart,
  type Shown,
  timesOverChart,
} from "../../src/charts/io-heat";
import type { IoHeat, IoPattern } from "../../src/generated/types";
import { view } from "./view";

const heat: IoHeat = {
  start_s: 0,
  column_s: 1,
  rows: [1e6, 2e6, 3e6],
  cells: [
    [0, 1, 1],
    [1, 0, 7],
  ],
  bytes: [5, 4096],
  names: ["rdd_3_0", "shuffle_0_1_0.data"],
  files: [0, -2],
};
const shown: Shown = { counted: "bytes", scale: "log", stages: [], window: [0, 2] };

const pattern = (name: string, octave: number): IoPattern => ({
  name,
  device: "7,0",
  requests: 4,
  bytes: 4 << 20,
  access: "sequential",
  verdict: "sequential",
  size_median_bytes: 1 << 20,
  zero_seeks: 0.75,
  p50_s: 1e-3,
  p99_s: null,
  run_mean_bytes: 4 << 20,
  sizes: [
    { low: 4096, high: 8192, requests: 3, bytes: 3 * 4096 },
    { low: 2 ** 20, high: 2 ** 21, requests: 1, bytes: 2 ** 20 },
  ],
  times: [{ low: 1e-3, high: 1.2e-3, requests: 4, bytes: null }],
  seeks: [
    { octave: 0, requests: 3 },
    { octave, requests: 1 },
  ],
  ccdf: [
    [1e-3, 1],
    [1e-2, 0.25],
  ],
  places: heat,
  times_over: { ...heat, rows: [1e-3, 1e-2, 1e-1], bytes: null },
});
const alone: IoPattern = {
  ...pattern("third", 1),
  sizes: null,
  times: null,
  seeks: null,
  ccdf: null,
  places: null,
  times_over: null,
};
const found = [pattern("first", 11), pattern("second", -3), alone];

type Axes = Record<"xAxis" | "yAxis", { min: number; max: number }[]> &
  Record<"title", { text: string }[]> &
  Record<"series", { data: [number, number][] }[]>;
const optionOf = (drawn: ReturnType<typeof timesChart>) => (drawn?.option ?? {}) as unknown as Axes;

test("every pattern has a panel, all on the same axes, but those that are not drawn", () => {
  for (const drawn of [
    sizesChart(found, "bytes", "linear", view()),
    timesChart(found, "log", view()),
    seeksChart(found, "linear", view()),
    placesChart(found, shown, view()),
    timesOverChart(found, shown, view()),
  ]) {
    const { title, xAxis, yAxis, series } = optionOf(drawn);
    expect(title.map(({ text }) => text)).toEqual(["first", "second"]);
    expect(new Set(xAxis.map(({ min, max }) => `${min} ${max}`)).size).toBe(1);
    expect(new Set(yAxis.map(({ min, max }) => `${min} ${max}`)).size).toBe(1);
    expect(series.every(({ data }) => data.length > 0)).toBe(true);
  }
});

test("shares are of bytes or of requests", () => {
  const tallest = (counted: "bytes" | "requests") =>
    optionOf(sizesChart(found, counted, "linear", view())).yAxis[0]?.max ?? 0;
  expect(tallest("requests")).toBe(0.75);
  expect(tallest("bytes")).toBe(1);
});

test("seeks have a direction, and 0 stands in the middle", () => {
  const { xAxis, series } = optionOf(seeksChart(found, "linear", view()));
  expect(xAxis[0]?.min).toBe(-(xAxis[0]?.max ?? 0));
  expect(series[1]?.data.map(([from]) => from)).toEqual([-0.5, -3.5]);
  expect([distance(0), distance(1), distance(-3)]).toEqual(["0", "+512 B", "−2 KiB"]);
});

test("ticks are whole powers, and not too many", () => {
  expect(powers(2.2, 5, 4)).toEqual([3, 4, 5]);
  expect(powers(0, 40, 4).length).toBeLessThanOrEqual(4);
});

test("of nothing nothing is drawn", () => {
  expect(sizesChart([alone], "bytes", "log", view())).toBeNull();
  expect(timesChart([], "log", view())).toBeNull();
  expect(seeksChart([], "log", view())).toBeNull();
  expect(placesChart([], shown, view())).toBeNull();
  expect(timesOverChart([], shown, view())).toBeNull();
  expect(ccdfChart([], view())).toBeNull();
  expect(ccdfChart(found, view())).not.toBeNull();
});

test("stages stand above the cells, on the same axis of time", () => {
  const stage = { name: "3", phase: "reduce", from_s: 0.5, until_s: 1.5 };
  const ended = { ...stage, name: "1", from_s: -2, until_s: -1 };
  const without = optionOf(placesChart(found, shown, view()));
  const { yAxis, series } = optionOf(
    placesChart(found, { ...shown, stages: [stage, ended] }, view()),
  );
  expect(yAxis[0]?.max).toBeGreaterThan(without.yAxis[0]?.max ?? 0);
  expect(series[0]?.data).toHaveLength(heat.cells.length + 1);
  expect(series[0]?.data.at(-1)).toEqual([0.5, expect.any(Number)]);
  expect(series[0]?.data.at(-1)?.[1]).toBeGreaterThanOrEqual(without.yAxis[0]?.max ?? 0);
});

test("a window stays within the trace, and a part is cut from the finest cells that fit", () => {
  expect(moved([0, 100], 0.5, 0, 100)).toEqual([25, 75]);
  expect(moved([25, 75], 1, 0.5, 100)).toEqual([50, 100]);
  expect(moved([50, 100], 1, 0.5, 100)).toEqual([50, 100]);
  expect(moved([25, 75], 2, 0, 100)).toEqual([0, 100]);
  const widths = [4, 1, 0.25].map((column_s) => ({ heat: { ...heat, column_s } }));
  expect(finest(widths, [0, 2000])?.column_s).toBe(4);
  expect(finest(widths, [0, 400])?.column_s).toBe(1);
  expect(finest(widths, [0, 64])?.column_s).toBe(0.25);
  expect(finest([], [0, 1])).toBeUndefined();
  const part = cut(heat, [1, 1.5]);
  expect([part.cells, part.bytes]).toEqual([[[1, 0, 7]], [4096]]);
  expect(fileAt(part, 0)).toBe("shuffle_0_1_0.data and others");
});

test("a cell tells a file of its requests, where one is known", () => {
  expect(fileAt({ ...heat, files: [1, -2] }, 0)).toBe("rdd_3_0");
  expect(fileAt(heat, 0)).toBeNull();
  expect(fileAt({ ...heat, names: [], files: [] }, 1)).toBeNull();
});
