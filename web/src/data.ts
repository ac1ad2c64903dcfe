// The JSON island that the page carries: python/venturi/present/report/data.py, field by field.
// Numbers are SI (bytes, seconds, bytes per second, US dollars); null is "not known": the tables
// give the reason, the charts leave it out.

export type Known = number | null;

export interface Rate {
  label: string;
  where: string;
  direction: "read" | "write" | "network";
  setting: string;
  mean_bytes_per_s: Known;
  minimum_bytes_per_s: Known;
  maximum_bytes_per_s: Known;
}

export interface PhaseUse {
  sort: string;
  phase: string;
  read_bytes_per_s: Known;
  write_bytes_per_s: Known;
  limit_bytes_per_s: Known;
  share_of_limit: Known;
}

export interface Latency {
  label: string;
  quantiles_s: [string, Known][];
}

export interface Span {
  name: string;
  started_s: number;
  elapsed_s: number;
}

export interface Lane {
  title: string;
  unit: "fraction" | "B/s";
  stacked: boolean;
  lines: { name: string; role: string; values: Known[] }[];
}

export interface Stage {
  phase: string;
  name: string;
  device: string | null;
  workers: Known;
  bytes: Known;
  useful_s: Known;
  idle_s: Known;
  waiting_for_memory_s: Known;
  blocked_s: Known;
  started_s: Known;
  ended_s: Known;
  narrowest: boolean;
}

export interface Comparison {
  phase: string;
  predicted_s: Known;
  low_s: Known;
  high_s: Known;
  measured_s: Known;
  measured_over_predicted: Known;
}

export interface Sort {
  label: string;
  timeline: { spans: Span[]; t_s: number[]; lanes: Lane[] };
  stages: Stage[];
  comparisons: Comparison[];
}

export interface Price {
  instance_type: string;
  nodes: Known;
  elapsed_s: Known;
  cost_usd: Known;
  lower_bound: boolean;
  bottleneck: string | null;
}

export interface Charts {
  rates: Rate[] | null;
  uses: PhaseUse[];
  latencies: Latency[];
  network: Rate[] | null;
  sorts: Sort[];
  prices: Price[] | null;
}
