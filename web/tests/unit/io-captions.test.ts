import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, test, vi } from "vitest";
import { captioned } from "../../src/charts/io";
import type { IoHeat, IoPage } from "../../src/generated/types";
import { Io } from "../../src/parts/io/Io";

// What needs a browser: the drawings, and what asks a server.
vi.mock("../../src/parts/Chart", () => ({ Chart: () => null }));
vi.mock("../../src/parts/Page", () => ({ ProblemBox: () => null }));
vi.mock("../../src/data", () => ({ exported: false, useTwin: () => ({}) }));

const heat: IoHeat = {
  start_s: 0,
  column_s: 1,
  rows: [0, 1],
  cells: [[0, 0, 1]],
  bytes: [4096],
  names: [],
  files: [],
};
const page: IoPage = {
  missing_reason: null,
  not_attributed: null,
  not_in_it: null,
  flushes: [],
  elapsed_s: 1,
  limits: ["sda (8,0): read_ahead_kb 128"],
  patterns: [
    {
      name: "read",
      device: "8,0",
      requests: 1,
      bytes: 4096,
      access: null,
      verdict: "",
      size_median_bytes: 4096,
      zero_seeks: null,
      p50_s: null,
      p99_s: null,
      run_mean_bytes: 4096,
      sizes: [{ low: 4096, high: 8192, requests: 1, bytes: 4096 }],
      times: [{ low: 1e-3, high: 2e-3, requests: 1, bytes: null }],
      seeks: [{ octave: 0, requests: 1 }],
      ccdf: [[1e-3, 1]],
      places: heat,
      times_over: heat,
    },
  ],
  no_closer_look: null,
  stages: [],
  amounts: [],
};
const captionsOf = (found: IoPage): string[] =>
  renderToStaticMarkup(createElement(Io, { id: "x", found })).match(
    /<figcaption>.*?<\/figcaption>/g,
  ) ?? [];

test("every chart says what the trace lacks", () => {
  const lossy = captionsOf({ ...page, not_in_it: "not in it: 12 ends of requests" });
  expect(lossy).toHaveLength(7);
  for (const caption of lossy) expect(caption).toContain("Not in it: 12 ends of requests.");
  for (const caption of captionsOf(page)) expect(caption).not.toMatch(/not in it/i);
});

test("it stands behind what the caption says otherwise", () => {
  expect(captioned("Times", null)).toBe("Times");
  expect(captioned("Times", "not in it: 1")).toBe("Times. Not in it: 1.");
  expect(captioned("Times.", "not in it: 1")).toBe("Times. Not in it: 1.");
  expect(captioned("", "not in it: 1")).toBe("Not in it: 1.");
});
