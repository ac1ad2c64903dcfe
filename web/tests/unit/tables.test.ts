import { expect, test } from "vitest";
import type { Scaling } from "../../src/generated/types";
import {
  drawnGroups,
  farApart,
  partsOf,
  sizeText,
  sizeUnit,
} from "../../src/pages/results/scaling/charts";
import { type Cell, csv, inOrder } from "../../src/parts/Table";

test("a table as CSV: quotes, breaks, nothing, and no formula for a spreadsheet", () => {
  const columns = [{ name: "name" }, { name: "time, s", number: true }];
  const rows = [
    ['a "b"', 1.5],
    ["two\nlines", null],
    ["=HYPERLINK(1)", -2],
    [{ value: "shown otherwise", show: "<b>" }, true],
  ];
  expect(csv(columns, rows)).toBe(
    'name,"time, s"\r\n"a ""b""",1.5\r\n"two\nlines",\r\n' +
      "'=HYPERLINK(1),-2\r\nshown otherwise,true\r\n",
  );
});

test("sizes in the unit of their axis", () => {
  expect(sizeUnit("bytes", 5e12)).toEqual({ name: "TB", size: 1e12 });
  expect(sizeUnit("bytes", 1.5e12)).toEqual({ name: "GB", size: 1e9 });
  expect(sizeUnit("nodes", 5e12)).toEqual({ name: "nodes", size: 1 });
  expect([sizeText(1e11, "bytes"), sizeText(4, "nodes"), sizeText(4, "")]).toEqual([
    "100 GB",
    "4 nodes",
    "4",
  ]);
});

test("a group of which no time is known is not drawn", () => {
  const group = (median: number | null) => ({ points: [{ x: 1, n: 1, elapsed_s: { median } }] });
  const data = { groups: [group(null), group(3)] } as unknown as Scaling;
  expect(drawnGroups(data)).toEqual([data.groups[1]]);
});

test("rows by one column: numbers by size, what is missing last either way", () => {
  const rows: Cell[][] = [[10], [{ value: 9, show: "nine" }], [null], [100]];
  const told = (descending: boolean) =>
    inOrder(rows, { at: 0, descending }).map((row) => rows.indexOf(row as Cell[]));
  expect(told(false)).toEqual([1, 0, 3, 2]);
  expect(told(true)).toEqual([3, 0, 1, 2]);
  expect(inOrder(rows, null)).toBe(rows);
});

test("a curve is dashed beyond what was measured, on either side", () => {
  const at = (x: number) => ({ x, elapsed_s: 1, low_s: null, high_s: null });
  const group = { points: [{ x: 2 }, { x: 8 }], curve: [1, 2, 4, 8, 16].map(at) };
  const { measured, beyond } = partsOf(group as unknown as Scaling["groups"][number]);
  expect(measured.map(({ x }) => x)).toEqual([2, 4, 8]);
  expect(beyond.map((part) => part.map(({ x }) => x))).toEqual([
    [1, 2],
    [8, 16],
  ]);
});

test("axes are logarithmic where values lie far apart", () => {
  expect([farApart([1, 8]), farApart([2, 8]), farApart([0, 100]), farApart([])]).toEqual([
    true,
    false,
    false,
    false,
  ]);
});
