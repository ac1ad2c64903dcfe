import { expect, test } from "vitest";
import { commandOf } from "../../src/commands";
import type { PredictedRun, SizeCurve, WhatIfData } from "../../src/generated/types";
import {
  costByTime,
  costOf,
  inside,
  lawsOf,
  sizeOf,
  timeBySize,
  todayOn,
} from "../../src/pages/jobs/whatif/charts";
import {
  DATA,
  DISKS,
  machinesOf,
  settingsOf,
  sizeSteps,
  sizes,
  withValue,
} from "../../src/pages/jobs/whatif/steps";
import { errorOf, predictedScatter, signed } from "../../src/pages/results/predictions/charts";
import { drawn, shapes, view } from "./view";

const words = (value: string | null, steps = DATA) =>
  withValue(steps, value).map((step) => step.value);

test("sizes reach eight times the recorded one and hold it", () => {
  expect(sizes(1)).toEqual([1, 2, 3, 4, 6, 8, 12, 16]);
  expect(sizes(5)).toContain(5);
  expect(Math.max(...sizes(5))).toBe(32);
  expect(sizeSteps(4).find((step) => step.value === null)?.words).toBe("4 (as recorded)");
  expect(sizeSteps(undefined)[0]).toEqual({ value: null, words: "as recorded" });
});

test("a slider has a place for any value of a URL", () => {
  expect(words("2x")).toEqual(words(null));
  const places = words("2.5x");
  expect(places.indexOf("2.5x")).toBe(places.indexOf("2x") + 1);
  expect(words("0.1x")[0]).toBe("0.1x");
  expect(words("900MB/s", DISKS as typeof DATA).at(-1)).toBe("900MB/s");
  expect(withValue(sizeSteps(4), "5").map((step) => step.value)).toContain("5");
});

test("machines and settings are read from their texts", () => {
  expect(machinesOf("i4i.4xlarge:8")).toEqual({ type: "i4i.4xlarge", nodes: 8 });
  expect(machinesOf("i4i.4xlarge")).toEqual({ type: "i4i.4xlarge", nodes: 1 });
  expect(machinesOf(null)).toBeNull();
  expect(settingsOf(" a=1  b=2\n")).toEqual(["a=1", "b=2"]);
});

test("the command asks what the page asks", () => {
  const search = new URLSearchParams("trial=t1&data=2x&on=i4i.4xlarge:8&set=spark.foo%3D1&from=x");
  expect(commandOf("/whatif", search)).toBe(
    "venturi whatif t1 --on i4i.4xlarge:8 --from x --data 2x --set spark.foo=1",
  );
  expect(commandOf("/whatif", new URLSearchParams("trial=t1&from=x"))).toBeUndefined();
});

const point = (executors: number, usd: number | null) => ({
  executors,
  hosts: executors,
  slots: 2 * executors,
  time_s: { value: 100 / executors, low: 80 / executors, high: 130 / executors },
  usd: usd === null ? null : { value: usd, low: 0.8 * usd, high: 1.3 * usd },
  core_hours: 1,
  baselines_s: { "Amdahl's law": 90 / executors, "proportional to slots": 60 / executors ** 3 },
});

const answer = (curve: SizeCurve): WhatIfData => {
  const side = {
    prediction: { ...point(2, 1), name: "2 executors" },
    rests_on: [],
  } as unknown as WhatIfData["today"];
  return { today: side, targets: [side], best: 0, curve } as unknown as WhatIfData;
};

const curve = (by: string, usd: number | null): SizeCurve => ({
  by,
  points: [1, 2, 4, 8].map((executors) => point(executors, usd)),
  replayed: true,
});

test("both charts draw a curve, and nothing of a single size", () => {
  for (const by of ["executors", "machines"]) {
    expect(timeBySize(answer(curve(by, 1)), view(900))).not.toBeNull();
    expect(costByTime(answer(curve(by, null)), view(360))).not.toBeNull();
  }
  const single = { ...curve("executors", 1), points: [point(1, 1)] };
  expect(timeBySize(answer(single), view(900))).toBeNull();
  expect(costByTime(answer(single), view(900))).toBeNull();
});

test("only simpler predictions with several points are drawn", () => {
  expect(lawsOf(curve("executors", 1)).map(({ name }) => name)).toEqual([
    "Amdahl's law",
    "proportional to slots",
  ]);
});

test("other machines have no place for today", () => {
  expect(todayOn(answer(curve("executors", 1)))).toEqual({ size: 2, time_s: 50 });
  expect(todayOn(answer(curve("machines", 1)))).toBeNull();
  expect(sizeOf({ by: "machines" }, { ...point(4, 1), hosts: 2 })).toBe(2);
});

test("without a price, cost is core-hours with the interval of time", () => {
  expect(costOf(curve("executors", 1)).name).toBe("cost (US$)");
  const cost = costOf(curve("executors", null));
  expect(cost.name).toBe("core-hours");
  expect(cost.of(point(1, null))).toEqual({ value: 1, low: 0.8, high: 1.3 });
});

test("a line ends where it leaves its box", () => {
  const box = { top: 0, bottom: 10 };
  expect(
    inside(
      [
        [0, 5],
        [10, 15],
        [20, 30],
      ],
      box,
    ),
  ).toEqual([
    [0, 5],
    [5, 10],
  ]);
});

const run = (predicted: number, measured: number, half: number | null) =>
  ({
    trial: `t${predicted}`,
    predicted_s: predicted,
    measured_s: measured,
    low_s: half && predicted - half,
    high_s: half && predicted + half,
    inside: half === null ? null : Math.abs(predicted - measured) <= half,
  }) as PredictedRun;

type Line = Record<"x1" | "x2" | "y1" | "y2", number>;

test("a run on the diagonal was predicted right, and a bar that held crosses it", () => {
  const runs = [run(10, 10, 2), run(20, 30, 2), run(40, 30, null)];
  const chart = drawn(predictedScatter(runs, view()));
  const [diagonal, held, missed, ...more] = shapes(chart, 0).map(({ shape }) => shape as Line);
  if (!diagonal || !held || !missed) throw new Error("lines are missing");
  expect(more).toEqual([]);
  expect(shapes(chart, 1)).toHaveLength(3);
  const slope = (diagonal.y2 - diagonal.y1) / (diagonal.x2 - diagonal.x1);
  const above = (x: number) => diagonal.y1 + slope * (x - diagonal.x1);
  const [dot] = shapes(chart, 1).map(({ shape }) => shape as { cx: number; cy: number });
  expect(dot?.cy).toBeCloseTo(above(dot?.cx ?? 0));
  const crosses = ({ x1, x2, y1 }: Line) => above(x1) > y1 && above(x2) < y1;
  expect(crosses(held)).toBe(true);
  expect(crosses(missed)).toBe(false);
});

test("one run is drawn, none is not", () => {
  expect(shapes(drawn(predictedScatter([run(5, 5, null)], view())), 1)).toHaveLength(1);
  expect(predictedScatter([], view())).toBeNull();
});

test("errors have a sign", () => {
  expect(signed(errorOf(run(12, 10, null)))).toBe("+20%");
  expect(signed(errorOf(run(8, 10, null)))).toBe("−20%");
});
