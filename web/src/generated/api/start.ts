// Made from schema/openapi.json by scripts/types.mjs: `npm run types`.

import type { TrialRow } from "./shared";

export interface Start {
  headline: string;
  figures: StartFigure[];
  jobs: StartJobs;
  answers: StartAnswer[];
  findings: StartFinding[];
  recent: TrialRow[];
}
export interface StartFigure {
  label: string;
  value: string;
  note: string;
  url: string;
}
export interface StartJobs {
  sentence: string;
  jobs: StartJob[];
  undiagnosed: number;
}
export interface StartJob {
  id: string;
  name: string;
  engine: string;
  state: string;
  started_at: string | null;
  elapsed_s: number | null;
  finding: string | null;
  saving: string | null;
}
export interface StartAnswer {
  question: string;
  sentences: string[];
  known: boolean;
  url: string;
  trials_url: string | null;
}
export interface StartFinding {
  text: string;
  n: number;
  url: string;
}
