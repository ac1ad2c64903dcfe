// Made from schema/openapi.json by scripts/types.mjs: `npm run types`.

import type { Missing, ValueKind } from "./shared";

export interface CatalogDifference {
  removed: string[];
  added: string[];
  changes: Change[];
}
export interface Change {
  instance_type: string;
  attribute: string;
  old: Fact | null;
  new: Fact | null;
  relative: number | null;
}
export interface Fact {
  value: number | string | null;
  unit: string;
  kind: ValueKind | null;
  source: string;
  as_of: string | null;
  note: string;
  low: number | null;
  high: number | null;
}
export interface CatalogPage {
  title: string;
  generated_at: string;
  catalogs: CatalogSummary[];
  types: TypeRow[];
  facts: {
    [k: string]: Fact;
  };
  chosen: string | null;
  difference: CatalogDifference | null;
  warnings: string[];
  commands: string[];
}
export interface CatalogSummary {
  name: string;
  types: number;
  values: number;
  unknown: number;
  oldest: string | null;
  newest: string | null;
  prices: number;
  stale_prices: number;
}
export interface TypeRow {
  instance_type: string;
  vcpus: number | Missing;
  memory_bytes: number | Missing;
  local_bytes: number | Missing;
  storage_bytes_per_s: number | Missing;
  network_bytes_per_s: number | Missing;
  price_usd_per_hour: number | Missing;
  price_as_of: string | Missing;
  price_is_stale: boolean;
}
