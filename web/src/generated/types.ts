// Made from schema/openapi.json by scripts/types.mjs: `npm run types`.

export type Outcome =
  "faster" | "slower" | "no difference" | "cannot tell" | "depends" | "confounded";

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
export interface CatalogInfo {
  name: string;
  types: number;
  newest_price: string | null;
}
export interface CatalogPage {
  title: string;
  generated_at: string;
  catalogs: Summary[];
  types: TypeRow[];
  facts: FactRow[];
  chosen: string | null;
  removed: string[];
  added: string[];
  changes: ChangeRow[];
  is_difference: boolean;
  warnings: string[];
  commands: string[];
}
export interface Summary {
  name: string;
  types: number;
  values: number;
  unknown: number;
  oldest: string | null;
  newest: string | null;
  prices: number;
  stale_prices: number;
}
export interface TypeRow {
  instance_type: string;
  vcpus: number | Missing;
  memory_bytes: number | Missing;
  local_bytes: number | Missing;
  storage_bytes_per_s: number | Missing;
  network_bytes_per_s: number | Missing;
  price_usd_per_hour: number | Missing;
  price_as_of: string | Missing;
  price_is_stale: boolean;
}
export interface FactRow {
  attribute: string;
  value: string | Missing;
  range: string;
  kind: string;
  as_of: string;
  source: string;
  note: string;
}
export interface ChangeRow {
  instance_type: string;
  attribute: string;
  old: string;
  new: string;
  relative: number | Missing;
  kinds: string;
}
export interface Catalogs {
  catalogs: CatalogInfo[];
  default: string;
}
export interface Cliff {
  below: number;
  above: number;
  jump: number;
  evidence: string;
}
export interface ComparedGroup {
  key: (string | number | boolean | null)[];
  n: number;
  by_state: {
    [k: string]: number;
  };
  elapsed_s: Spread;
  values_s: number[];
  warm_ups_s: number[];
  outliers_s: number[];
  outcome: ("lower" | "higher" | "cannot tell") | null;
  ratio: number | null;
  ratio_interval: Interval | null;
  p_value: number | null;
  chance_lower: number | null;
  verdict: string;
  name: string;
  crude: string | null;
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
}
export interface Comparison {
  by: string[];
  groups: ComparedGroup[];
  warnings: string[];
  outlier_rule: string;
  caption: string;
  explained: {
    [k: string]: string;
  };
}
export interface Confounder {
  keys: string[];
  apart: number;
  ratio: number | null;
  change: number | null;
  flagged: boolean;
}
export interface Crude {
  ratio: number;
  median_s: number;
  baseline_median_s: number;
}
export interface CurvePoint {
  x: number;
  elapsed_s: number;
  low_s: number | null;
  high_s: number | null;
}
export interface Effect {
  value: (string | number | boolean | null)[];
  baseline: (string | number | boolean | null)[];
  outcome: Outcome;
  verdict: string;
  ratio: number | null;
  interval: Range | null;
  sure: boolean;
  reason: string | null;
  strata: number;
  n: number;
  n_baseline: number;
  n_all: number;
  n_baseline_all: number;
  failed: number;
  below: number;
  above: number;
  low_tenth: number | null;
  high_tenth: number | null;
  points: number[];
  these_only: Range | null;
  other_machines: Reach | null;
  machines: PartEffect[];
  works: PartEffect[];
  depends: KeyDependence[];
  confounders: Confounder[];
  omissions: Omission[];
  adjusted: ModelEffect | null;
  crude: Crude | null;
  next: Next;
}
export interface Range {
  low: number;
  high: number;
  level: number;
}
export interface Reach {
  machines: number;
  ratio: number;
  interval: Range | null;
}
export interface PartEffect {
  value: string | number | boolean | null;
  strata: number;
  trials: number;
  ratio: number;
  interval: Range | null;
}
export interface KeyDependence {
  keys: string[];
  share: number;
  p_value: number;
  opposite: boolean;
  parts: PartEffect[];
}
export interface Omission {
  keys: string[];
  strata: number;
}
export interface ModelEffect {
  ratio: number;
  interval: Range;
  kept: number;
  trials: number;
}
export interface Next {
  words: string;
  where: string[];
  ignore: string[];
}
export interface Effects {
  keys: string[];
  baseline: (string | number | boolean | null)[] | null;
  baseline_reason: string;
  verdict: string;
  main: number | null;
  effects: Effect[];
  values: ValueCount[];
  along: string[];
  ignored: string[];
  level: number;
  trials: number;
  warnings: string[];
  explained: {
    [k: string]: string;
  };
}
export interface ValueCount {
  value: (string | number | boolean | null)[];
  n: number;
  failed: number;
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
export interface Exclusions {
  exclusions: Exclusion[];
}
export interface Facet {
  key: string;
  values: FacetValue[];
  distinct: number;
  missing: number;
}
export interface FacetValue {
  value: string | number | boolean | null;
  n: number;
}
export interface Facets {
  facets: Facet[];
}
export interface GroupSummary {
  key: (string | number | boolean | null)[];
  n: number;
  by_state: {
    [k: string]: number;
  };
  elapsed_s: Spread;
}
export interface Groups {
  by: string[];
  groups: GroupSummary[];
}
export interface HostUse {
  cpu_busy: number | null;
  cpu_iowait: number | null;
  cpu_others: number | null;
  disk: string | null;
  disk_busy: number | null;
  disk_read_bytes_per_s: number | null;
  disk_write_bytes_per_s: number | null;
  net_receive_bytes_per_s: number | null;
  net_transmit_bytes_per_s: number | null;
}
export interface JobBound {
  without: string;
  recorded_s: number | null;
  at_most_s: number;
}
export interface JobCause {
  cause: string;
  time_s: number | null;
}
export interface JobData {
  began_s: number | null;
  began_reason: string | null;
  applications: number;
  failure: string | null;
  elapsed_s: number | null;
  driver_s: number | null;
  verdict: string | null;
  parts: JobPart[];
  stages: JobStage[];
  stages_left_out: number;
  running: JobRunning | null;
  bounds: JobBound[];
  missing_reason: string | null;
}
export interface JobPart {
  part: string;
  words: string;
  time_s: number;
  share: number;
}
export interface JobStage {
  label: string;
  name: string;
  outcome: string;
  reason: string | null;
  started_s: number | null;
  elapsed_s: number | null;
  tasks: number;
  slots: number;
  waves: number | null;
  slot_use: number | null;
  task_s: number;
  causes: JobCause[];
  unattributed_s: number;
  skew: number | null;
  stragglers: number;
  spilled_bytes: number | null;
  on_critical_path: boolean;
  verdict: string;
  host: HostUse | null;
  meanwhile: string | null;
}
export interface JobRunning {
  t_s: number[];
  tasks: number[];
}
export interface KeyInfo {
  key: string;
  kind: "column" | "configuration";
  type: "text" | "number" | "moment" | "flag" | "mixed";
  n: number;
  distinct: number;
}
export interface Keys {
  keys: KeyInfo[];
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
export interface Prices {
  usd_per_hour: number;
  plus: [string, string, number][];
  per: "cluster" | "node";
  as_of: string | null;
  source: string | null;
}
export interface RankedGroup {
  key: (string | number | boolean | null)[];
  rank: number | null;
  standing: string;
  reason: string | null;
  n: number;
  elapsed_s: Spread;
  cost_usd: Spread | null;
  cost_time: Spread | null;
  usd_per_hour: number | null;
  best_elapsed_s: number | null;
  best_cost_usd: number | null;
  on_frontier: boolean;
  p_value: number | null;
  legacy_elapsed_s: number | null;
  legacy_cost_usd: number | null;
  legacy_rank: number | null;
  legacy_wrong: boolean | null;
  frontier: ("yes" | "cannot tell" | "no") | null;
  name: string;
  set: number | null;
  against: (string | number | boolean | null)[] | null;
  settings: number | null;
  ratio: number | null;
  ratio_interval: Interval | null;
}
export interface Ranking {
  by: string[];
  objective: string;
  alpha: number;
  prices: Prices | null;
  groups: RankedGroup[];
  verdict: string;
  workloads: string[];
  warnings: string[];
  basis: "pooled" | "matched" | "crude" | "refused";
  caption: string;
  explained: {
    [k: string]: string;
  };
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
export interface Scaling {
  x: string;
  x_unit: string;
  meaning: string;
  verdict: string;
  by: string[];
  same: {
    [k: string]: string | number | boolean | null;
  };
  groups: ScalingGroup[];
  listed: ScalingListed[];
  total: number;
  skip: number;
  warnings: string[];
  leave_out: string[];
}
export interface ScalingGroup {
  name: string;
  key: (string | number | boolean | null)[];
  points: ScalingPoint[];
  curve: CurvePoint[];
  basis: string | null;
  formula: string | null;
  error_relative: number | null;
  cliff: Cliff | null;
  reason: string | null;
  verdict: string;
  effect: ScalingEffect | null;
  predicted: CurvePoint | null;
}
export interface ScalingPoint {
  x: number;
  n: number;
  elapsed_s: Spread;
}
export interface ScalingEffect {
  x_low: number;
  x_high: number;
  ratio: number;
  interval: Interval | null;
}
export interface ScalingListed {
  skip: number;
  key: (string | number | boolean | null)[];
  x_low: number;
  x_high: number;
  values: number;
  trials: number;
}
export interface SeriesData {
  t_s: number[];
  lines: SeriesLine[];
  thinned: boolean;
  missing_reason: string | null;
}
export interface SeriesLine {
  host: string;
  metric: string;
  device: string | null;
  unit: string;
  values: (number | null)[];
}
export interface Session {
  role: "read" | "write";
  token: string;
}
export interface Start {
  headline: string;
  figures: StartFigure[];
  answers: StartAnswer[];
  findings: StartFinding[];
  recent: TrialRow[];
}
export interface StartFigure {
  label: string;
  value: string;
  note: string;
  url: string;
}
export interface StartAnswer {
  question: string;
  sentences: string[];
  known: boolean;
  url: string;
  trials_url: string | null;
}
export interface StartFinding {
  text: string;
  n: number;
  url: string;
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
export interface StarterReport {
  added: number;
  already_present: number;
  sources: string[];
}
export interface Status {
  version: string;
  trials: number;
  trials_excluded: number;
  role: "read" | "write";
  token: string | null;
  uploads: boolean;
  starter_present: boolean;
}
export interface TrialDetail {
  trial: {
    [k: string]: unknown;
  };
  group: string;
  siblings: TrialRow[];
  exclusions: Exclusion[];
  narrowest: string[];
  has_series: boolean;
  has_job: boolean;
  added_by: Author | null;
}
export interface TrialPage {
  rows: TrialRow[];
  next_cursor: string | null;
  total: number;
  excluded: number;
}
export interface UploadReport {
  added: string[];
  already_present: string[];
  refused: RefusedTrial[];
}
export interface View {
  name: string;
  url: string;
  author: Author;
  created_at: string;
}
export interface Views {
  views: View[];
  presets: View[];
}
export interface Answer {
  question: string;
  sentences: string[];
}
export interface Fact {
  label: string;
  value: string | Missing;
}
export interface FactGroup {
  title: string;
  facts: Fact[];
}
export interface Figure {
  label: string;
  value: number | Missing;
  kind: "rate" | "duration" | "usd";
  note: string;
}
export interface Histogram {
  edges_s: number[];
  counts: number[];
}
export interface Lane {
  title: string;
  unit: "fraction" | "B/s";
  stacked: boolean;
  lines: Line[];
  missing: Missing | null;
}
export interface Line {
  name: string;
  role: string;
  values: (number | null)[];
}
export interface Latency {
  label: string;
  quantiles_s: [string, number | Missing][];
}
export interface Mark {
  name: string;
  kind: "median" | "quantile" | "formula" | "deadline" | "measured";
  at_s: number;
}
export interface Narrowest {
  phase: string;
  name: string | Missing;
  evidence: string[];
  stages: StageLoad[];
}
export interface StageLoad {
  name: string;
  busy: number;
  narrowest: boolean;
}
export interface NodeTimes {
  phase: string;
  histogram: Histogram;
  note: string;
}
export interface Notice {
  code: string;
  trial: string;
  message: string;
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
export interface Price {
  instance_type: string;
  nodes: number | Missing;
  elapsed_s: number | Missing;
  cost_usd: number | Missing;
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
export interface QuantileRow {
  name: string;
  time_s: number | Missing;
  cost_usd: number | Missing;
}
export interface RandomRead {
  label: string;
  iops: number | Missing;
  bytes_per_s: number | Missing;
}
export interface Rate {
  label: string;
  where: string;
  direction: "read" | "write" | "network";
  setting: string;
  mean_bytes_per_s: number | Missing;
  minimum_bytes_per_s: number | Missing;
  maximum_bytes_per_s: number | Missing;
  iterations: number;
}
export interface ReportData {
  title: string;
  generated_at: string;
  headline: string;
  answers: Answer[];
  figures: Figure[];
  host: FactGroup[];
  rates: Rate[] | Missing;
  uses: PhaseUse[];
  latencies: Latency[];
  random_reads: RandomRead[];
  network: Rate[] | Missing;
  network_label: string;
  sorts: Sort[];
  job: string;
  prices: Price[] | Missing;
  method: Fact[];
  software: Fact[];
  commands: string[];
  trials: ReportedTrial[];
  warnings: Notice[];
  skipped: Skipped[];
}
export interface Sort {
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
  timeline: Timeline;
  stages: Stage[];
  narrowest: Narrowest[];
  comparisons: PredictedTime[];
}
export interface Timeline {
  spans: PhaseSpan[];
  t_s: number[];
  lanes: Lane[];
  loads: PhaseLoad[];
  thinned: string | null;
}
export interface Stage {
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
export interface Skipped {
  step: string;
  reason: string;
}
export interface SimulationPage {
  title: string;
  question: string;
  answer: string;
  generated_at: string;
  trials: number;
  finished_trials: number;
  histogram: Histogram;
  marks: Mark[];
  quantiles: QuantileRow[];
  settings: Fact[];
  node_times: NodeTimes[];
  reasons: string[];
  assumptions: string[];
  commands: string[];
}

export interface Twins {
  "/api/start": Start;
  "/api/status": Status;
  "/api/keys": Keys;
  "/api/trials": TrialPage;
  "/api/facets": Facets;
  "/api/trials/{id}": TrialDetail;
  "/api/trials/{id}/series": SeriesData;
  "/api/trials/{id}/job": JobData;
  "/api/groups": Groups;
  "/api/cost": Ranking;
  "/api/compare": Comparison;
  "/api/effect": Effects;
  "/api/scaling": Scaling;
  "/api/catalogs": Catalogs;
  "/api/catalog": CatalogPage;
  "/api/advice": AdvicePage;
  "/api/predict": AdvicePage;
  "/api/exclusions": Exclusions;
  "/api/views": Views;
  "/api/report": ReportData;
  "/api/simulation": SimulationPage;
}
