import { defineConfig } from "vite";

// One script, put inline into the report: no chunks, no style sheet, no network.
export default defineConfig({
  define: { "process.env.NODE_ENV": '"production"' },
  build: {
    target: "es2022",
    outDir: "../python/venturi/present/assets",
    emptyOutDir: false,
    reportCompressedSize: false,
    lib: {
      entry: "src/main.ts",
      formats: ["iife"],
      name: "venturiReport",
      fileName: () => "report.js",
    },
  },
});
