// What the advice and simulation pages show: python/venturi/present/advice_page/data.py, field by
// field, as `encode` writes it. SI units; what is not known is `Missing`, and null in the charts.
import type { Fact, Missing, Plain, Told, Words } from "./missing";

export interface Span {
  value: number;
  low: number;
  high: number;
}

export interface OptionRow {
  instance_type: string;
  nodes: number;
  time_s: Span | Missing;
  cost_usd: Span | Missing;
  billed_usd: Told;
  bottlenecks: { phase: string; resource: Words; certain: boolean }[];
  frontier: "yes" | "no" | "cannot tell";
  lower_bound: boolean;
  price_as_of: Words;
  price_is_stale: boolean;
  kinds: string[];
  note: string;
  chosen: boolean;
  knee: boolean;
}

export interface BarRow {
  instance_type: string;
  storage_only_usd: Told;
  ideal_network_usd: Told;
  observed_network_usd: Told;
  note: string;
}

export interface ExplainRow {
  phase: string;
  term: string;
  formula: string;
  demand_bytes: Told;
  rate_bytes_per_s: Told;
  low_bytes_per_s: Told;
  high_bytes_per_s: Told;
  time_s: Told;
  kind: string;
  source: Words;
  as_of: Words;
  binding: boolean;
}

export interface AdvicePage {
  title: string;
  question: string;
  answer: string;
  generated_at: string;
  options: OptionRow[];
  bars: BarRow[];
  exclusions: { reason: string; count: number; examples: string[] }[];
  assumptions: string[];
  explain: { title: string; rows: ExplainRow[]; matters_most: Words }[];
  reasons: string[];
  deadline_s: number | null;
  budget_usd: number | null;
  commands: string[];
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

export interface SimulationPage {
  title: string;
  question: string;
  answer: string;
  generated_at: string;
  trials: number;
  finished_trials: number;
  histogram: Histogram;
  marks: Mark[];
  quantiles: { name: string; time_s: Told; cost_usd: Told }[];
  settings: Fact[];
  node_times: { phase: string; histogram: Histogram; note: string }[];
  reasons: string[];
  assumptions: string[];
  commands: string[];
}

export type Option = Plain<OptionRow>;
export type Bar = Plain<BarRow>;

/** What the charts draw; each page fills its own fields. */
export type AdviceCharts = Partial<
  Plain<Pick<AdvicePage, "options" | "bars" | "deadline_s" | "budget_usd">> &
    Plain<Pick<SimulationPage, "histogram" | "marks" | "node_times">>
>;
