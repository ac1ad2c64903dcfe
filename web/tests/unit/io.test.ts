import { expect, test } from "vitest";
import type { IoPattern } from "../../src/generated/types";
import {
  ccdfChart,
  distance,
  placesChart,
  powers,
  seeksChart,
  sizesChart,
  timesChart,
  timesOverChart,
} from "../../src/pages/trial/charts/io";
import { view } from "./view";

const heat = { start_s: 0, column_s: 1, columns: 2, rows: [1e6, 2e6, 3e6], cells: [[1, 0, 7]] };

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
  places: heat as unknown as IoPattern["places"],
  times_over: { ...heat, rows: [1e-3, 1e-2, 1e-1] } as unknown as IoPattern["times_over"],
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
    sizesChart(found, "bytes", view()),
    timesChart(found, view()),
    seeksChart(found, view()),
    placesChart(found, 2, view()),
    timesOverChart(found, 2, view()),
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
    optionOf(sizesChart(found, counted, view())).yAxis[0]?.max ?? 0;
  expect(tallest("requests")).toBe(0.75);
  expect(tallest("bytes")).toBe(1);
});

test("seeks have a direction, and 0 stands in the middle", () => {
  const { xAxis, series } = optionOf(seeksChart(found, view()));
  expect(xAxis[0]?.min).toBe(-(xAxis[0]?.max ?? 0));
  expect(series[1]?.data.map(([from]) => from)).toEqual([-0.5, -3.5]);
  expect([distance(0), distance(1), distance(-3)]).toEqual(["0", "+512 B", "−2 KiB"]);
});

test("ticks are whole powers, and not too many", () => {
  expect(powers(2.2, 5, 4)).toEqual([3, 4, 5]);
  expect(powers(0, 40, 4).length).toBeLessThanOrEqual(4);
});

test("of nothing nothing is drawn", () => {
  expect(sizesChart([alone], "bytes", view())).toBeNull();
  expect(timesChart([], view())).toBeNull();
  expect(seeksChart([], view())).toBeNull();
  expect(placesChart([], 1, view())).toBeNull();
  expect(timesOverChart([], 1, view())).toBeNull();
  expect(ccdfChart([], view())).toBeNull();
  expect(ccdfChart(found, view())).not.toBeNull();
});
