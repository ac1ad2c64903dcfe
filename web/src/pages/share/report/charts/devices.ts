// The rates of the disk (and the sorts' share of them), its latency, the network's rates.

import { type Row, rowsChart } from "../../../../charts/rows";
import type { Drawing, View } from "../../../../charts/view";
import type { DeviceRate, PhaseUse, ReportData, ReportLatency } from "../../../../generated/types";
import type { Known, Plain } from "../../../../missing";
import { latency, logTicks, percent, rate } from "../../../../units";

const megabytes = (bytesPerS: number) => (bytesPerS / 1e6).toLocaleString("en-US");

function measured(entry: Plain<DeviceRate>, role: string): Row {
  const mean = entry.mean_bytes_per_s;
  const [low, high] = [entry.minimum_bytes_per_s, entry.maximum_bytes_per_s];
  const label = entry.where ? `${entry.label} · ${entry.where}` : entry.label;
  if (mean === null) return { label, text: "— not measured", textRole: "muted", details: [] };
  const row: Row = {
    label,
    bars: [{ from: 0, to: mean, role }],
    text: rate(mean),
    textAt: Math.max(mean, high ?? 0),
    details: [`mean ${rate(mean)}`, entry.setting],
  };
  if (low !== null && high !== null && high > low) {
    row.whisker = [low, high];
    row.details.push(`${rate(low)} to ${rate(high)}`);
  }
  return row;
}

function used(use: Plain<PhaseUse>): Row {
  const { read_bytes_per_s: read, write_bytes_per_s: write, limit_bytes_per_s: limit } = use;
  if (read === null || write === null) {
    return { label: use.phase, text: "— see the table", textRole: "muted", details: [] };
  }
  const total = read + write;
  const row: Row = {
    label: use.phase,
    bars: [
      { from: 0, to: read, role: "read" },
      { from: read, to: total, role: "write" },
    ],
    text: rate(total),
    textAt: Math.max(total, limit ?? 0),
    details: [`read ${rate(read)}`, `written ${rate(write)}`],
  };
  if (limit !== null) {
    row.marks = [{ at: limit, role: "limit", shape: "line" }];
    row.details.push(`limit for the mix ${rate(limit)}`);
  }
  if (use.share_of_limit !== null) row.text += `, ${percent(use.share_of_limit)} of the limit`;
  return row;
}

const greatest = (values: Known[]) => Math.max(1e6, ...values.map((value) => value ?? 0));

export function rates(data: Plain<ReportData>, view: View): Drawing {
  const entries = data.rates ?? [];
  const rows: Row[] = [{ label: "Disk limits", heading: true, details: [] }];
  rows.push(...entries.map((entry) => measured(entry, entry.direction)));
  let sort = "";
  for (const use of data.uses) {
    if (use.sort !== sort) {
      rows.push({ label: `Used by the sort · ${use.sort}`, heading: true, details: [] });
      sort = use.sort;
    }
    rows.push(used(use));
  }
  const maximum = greatest([
    ...entries.flatMap((entry) => [entry.mean_bytes_per_s, entry.maximum_bytes_per_s]),
    ...data.uses.flatMap((use) => [
      (use.read_bytes_per_s ?? 0) + (use.write_bytes_per_s ?? 0),
      use.limit_bytes_per_s,
    ]),
  ]);
  return rowsChart(
    rows,
    { minimum: 0, maximum: maximum * 1.02, name: "MB/s", format: megabytes },
    view,
    220,
  );
}

export function network(data: Plain<ReportData>, view: View): Drawing {
  const entries = data.network ?? [];
  const maximum = greatest(
    entries.flatMap((entry) => [entry.mean_bytes_per_s, entry.maximum_bytes_per_s]),
  );
  return rowsChart(
    entries.map((entry) => measured(entry, "network")),
    { minimum: 0, maximum: maximum * 1.02, name: "MB/s", format: megabytes },
    view,
  );
}

const QUANTILE_ROLES: Record<string, string> = { p50: "latency-1", max: "latency-5" };

function percentiles(entry: Plain<ReportLatency>): Row {
  const known = entry.quantiles_s.flatMap(([name, value]): [string, number][] =>
    value !== null && value > 0 ? [[name, value]] : [],
  );
  const first = known[0];
  const last = known[known.length - 1];
  if (!first || !last) {
    return { label: entry.label, text: "— not measured", textRole: "muted", details: [] };
  }
  return {
    label: entry.label,
    band: { from: first[1], to: last[1], role: "latency-3" },
    marks: known.map(([name, at]) => ({
      at,
      role: QUANTILE_ROLES[name] ?? "latency-3",
      shape: "dot",
      ...(name === "p50" || name === "p99" || name === "max" ? { text: name } : {}),
    })),
    details: known.map(([name, value]) => `${name} ${latency(value)}`),
  };
}

export function latencies(data: Plain<ReportData>, view: View): Drawing {
  const values = data.latencies.flatMap((entry) =>
    entry.quantiles_s.flatMap(([, value]) => (value !== null && value > 0 ? [value] : [])),
  );
  if (values.length === 0) return null;
  const minimum = Math.min(...values) / 1.5;
  const maximum = Math.max(...values) * 1.5;
  const ticks = logTicks(minimum, maximum, [1]);
  return rowsChart(
    data.latencies.map(percentiles),
    {
      minimum,
      maximum,
      log: true,
      name: "time of one request",
      format: latency,
      ticks: ticks.length > 1 ? ticks : logTicks(minimum, maximum),
    },
    view,
    24,
  );
}
