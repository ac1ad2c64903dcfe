// Uses the served pages in the system's Chromium as a reader would; says on stdout, as JSON, what
// was met. node pages.mjs CHROMIUM JOB, where the JSON in the file JOB has: server, empty, locked
// (addresses), token, pages (name -> path), downloads and shots (folders; of the pages only if
// there is one), and facts of the data.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { accessible, inspect, launch, open } from "./browser.mjs";
import { changing, reading } from "./scenes.mjs";

const WIDTHS = [1440, 390];
const SCHEMES = ["light", "dark"];
const HEIGHT = 900;
const DEPENDENT = ["color-contrast", "link-in-text-block", "scrollable-region-focusable"];

const [executablePath, file] = process.argv.slice(2);
const job = JSON.parse(readFileSync(file, "utf8"));
const browser = await launch(executablePath);

/** Every page at `width`, light and dark. */
async function openAll(width) {
  const found = [];
  const context = await browser.newContext({ viewport: { width, height: HEIGHT } });
  for (const [name, path] of Object.entries(job.pages)) {
    const { page, problems, settled, go } = await open(context);
    for (const colorScheme of SCHEMES) {
      await page.emulateMedia({ colorScheme });
      if (colorScheme === SCHEMES[0]) await go(job.server + path);
      else await settled();
      // All that axe knows once; what depends on width and colours each time.
      const once = colorScheme === SCHEMES[0] && width === WIDTHS[0];
      if (job.shots) {
        const shot = join(job.shots, `${name}-${width}-${colorScheme}.png`);
        await page.screenshot({ path: shot, fullPage: true });
      }
      const violations = await accessible(page, once ? undefined : DEPENDENT);
      const background = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
      found.push({
        ...{ name, width, colorScheme, violations, background, problems: [...problems] },
        ...(await page.evaluate(inspect)),
      });
    }
    await page.close();
  }
  await context.close();
  return found;
}

/** One thing that a reader does, in a browser of its own; what it met, or how it failed. */
async function play(name, scene) {
  const context = await browser.newContext({
    viewport: { width: 1440, height: HEIGHT },
    acceptDownloads: true,
  });
  const opened = await open(context);
  try {
    const ask = async (path) => (await context.request.get(job.server + path)).json();
    const met = await scene({ ...opened, context, browser, job, ask });
    return [name, { ...met, problems: opened.problems }];
  } catch (error) {
    const shot = join(job.shots || job.downloads, `failed-${name}.png`);
    await opened.page.screenshot({ path: shot }).catch(() => {});
    return [name, { failed: `${error}\n${error.stack}` }];
  } finally {
    await context.close();
  }
}

async function playAll(scenes) {
  const met = [];
  for (const [name, scene] of Object.entries(scenes)) met.push(await play(name, scene));
  return Object.fromEntries(met);
}

try {
  const [wide, narrow, read] = await Promise.all([...WIDTHS.map(openAll), playAll(reading)]);
  const changed = await playAll(changing);
  console.log(JSON.stringify({ pages: [...wide, ...narrow], scenes: { ...read, ...changed } }));
} finally {
  await browser.close();
}
