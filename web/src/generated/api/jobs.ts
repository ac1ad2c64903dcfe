// Made from schema/openapi.json by scripts/types.mjs: `npm run types`.

import type { Finding } from "./shared";

export interface AmountChange {
  what: string;
  unit: string;
  before: number | null;
  after: number | null;
}
export interface ComparedJob {
  id: string;
  name: string;
  started_at: string | null;
  findings: Finding[];
}
export interface JobDifference {
  sentence: string;
  before_s: number | null;
  after_s: number | null;
  parts: PartChange[];
  amounts: AmountChange[];
  settings: SettingChange[];
  plans: PlanChange[];
  stages: StageChange[];
  comparable: boolean;
  caution: string | null;
  promise: string | null;
  start_up: string | null;
  promise_held: boolean | null;
}
export interface PartChange {
  part: string;
  before_s: number;
  after_s: number;
}
export interface SettingChange {
  key: string;
  before: string | null;
  after: string | null;
}
export interface PlanChange {
  before_query: number | null;
  after_query: number | null;
  name: string;
  gone: string[];
  new: string[];
}
export interface StageChange {
  before: string | null;
  after: string | null;
  name: string;
  before_s: number | null;
  after_s: number | null;
}
export interface TwoJobs {
  before: ComparedJob | null;
  after: ComparedJob | null;
  difference: JobDifference | null;
  missing_reason: string | null;
}
