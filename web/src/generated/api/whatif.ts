// Made from schema/openapi.json by scripts/types.mjs: `npm run types`.

import type { Bounds, Quantity } from "./shared";

export interface CapacityEffect {
  capacity: string;
  machines: string;
  rate: Quantity;
  fast_s: number;
  slow_s: number;
  measure: string;
}
export interface RankedOption {
  name: string;
  hosts: number;
  slots: number;
  time_s: Bounds;
  usd: Bounds | null;
  tied: boolean;
}
export interface SizeCurve {
  by: string;
  points: SizePoint[];
  replayed: boolean;
}
export interface SizePoint {
  executors: number;
  hosts: number;
  slots: number;
  time_s: Bounds;
  usd: Bounds | null;
  core_hours: number;
  baselines_s: {
    [k: string]: number;
  };
}
export interface SpotPrediction {
  name: string;
  rate: Quantity;
  time_s: Bounds | null;
  usd: Bounds | null;
  losses: number | null;
  loss_s: number;
  do_not_use: string;
  unpriced: string;
  assumes: string[];
}
export interface StagePrediction {
  stage: string;
  name: string;
  before_s: number;
  after_s: number;
  tasks_before: number;
  tasks_after: number;
  limit: string;
}
export interface TypeRanking {
  objective: "cost" | "time";
  deadline_s: number | null;
  best: WhatIfPrediction[];
  recommended: WhatIfPrediction;
  in_time: boolean;
  tried: number;
  ties: number;
  too_small: number;
  unpriced: number;
  late: number;
  frontier: RankedOption[];
  options: RankedOption[];
}
export interface WhatIfPrediction {
  name: string;
  hosts: number;
  executors: number;
  slots: number;
  time_s: Bounds;
  usd: Bounds | null;
  unpriced: string;
  core_hours: number;
  limits: {
    [k: string]: number;
  };
  baselines_s: {
    [k: string]: number;
  };
  rests_on: CapacityEffect[];
  assumes: string[];
  interval_from: string;
  extrapolated: boolean;
  stages: StagePrediction[];
}
export interface WhatIfCapacity {
  name: string;
  unit: string;
  value: Quantity;
}
export interface WhatIfData {
  trial: string;
  job: string;
  sentence: string;
  changed: boolean;
  today: WhatIfSide;
  targets: WhatIfSide[];
  best: number;
  curve: SizeCurve;
  not_modeled: string[];
  replay: string;
  limit_words: {
    [k: string]: string;
  };
  spot: SpotPrediction[];
}
export interface WhatIfSide {
  prediction: WhatIfPrediction;
  limited_by: string;
  cores_per_executor: number;
  heap_bytes: number;
  capacities: WhatIfCapacity[];
  rests_on: string[];
  stages_left_out: number;
}
export interface WhatIfJob {
  id: string;
  name: string;
  engine: string;
  started_at: string | null;
  elapsed_s: number | null;
}
export interface WhatIfPage {
  answer: WhatIfData | null;
  ranking: WhatIfRanking | null;
  jobs: WhatIfJob[];
}
export interface WhatIfRanking {
  trial: string;
  job: string;
  catalog: string;
  sentence: string;
  margin: string;
  today: WhatIfSide;
  ranking: TypeRanking;
  rests_on: string[];
  not_modeled: string[];
  limit_words: {
    [k: string]: string;
  };
}
