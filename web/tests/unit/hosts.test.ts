import { expect, test } from "vitest";
import type { HostsOverTime } from "../../src/generated/types";
import { linkText } from "../../src/pages/measure/clusters/links";
import { firstShown, hostsChart, scaleOf } from "../../src/pages/results/trial/charts/hosts";
import { view } from "./view";

const host = (name: string, narrowest: boolean, network: (number | null)[]) => ({
  host: name,
  rack: null,
  narrowest,
  lines: {
    processor: [0.5, 0.5],
    disk_busy: [0.1, null],
    network_bytes_per_s: network,
  },
  mean: null,
  link_bytes_per_s: null,
  clock_error_s: null,
});

const found = (device: string | null, narrowest: boolean): HostsOverTime => ({
  t_s: [0.5, 1.5],
  hosts: [host("a", false, [12e6, 1e6]), host("b", narrowest, [130e6, null])],
  device,
  sentence: null,
  missing_reason: null,
});

test("what names the narrowest host is shown first, disks where none is the narrowest", () => {
  expect(firstShown(found("disk sdb", true))).toBe("disk");
  expect(firstShown(found("network", true))).toBe("network");
  expect(firstShown(found("processor", true))).toBe("processor");
  expect(firstShown(found("processor", false))).toBe("disk");
});

test("all hosts share one scale, and only the narrowest has another color", () => {
  const { hosts } = found("network", true);
  expect(scaleOf(hosts, "network")).toBe(200);
  expect(scaleOf(hosts, "disk")).toBe(100);
  const drawn = hostsChart(found("network", true), "network", view());
  const option = (drawn?.option ?? {}) as Record<string, Record<string, unknown>[]>;
  const { yAxis, series, title } = option;
  expect(yAxis?.map(({ max }) => max)).toEqual([200, 200]);
  expect(title?.map(({ text }) => text)).toEqual(["a", "b · narrowest"]);
  expect(series?.map(({ data }) => data)).toEqual([
    [
      [0.5, 12],
      [1.5, 1],
    ],
    [
      [0.5, 130],
      [1.5, null],
    ],
  ]);
  expect(hostsChart({ ...found(null, false), hosts: [] }, "disk", view())).toBeNull();
});

test("a bond says what all and what one flow get", () => {
  const link = { address: "10.0.0.1" };
  expect(linkText("data", { ...link, bytes_per_s: 5e8, flow_bytes_per_s: 1.25e8 })).toBe(
    "data: 10.0.0.1, 4 Gbit/s (one flow 1 Gbit/s)",
  );
  expect(linkText("data", { ...link, bytes_per_s: null, flow_bytes_per_s: null })).toBe(
    "data: 10.0.0.1",
  );
});
