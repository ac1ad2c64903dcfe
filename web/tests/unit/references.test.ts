import { expect, test } from "vitest";
import type { RankedGroup } from "../../src/generated/types";
import { isReference, references } from "../../src/pages/results/cost/references";

const group = (name: string, set: number, against: string, ratio: number | null = 1) =>
  ({ key: [name], name, set, against: [against], ratio }) as unknown as RankedGroup;

test("the reference is named, wherever it stands", () => {
  const groups = [group("SS2", 1, "SSD", 0.9), group("SSD", 1, "SSD"), group("HDD", 1, "SSD", 4)];
  expect(groups.map(isReference)).toEqual([false, true, false]);
  expect(references({ groups })).toBe("SSD");
});

test("of several sets each reference is named with its set, and none of a group alone", () => {
  const groups = [
    group("SSD", 1, "SSD"),
    group("SS2", 1, "SSD", 0.9),
    group("RL6", 2, "RL6"),
    group("RL5", 2, "RL6", 1.1),
    group("HD9", 3, "HD9", null),
  ];
  expect(references({ groups })).toBe("SSD in set 1, RL6 in set 2");
});
