import { expect, test } from "vitest";
import { sentence } from "../../src/format";
import type { JobData, JobPart } from "../../src/generated/types";
import { barsOf, headlineOf, longestPhase } from "../../src/pages/results/trial/headline";

const part = (name: string, share: number): JobPart => ({
  part: name,
  words: name,
  time_s: 100 * share,
  share,
});

const job = (more: Partial<JobData>) =>
  ({ failure: null, sentence: null, silence: null, ...more }) as JobData;

test("the five largest parts have a bar each, the others share one", () => {
  const parts = ["a", "b", "c", "d", "e", "f", "g"].map((name, at) => part(name, (at + 1) / 28));
  const bars = barsOf([...parts, part("none", 0)]);
  expect(bars.map(({ words }) => words)).toEqual(["g", "f", "e", "d", "c", "other (2 parts)"]);
  expect(bars.reduce((sum, { share }) => sum + share, 0)).toBeCloseTo(1);
  expect(barsOf(parts.slice(1)).map(({ part: name }) => name)).not.toContain("other");
});

test("the headline is the failure, else the answer of the diagnosis", () => {
  const answer = "Broadcast the small table in query 0: saves about 45 s (30–80 s) of 2 min 26 s.";
  expect(headlineOf(job({ sentence: answer }))).toBe(answer.slice(0, -1));
  expect(headlineOf(job({ sentence: answer, failure: "failed: out of memory" }))).toBe(
    "The application failed",
  );
  expect(headlineOf(job({ silence: "no log was kept" }))).toBe("No log was kept");
});

test("a sentence begins with a capital and ends once", () => {
  expect(sentence("one thing")).toBe("One thing.");
  expect(sentence("Why?")).toBe("Why?");
});

test("the longest phase stands for a job on one host", () => {
  const phase = (name: string, took: number) => ({ name, started_s: 0, elapsed_s: took });
  const found = longestPhase([phase("stage 0: a", 1), phase("stage 2: b", 3), phase("c", 2)]);
  expect(found?.name).toBe("stage 2: b");
  expect(longestPhase([])).toBeUndefined();
});
