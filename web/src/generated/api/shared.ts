// Made from schema/openapi.json by scripts/types.mjs: `npm run types`.


export type Confidence = "high" | "medium" | "low";
export interface AdvicePage {
  title: string;
  question: string;
  answer: string;
  generated_at: string;
  options: OptionRow[];
  bars: BarRow[];
  exclusions: ExclusionRow[];
  assumptions: string[];
  explain: Explanation[];
  reasons: string[];
  deadline_s: number | null;
  budget_usd: number | null;
  commands: string[];
}
export interface OptionRow {
  instance_type: string;
  nodes: number;
  time_s: Span | Missing;
  cost_usd: Span | Missing;
  billed_usd: number | Missing;
  bottlenecks: Bottleneck[];
  frontier: "yes" | "no" | "cannot tell";
  lower_bound: boolean;
  price_as_of: string | Missing;
  price_is_stale: boolean;
  kinds: string[];
  note: string;
  chosen: boolean;
  knee: boolean;
}
export interface Span {
  value: number;
  low: number;
  high: number;
}
export interface Missing {
  reason: string;
}
export interface Bottleneck {
  phase: string;
  resource: string | Missing;
  certain: boolean;
}
export interface BarRow {
  instance_type: string;
  storage_only_usd: number | Missing;
  ideal_network_usd: number | Missing;
  observed_network_usd: number | Missing;
  note: string;
}
export interface ExclusionRow {
  reason: string;
  count: number;
  examples: string[];
}
export interface Explanation {
  title: string;
  rows: ExplainRow[];
  matters_most: string | Missing;
}
export interface ExplainRow {
  phase: string;
  term: string;
  formula: string;
  demand_bytes: number | Missing;
  rate_bytes_per_s: number | Missing;
  low_bytes_per_s: number | Missing;
  high_bytes_per_s: number | Missing;
  time_s: number | Missing;
  kind: string;
  source: string | Missing;
  as_of: string | Missing;
  binding: boolean;
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
export interface Spread {
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
  where: Where[];
  costs: string;
  do: string;
  settings: {
    [k: string]: string;
  };
  saves_s: number;
  share: number;
  spares: Spared | null;
  assumes: string;
  confidence: Confidence;
  source: string;
}
export interface Where {
  stage: string | null;
  task: string | null;
  host: string | null;
  executor: string | null;
  query: number | null;
  operator: string | null;
}
export interface Spared {
  what: string;
  share: number;
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
export interface Session {
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
export interface Fact {
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
