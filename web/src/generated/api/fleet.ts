// Made from schema/openapi.json by scripts/types.mjs: `npm run types`.


export interface Fleet {
  sentence: string;
  jobs: FleetJob[];
  n: number;
  runs: number;
  elapsed_s: number;
  saving_s: number;
  saving_low_s: number;
  saving_high_s: number;
  saving_usd: number | null;
  cost_usd: number | null;
  cost_reason: string | null;
  failed: number;
  undiagnosed: number;
  excluded_runs: number;
}
export interface FleetJob {
  id: string;
  name: string;
  application: string | null;
  engine: string;
  state: string;
  started_at: string | null;
  elapsed_s: number | null;
  diagnosed: boolean;
  finding: string | null;
  finding_reason: string | null;
  fix: string | null;
  saving: string | null;
  saving_s: number | null;
  saving_low_s: number | null;
  saving_high_s: number | null;
  saving_reason: string | null;
  cost_usd: number | null;
  cost_basis: string | null;
  price: string | null;
  saving_usd: number | null;
  cost_reason: string | null;
  runs: number;
  median_s: number | null;
  times_s: number[];
  trend: JobTrend | null;
}
export interface JobTrend {
  text: string;
  since: string | null;
  ratio: number;
  ratio_low: number;
  ratio_high: number;
  before: string;
  after: string;
}
