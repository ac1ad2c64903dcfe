// Opens exported pages in the system's Chromium and says, as JSON on stdout, what is on them, and
// whether anything in them leads to a server.
// node exported.mjs CHROMIUM PROFILE_FOLDER FILE... [--shots FOLDER]
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";
import { FLAGS } from "./browser.mjs";

const args = process.argv.slice(2);
const at = args.indexOf("--shots");
const shots = at < 0 ? null : args.splice(at, 2)[1];
const [executablePath, profile, ...files] = args;

/** Runs in the page: its tables row by row, its words, and what could be followed. */
function inspect() {
  const words = (element) => element.innerText.replace(/\s+/g, " ").trim();
  for (const details of document.querySelectorAll("details")) details.open = true;
  return {
    title: document.title,
    text: words(document.body),
    rows: [...document.querySelectorAll("tr")].map(words),
    charts: [...document.querySelectorAll(".chart")].map((chart) => ({
      name: chart.getAttribute("aria-label"),
      marks: chart.querySelectorAll("svg path, svg rect, svg circle").length,
    })),
    links: [...document.querySelectorAll("a[href]")]
      .map((link) => link.getAttribute("href"))
      .filter((href) => !href.startsWith("#")),
    overflow_px: document.documentElement.scrollWidth - document.documentElement.clientWidth,
  };
}

/** Follows what was a link, and shows the page another way; what that does to it. */
async function use(page) {
  const drawn = () => page.evaluate(() => document.querySelector(".chart svg")?.innerHTML ?? "");
  const heading = () => page.locator("h1").innerText();
  const [before, head] = [await drawn(), await heading()];
  const dead = page.locator("main a:not([href])").first();
  if (await dead.count()) await dead.click({ force: true });
  const box = page.getByLabel("logarithmic");
  const logarithmic = (await box.count()) > 0;
  if (logarithmic) await box.first().click();
  return {
    stays: head === (await heading()) && (await page.locator(".failure").count()) === 0,
    redrawn: logarithmic ? before !== (await drawn()) : null,
  };
}

const context = await chromium.launchPersistentContext(profile, {
  executablePath,
  headless: true,
  args: FLAGS,
  offline: true,
});
const findings = [];
try {
  // One tab for all: a tab costs the browser more than what it shows.
  const page = await context.newPage();
  const problems = [];
  let url = "";
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) problems.push(message.text());
  });
  page.on("pageerror", (error) => problems.push(String(error)));
  page.on("request", (request) => {
    if (request.url() !== url) problems.push(`request: ${request.url()}`);
  });
  for (const file of files) {
    for (const [width, colorScheme] of [
      [1440, "light"],
      [390, "dark"],
    ]) {
      problems.length = 0;
      url = pathToFileURL(file).href;
      await page.setViewportSize({ width, height: 900 });
      await page.emulateMedia({ colorScheme });
      await page.goto(url, { waitUntil: "load" });
      await page.waitForSelector("main h1", { timeout: 60_000 });
      if (shots) {
        const name = `${basename(file, ".html")}-${width}-${colorScheme}.png`;
        await page.screenshot({ path: join(shots, name), fullPage: true });
      }
      const finding = { file: basename(file), width, ...(await page.evaluate(inspect)) };
      findings.push({ ...finding, ...(await use(page)), problems: [...problems] });
    }
  }
} finally {
  await context.close();
}
console.log(JSON.stringify(findings));
