// Uses the served pages in the system's Chromium as a reader would; says on stdout, as JSON, what
// was met. node pages.mjs CHROMIUM JOB, where the JSON in the file JOB has: server, empty, locked
// (addresses), token, pages (name -> path), downloads and shots (folders; of the pages only if
// there is one), and facts of the data.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { accessible, inspect, launch, open } from "./browser.mjs";
import { alone, changing, reading } from "./scenes.mjs";

const WIDTHS = [1440, 390];
const SCHEMES = ["light", "dark"];
const HEIGHT = 900;
const COLOURS = ["color-contrast", "link-in-text-block"];

const [executablePath, file] = process.argv.slice(2);
const job = JSON.parse(readFileSync(file, "utf8"));
const browser = await launch(executablePath);

/** What axe is asked of a page; undefined: all that it knows. That once; what depends on colors in
 * both schemes; what depends on the width on a narrow screen, whose colors are the wide one's.
 */
function rules(width, colorScheme) {
  if (colorScheme !== SCHEMES[0]) return width === WIDTHS[0] ? COLOURS : [];
  return width === WIDTHS[0] ? undefined : [...COLOURS, "scrollable-region-focusable"];
}

/** Every page at `width`, light and dark. */
async function openAll(width) {
  const found = [];
  const context = await browser.newContext({ viewport: { width, height: HEIGHT } });
  // One tab for all: a tab costs the browser more than what it shows.
  const { page, problems, settled, go } = await open(context);
  for (const [name, path] of Object.entries(job.pages)) {
    problems.length = 0;
    for (const colorScheme of SCHEMES) {
      await page.emulateMedia({ colorScheme });
      if (colorScheme === SCHEMES[0]) await go(job.server + path);
      else await settled();
      if (job.shots) {
        const shot = join(job.shots, `${name}-${width}-${colorScheme}.png`);
        await page.screenshot({ path: shot, fullPage: true });
      }
      const violations = await accessible(page, rules(width, colorScheme));
      const background = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
      found.push({
        ...{ name, width, colorScheme, violations, background, problems: [...problems] },
        ...(await page.evaluate(inspect)),
      });
    }
  }
  await context.close();
  return found;
}

/** A tab in a browser of its own: nothing is kept in it, and nothing cached. */
async function fresh() {
  const viewport = { width: 1440, height: HEIGHT };
  const context = await browser.newContext({ viewport, acceptDownloads: true });
  return { ...(await open(context)), context };
}

/** Makes the tab as it was: the pointer aside, and nothing that a scene has set or kept. */
async function tidied({ page, context, problems }) {
  await page.mouse.move(0, 0);
  await page.evaluate(() => localStorage.clear());
  await context.clearCookies();
  await page.goto("about:blank");
  await page.setViewportSize({ width: 1440, height: HEIGHT });
  problems.length = 0;
}

/** One thing that a reader does; what it met, or how it failed. */
async function play(name, scene, tab) {
  const { page, context, problems } = tab;
  try {
    const ask = async (path) => (await context.request.get(job.server + path)).json();
    const met = await scene({ ...tab, browser, job, ask });
    return { ...met, problems: [...problems] };
  } catch (error) {
    const shot = join(job.shots || job.downloads, `failed-${name}.png`);
    await page.screenshot({ path: shot }).catch(() => {});
    return { failed: `${error}\n${error.stack}` };
  }
}

/** Each in a browser of its own. */
async function playApart(scenes) {
  const met = {};
  for (const [name, scene] of Object.entries(scenes)) {
    const tab = await fresh();
    met[name] = await play(name, scene, tab);
    await tab.context.close();
  }
  return met;
}

/** All in one tab, or in a new one after a scene that failed. */
async function playTogether(scenes) {
  const met = {};
  let tab = await fresh();
  for (const [name, scene] of Object.entries(scenes)) {
    met[name] = await play(name, scene, tab);
    if ("failed" in met[name]) {
      await tab.context.close();
      tab = await fresh();
    } else await tidied(tab);
  }
  await tab.context.close();
  return met;
}

try {
  const [wide, narrow, read] = await Promise.all([
    ...WIDTHS.map(openAll),
    (async () => ({ ...(await playTogether(reading)), ...(await playApart(alone)) }))(),
  ]);
  const changed = await playApart(changing);
  console.log(JSON.stringify({ pages: [...wide, ...narrow], scenes: { ...read, ...changed } }));
} finally {
  await browser.close();
}
