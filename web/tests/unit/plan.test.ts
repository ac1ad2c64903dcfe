import { expect, test } from "vitest";
import type { JobOperator } from "../../src/generated/types";
import { depthsOf, NODE, planGraph, workWords } from "../../src/pages/results/trial/charts/plan";

const operator = (
  name: string,
  parent: number | null,
  rows: number | null = null,
): JobOperator => ({
  parent,
  name,
  text: name,
  rows,
  bytes: null,
  timer: null,
  time_s: null,
  stages: [],
});

const JOIN = [
  operator("Project", null),
  operator("SortMergeJoin", 0),
  operator("Sort", 1, 9),
  operator("Scan large", 2, 999_999),
  operator("Scan small", 1),
];

test("rows flow down, and a join stands below the middle of its sides", () => {
  const { nodes, edges, width, height } = planGraph(JOIN);
  const [project, join, sort, large, small] = nodes;
  if (!project || !join || !sort || !large || !small) throw new Error("five operators");
  expect(depthsOf(JOIN)).toEqual([0, 1, 2, 3, 2]);
  expect([large.y, sort.y, join.y, project.y]).toEqual(
    [large.y, sort.y, join.y, project.y].sort((a, b) => a - b),
  );
  expect(join.x).toBeCloseTo((sort.x + small.x) / 2);
  expect(edges.map(({ from, to }) => [from.operator.name, to.operator.name])).toContainEqual([
    "Sort",
    "SortMergeJoin",
  ]);
  const wide = (name: string) => edges.find(({ from }) => from.operator.name === name)?.width ?? 0;
  expect(wide("Scan large")).toBeGreaterThan(wide("Sort"));
  expect(wide("Sort")).toBeGreaterThan(wide("Scan small"));
  expect(Math.max(...nodes.map(({ x }) => x)) + NODE.width).toBe(width);
  expect(Math.max(...nodes.map(({ y }) => y)) + NODE.height).toBe(height);
});

test("no two operators stand on each other", () => {
  const places = new Set(planGraph(JOIN).nodes.map(({ x, y }) => `${x} ${y}`));
  expect(places.size).toBe(JOIN.length);
});

test("a query says which jobs and stages it had, or why not", () => {
  const whole = { stages_left_out: 0, stages_may_be_missing: false };
  const work = { jobs: [3, 4], jobs_left_out: 0, stages: ["7"], ...whole };
  expect(workWords(work)).toBe("Ran jobs 3, 4 with stage 7.");
  const many = { ...work, jobs_left_out: 1_200, stages: [] };
  expect(workWords(many)).toBe("Ran jobs 3, 4 and 1,200 more with no stages.");
  expect(workWords({ ...work, jobs: [] })).toBe("This query ran no jobs.");
  const lossy = { ...work, stages_may_be_missing: true };
  expect(workWords(lossy)).toBe("Ran jobs 3, 4 with stage 7 and maybe more.");
  expect(workWords({ ...lossy, stages: [] })).toContain("stages that the log lacks");
  expect(workWords(null)).toContain("doesn't say");
});
