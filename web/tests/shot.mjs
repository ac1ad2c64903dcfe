// Takes the pictures of the documentation from a report.
// node tests/shot.mjs CHROMIUM REPORT FOLDER
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [executablePath, report, folder] = process.argv.slice(2);
const profile = mkdtempSync(join(tmpdir(), "venturi-shot-"));
const context = await chromium.launchPersistentContext(profile, {
  executablePath,
  headless: true,
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"],
  viewport: { width: 1280, height: 1000 },
  colorScheme: "light",
  offline: true,
});
try {
  const page = await context.newPage();
  await page.goto(pathToFileURL(report).href, { waitUntil: "load" });
  await page.waitForSelector("#answer");
  const answer = await page.locator("#answer").boundingBox();
  const height = Math.ceil(answer.y + answer.height + 24);
  const clip = { x: 0, y: 0, width: 1280, height };
  await page.screenshot({ path: join(folder, "report.png"), fullPage: true, clip });
  const sorts = page.locator("article");
  if (await sorts.count()) await sorts.last().screenshot({ path: join(folder, "report-sort.png") });
} finally {
  await context.close();
  rmSync(profile, { recursive: true, force: true });
}
