// Made from schema/openapi.json by scripts/types.mjs: `npm run types`.

import type { Missing, ReportFact } from "./shared";

export interface DeviceRate {
  label: string;
  where: string;
  direction: "read" | "write" | "network";
  setting: string;
  mean_bytes_per_s: number | Missing;
  minimum_bytes_per_s: number | Missing;
  maximum_bytes_per_s: number | Missing;
  iterations: number;
}
export interface FactGroup {
  title: string;
  facts: ReportFact[];
}
export interface Lane {
  title: string;
  unit: "fraction" | "B/s";
  stacked: boolean;
  lines: LaneLine[];
  missing: Missing | null;
}
export interface LaneLine {
  name: string;
  role: string;
  values: (number | null)[];
}
export interface Notice {
  code: string;
  trial: string;
  message: string;
}
export interface PhaseBottleneck {
  phase: string;
  name: string | Missing;
  evidence: string[];
  stages: StageShare[];
}
export interface StageShare {
  name: string;
  busy: number;
  narrowest: boolean;
}
export interface PhaseLoad {
  phase: string;
  values: (number | Missing)[];
}
export interface PhaseSpan {
  name: string;
  started_s: number;
  elapsed_s: number;
}
export interface PhaseUse {
  sort: string;
  phase: string;
  read_bytes_per_s: number | Missing;
  write_bytes_per_s: number | Missing;
  limit_bytes_per_s: number | Missing;
  share_of_limit: number | Missing;
  limit_name: string;
}
export interface PredictedTime {
  phase: string;
  predicted_s: number | Missing;
  low_s: number | Missing;
  high_s: number | Missing;
  measured_s: number | Missing;
  measured_over_predicted: number | Missing;
  formula: string;
}
export interface PriceRow {
  instance_type: string;
  nodes: number | Missing;
  elapsed_s: number | Missing;
  elapsed_low_s: number | Missing;
  elapsed_high_s: number | Missing;
  cost_usd: number | Missing;
  cost_low_usd: number | Missing;
  cost_high_usd: number | Missing;
  lower_bound: boolean;
  bottleneck: string | Missing;
  storage_bytes_per_s: number | Missing;
  storage_kind: string;
  storage_known: string | Missing;
  network_bytes_per_s: number | Missing;
  network_kind: string;
  network_known: string | Missing;
  price_usd_per_hour: number | Missing;
  price_as_of: string | Missing;
  price_is_stale: boolean;
  price_source: string | Missing;
  known: boolean;
}
export interface RandomRead {
  label: string;
  iops: number | Missing;
  bytes_per_s: number | Missing;
}
export interface ReportAnswer {
  question: string;
  sentences: string[];
}
export interface ReportData {
  title: string;
  generated_at: string;
  headline: string;
  answers: ReportAnswer[];
  figures: ReportFigure[];
  host: FactGroup[];
  rates: DeviceRate[] | Missing;
  uses: PhaseUse[];
  latencies: ReportLatency[];
  random_reads: RandomRead[];
  network: DeviceRate[] | Missing;
  network_label: string;
  sorts: SortTrial[];
  job: string;
  prices: PriceRow[] | Missing;
  method: ReportFact[];
  software: ReportFact[];
  commands: string[];
  trials: ReportedTrial[];
  warned: string[];
  warnings: Notice[];
  skipped: SkippedMeasurement[];
}
export interface ReportFigure {
  label: string;
  value: number | Missing;
  kind: "rate" | "duration" | "usd";
  note: string;
}
export interface ReportLatency {
  label: string;
  quantiles_s: [string, number | Missing][];
}
export interface SortTrial {
  id: string;
  anchor: string;
  label: string;
  state: string;
  failure: string | null;
  input_bytes: number | Missing;
  elapsed_s: number | Missing;
  spilled_bytes: number | Missing;
  cpu_s: number | Missing;
  peak_rss_bytes: number | Missing;
  memory_bytes: number | Missing;
  timeline: ReportTimeline;
  stages: ReportStage[];
  narrowest: PhaseBottleneck[];
  comparisons: PredictedTime[];
}
export interface ReportTimeline {
  spans: PhaseSpan[];
  t_s: number[];
  lanes: Lane[];
  loads: PhaseLoad[];
  thinned: string | null;
}
export interface ReportStage {
  phase: string;
  name: string;
  device: string | null;
  workers: number | Missing;
  bytes: number | Missing;
  useful_s: number | Missing;
  idle_s: number | Missing;
  waiting_for_memory_s: number | Missing;
  blocked_s: number | Missing;
  cpu_s: number | Missing;
  core_wait_s: number | Missing;
  page_faults: number | Missing;
  started_s: number | Missing;
  ended_s: number | Missing;
  narrowest: boolean;
}
export interface ReportedTrial {
  id: string;
  label: string;
  state: string;
  failure: string | null;
  started_at: string | null;
  elapsed_s: number | Missing;
  provenance: string;
}
export interface SkippedMeasurement {
  step: string;
  reason: string;
}
