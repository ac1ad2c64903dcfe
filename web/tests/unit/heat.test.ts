import { expect, test } from "vitest";
import type { BetweenHosts } from "../../src/generated/types";
import { cellsOf } from "../../src/pages/results/trial/SeveralHosts";
import { heat } from "../../src/parts/HeatTable";

const pair = (rate: number) => ({ bytes_per_s: rate, least_bytes_per_s: rate / 2, n: 3 });

test("the least is faint, the greatest full, and what is not known has no color", () => {
  expect(heat(10, 10, 50)).toBe(4);
  expect(heat(50, 10, 50)).toBe(42);
  expect(heat(30, 10, 50)).toBe(23);
  expect(heat(null, 10, 50)).toBeNull();
  // All alike: there is nothing to tell apart, and no division by nothing.
  expect(heat(7, 7, 7)).toBe(42);
});

test("a cell has its value as text, who sends to whom, and the least of the iterations", () => {
  const found: BetweenHosts = {
    hosts: ["a", "b"],
    matrix: [
      [null, pair(100e6)],
      [pair(20e6), null],
    ],
    standings: [],
    sizes: [],
    culled: [],
    sentence: "",
  };
  const cells = cellsOf(found);
  expect(cells[0]?.[0]).toBeNull();
  expect(cells[0]?.[1]).toEqual({
    value: 100e6,
    text: "100 MB/s",
    title: "a to b: median of 3 iterations 100 MB/s, lowest 50 MB/s",
  });
  expect(cells[1]?.[0]?.title).toContain("b to a");
});
