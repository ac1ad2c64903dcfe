// Made from schema/openapi.json by scripts/types.mjs: `npm run types`.

import type { Author, Exclusion, Finding, TrialRow } from "./shared";

export interface AllToAll {
  hosts: number;
  slowest: string;
  bytes_per_s: number;
  mean_bytes_per_s: number;
}
export interface BetweenHosts {
  hosts: string[];
  matrix: (PairRate | null)[][];
  standings: HostStanding[];
  sizes: AllToAll[];
  culled: CulledRound[];
  sentence: string;
}
export interface PairRate {
  bytes_per_s: number;
  least_bytes_per_s: number;
  n: number;
}
export interface HostStanding {
  host: string;
  bytes_per_s: number;
  share: number;
  slow: boolean;
}
export interface CulledRound {
  dropped: string[];
  hosts: number;
  slowest: string;
  bytes_per_s: number;
  gain: number | null;
}
export interface Bound {
  without: string;
  recorded_s: number | null;
  at_most_s: number;
  reason: string | null;
}
export interface CacheUse {
  rdd: number;
  name: string | null;
  level: string | null;
  partitions: number | null;
  cached: number | null;
  memory_bytes: number | null;
  disk_bytes: number | null;
}
export interface CauseTime {
  cause: string;
  time_s: number | null;
  reason: string | null;
}
export interface CoreTime {
  what: string;
  time_s: number;
}
export interface CoreUse {
  offered_s: number;
  used_s: number;
  used: CoreTime[];
  unused: CoreTime[];
}
export interface Cost {
  text: string | null;
  missing_reason: string | null;
  basis: string | null;
}
export interface DiskOfHost {
  host: string;
  folder: string;
  mode: string;
  role: string;
  rate: number | null;
  unit: string;
  share: number | null;
  slow: boolean;
  of_alone: number | null;
}
export interface DisksOfHosts {
  disks: DiskOfHost[];
  sentence: string;
}
export interface ExecutorUse {
  executor_id: string;
  host: string | null;
  cores: number | null;
  added_s: number | null;
  removed_s: number | null;
  reason: string | null;
  tasks: number;
  failed: number;
  task_s: number;
  busy: number | null;
  collecting: number | null;
  spilled_bytes: number | null;
  heap_bytes: number | null;
  region_bytes: number | null;
  python_bytes: number | null;
}
export interface HostOverTime {
  host: string;
  rack: string | null;
  narrowest: boolean;
  lines: HostUseLines;
  mean: HostUse | null;
  link_bytes_per_s: number | null;
  clock_error_s: number | null;
}
export interface HostUseLines {
  processor: (number | null)[];
  disk_busy: (number | null)[];
  network_bytes_per_s: (number | null)[];
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
  network_busy: number | null;
  host: string | null;
  peers_busy: number | null;
  processor_shared: boolean;
  cpu_own: number | null;
  cpu_python: number | null;
}
export interface HostsOverTime {
  t_s: number[];
  hosts: HostOverTime[];
  device: string | null;
  sentence: string | null;
  missing_reason: string | null;
}
export interface IdealSlots {
  job_id: number;
  name: string;
  elapsed_s: number;
  useful_slots: number;
  least_s: number;
  slots: number;
  executors: number | null;
  time_s: number;
}
export interface JobData {
  outlook: Outlooks;
  began_s: number | null;
  began_reason: string | null;
  applications: number;
  failure: string | null;
  elapsed_s: number | null;
  lacks_tasks: boolean;
  driver_s: number | null;
  sentence: string | null;
  verdict: string | null;
  findings: Finding[];
  silence: string | null;
  overlap: string | null;
  unseen: string[];
  parts: JobPart[];
  cores: CoreUse | null;
  losses: WastedTime[];
  lost_executors: LostExecutor[];
  stages: JobStage[];
  stages_left_out: number;
  running: JobRunning | null;
  bounds: Bound[];
  queries: JobQuery[];
  queries_left_out: number;
  jobs: JobSpan[];
  jobs_left_out: number;
  executors: ExecutorUse[];
  executors_left_out: number;
  memory: MemoryUse[];
  caches: CacheUse[];
  streams: StreamUse[];
  batches: StreamBatches[];
  tiers: TierUse[];
  tier_levels: TierLevels | null;
  missing_reason: string | null;
  dropped: string | null;
}
export interface Outlooks {
  found: Outlook[];
  replayed_s: number | null;
  reason: string | null;
  assumes: string | null;
}
export interface Outlook {
  slots: number;
  cores: number;
  executors: number | null;
  time_s: number;
  task_s: number;
  bound_s: number;
  core_hours: number;
  use: number;
}
export interface JobPart {
  part: string;
  words: string;
  time_s: number;
  share: number;
}
export interface WastedTime {
  what: string;
  n: number;
  time_s: number;
  where: string | null;
  disks: string | null;
  said: string | null;
  meaning: string | null;
}
export interface LostExecutor {
  executor_id: string;
  host: string | null;
  at_s: number;
  reason: string;
  meaning: string | null;
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
  causes: CauseTime[];
  unattributed_s: number;
  skew: number | null;
  skew_bytes: number | null;
  stragglers: number;
  spilled_bytes: number | null;
  on_critical_path: boolean;
  verdict: string;
  host: HostUse | null;
  meanwhile: string | null;
  partial: boolean;
  time_bound: string;
}
export interface JobRunning {
  t_s: number[];
  tasks: number[];
}
export interface JobQuery {
  id: number;
  name: string;
  outcome: string | null;
  started_s: number | null;
  elapsed_s: number | null;
  work: QueryWork | null;
  adaptive: string | null;
  operators: JobOperator[];
  operators_left_out: number;
}
export interface QueryWork {
  jobs: number[];
  jobs_left_out: number;
  stages: string[];
  stages_left_out: number;
  stages_may_be_missing: boolean;
}
export interface JobOperator {
  parent: number | null;
  name: string;
  text: string;
  rows: number | null;
  bytes: number | null;
  timer: string | null;
  time_s: number | null;
  stages: string[];
}
export interface JobSpan {
  id: number;
  name: string;
  outcome: string | null;
  started_s: number | null;
  elapsed_s: number | null;
  ideal: IdealSlots | null;
}
export interface MemoryUse {
  executor_id: string;
  heap_bytes: number | null;
  region_bytes: number | null;
  t_s: number[];
  lines: MemoryLine[];
}
export interface MemoryLine {
  what: string;
  bytes: number[];
}
export interface StreamUse {
  stream: string;
  name: string | null;
  batches: number;
  rows: number;
  rows_per_s: number | null;
  input_rows_per_s: number | null;
  median_s: number;
  first_s: number;
  last_s: number;
  slowest_s: number;
  slowest_batch: number;
  slowest_at_s: number;
  slowest_part: string;
  busy: number | null;
  behind: boolean;
  left_rows: number | null;
  first_state_rows: number | null;
  state_rows: number | null;
  state_bytes: number | null;
}
export interface StreamBatches {
  stream: string;
  batch: number[];
  t_s: number[];
  took_s: number[];
  parts: StreamPart[];
  rows: (number | null)[];
  input_rows_per_s: (number | null)[];
  rows_per_s: (number | null)[];
  state_rows: (number | null)[];
  state_bytes: (number | null)[];
  late_s: (number | null)[];
}
export interface StreamPart {
  what: string;
  time_s: (number | null)[];
}
export interface TierUse {
  order: number;
  tier: string;
  rule: string;
  kind: string;
  placements: number;
  seen_bytes: number;
  peak_bytes: number;
  overflows: number;
  first_overflow_s: number | null;
  errors: number;
}
export interface TierLevels {
  t_s: number[];
  lines: TierLine[];
}
export interface TierLine {
  tier: string;
  kind: string;
  present_bytes: number[];
}
export interface JobTasks {
  from_s: number | null;
  to_s: number | null;
  causes: string[];
  lanes: TaskLane[];
  lanes_left_out: number;
  dots: TaskDot[];
  slowest: TaskSeen[];
  spreads: TaskSpread[];
  tasks: number;
  missing_reason: string | null;
}
export interface TaskLane {
  executor: string;
  host: string | null;
  main: number[];
  busy: number[];
}
export interface TaskDot {
  bytes_read: number;
  elapsed_s: number;
  n: number;
  cause: number;
}
export interface TaskSeen {
  task_id: string;
  stage: string;
  index: number | null;
  executor: string | null;
  host: string | null;
  outcome: string | null;
  started_s: number;
  elapsed_s: number;
  bytes_read: number | null;
  cause: number;
}
export interface TaskSpread {
  what: string;
  unit: string;
  n: number;
  least: number | null;
  quarter: number | null;
  median: number | null;
  three_quarters: number | null;
  most: number | null;
  reason: string | null;
}
export interface SeriesData {
  hosts: string[];
  host: string | null;
  t_s: number[];
  lines: SeriesLine[];
  thinned: boolean;
  missing_reason: string | null;
}
export interface SeriesLine {
  metric: string;
  device: string | null;
  unit: string;
  values: (number | null)[];
  lowest: (number | null)[];
  highest: (number | null)[];
}
export interface TrialDetail {
  trial: {
    [k: string]: unknown;
  };
  group: string;
  siblings: TrialRow[];
  exclusions: Exclusion[];
  narrowest: string[];
  bottleneck: string | null;
  has_series: boolean;
  has_job: boolean;
  has_io: boolean;
  cost: Cost | null;
  added_by: Author | null;
  between_hosts: BetweenHosts | null;
  disks_of_hosts: DisksOfHosts | null;
  prediction: string | null;
}
export interface TrialPage {
  rows: TrialRow[];
  next_cursor: string | null;
  total: number;
  excluded: number;
}
