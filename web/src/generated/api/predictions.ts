// Made from schema/openapi.json by scripts/types.mjs: `npm run types`.


export interface ErrorGroup {
  key: (string | null)[];
  errors: ErrorSummary;
  bias: number;
}
export interface ErrorSummary {
  runs: number;
  median_error: number | null;
  p90_error: number | null;
  ranges: number;
  held: number;
}
export interface PredictedRun {
  trial: string;
  workload: string;
  engine: string;
  basis: string;
  bottleneck: string | null;
  distance: number | null;
  predicted_s: number;
  low_s: number | null;
  high_s: number | null;
  measured_s: number;
  log_ratio: number;
  inside: boolean | null;
}
export interface PredictionErrors {
  runs: PredictedRun[];
  by: string[];
  groups: ErrorGroup[];
  not_compared: {
    [k: string]: number;
  };
  errors: ErrorSummary;
}
export interface PredictionsPage {
  verdict: string;
  found: PredictionErrors;
  runs_left_out: number;
  unanalyzed: number;
}
