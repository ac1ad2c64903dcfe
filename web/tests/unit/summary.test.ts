import { expect, test } from "vitest";
import { sentence } from "../../src/format";
import type { Finding, JobData, JobPart } from "../../src/generated/types";
import { barsOf, headlineOf, savingOf } from "../../src/pages/results/trial/headline";

const part = (name: string, share: number): JobPart => ({
  part: name,
  words: name,
  time_s: 100 * share,
  share,
});

const finding = (more: Partial<Finding>) =>
  ({ title: "uneven partitions", saves_s: 3.4, share: 0.09, spares: null, ...more }) as Finding;

const job = (more: Partial<JobData>) =>
  ({ failure: null, findings: [], silence: null, ...more }) as JobData;

test("the five largest parts have a bar each, the others share one", () => {
  const parts = ["a", "b", "c", "d", "e", "f", "g"].map((name, at) => part(name, (at + 1) / 28));
  const bars = barsOf([...parts, part("none", 0)]);
  expect(bars.map(({ words }) => words)).toEqual(["g", "f", "e", "d", "c", "other (2 parts)"]);
  expect(bars.reduce((sum, { share }) => sum + share, 0)).toBeCloseTo(1);
  expect(barsOf(parts.slice(1)).map(({ part: name }) => name)).not.toContain("other");
});

test("the headline is the failure, else the biggest finding, else that there is none", () => {
  const first = finding({});
  expect(headlineOf(job({ findings: [first] }))).toBe(
    "Biggest finding: uneven partitions, up to 3.4 s (9%) can be saved",
  );
  expect(headlineOf(job({ findings: [first], failure: "failed: out of memory" }))).toBe(
    "The application failed",
  );
  expect(headlineOf(job({ silence: "no known problem costs more than 1.8 s" }))).toBe(
    "No known problem costs more than 1.8 s",
  );
});

test("a saving has time, other resources, or both", () => {
  const spares = { what: "1.2 core-hours", share: 0.2 };
  expect(savingOf(finding({ saves_s: 0, spares }))).toBe("up to 1.2 core-hours (20%) can be saved");
  expect(savingOf(finding({ spares }))).toContain("3.4 s (9%) and 1.2 core-hours (20%)");
});

test("a sentence begins with a capital and ends once", () => {
  expect(sentence("one thing")).toBe("One thing.");
  expect(sentence("Why?")).toBe("Why?");
});
