// Made from schema/openapi.json by scripts/types.mjs: `npm run types`.


export type Durability = "2-io" | "replicated" | "volumes" | "objects";
export type ValueKind = "assumed" | "advertised" | "derived" | "measured";
export type Exchange = "remote" | "all";
export type Confidence = "high" | "medium" | "low";
export type NetworkChoice = "at scale" | "baseline" | "unlimited";

export interface AdvicePage {
  title: string;
  question: string;
  answer: string;
  generated_at: string;
  options: OptionRow[];
  bars: NetworkCosts[];
  exclusions: ExclusionRow[];
  assumptions: string[];
  explain: Explanation[];
  reasons: string[];
  deadline_s: number | null;
  budget_usd: number | null;
  commands: string[];
  curve: ClusterSizePoint[];
}
export interface OptionRow {
  option: Option;
  frontier: "yes" | "no" | "cannot tell";
  chosen: boolean;
  note: string;
}
export interface Option {
  catalog: string;
  instance_type: string;
  provider: string | null;
  volumes: string;
  durability: Durability;
  nodes: number;
  least_nodes: number;
  most_nodes: number;
  time_s: Bounds;
  startup_s: number;
  cost_usd: Bounds | null;
  metered_usd: Bounds | null;
  billed_usd: Bounds | null;
  phases: PhaseTime[];
  lower_bound: boolean;
  weakest: ValueKind | null;
  price_as_of: string | null;
  price_is_stale: boolean | null;
  assumptions: string[];
  within_limits: boolean | null;
  left_out: string[];
  missing: {
    [k: string]: string;
  };
  region: string | null;
}
export interface Bounds {
  value: number;
  low: number;
  high: number;
}
export interface PhaseTime {
  name: string;
  seconds: Bounds;
  narrowest: string;
  certain: boolean;
  rivals: string[];
}
export interface NetworkCosts {
  instance_type: string;
  nodes: number;
  usd: {
    [k: string]: number | Missing;
  };
}
export interface Missing {
  reason: string;
}
export interface ExclusionRow {
  reason: string;
  count: number;
  examples: string[];
}
export interface Explanation {
  option: Option;
  job: Job;
  rank: number | null;
  startup_s: number;
  terms: ExplainedTerm[];
  bill: Bill | null;
  no_price: string;
  sensitivity: Sensitivity[];
}
export interface Job {
  name: string;
  input_bytes: number;
  intermediate_bytes: number;
  output_bytes: number;
  durability: Durability;
  copies: number;
  map_core_s_per_byte: number;
  reduce_core_s_per_byte: number;
    core_s_range: [number, number];
  cpu_is_assumed: boolean;
  startup_s: number;
  startup_range_s: [number, number] | null;
  failures_per_node_hour: number;
  partition_skew: number;
  retained_share: number;
  filled_share: number;
  exchange: Exchange;
  notes: string[];
}
export interface ExplainedTerm {
  phase: string;
  equation: string;
  resource: string;
  what: string;
  formula: string;
  demand_bytes: number | null;
  rate_name: string;
  rate: Quantity | null;
  seconds: Bounds;
  narrowest: boolean;
}
export interface Quantity {
  value: number;
  low: number;
  high: number;
  kind: ValueKind;
  source: string;
  as_of: string | null;
  note: string;
  range_from: string;
  upper_bound: boolean;
}
export interface Bill {
  currency: string;
  items: BillItem[];
  assumptions: string[];
  missing: string[];
}
export interface BillItem {
  name: string;
  amount: number;
  billed: number | null;
  currency: string;
  formula: string;
  source: string;
  as_of: string | null;
}
export interface Sensitivity {
  rate: string;
  known: Quantity;
    time_s: [number, number];
  usd: [number, number] | null;
  rank: [number, number] | null;
}
export interface ClusterSizePoint {
  nodes: number;
  time_s: Bounds;
  usd: Bounds;
}
export interface Author {
  name: string | null;
  known_by: ("token" | "login") | null;
  said: string | null;
  text: string;
}
export interface TrialRow {
  id: string;
  workload: string;
  workload_version: string;
  scale: string | null;
  input_bytes: number | null;
  engine: string;
  engine_version: string;
  state: string;
  failure_kind: string | null;
  failure: string | null;
  experiment: string | null;
  group: string;
  repetition: number;
  warm_up: boolean;
  provenance: string;
  source: string;
  instance_type: string | null;
  network: string | null;
  hosts: number;
  started_at: string | null;
  elapsed_s: number | null;
  warnings: number;
  disturbed: boolean | null;
  cpu_others_share: number | null;
  disk_others_share: number | null;
  cpu_steal_share: number | null;
  configuration: {
    [k: string]: string | number | boolean | null;
  };
  excluded: string | null;
}
export interface SpreadData {
  n: number;
  median: number | null;
  interval: Interval | null;
  minimum: number | null;
  p25: number | null;
  p75: number | null;
  p90: number | null;
  maximum: number | null;
  mean: number | null;
  variation: number | null;
  reason: string | null;
}
export interface Interval {
  low: number;
  high: number;
  level: number;
  method: string;
}
export interface Finding {
  rule: string;
  title: string;
  says: string;
  where: FindingScope[];
  costs: string;
  fix: string;
  do: string;
  settings: {
    [k: string]: string;
  };
  saving: string;
  saving_s: number;
  saving_low_s: number;
  saving_high_s: number;
  saving_method: string;
  replayed_s: number;
  bound: boolean;
  share: number;
  spares: SparedResources | null;
  assumes: string;
  confidence: Confidence;
  source: string;
  partial: boolean;
}
export interface FindingScope {
  stage: string | null;
  task: string | null;
  host: string | null;
  executor: string | null;
  query: number | null;
  operator: string | null;
}
export interface SparedResources {
  what: string;
  share: number;
}
export interface CurveValue {
  value: number;
  n: number;
  settings: number | null;
  ratio: number | null;
  interval: Interval | null;
  standing: "best" | "tied" | "worse" | "cannot tell";
}
export interface NumericCurve {
  key: string;
  values: CurveValue[];
  sentence: string;
  reference: number;
  best: [number, number] | null;
}
export interface Exclusion {
  id: string;
  conditions: string[];
  author: Author;
  reason: string;
  created_at: string;
  revoked_at: string | null;
  revoked_by: Author | null;
  trials: number;
}
export interface IoAmount {
  what: string;
  engine_bytes: number;
  disk_bytes: number;
}
export interface IoBin {
  low: number;
  high: number;
  requests: number;
  bytes: number | null;
}
export interface IoHeat {
  start_s: number;
  column_s: number;
  rows: number[];
  cells: [number, number, number][];
  bytes: number[] | null;
  names: string[];
  files: number[];
}
export interface IoPage {
  missing_reason: string | null;
  not_attributed: string | null;
  not_in_it: string | null;
  elapsed_s: number;
  limits: string[];
  patterns: IoPattern[];
  no_closer_look: string | null;
  stages: IoStage[];
  amounts: IoAmount[];
  flushes: string[];
}
export interface IoPattern {
  name: string;
  device: string;
  requests: number;
  bytes: number;
  access: string | null;
  verdict: string;
  size_median_bytes: number | null;
  zero_seeks: number | null;
  p50_s: number | null;
  p99_s: number | null;
  run_mean_bytes: number | null;
  sizes: IoBin[] | null;
  times: IoBin[] | null;
  seeks: IoSeek[] | null;
  ccdf: [number, number][] | null;
  places: IoHeat | null;
  times_over: IoHeat | null;
}
export interface IoSeek {
  octave: number;
  requests: number;
}
export interface IoStage {
  name: string;
  phase: string;
  from_s: number;
  until_s: number;
}
export interface Login {
  token: string;
}
export interface NewExclusion {
  conditions: string[];
  reason: string;
  author: string | null;
}
export interface NewView {
  name: string;
  url: string;
  author: string | null;
}
export interface RefusedTrial {
  line: number;
  trial: string | null;
  code: string;
  reason: string;
}
export interface Revocation {
  author: string | null;
}
export interface SessionData {
  role: "read" | "write";
  token: string;
}
export interface StarterReport {
  added: number;
  already_present: number;
  sources: string[];
}
export interface UploadReport {
  added: string[];
  already_present: string[];
  refused: RefusedTrial[];
}
export interface ReportFact {
  label: string;
  value: string | Missing;
}
export interface Problem {
  type: string;
  title: string;
  status: number;
  detail: string;
  code: string;
  where: {
    [k: string]: string | number | boolean | null;
  };
  hint: string;
}
