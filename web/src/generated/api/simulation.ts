// Made from schema/openapi.json by scripts/types.mjs: `npm run types`.

import type { Missing, ReportFact } from "./shared";

export interface Histogram {
  edges_s: number[];
  counts: number[];
}
export interface NodeTimes {
  phase: string;
  histogram: Histogram;
  note: string;
}
export interface QuantileRow {
  name: string;
  time_s: number | Missing;
  cost_usd: number | Missing;
}
export interface SimulationPage {
  title: string;
  question: string;
  answer: string;
  generated_at: string;
  trials: number;
  finished_trials: number;
  histogram: Histogram;
  marks: TimeMark[];
  quantiles: QuantileRow[];
  settings: ReportFact[];
  node_times: NodeTimes[];
  reasons: string[];
  assumptions: string[];
  commands: string[];
}
export interface TimeMark {
  name: string;
  kind: "median" | "quantile" | "formula" | "deadline" | "measured";
  at_s: number;
}
