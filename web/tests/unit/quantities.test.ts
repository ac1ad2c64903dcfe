import { expect, test } from "vitest";
import * as format from "../../src/format";
import { isMissing, plain } from "../../src/missing";
import * as report from "../../src/report-units";
import * as units from "../../src/units";

test.each([
  [0, "0 MB/s"],
  [1.5e6, "1.50 MB/s"],
  [10e6, "10 MB/s"],
  [2.5e9, "2,500 MB/s"],
])("rate %d", (value, text) => expect(units.rate(value)).toBe(text));

test.each([
  [0, "0 ms"],
  [2.4e-7, "240 ns"],
  [0.00024, "240 µs"],
  [0.00135, "1.35 ms"],
  [0.00999, "9.99 ms"],
  [0.85, "850 ms"],
  [0.9994, "999 ms"],
  [0.9996, "1.0 s"],
  [99.94, "99.9 s"],
  [99.96, "1 min 40 s"],
  [245, "4 min 05 s"],
  [3599.6, "1 h 00 min"],
  [7385, "2 h 03 min"],
])("duration %d", (value, text) => expect(units.duration(value)).toBe(text));

test.each([
  [8.5e-5, "85 µs", "85 µs"],
  [1.234e-3, "1.23 ms", "1.23 ms"],
  [2, "2 s", "2 s"],
])("time of a request %d", (value, short, long) => {
  expect(units.latency(value)).toBe(short);
  expect(report.requestTime(value)).toBe(long);
});

test("a request of less than a microsecond", () => {
  expect(report.requestTime(8.5e-8)).toBe("85 ns");
});

test.each([
  [0.514, "0.51 s"],
  [12.34, "12.3 s"],
  [1432.4, "1,432 s"],
])("seconds %d", (value, text) => expect(format.seconds(value)).toBe(text));

test.each([
  [0.3094, "$0.309", "$0.31", "$0.31"],
  [97, "$97.00", "$97.00", "$97.00"],
  [12345.6, "$12,346", "$12,346", "$12,345.60"],
])("US dollars %d", (value, ...texts) => {
  expect([format.dollars(value), format.usd(value), report.usd(value)]).toEqual(texts);
});

test.each([
  [0, "0 B"],
  [999, "999 B"],
  [1000, "1.00 kB"],
  [2e9, "2.00 GB"],
  [12.34e12, "12.3 TB"],
  [5e18, "5,000 PB"],
])("bytes %d", (value, text) => expect(format.bytes(value)).toBe(text));

test("memory is binary, data decimal", () => {
  expect(report.memory(2 ** 32)).toBe("4.0 GiB");
  expect(report.size(1e14)).toBe("100.0 TB");
  expect(report.size(512)).toBe("512 B");
});

test("ratios and shares", () => {
  expect([format.ratio(1.238), format.ratio(12.38), format.ratio(123.8)]).toEqual([
    "1.24×",
    "12.4×",
    "124×",
  ]);
  expect([report.share(0.0994), report.share(0.0995), report.share(1)]).toEqual([
    "9.9%",
    "10%",
    "100%",
  ]);
});

test("counts, ranges and moments", () => {
  expect([format.trials(1), format.trials(37049)]).toEqual(["1 trial", "37,049 trials"]);
  expect(format.range({ low: 215, high: 231 }, format.seconds)).toBe("215 s to 231 s");
  expect(format.moment("2014-09-30T14:31:00+02:00")).toBe("2014-09-30 12:31 UTC");
  expect(format.moment("long ago")).toBe("long ago");
});

test("keys and their values: what is missing is said to be", () => {
  expect(format.keyName("configuration.mapreduce.map_tasks")).toBe("mapreduce.map_tasks");
  expect(format.keyName("input_bytes")).toBe("input bytes");
  expect(format.keyText([])).toBe("all trials");
  expect(format.keyText(["IB", null, 0, false])).toBe("IB · (missing) · 0 · false");
  expect(format.condition("disk", null)).toBe("disk=");
});

test("what is missing is null for charts, whatever else has a reason", () => {
  const excluded = { reason: "no price", count: 2 };
  expect(isMissing(excluded)).toBe(false);
  expect(
    plain({ rate: { reason: "lost" }, of: [1, { reason: "lost" }], excluded, none: null }),
  ).toEqual({ rate: null, of: [1, null], excluded, none: null });
});
