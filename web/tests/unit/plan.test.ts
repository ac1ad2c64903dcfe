import { expect, test } from "vitest";
import type { JobOperator } from "../../src/generated/types";
import { depthsOf, NODE, planGraph } from "../../src/pages/trial/charts/plan";

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
