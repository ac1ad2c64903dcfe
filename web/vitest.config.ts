import { defineConfig } from "vitest/config";

/** What computes in the browser, tested without one. */
export default defineConfig({
  test: { include: ["tests/unit/**/*.test.ts"], environment: "node", isolate: false },
});
