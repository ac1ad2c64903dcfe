// What a report shows: python/venturi/present/report/data.py, field by field, as its `encode` writes
// it. Numbers are SI (bytes, seconds, bytes per second, US dollars). What is not known is `Missing`
// with its reason; charts get it as null and leave it out.

export interface Missing {
  reason: string;
}

export type Known = number | null;
export type Told = number | Missing;
export type Words = string | Missing;

/** `T` with null in the place of whatever is missing. */
export type Plain<T> = T extends Missing
  ? null
  : T extends object
    ? { [Name in keyof T]: Plain<T[Name]> }
    : T;

export interface Figure {
  label: string;
  value: Told;
  kind: "rate" | "duration" | "usd";
  note: string;
}

export interface Fact {
  label: string;
  value: Words;
}

export interface ToldRate {
  label: string;
  where: string;
  direction: "read" | "write" | "network";
  setting: string;
  mean_bytes_per_s: Told;
  minimum_bytes_per_s: Told;
  maximum_bytes_per_s: Told;
  iterations: number;
}

export interface ToldUse {
  sort: string;
  phase: string;
  read_bytes_per_s: Told;
  write_bytes_per_s: Told;
  limit_bytes_per_s: Told;
  share_of_limit: Told;
  limit_name: string;
}

export interface ToldLatency {
  label: string;
  quantiles_s: [string, Told][];
}

export interface RandomRead {
  label: string;
  iops: Told;
  bytes_per_s: Told;
}

export interface Span {
  name: string;
  started_s: number;
  elapsed_s: number;
}

export interface ToldLane {
  title: string;
  unit: "fraction" | "B/s";
  stacked: boolean;
  lines: { name: string; role: string; values: Known[] }[];
  missing: Missing | null;
}

export interface ToldTimeline {
  spans: Span[];
  t_s: number[];
  lanes: ToldLane[];
  loads: { phase: string; values: Told[] }[];
  thinned: string | null;
}

export interface ToldStage {
  phase: string;
  name: string;
  device: string | null;
  workers: Told;
  bytes: Told;
  useful_s: Told;
  idle_s: Told;
  waiting_for_memory_s: Told;
  blocked_s: Told;
  started_s: Told;
  ended_s: Told;
  narrowest: boolean;
}

export interface Narrowest {
  phase: string;
  name: Words;
  evidence: string[];
  stages: { name: string; busy: number; narrowest: boolean }[];
}

export interface ToldComparison {
  phase: string;
  predicted_s: Told;
  low_s: Told;
  high_s: Told;
  measured_s: Told;
  measured_over_predicted: Told;
  formula: string;
}

export interface ToldSort {
  id: string;
  anchor: string;
  label: string;
  state: string;
  failure: string | null;
  input_bytes: Told;
  elapsed_s: Told;
  spilled_bytes: Told;
  cpu_s: Told;
  peak_rss_bytes: Told;
  memory_bytes: Told;
  timeline: ToldTimeline;
  stages: ToldStage[];
  narrowest: Narrowest[];
  comparisons: ToldComparison[];
}

export interface ToldPrice {
  instance_type: string;
  nodes: Told;
  elapsed_s: Told;
  cost_usd: Told;
  lower_bound: boolean;
  bottleneck: Words;
  storage_bytes_per_s: Told;
  storage_kind: string;
  storage_known: Words;
  network_bytes_per_s: Told;
  network_kind: string;
  network_known: Words;
  price_usd_per_hour: Told;
  price_as_of: Words;
  price_is_stale: boolean;
  price_source: Words;
  known: boolean;
}

export interface ReportData {
  title: string;
  generated_at: string;
  headline: string;
  answers: { question: string; sentences: string[] }[];
  figures: Figure[];
  host: { title: string; facts: Fact[] }[];
  rates: ToldRate[] | Missing;
  uses: ToldUse[];
  latencies: ToldLatency[];
  random_reads: RandomRead[];
  network: ToldRate[] | Missing;
  network_label: string;
  sorts: ToldSort[];
  job: string;
  prices: ToldPrice[] | Missing;
  method: Fact[];
  software: Fact[];
  commands: string[];
  trials: {
    id: string;
    label: string;
    state: string;
    failure: string | null;
    started_at: string | null;
    elapsed_s: Told;
    provenance: string;
  }[];
  warnings: { code: string; trial: string; message: string }[];
  skipped: { step: string; reason: string }[];
}

/** What the report's charts draw. */
export type Charts = Plain<
  Pick<ReportData, "rates" | "uses" | "latencies" | "network" | "sorts" | "prices">
>;
export type Rate = Plain<ToldRate>;
export type PhaseUse = Plain<ToldUse>;
export type Latency = Plain<ToldLatency>;
export type Lane = Plain<ToldLane>;
export type Stage = Plain<ToldStage>;
export type Comparison = Plain<ToldComparison>;
export type Sort = Plain<ToldSort>;
export type Price = Plain<ToldPrice>;

export const isMissing = (value: unknown): value is Missing =>
  typeof value === "object" &&
  value !== null &&
  "reason" in value &&
  Object.keys(value).length === 1;

/** `value` with null in the place of whatever is missing. */
export function plain<T>(value: T): Plain<T> {
  if (isMissing(value)) return null as Plain<T>;
  if (Array.isArray(value)) return value.map(plain) as Plain<T>;
  if (typeof value !== "object" || value === null) return value as Plain<T>;
  const entries = Object.entries(value).map(([name, each]) => [name, plain(each)]);
  return Object.fromEntries(entries) as Plain<T>;
}
