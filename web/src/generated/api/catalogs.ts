// Made from schema/openapi.json by scripts/types.mjs: `npm run types`.


export interface CatalogInfo {
  name: string;
  types: number;
  newest_price: string | null;
}
export interface Catalogs {
  catalogs: CatalogInfo[];
  default: string;
}
