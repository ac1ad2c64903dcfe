// Made from schema/openapi.json by scripts/types.mjs: `npm run types`.


export interface Status {
  version: string;
  trials: number;
  trials_excluded: number;
  role: "read" | "write";
  token: string | null;
  uploads: boolean;
  starter_present: boolean;
}
