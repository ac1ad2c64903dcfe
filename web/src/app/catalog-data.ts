// The page of catalogues: python/venturi/present/catalog_page.py, field by field.
import type { Told, Words } from "../data";

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
  vcpus: Told;
  memory_bytes: Told;
  local_bytes: Told;
  storage_bytes_per_s: Told;
  network_bytes_per_s: Told;
  price_usd_per_hour: Told;
  price_as_of: Words;
  price_is_stale: boolean;
}

export interface FactRow {
  attribute: string;
  value: Words;
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
  relative: Told;
  kinds: string;
}

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
