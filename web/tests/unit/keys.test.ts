import { expect, test } from "vitest";
import type { KeyInfo } from "../../src/generated/types";
import { byInterest, nearest } from "../../src/keys";

const key = (name: string, n: number, distinct = 3): KeyInfo => ({
  key: name,
  kind: "configuration",
  type: "text",
  n,
  distinct,
});

test("keys that people ask for lead, the others by how many trials have them", () => {
  const keys = [
    key("block", 9),
    key("compression", 1),
    key("rare", 1),
    key("configuration.disk", 2),
  ];
  expect(byInterest(keys).map((each) => each.key)).toEqual([
    "configuration.disk",
    "compression",
    "block",
    "rare",
  ]);
});

test("a typing error finds the value that was meant, and nothing where none is near", () => {
  const known = ["terasort", "prep_terasort", "wordcount"];
  expect(nearest("terasrt", known)).toBe("terasort");
  expect(nearest("Wrodcount", known)).toBe("wordcount");
  expect(nearest("kmeans", known)).toBeUndefined();
});
