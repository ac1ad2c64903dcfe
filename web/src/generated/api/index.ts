// Made from schema/openapi.json by scripts/types.mjs: `npm run types`.

export type * from "./catalog";
export type * from "./catalogs";
export type * from "./clusters";
export type * from "./compare";
export type * from "./cost";
export type * from "./effect";
export type * from "./exclusions";
export type * from "./facets";
export type * from "./fleet";
export type * from "./groups";
export type * from "./jobs";
export type * from "./keys";
export type * from "./predictions";
export type * from "./report";
export type * from "./scaling";
export type * from "./shared";
export type * from "./simulation";
export type * from "./start";
export type * from "./status";
export type * from "./trace";
export type * from "./trials";
export type * from "./views";
export type * from "./whatif";
