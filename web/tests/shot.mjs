// Takes the pictures of the documentation: node tests/shot.mjs CHROMIUM JOB FOLDER
// The file JOB has, for each picture: name, url, and how it is cut: `until` and `element` are
// selectors (down to the end of the first; the last such element alone), `height` is in px.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { launch, open } from "./browser.mjs";

const WIDTH = 1280;
const MARGIN = 24;
const MARK = `main h1, #answer`;

const [executablePath, job, folder] = process.argv.slice(2);
const browser = await launch(executablePath);
try {
  const context = await browser.newContext({
    viewport: { width: WIDTH, height: 1000 },
    colorScheme: "light",
    reducedMotion: "reduce",
  });
  for (const { name, url, until, element, height } of JSON.parse(readFileSync(job, "utf8"))) {
    const { page, problems, settled } = await open(context);
    await page.goto(url);
    await page.waitForSelector(MARK);
    await settled();
    const path = join(folder, `${name}.png`);
    if (element) {
      await page.locator(element).last().screenshot({ path });
    } else {
      const end = until && (await page.locator(until).first().boundingBox());
      const clip = {
        x: 0,
        y: 0,
        width: WIDTH,
        height: height ?? Math.ceil(end.y + end.height) + MARGIN,
      };
      await page.screenshot({ path, fullPage: true, clip });
    }
    if (problems.length) throw new Error(`${url}: ${problems.join("; ")}`);
    await page.close();
  }
} finally {
  await browser.close();
}
