// Made from schema/openapi.json by scripts/types.mjs: `npm run types`.

import type { Author } from "./shared";

export interface View {
  name: string;
  url: string;
  author: Author;
  created_at: string;
}
export interface Views {
  views: View[];
  presets: View[];
}
