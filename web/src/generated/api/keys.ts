// Made from schema/openapi.json by scripts/types.mjs: `npm run types`.


export interface KeyInfo {
  key: string;
  kind: "column" | "configuration";
  type: "text" | "number" | "moment" | "flag" | "mixed";
  n: number;
  distinct: number;
}
export interface Keys {
  keys: KeyInfo[];
}
