// Made from schema/openapi.json by scripts/types.mjs: `npm run types`.

import type { TrialRow } from "./shared";

export interface Clock {
  offset_s: number;
  error_s: number;
}
export interface ClusterCard {
  name: string;
  as_of_trial: string;
  as_of: string | null;
  hosts: HostCard[];
  racks: Rack[];
  network: string | null;
  instance_type: string | null;
  price: PriceQuote | null;
  dilation: number | null;
  dilate_cpu: boolean | null;
  differences: string[];
  clocks: string | null;
}
export interface HostCard {
  name: string;
  roles: string[];
  rack: string | null;
  links: {
    [k: string]: Link;
  };
  disks: HostDisk[];
  memory_bytes: number | null;
  threads: number | null;
  processor: string | null;
  kernel: string | null;
  clock: Clock | null;
}
export interface Link {
  address: string;
  bytes_per_s: number | null;
  flow_bytes_per_s: number | null;
}
export interface HostDisk {
  disk_class: string;
  folder: string;
  device: string | null;
  model: string | null;
  size_bytes: number | null;
  file_system: string | null;
}
export interface Rack {
  name: string;
  within: string | null;
  uplink_bytes_per_s: number | null;
}
export interface PriceQuote {
  amount: number;
  currency: string;
  per: string;
  source: string;
  as_of: string;
}
export interface ClusterPage {
  clusters: NamedCluster[];
  chosen: ClusterCard | null;
  trials: TrialRow[];
  net: ProbeSeen | null;
  disk: ProbeSeen | null;
}
export interface NamedCluster {
  name: string;
  trials: number;
  newest_at: string | null;
}
export interface ProbeSeen {
  trial: string;
  state: string;
  disturbed: boolean;
  folders: string[];
  started_at: string | null;
  sentence: string | null;
}
