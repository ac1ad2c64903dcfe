import { defineConfig } from "vite";

// One script for each kind of page, put inline into it: no chunks, no style sheet, no network.
// A script that stands alone has one entry, so `npm run build` builds once per mode.
const ENTRIES: Record<string, string> = { report: "src/main.ts", advice: "src/advice.ts" };

export default defineConfig(({ mode }) => {
  const entry = ENTRIES[mode];
  if (!entry) throw new Error(`vite build --mode ${Object.keys(ENTRIES).join(" | ")}`);
  return {
    define: { "process.env.NODE_ENV": '"production"' },
    build: {
      target: "es2022",
      outDir: "../python/venturi/present/assets",
      emptyOutDir: false,
      reportCompressedSize: false,
      lib: {
        entry,
        formats: ["iife"],
        name: "venturi",
        fileName: () => `${mode}.js`,
      },
    },
  };
});
