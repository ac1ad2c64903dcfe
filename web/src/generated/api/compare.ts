// Made from schema/openapi.json by scripts/types.mjs: `npm run types`.

import type { Interval, SpreadData } from "./shared";

export interface ComparedGroup {
  key: (string | number | boolean | null)[];
  n: number;
  by_state: {
    [k: string]: number;
  };
  elapsed_s: SpreadData;
  values_s: number[];
  warm_ups_s: number[];
  outliers_s: number[];
  outcome: ("lower" | "higher" | "cannot tell") | null;
  ratio: number | null;
  ratio_interval: Interval | null;
  p_value: number | null;
  chance_lower: number | null;
  verdict: string;
  name: string;
  crude: string | null;
}
export interface ComparisonData {
  by: string[];
  groups: ComparedGroup[];
  warnings: string[];
  outlier_rule: string;
  caption: string;
  explained: {
    [k: string]: string;
  };
}
