// Made from schema/openapi.json by scripts/types.mjs: `npm run types`.

import type { SpreadData } from "./shared";

export interface GroupSummary {
  key: (string | number | boolean | null)[];
  n: number;
  by_state: {
    [k: string]: number;
  };
  elapsed_s: SpreadData;
}
export interface Groups {
  by: string[];
  groups: GroupSummary[];
}
