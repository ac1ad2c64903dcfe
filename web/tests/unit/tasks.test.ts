import { expect, test } from "vitest";
import type { JobTasks } from "../../src/generated/types";
import {
  middlesOf,
  momentAt,
  plotOf,
  seenAt,
  spansAt,
  ticksOf,
} from "../../src/pages/results/trial/charts/tasks";
import { view } from "./view";

const TASKS: JobTasks = {
  from_s: 10,
  to_s: 30,
  causes: ["cpu", "spilling"],
  lanes: [
    { executor: "1", host: "h1", main: [0, -1], busy: [2, 0] },
    { executor: "2", host: null, main: [1, 1], busy: [1, 0.5] },
  ],
  lanes_left_out: 0,
  dots: [],
  slowest: [],
  spreads: [],
  tasks: 3,
  missing_reason: null,
};

test("a place of the canvas is an executor, a moment and a cause", () => {
  const plot = plotOf(0, 2, view());
  const [quarter, late] = [plot.left + plot.width / 4, plot.left + 0.75 * plot.width];
  expect(momentAt(quarter, TASKS, plot)).toBeCloseTo(15);
  expect(seenAt(quarter, 1, TASKS, plot)?.join()).toContain("executor 1 on h1");
  expect(seenAt(quarter, 1, TASKS, plot)?.join()).toContain("2 concurrent tasks, mostly cpu");
  expect(seenAt(late, 1, TASKS, plot)?.join()).toContain("no task");
  expect(seenAt(late, plot.lane + 1, TASKS, plot)?.join()).toContain("spilling");
  expect(seenAt(plot.left - 1, 1, TASKS, plot)).toBeNull();
  expect(seenAt(quarter, plot.height, TASKS, plot)).toBeNull();
  expect(momentAt(-50, TASKS, plot)).toBe(10);
});

test("keys go through the middles of strips and lanes", () => {
  const plot = plotOf(1, 2, view());
  const [strip, ...lanes] = middlesOf(1, 2, plot);
  expect(strip).toBeLessThan(plot.top);
  expect(lanes.map((y) => seenAt(plot.left, y, TASKS, plot)?.[0])).toEqual([
    "executor 1 on h1",
    "executor 2",
  ]);
});

test("ticks are round, and lie in what is shown", () => {
  expect(ticksOf(10, 30, 4)).toEqual([10, 15, 20, 25, 30]);
  expect(ticksOf(0, 7200, 4).every((at) => at % 60 === 0)).toBe(true);
});

test("what is clicked in a strip is what ran then", () => {
  const spans = [
    { name: "query 0", from: 10, to: 14, role: "phase-odd" },
    { name: "query 1", from: 16, to: 30, role: "phase-odd" },
  ];
  const strips = [{ name: "queries", spans }];
  const plot = plotOf(1, 2, view());
  const at = (moment: number) => plot.left + ((moment - 10) / 20) * plot.width;
  const names = (x: number, y: number) =>
    spansAt(x, y, strips, TASKS, plot).map(({ name }) => name);
  expect(names(at(12), 3)).toEqual(["query 0"]);
  expect(names(at(15), 3)).toEqual([]);
  expect(names(at(20), plot.top + 3)).toEqual([]);
  expect(seenAt(at(12), 3, TASKS, plot)).toBeNull();
});
