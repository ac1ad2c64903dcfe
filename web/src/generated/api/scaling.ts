// Made from schema/openapi.json by scripts/types.mjs: `npm run types`.

import type { Interval, NumericCurve, SpreadData } from "./shared";

export interface Cliff {
  below: number;
  above: number;
  jump: number;
  evidence: string;
}
export interface CurvePoint {
  x: number;
  elapsed_s: number;
  low_s: number | null;
  high_s: number | null;
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
  matched: NumericCurve | null;
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
  elapsed_s: SpreadData;
}
export interface ScalingEffect {
  x_low: number;
  x_high: number;
  ratio: number;
  interval: Interval | null;
  measured: boolean;
}
export interface ScalingListed {
  skip: number;
  key: (string | number | boolean | null)[];
  x_low: number;
  x_high: number;
  values: number;
  trials: number;
}
