// The texts and lines of the list of jobs.
import { expect, test } from "vitest";
import type { FleetJob } from "../../src/generated/types";
import {
  costText,
  inFleet,
  savingText,
  sparkline,
  worthText,
} from "../../src/pages/share/start/fleet-rows";

const job = {
  name: "nightly-etl",
  application: "application_17_0001",
  engine: "spark",
  state: "succeeded",
  finding: "spilling to disk",
  fix: "Raise spark.executor.memory",
  trend: null,
} as FleetJob;

test("a saving is its expected value and its range", () => {
  const saving = "saves about 1.7 min (0.99–2.3 min) of 2 min 16 s";
  expect(savingText({ saving })).toBe("1.7 min (0.99–2.3 min)");
  expect(savingText({ saving: "saves at most 45 s of 146 s" })).toBe("at most 45 s");
  expect(savingText({ saving: null })).toBe("");
});

test("a cost has cents, or more digits if it is small", () => {
  expect(costText(1234.5)).toBe("$1,235");
  expect(costText(4.2)).toBe("$4.20");
  expect(costText(0.00421)).toBe("$0.0042");
  expect(costText(0.00000421)).toBe("<$0.0001");
  expect(costText(0)).toBe("$0.00");
});

test("the cost of a saving is an estimate, and empty without a price", () => {
  expect(worthText({ saving_usd: 0.5 })).toBe("about $0.50");
  expect(worthText({ saving_usd: 0.00000421 })).toBe("under $0.0001");
  expect(worthText({ saving_usd: null })).toBe("");
});

test("the search finds all words in any of a job's texts", () => {
  for (const wanted of ["", "ETL", "0001", "spill nightly", "executor.memory"])
    expect(inFleet(job, wanted)).toBe(true);
  expect(inFleet(job, "nightly join")).toBe(false);
});

test("a line goes through all values, the largest on top", () => {
  expect(sparkline([1, 3, 2], 12, 14)).toBe("1.0,12.0 6.0,2.0 11.0,7.0");
  expect(sparkline([5, 5], 12, 14)).toBe("1.0,7.0 11.0,7.0");
});
