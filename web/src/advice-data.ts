// The JSON islands of the advice and simulation pages, together: each page fills its own fields.
// python/venturi/present/advice_page/data.py, field by field; SI units, null is "not known".
import type { Known } from "./data";

export interface Span {
  value: number;
  low: number;
  high: number;
}

export interface Option {
  instance_type: string;
  nodes: number;
  time_s: Span | null;
  cost_usd: Span | null;
  bottlenecks: { phase: string; resource: string | null; certain: boolean }[];
  frontier: "yes" | "no" | "cannot tell";
  lower_bound: boolean;
  chosen: boolean;
  knee: boolean;
}

export interface Bar {
  instance_type: string;
  storage_only_usd: Known;
  ideal_network_usd: Known;
  observed_network_usd: Known;
}

export interface Histogram {
  edges_s: number[];
  counts: number[];
}

export interface Mark {
  name: string;
  kind: "median" | "quantile" | "formula" | "deadline" | "measured";
  at_s: number;
}

export interface AdviceCharts {
  options?: Option[];
  bars?: Bar[];
  deadline_s?: Known;
  budget_usd?: Known;
  histogram?: Histogram;
  marks?: Mark[];
  node_times?: { phase: string; histogram: Histogram }[];
}
