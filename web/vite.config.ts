import { defineConfig, type UserConfig } from "vite";

const ASSETS = "../python/venturi/web/assets";

/** Directives of React's server, of which none of this is part, are no news. */
const quiet: NonNullable<NonNullable<UserConfig["build"]>["rolldownOptions"]> = {
  onLog: (level, log, report) => {
    if (log.code !== "MODULE_LEVEL_DIRECTIVE") report(level, log);
  },
};

/** The pages that are served: an index, and chunks that are loaded when a page needs them. */
const app: UserConfig = {
  build: {
    target: "es2022",
    outDir: `${ASSETS}/app`,
    emptyOutDir: true,
    rolldownOptions: quiet,
    chunkSizeWarningLimit: 650, // that of the charts, which a page without charts does not load
    assetsInlineLimit: 0, // the security policy admits no data: addresses
    modulePreload: { polyfill: false },
  },
};

/** The same pages as one script and one style sheet, to stand inside a file with their data. */
const page: UserConfig = {
  define: { "process.env.NODE_ENV": '"production"' },
  build: {
    target: "es2022",
    outDir: ASSETS,
    emptyOutDir: false,
    rolldownOptions: quiet,
    reportCompressedSize: false,
    lib: {
      entry: "src/export.tsx",
      formats: ["iife"],
      name: "venturi",
      fileName: () => "page.js",
      cssFileName: "page",
    },
  },
};

export default defineConfig(({ mode }) => {
  if (mode === "app") return app;
  if (mode === "export") return page;
  throw new Error("vite build --mode app | export");
});
