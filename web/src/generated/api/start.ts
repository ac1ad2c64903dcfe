// Made from schema/openapi.json by scripts/types.mjs: `npm run types`.

import type { TrialRow } from "./shared";

export interface Start {
  headline: string;
  figures: StartFigure[];
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
