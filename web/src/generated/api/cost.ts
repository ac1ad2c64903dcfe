// Made from schema/openapi.json by scripts/types.mjs: `npm run types`.

import type { Interval, SpreadData } from "./shared";

export interface PricesData {
  usd_per_hour: number | null;
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
  elapsed_s: SpreadData;
  cost_usd: SpreadData | null;
  cost_time: SpreadData | null;
  usd_per_hour: number | null;
  best_elapsed_s: number | null;
  best_cost_usd: number | null;
  on_frontier: boolean;
  p_value: number | null;
  frontier: ("yes" | "cannot tell" | "no") | null;
  name: string;
  meanings: (string | null)[];
  set: number | null;
  against: (string | number | boolean | null)[] | null;
  settings: number | null;
  ratio: number | null;
  ratio_interval: Interval | null;
}
export interface RankingData {
  by: string[];
  objective: string;
  alpha: number;
  prices: PricesData | null;
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
