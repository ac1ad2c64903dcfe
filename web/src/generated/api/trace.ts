// Made from schema/openapi.json by scripts/types.mjs: `npm run types`.

import type { IoHeat, IoPage } from "./shared";

export interface IoCells {
  pattern: string;
  device: string;
  chart: string;
  heat: IoHeat;
}
export interface TracePage {
  title: string;
  io: IoPage;
  cells: IoCells[];
  warnings: string[];
}
