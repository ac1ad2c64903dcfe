// Takes the pictures of the documentation: node tests/shot.mjs CHROMIUM JOB FOLDER
// The file JOB has, for each picture: name, url, and how it is cut: `from`, `until` and `element` are
// selectors (from the first's top, to the first's end; the last such element alone), `height` is in px.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { launch, open } from "./browser.mjs";

const WIDTH = 1280;
const MARGIN = 8;

const [executablePath, job, folder] = process.argv.slice(2);
const browser = await launch(executablePath);
try {
  const context = await browser.newContext({
    viewport: { width: WIDTH, height: 1000 },
    colorScheme: "light",
    reducedMotion: "reduce",
  });
  for (const cut of JSON.parse(readFileSync(job, "utf8"))) {
    const { page, problems, settled } = await open(context);
    const box = (selector) => page.locator(selector).first().boundingBox();
    await page.goto(cut.url);
    await page.waitForSelector("main h1, #answer");
    await settled();
    const path = join(folder, `${cut.name}.png`);
    if (cut.element) {
      await page.locator(cut.element).last().screenshot({ path });
    } else {
      const y = cut.from ? Math.floor((await box(cut.from)).y) - MARGIN : 0;
      const last = cut.until && (await box(cut.until));
      const height = cut.height ?? Math.ceil(last.y + last.height) + MARGIN - y;
      await page.screenshot({ path, fullPage: true, clip: { x: 0, y, width: WIDTH, height } });
    }
    if (problems.length) throw new Error(`${cut.url}: ${problems.join("; ")}`);
    await page.close();
  }
} finally {
  await browser.close();
}
