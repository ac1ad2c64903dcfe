// Made from schema/openapi.json by scripts/types.mjs: `npm run types`.

import type { Exclusion } from "./shared";

export interface Exclusions {
  exclusions: Exclusion[];
}
