// Opens reports in the system's Chromium and says, as JSON on stdout, what a reader would meet.
// node open.mjs CHROMIUM PROFILE_FOLDER FILE... [--once FILE...] [--shots FOLDER]
// Files after --once are opened at the first width and scheme only.
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";
import { FLAGS } from "./browser.mjs";

const WIDTHS = [1280, 390];
const SCHEMES = ["light", "dark"];

const args = process.argv.slice(2);
const at = args.indexOf("--shots");
const shots = at < 0 ? null : args.splice(at, 2)[1];
const [executablePath, profile, ...rest] = args;
const files = rest.filter((each) => each !== "--once");
const often = rest.includes("--once") ? rest.indexOf("--once") : files.length;

/** Runs in the page: what is wrong with it, and what is on it. */
function inspect() {
  const root = document.documentElement;
  const visible = (element) => element.getClientRects().length > 0;
  const name = (element) => element.getAttribute("aria-label") || element.textContent.trim();

  const text = (element) => {
    const nodes = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    const parts = [];
    while (nodes.nextNode()) {
      if (!nodes.currentNode.parentElement.closest("script, style, noscript")) {
        parts.push(nodes.currentNode.data);
      }
    }
    return parts.join(" ").replace(/\s+/g, " ").trim();
  };

  const channels = (color) => (color.match(/[\d.]+/g) ?? []).map(Number);
  const luminance = ([r, g, b]) => {
    const linear = [r, g, b].map((c) => {
      const s = c / 255;
      return s <= 0.04045 ? s / 12.92 : ((s + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  };
  const behind = (element) => {
    for (let node = element; node; node = node.parentElement) {
      const color = channels(getComputedStyle(node).backgroundColor);
      if (color.length === 3 || color[3] === 1) return color;
    }
    return [255, 255, 255];
  };
  const contrast = (a, b) => {
    const [high, low] = [luminance(a), luminance(b)].sort((x, y) => y - x);
    return (high + 0.05) / (low + 0.05);
  };
  const faint = new Set();
  for (const element of document.querySelectorAll("body *")) {
    const bare = [...element.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!bare || !visible(element) || element.closest("script, style, .visually-hidden")) continue;
    const style = getComputedStyle(element);
    const svg = element instanceof SVGElement;
    const ratio = contrast(channels(svg ? style.fill : style.color), behind(element));
    if (ratio < 4.5)
      faint.add(`${ratio.toFixed(2)} ${element.tagName} ${element.textContent.slice(0, 40)}`);
  }

  const charts = [...document.querySelectorAll(".chart")];
  const reachable = "a[href], button, summary, [tabindex='0']";
  return {
    title: document.title,
    overflow_px: root.scrollWidth - root.clientWidth,
    charts: charts.map((chart) => ({
      role: chart.getAttribute("role"),
      name: chart.getAttribute("aria-label"),
      marks: chart.querySelectorAll("svg path, svg rect, svg circle").length,
      texts: [...chart.querySelectorAll("svg text")].map((text) => text.textContent),
      said: chart.nextElementSibling?.matches(".nothing")
        ? chart.nextElementSibling.textContent
        : null,
      twins: chart.parentElement.querySelectorAll("details.twin table").length,
      beyond_px: Math.max(
        0,
        ...[...chart.querySelectorAll("svg text")].map((text) => {
          const box = text.getBoundingClientRect();
          const frame = chart.getBoundingClientRect();
          return Math.max(box.right - frame.right, frame.left - box.left);
        }),
      ),
    })),
    tables: document.querySelectorAll("table").length,
    tables_without_heads: [...document.querySelectorAll("table")].filter(
      (t) => !t.querySelector("th[scope=col]"),
    ).length,
    nameless: [...document.querySelectorAll(`${reachable}, [role=region], [role=img]`)]
      .filter((element) => !name(element))
      .map((element) => element.outerHTML.slice(0, 80)),
    headings: [...document.querySelectorAll("h1, h2, h3, h4")].map((h) => Number(h.tagName[1])),
    images: document.querySelectorAll("img, iframe, object, embed, link").length,
    faint: [...faint],
    text: text(document.body),
    rows: Object.fromEntries(
      [...document.querySelectorAll("section[id]")].map((section) => [
        section.id,
        [...section.querySelectorAll("tr")].map(text),
      ]),
    ),
  };
}

/** Tabs through the page; whether the keyboard reached a link and the button, and works them. */
async function keyboard(page) {
  const reached = new Set();
  for (let press = 0; press < 40 && !(reached.has("A") && reached.has("theme")); press++) {
    await page.keyboard.press("Tab");
    reached.add(
      await page.evaluate(() => document.activeElement.id || document.activeElement.tagName),
    );
  }
  await page.focus("#theme");
  const before = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  await page.keyboard.press("Enter");
  const after = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const drawn = await page.locator(".chart svg").count();
  await page.keyboard.press("Enter");
  const summary = page.locator("details.twin:not([open]) > summary").first();
  let opened = null;
  if (await summary.count()) {
    const details = await summary.locator("..").elementHandle();
    await summary.focus();
    await page.keyboard.press("Enter");
    opened = await details.evaluate((element) => element.open);
    await page.keyboard.press("Enter");
  }
  return {
    reached: [...reached],
    theme_changed: before !== after,
    drawn_after_change: drawn,
    opened,
  };
}

const context = await chromium.launchPersistentContext(profile, {
  executablePath,
  headless: true,
  args: FLAGS,
  offline: true,
});

// All files share one storage: without this, a theme chosen in one tab changes the next page of
// the other tab.
await context.addInitScript(() => {
  Storage.prototype.setItem = () => {};
});

/** A tab that shows the file `url`, and a list of what goes wrong in it. */
async function opened() {
  const page = await context.newPage();
  const problems = [];
  const tab = { page, problems, url: "" };
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) problems.push(message.text());
  });
  page.on("pageerror", (error) => problems.push(String(error)));
  page.on("request", (request) => {
    if (request.url() !== tab.url) problems.push(`request: ${request.url()}`);
  });
  return tab;
}

/** What a reader meets in `file` at one width, in each of the schemes. It is loaded once, and the
 * keyboard works it in the last.
 */
async function meet(tab, { file, width, schemes }) {
  const { page, problems } = tab;
  problems.length = 0;
  tab.url = pathToFileURL(file).href;
  await page.setViewportSize({ width, height: 900 });
  await page.emulateMedia({ colorScheme: schemes[0] });
  await page.goto(tab.url, { waitUntil: "load" });
  await page.waitForSelector("main h1", { timeout: 60_000 });
  const found = [];
  for (const colorScheme of schemes) {
    await page.emulateMedia({ colorScheme });
    // The button offers the other one, as soon as everything is drawn in this one.
    const other = colorScheme === "dark" ? "Light" : "Dark";
    await page.waitForFunction(
      (text) => document.getElementById("theme").innerText.startsWith(text),
      other,
    );
    found.push({ file: basename(file), width, colorScheme, ...(await page.evaluate(inspect)) });
    if (shots) {
      const name = `${basename(file, ".html")}-${width}-${colorScheme}.png`;
      await page.screenshot({ path: join(shots, name), fullPage: true });
    }
  }
  const worked = { keyboard: await keyboard(page), problems: [...problems] };
  return found.map((each) => ({ ...each, ...worked }));
}

const looks = files.flatMap((file, place) =>
  WIDTHS.slice(0, place < often ? 2 : 1).map((width) => ({
    ...{ file, width },
    schemes: SCHEMES.slice(0, place < often ? 2 : 1),
  })),
);
const findings = [];

/** Takes the looks one after the other in a tab, beside others that do the same. */
async function work() {
  const tab = await opened();
  for (let look = looks.shift(); look; look = looks.shift()) {
    findings.push(...(await meet(tab, look)));
  }
}

try {
  await Promise.all([work(), work()]);
} finally {
  await context.close();
}
console.log(JSON.stringify(findings));
