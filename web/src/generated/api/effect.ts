// Made from schema/openapi.json by scripts/types.mjs: `npm run types`.

import type { Interval, NumericCurve } from "./shared";

export type EffectOutcome =
  "faster" | "slower" | "no difference" | "cannot tell" | "depends" | "confounded";
export interface Confounder {
  keys: string[];
  apart: number;
  ratio: number | null;
  change: number | null;
  flagged: boolean;
}
export interface CrudeRatio {
  ratio: number;
  median_s: number;
  baseline_median_s: number;
}
export interface Effect {
  value: (string | number | boolean | null)[];
  baseline: (string | number | boolean | null)[];
  outcome: EffectOutcome;
  verdict: string;
  ratio: number | null;
  interval: Interval | null;
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
  these_only: Interval | null;
  other_machines: Reach | null;
  machines: PartEffect[];
  works: PartEffect[];
  depends: KeyDependence[];
  confounders: Confounder[];
  omissions: Omission[];
  adjusted: ModelEffect | null;
  crude: CrudeRatio | null;
  together: LinkedKey[];
  next: NextStep;
}
export interface Reach {
  machines: number;
  ratio: number;
  interval: Interval | null;
}
export interface PartEffect {
  value: string | number | boolean | null;
  strata: number;
  trials: number;
  ratio: number;
  interval: Interval | null;
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
  interval: Interval;
  kept: number;
  trials: number;
}
export interface LinkedKey {
  key: string;
  value: string | number | boolean | null;
  baseline: string | number | boolean | null;
}
export interface NextStep {
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
  rows: string;
  explained: {
    [k: string]: string;
  };
  curve: NumericCurve | null;
}
export interface ValueCount {
  value: (string | number | boolean | null)[];
  n: number;
  failed: number;
}
