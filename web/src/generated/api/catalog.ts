// Made from schema/openapi.json by scripts/types.mjs: `npm run types`.

import type { Missing } from "./shared";

export interface CatalogPage {
  title: string;
  generated_at: string;
  catalogs: Summary[];
  types: TypeRow[];
  facts: FactRow[];
  chosen: string | null;
  removed: string[];
  added: string[];
  changes: ChangeRow[];
  is_difference: boolean;
  warnings: string[];
  commands: string[];
}
export interface Summary {
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
export interface FactRow {
  attribute: string;
  value: string | Missing;
  range: string;
  kind: string;
  as_of: string;
  source: string;
  note: string;
}
export interface ChangeRow {
  instance_type: string;
  attribute: string;
  old: string;
  new: string;
  relative: number | Missing;
  kinds: string;
}
