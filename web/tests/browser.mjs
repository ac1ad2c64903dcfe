// What the tests of the served pages share: a browser, waiting, and reading what is drawn.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";

export const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--no-proxy-server",
  // Pages follow each other fast: with a process for each, all of them take a tenth longer.
  "--renderer-process-limit=3", // as many as are looked at beside each other
];
// This machine got or lost a network, as when a test makes a lab: requests are made again.
const ELSEWHERE = "net::ERR_NETWORK_CHANGED";
const QUIET_MS = 60;
const MOST_MS = 60_000; // only what hangs takes as long
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

export const launch = (executablePath) => chromium.launch({ executablePath, args: FLAGS });

/** A page that notes all that goes wrong in it, and what it still waits for. */
export async function open(context) {
  const page = await context.newPage();
  const problems = [];
  let waiting = 0;
  page.on("console", (message) => {
    const counts = ["error", "warning"].includes(message.type());
    if (counts && !message.text().includes(ELSEWHERE)) problems.push(message.text());
  });
  page.on("pageerror", (error) => problems.push(String(error)));
  page.on("request", () => {
    waiting += 1;
  });
  page.on("requestfinished", () => {
    waiting -= 1;
  });
  page.on("requestfailed", (request) => {
    waiting -= 1;
    // A question that is not needed any more is given up on purpose.
    const gone = ["net::ERR_ABORTED", ELSEWHERE].includes(request.failure()?.errorText);
    if (!gone) problems.push(`failed: ${request.url()}`);
  });
  page.setDefaultTimeout(MOST_MS);
  const settled = async () => {
    const until = Date.now() + MOST_MS;
    for (let quiet = 0; quiet < 2; ) {
      if (Date.now() > until) throw new Error(`${page.url()} does not come to rest`);
      await page.waitForTimeout(QUIET_MS / 2);
      const busy =
        waiting > 0 ||
        (await page.evaluate(() => document.querySelector("[aria-busy=true], .pending") !== null));
      quiet = busy ? 0 : quiet + 1;
    }
  };
  const go = async (url) => {
    await page.goto(url);
    await page.waitForSelector("main h1");
    await settled();
  };
  return { page, problems, settled, go };
}

/** What axe finds that is serious or worse; `rules` names those that are asked, none: all. */
export async function accessible(page, rules) {
  if (rules?.length === 0) return [];
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(axe);
  return page.evaluate(async (only) => {
    const { violations } = await window.axe.run({
      resultTypes: ["violations"],
      ...(only ? { runOnly: { type: "rule", values: only } } : {}),
    });
    return violations
      .filter(({ impact }) => ["serious", "critical"].includes(impact))
      .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 120)).join(" | ")}`);
  }, rules);
}

/** Runs in the page: what is on it and what leaves it. */
export function inspect() {
  const root = document.documentElement;
  // On a narrow screen a row's cells stand below each other: such a table needs no scrolling.
  const narrow = matchMedia("(max-width: 640px)").matches;
  const scrolls = narrow ? ".scroll:not(:has(> .stacks))" : ".scroll";
  const inside = (e) => e.closest(`${scrolls}, pre, .chart, .visually-hidden, .skip`);
  const name = (element) =>
    element.getAttribute("aria-label") || element.textContent.trim() || element.labels?.length;
  const controls = "a[href], button, summary, select, input, [role=region], [role=img]";
  return {
    title: document.title,
    text: document.body.innerText,
    overflow_px: root.scrollWidth - root.clientWidth,
    beyond: [...document.querySelectorAll("main *")]
      .filter((e) => !inside(e) && e.getBoundingClientRect().right > root.clientWidth + 1)
      .map((e) => e.outerHTML.slice(0, 100)),
    images: document.querySelectorAll("img, iframe, object, embed").length,
    nameless: [...document.querySelectorAll(controls)]
      .filter((e) => e.getClientRects().length > 0 && !name(e))
      .map((e) => e.outerHTML.slice(0, 100)),
    headings: [...document.querySelectorAll("h1, h2, h3, h4")].map((h) => Number(h.tagName[1])),
    failures: [...document.querySelectorAll(".failure")].map((e) => e.innerText),
    charts: [...document.querySelectorAll(".chart")].map((chart) => {
      const frame = chart.getBoundingClientRect();
      const boxes = [...chart.querySelectorAll("svg text")].map((t) => t.getBoundingClientRect());
      return {
        name: chart.getAttribute("aria-label"),
        marks: chart.querySelectorAll("svg path, svg rect, svg circle").length,
        said: chart.parentElement.querySelector(".nothing")?.textContent ?? null,
        twins: chart.parentElement.querySelectorAll("details.twin table").length,
        beyond_px: Math.max(
          0,
          ...boxes.map((b) => Math.max(b.right - frame.right, frame.left - b.left)),
        ),
      };
    }),
  };
}

/** Runs in the page: where a chart's dots and words are, in px of the window. */
export function drawn(chart) {
  const frame = chart.getBoundingClientRect();
  const paths = [...chart.querySelectorAll("svg path")];
  const centre = (element) => {
    const box = element.getBoundingClientRect();
    return { x: box.x + box.width / 2, y: box.y + box.height / 2, width: box.width };
  };
  return {
    name: chart.getAttribute("aria-label"),
    dots: paths.flatMap((path) => {
      const circle = /^M([\d.]+) ([\d.]+)A([\d.]+) \3 0 1 1 /.exec(path.getAttribute("d"));
      if (!circle) return [];
      const [, right, y, radius] = circle.map(Number);
      const fill = path.getAttribute("fill");
      return [{ x: frame.x + right - radius, y: frame.y + y, radius, fill }];
    }),
    words: [...chart.querySelectorAll("svg text")].map((text) => ({
      ...centre(text),
      text: text.textContent,
    })),
    // Circles that are one path, from its first and to its last; their middles.
    swarms: paths.flatMap((path) => {
      const d = path.getAttribute("d");
      const circles = [...d.matchAll(/M([\d.]+) [\d.]+A([\d.]+) \2 0 [01] 0/g)];
      const middles = circles.map(([, left, radius]) => frame.x + Number(left) + Number(radius));
      return middles.length ? [{ fill: path.getAttribute("fill"), middles }] : [];
    }),
    // Whatever is filled, as the box around it.
    boxes: paths
      .filter((path) => !["none", "transparent"].includes(path.getAttribute("fill") ?? "none"))
      .map((path) => {
        const { left, right, top, bottom } = path.getBoundingClientRect();
        return { left, right, top, bottom, fill: path.getAttribute("fill") };
      }),
    // Lines of many points, each as its number of points.
    lines: paths
      .map((path) => path.getAttribute("d").match(/[ML]/g)?.length ?? 0)
      .filter((points) => points > 8),
  };
}

/** The cells of a table, heads first. */
export const cells = (table) =>
  [...table.querySelectorAll("tr")].map((row) =>
    [...row.children].map((cell) => cell.innerText.replace(/\s+/g, " ").trim()),
  );
