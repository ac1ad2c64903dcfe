// Made from schema/trial.schema.json by scripts/types.mjs: `npm run types`.

export type ProvenanceKind = "measured" | "imported" | "simulated";
export type State =
  | "planned"
  | "preparing"
  | "executing"
  | "validating"
  | "running"
  | "succeeded"
  | "failed"
  | "invalid"
  | "interrupted"
  | "unknown";

export interface Artifact {
  kind: "series" | "log" | "manifest" | "other";
  name: string;
  path: string;
  size_bytes: number;
  sha256: string;
}
export interface Clock {
  offset_s: number;
  error_s: number;
}
export interface Cluster {
  hosts: Host[];
  disks_by_role: {
    [k: string]: string[];
  };
  instance_type: string | null;
  network: string | null;
  price: PriceQuote | null;
  name: string | null;
  racks: Rack[];
  dilation: number | null;
  dilate_cpu: boolean | null;
}
export interface Host {
  name: string;
  facts: {
    [k: string]: unknown;
  };
  roles: string[];
  links: {
    [k: string]: Link;
  };
  rack: string | null;
  disks: {
    [k: string]: string[];
  };
  clock: Clock | null;
}
export interface Link {
  address: string;
  bytes_per_s: number | null;
  flow_bytes_per_s: number | null;
}
export interface PriceQuote {
  amount: number;
  currency: string;
  per: string;
  source: string;
  as_of: string;
}
export interface Rack {
  name: string;
  within: string | null;
  uplink_bytes_per_s: number | null;
}
export interface Engine {
  name: string;
  version: string;
}
export interface Failure {
  kind: string;
  code: string;
  message: string;
}
export interface Owner {
  host: string;
  boot_id: string;
  pid: number;
  process_started_ticks: number;
}
export interface Phase {
  name: string;
  started_s: number;
  elapsed_s: number;
}
export interface Provenance {
  kind: ProvenanceKind;
  source: string;
  digest: string | null;
}
export interface Sample {
  metric: string;
  value: number | null;
  unit: string;
  phase: string | null;
  labels: {
    [k: string]: string | number | boolean | null;
  };
  missing_reason: string | null;
}
export interface Software {
  venturi_version: string;
  git_sha: string | null;
  build_profile: string | null;
  kernel: string | null;
  others: {
    [k: string]: string;
  };
}
export interface TrialWarning {
  code: string;
  message: string;
}
export interface Workload {
  name: string;
  version: string;
  scale: string | null;
  input_bytes: number | null;
  input_records: number | null;
}
export interface Trial {
  id: string;
  workload: Workload;
  engine: Engine;
  cluster: Cluster;
  configuration: {
    [k: string]: string | number | boolean | null;
  };
  software: Software;
  provenance: Provenance;
  started_at: string | null;
  state: State;
  experiment: string | null;
  repetition: number;
  warm_up: boolean;
  seed: number | null;
  elapsed_s: number | null;
  phases: Phase[];
  samples: Sample[];
  artifacts: Artifact[];
  warnings: TrialWarning[];
  failure: Failure | null;
  owner: Owner | null;
  labels: {
    [k: string]: string;
  };
  schema_version: number;
}
