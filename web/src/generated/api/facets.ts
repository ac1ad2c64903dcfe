// Made from schema/openapi.json by scripts/types.mjs: `npm run types`.


export interface Facet {
  key: string;
  values: FacetValue[];
  distinct: number;
  missing: number;
}
export interface FacetValue {
  value: string | number | boolean;
  n: number;
}
export interface Facets {
  facets: Facet[];
}
