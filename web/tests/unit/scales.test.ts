import { expect, test } from "vitest";
import { logAxis, signedAxis, timeScale } from "../../src/charts/common";
import { type Axis, axisOf, farApart, timeUnit } from "../../src/charts/scale";
import { logTicks } from "../../src/units";

const VALUES: readonly (readonly number[])[] = [
  [0],
  [1],
  [0.001, 0.0011],
  [3, 4, 5],
  [99, 101],
  [1, 1000],
  [1e-9, 1e9],
  [123_456_789, 123_456_790],
];

function holds(axis: Axis, values: readonly number[], most: number) {
  expect(axis.share(axis.minimum)).toBeCloseTo(0);
  expect(axis.share(axis.maximum)).toBeCloseTo(1);
  for (const value of values) {
    expect(axis.share(value)).toBeGreaterThanOrEqual(0);
    expect(axis.share(value)).toBeLessThanOrEqual(1);
  }
  for (const tick of axis.ticks) {
    expect(axis.share(tick)).toBeGreaterThanOrEqual(-1e-9);
    expect(axis.share(tick)).toBeLessThanOrEqual(1 + 1e-9);
  }
  expect(axis.ticks).toEqual([...new Set(axis.ticks)].sort((a, b) => a - b));
  expect(axis.ticks.length).toBeLessThanOrEqual(most + 3);
}

test.each(VALUES.map((values) => ({ values })))(
  "an axis holds $values and its ticks",
  ({ values }) => {
    for (const most of [4, 9]) {
      const axis = axisOf([...values], most);
      if (!axis.log) holds(axis, values, most);
      holds(axisOf([0, ...values], most, { fromZero: true }), values, most);
    }
  },
);

test("an axis is logarithmic where the greatest is far from the least", () => {
  expect(axisOf([1, 20], 5).log).toBe(false);
  expect(axisOf([1, 21], 5).log).toBe(true);
  expect(axisOf([1, 21], 5, { fromZero: true }).log).toBe(false);
  expect(axisOf([0, 1000], 5).log).toBe(false);
});

test("ticks are round, without the rests of binary fractions", () => {
  expect(axisOf([0, 0.3], 3, { fromZero: true }).ticks).toEqual([0, 0.1, 0.2, 0.3]);
  expect(axisOf([0, 97], 5, { fromZero: true }).ticks).toEqual([0, 20, 40, 60, 80, 100]);
  expect(axisOf([100, 110], 5).ticks).toEqual([95, 100, 105, 110, 115]);
});

test("an axis begins at 0 unless its values are close together", () => {
  expect(axisOf([10, 40], 5).minimum).toBe(0);
  expect(axisOf([30, 40], 5).minimum).toBeGreaterThan(0);
});

test("logarithmic ticks are 1, 2, 5 times a power of ten, both ends inside", () => {
  expect(logTicks(1, 100)).toEqual([1, 2, 5, 10, 20, 50, 100]);
  expect(logTicks(0.03, 0.3)).toEqual([0.05, 0.1, 0.2]);
  expect(logTicks(7, 9)).toEqual([]);
});

test("a logarithmic axis has as many steps as there is room, over decades and within one", () => {
  for (const values of [
    [0.5, 2],
    [0.97, 1.04],
    [1, 1e6],
  ]) {
    for (const most of [4, 9]) {
      const axis = logAxis(values, most);
      holds(axis, values, most);
      expect(axis.ticks.length).toBeGreaterThan(1);
    }
  }
  const { share } = logAxis([1, 100], 5);
  expect(share(10)).toBeCloseTo(0.5);
});

test("differences stand on both sides of 0, which is a tick", () => {
  for (const values of [[-3, 5], [2, 4], [-7, -1], [0]]) {
    const axis = signedAxis(values, 6);
    holds(axis, [0, ...values], 8);
    expect(axis.ticks).toContain(0);
  }
});

test("times are told in the unit that reads best", () => {
  const units = [0.5, 1, 179, 180, 3 * 3600, 72 * 3600].map((seconds) => timeUnit(seconds).name);
  expect(units).toEqual(["ms", "s", "s", "min", "h", "h"]);
  const { unit, axis } = timeScale([600, 1200], 4, { fromZero: true });
  expect([unit.name, axis.minimum, axis.maximum]).toEqual(["min", 0, 20]);
});

test("a scale is logarithmic where the data are far apart, in the unit of its middle", () => {
  expect(farApart([100, 172_800])).toBe(true);
  expect(farApart([100, 1_900])).toBe(false);
  expect(farApart([0, 1_900])).toBe(false);
  expect(farApart([])).toBe(false);
  expect(timeScale([100, 172_800], 8, { log: true }).unit.name).toBe("min");
});
