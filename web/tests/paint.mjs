// How soon a page shows something, and what it had to load for that, in the system's Chromium.
// node paint.mjs CHROMIUM TIMES URL...: JSON on stdout, for each URL a list of measurements.
import { launch } from "./browser.mjs";

const [executablePath, times, ...urls] = process.argv.slice(2);
const browser = await launch(executablePath);
const measured = {};
try {
  for (const url of urls) {
    measured[url] = [];
    for (let time = 0; time < Number(times); time++) {
      // A context of its own has an empty cache.
      const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
      const page = await context.newPage();
      await page.goto(url, { waitUntil: "networkidle" });
      const found = await page.evaluate(() => {
        const sum = (ending) =>
          performance
            .getEntriesByType("resource")
            .filter(({ name }) => new URL(name).pathname.endsWith(ending))
            .reduce((total, { encodedBodySize }) => total + encodedBodySize, 0);
        const [paint] = performance.getEntriesByName("first-contentful-paint");
        return { paint_ms: paint.startTime, script_bytes: sum(".js"), style_bytes: sum(".css") };
      });
      measured[url].push(found);
      await context.close();
    }
  }
} finally {
  await browser.close();
}
console.log(JSON.stringify(measured));
