// What a reader does with the served pages, a function a scene; each gives back what was on the
// screen and what the interface says at that moment.
import { join } from "node:path";
import { cells, drawn, open } from "./browser.mjs";

const here = (page) => {
  const { pathname, search } = new URL(page.url());
  return pathname + search;
};

/** The list of trials that is shown, and the interface's to the same question. */
async function list({ page, ask }) {
  const shown = await page
    .locator("table.trials tbody th[scope=row] a")
    .evaluateAll((links) => links.map((link) => link.title));
  const { rows, total } = await ask(`/api${here(page)}`);
  return {
    url: here(page),
    shown,
    said: await page.locator("main p[role=status]").first().innerText(),
    ids: rows.map(({ id }) => id),
    total,
  };
}

const facet = (page, key, value) =>
  page
    .locator("details.facet", { has: page.locator("summary", { hasText: key }) })
    .locator("label", { hasText: value })
    .first();

async function tick(scene, key, value) {
  const { page, settled } = scene;
  const box = page
    .locator("details.facet", { has: page.locator("summary", { hasText: key }) })
    .first();
  if (!(await box.evaluate((details) => details.open))) await box.locator("summary").click();
  await facet(page, key, value).click();
  await settled();
}

async function add({ page, settled }, text) {
  await page.locator(".entry input").fill(text);
  await page.keyboard.press("Enter");
  await settled();
}

async function filters(scene) {
  const { page, job, settled, go } = scene;
  await go(`${job.server}/trials`);
  const all = await list(scene);
  await tick(scene, "source", job.source);
  const one = await list(scene);
  await tick(scene, "disk", "SSD");
  const two = await list(scene);
  const facets = await page
    .locator("details.facet", { has: page.locator("summary", { hasText: "disk" }) })
    .locator("li")
    .evaluateAll((items) => items.map((item) => item.innerText.split("\n").map((t) => t.trim())));
  const asked = new URLSearchParams(new URL(page.url()).search);
  const counted = await scene.ask(`/api/facets?${asked}&key=disk`);
  await add(scene, "elapsed_s<300");
  const three = await list(scene);
  await add(scene, "no such thing");
  const wrong = await page.locator(".wrong").innerText();
  await add(scene, "terasrt");
  const near = await page.locator(".wrong").innerText();
  await page.locator(".wrong button").click();
  await settled();
  const taken = here(page);
  await page.locator("ul.chips button", { hasText: "workload=terasort" }).click();
  await settled();
  await page.locator("ul.chips button", { hasText: "disk=SSD" }).click();
  await settled();
  return { all, one, two, three, four: await list(scene), wrong, near, taken, facets, counted };
}

async function sorting(scene) {
  const { page, job, settled, go } = scene;
  await go(`${job.server}/trials`);
  const time = page.locator("th button.sort", { hasText: "time" });
  const steps = [];
  for (let press = 0; press < 2; press++) {
    await time.click();
    await settled();
    const order = await page.locator("th[aria-sort]").getAttribute("aria-sort");
    steps.push({ ...(await list(scene)), order });
  }
  return { steps };
}

async function paging(scene) {
  const { page, job, settled, go } = scene;
  await go(`${job.server}/trials?sort=elapsed_s&desc=0`);
  const first = await list(scene);
  await page.locator("button", { hasText: "Next 50" }).click();
  await settled();
  const second = await list(scene);
  await page.goBack();
  await settled();
  const back = await list(scene);
  await page.goForward();
  await settled();
  const forth = await list(scene);
  await page.locator("button", { hasText: "First page" }).click();
  await settled();
  return { first, second, back, forth, again: await list(scene) };
}

async function columns({ page, job, settled, go, ask }) {
  await go(`${job.server}/trials`);
  const heads = () =>
    page
      .locator("table.trials thead th:not(.tick)")
      .evaluateAll((all) => all.map((head) => head.innerText.replace(/[↑↓]/g, "").trim()));
  const before = await heads();
  await page.locator("summary", { hasText: "Columns" }).click();
  const box = page.locator("ul.columns label", { hasText: /^repetition$/ });
  await box.click();
  await settled();
  const after = await heads();
  const at = after.indexOf("repetition");
  const shown = await page
    .locator("table.trials tbody tr")
    .evaluateAll((rows, place) => rows.map((row) => row.children[place].innerText), at + 1);
  const { rows } = await ask("/api/trials");
  await page.locator("button", { hasText: "Default columns" }).click();
  await settled();
  const values = rows.map(({ repetition }) => String(repetition));
  return { before, after, shown, values, usual: await heads() };
}

async function compare(scene) {
  const { page, job, settled, go, ask } = scene;
  await go(`${job.server}/trials?${job.lab}&where=warm_up%3Dfalse&sort=elapsed_s&desc=0`);
  const boxes = page.locator("td.tick input");
  const last = (await boxes.count()) - 1;
  await boxes.nth(0).click();
  await boxes.nth(last).click();
  await settled();
  const picked = await page.locator("table.trials tr.picked").count();
  await page.locator("a.button", { hasText: "Compare their repeat groups" }).click();
  await settled();
  const focus = await page.evaluate(() => document.activeElement.tagName);
  const verdicts = await page.locator("ul.verdicts p").allInnerTexts();
  return {
    picked,
    focus,
    verdicts,
    ...(await chartsOf(scene)),
    answer: await ask(`/api${here(page)}`),
  };
}

/** Every chart of the page and every table under one, as they are. */
async function chartsOf({ page }) {
  const charts = await page.locator(".chart").all();
  await page.locator("details.twin").evaluateAll((all) => {
    for (const twin of all) twin.open = true;
  });
  const tables = await page.locator("details.twin table").all();
  return {
    charts: await Promise.all(charts.map((chart) => chart.evaluate(drawn))),
    tables: await Promise.all(tables.map((table) => table.evaluate(cells))),
  };
}

/** What the tooltip says with the pointer on each dot of the first chart. */
async function hover({ page }, most = 4) {
  const said = [];
  const chart = page.locator(".chart").first();
  await chart.scrollIntoViewIfNeeded();
  const { dots } = await chart.evaluate(drawn);
  for (const { x, y } of dots.slice(0, most)) {
    await page.mouse.move(x, y);
    await page.waitForTimeout(60);
    const tip = chart.locator(".tip");
    said.push((await tip.count()) ? await tip.innerText() : null);
  }
  return said;
}

/** A page of an analysis: its charts, tables and tooltips beside what the interface says. */
const analysis = (path) => async (scene) => {
  const { page, job, go, ask } = scene;
  await go(job.server + job.pages[path]);
  // The pointer raises what it touches: charts are read before.
  const found = await chartsOf(scene);
  return { ...found, said: await hover(scene), answer: await ask(`/api${here(page)}`) };
};

const ranked = (page) => page.locator(".standings table").evaluate(cells);

async function prices(scene) {
  const { page, job, settled, go, ask } = scene;
  await go(job.server + job.pages.cost);
  const step = async () => ({
    ...{
      url: here(page),
      table: await ranked(page),
      verdict: (await page.locator("p.verdict").allInnerTexts()).join(" "),
    },
    ...{
      answer: await ask(`/api${here(page)}`),
      chart: await page.locator(".chart").first().evaluate(drawn),
    },
  });
  const before = await step();
  const price = page.getByLabel("US$ per hour added where disk is SSD");
  await price.fill("9");
  await page.waitForURL(/SSD%3A9/);
  await settled();
  const edited = await step();
  await price.fill("nine");
  const invalid = await price.getAttribute("aria-invalid");
  await page.reload();
  await settled();
  return { before, edited, invalid, reloaded: await step() };
}

async function permalinks(scene) {
  const { page, job, browser, settled, go } = scene;
  const text = (of) => of.locator("main").innerText();
  const states = [];
  const again = async () => {
    const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
    const fresh = await open(context);
    await fresh.go(page.url());
    const same = { url: here(page), shown: await text(page), reopened: await text(fresh.page) };
    await context.close();
    states.push(same);
  };
  await go(`${job.server}/trials?${job.lab}`);
  await tick(scene, "disk", "SSD");
  await page.locator("th button.sort", { hasText: "time" }).click();
  await settled();
  await page.locator("td.tick input").first().click();
  await settled();
  await again();
  await go(job.server + job.pages.compare);
  await page.getByLabel("Show", { exact: true }).selectOption("shares");
  await page.getByLabel("logarithmic").click();
  await settled();
  await again();
  return { states };
}

async function save(page, job, name, press) {
  const [download] = await Promise.all([page.waitForEvent("download"), press()]);
  const path = join(job.downloads, name);
  await download.saveAs(path);
  return { path, suggested: download.suggestedFilename() };
}

async function downloads({ page, job, go, ask }) {
  await go(job.server + job.pages.cost);
  await page.locator("details.twin > summary").click();
  const press = () => page.locator("button", { hasText: "Download as CSV" }).click();
  const twin = await save(page, job, "twin.csv", press);
  const table = await page.locator("details.twin table").evaluate(cells);
  await go(`${job.server}/trials?${job.lab}`);
  await page.locator("summary", { hasText: "Download these trials" }).click();
  const files = {};
  for (const format of ["NDJSON", "CSV", "Parquet", "Whole records"]) {
    const link = page.locator("a.button", { hasText: format });
    files[format] = await save(page, job, `selection.${format}`, () => link.click());
  }
  await go(job.server + job.pages.trial);
  const log = page.locator("a", { hasText: "agent.log" });
  const file = await save(page, job, "agent.log", () => log.click());
  const { total } = await ask(`/api/trials?${job.lab}`);
  return { twin, table, files, file, total };
}

/** Walks through the page with the Tab key; what has the focus, and whether one sees it. */
async function walk(page, most, last = "") {
  const steps = [];
  for (let press = 0; press < most; press++) {
    await page.keyboard.press("Tab");
    const step = await page.evaluate(() => {
      const at = document.activeElement;
      const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(at);
      const box = at.getBoundingClientRect();
      const name = at.getAttribute("aria-label") || at.labels?.[0]?.innerText || at.innerText;
      return {
        ...{ tag: at.tagName, type: at.type ?? null, kind: String(at.className), name },
        seen:
          (outlineStyle !== "none" && Number.parseFloat(outlineWidth) > 0) || boxShadow !== "none",
        inside: box.bottom > 0 && box.top < window.innerHeight,
      };
    });
    if (step.tag === "BODY") break;
    steps.push(step);
    if (last && step.name.startsWith(last)) break;
  }
  return steps;
}

async function keyboard(scene) {
  const { page, job, settled, go } = scene;
  await page.emulateMedia({ reducedMotion: "reduce" }); // the page follows the focus at once
  await go(`${job.server}/trials?${job.lab}`);
  await page.keyboard.press("Tab");
  const skip = await page.evaluate(() => {
    const { left, top, width } = document.activeElement.getBoundingClientRect();
    return { text: document.activeElement.innerText, seen: left >= 0 && top >= 0 && width > 20 };
  });
  await page.keyboard.press("Enter");
  const skipped = await page.evaluate(() => document.activeElement.id);
  const steps = await walk(page, 90, "Pick 01");
  const before = await list(scene);
  const disk = page.locator("details.facet", { has: page.locator("summary", { hasText: "disk" }) });
  await disk.locator("summary").focus();
  await page.keyboard.press("Enter");
  await disk.locator("input").first().focus();
  await page.keyboard.press("Space");
  await settled();
  const ticked = await list(scene);
  await page.locator("th button.sort", { hasText: "time" }).focus();
  await page.keyboard.press("Enter");
  await settled();
  const sorted = await list(scene);
  await go(job.server + job.pages.cost);
  const cost = await walk(page, 60, "Table: ");
  const summary = page.locator("details.twin > summary");
  await summary.focus();
  await page.keyboard.press("Enter");
  const opened = await page.locator("details.twin").evaluate((details) => details.open);
  const twin = await walk(page, 40, "Download");
  await page.getByLabel("logarithmic").focus();
  await page.keyboard.press("Space");
  await settled();
  return {
    skip,
    skipped,
    steps,
    before,
    ticked,
    sorted,
    cost,
    opened,
    twin,
    heads: await page.locator("details.twin thead th").allInnerTexts(),
    log: here(page),
  };
}

/** Stages and the host on one time axis: as drawn, at a moment under the pointer, and a part. */
async function stages({ page, job, settled, go, ask }) {
  await go(job.server + job.pages.job);
  const chart = page.locator(".chart").first();
  await chart.evaluate((element) => element.scrollIntoView({ behavior: "instant" }));
  const whole = await chart.evaluate(drawn);
  const find = (text) => whole.words.find((word) => word.text.startsWith(text));
  const tips = {};
  for (const [name, x, y] of [
    ["moment", find("16 s").x, find("CPU, %").y + 60],
    ["stage", find("16 s").x, find("3 collect").y],
  ]) {
    await page.mouse.move(x, y);
    await page.waitForTimeout(60);
    tips[name] = await chart.locator(".tip").innerText();
  }
  await page.mouse.move(0, 0);
  const show = page.getByLabel("Show", { exact: true });
  await show.focus();
  await page.keyboard.press("ArrowDown");
  await settled();
  const first = here(page);
  await show.selectOption({ label: "3 collect at records.py:89" });
  await settled();
  const part = await chart.evaluate(drawn);
  const url = here(page);
  await page.reload();
  await settled();
  const again = await chart.evaluate(drawn);
  await page.locator("details.twin > summary").first().click();
  const table = await page.locator("details.twin table").first().evaluate(cells);
  const [id] = job.pages.job.split("/").slice(-1);
  const asked = await Promise.all(
    ["job", "series"].map((each) => ask(`/api/trials/${id}/${each}`)),
  );
  const words = (of) => of.words.map(({ text }) => text);
  return {
    ...{ whole, part, tips, first, url, table, job: asked[0], series: asked[1] },
    same: words(part).join() === words(again).join(),
  };
}

/** Goes over the map of a job's tasks with keys alone. */
async function tasks({ page, job, settled, go }) {
  await go(job.server + job.pages.job);
  const map = page.locator(".task-map");
  const tip = map.locator(".tip");
  await page.getByRole("button", { name: "Later" }).focus(); // "Show all" after it is disabled yet
  await page.keyboard.press("Tab");
  const reached = await map.evaluate((element) => element === document.activeElement);
  const ring = await map.evaluate((element) => getComputedStyle(element).outlineStyle);
  const picture = () => map.locator("canvas").evaluate((canvas) => canvas.toDataURL());
  const pictures = [await picture()];
  const told = [];
  for (const key of ["ArrowRight", "ArrowDown", "ArrowDown", "ArrowDown"]) {
    for (let press = 0; press < (key === "ArrowRight" ? 20 : 1); press++) {
      await page.keyboard.press(key);
    }
    told.push((await tip.isVisible()) ? await tip.innerText() : "");
    pictures.push(await picture());
  }
  const whole = here(page);
  const urls = [];
  for (const key of ["Enter", "Escape", "Enter"]) {
    await page.keyboard.press(key);
    await settled();
    urls.push(here(page));
  }
  const [, back, closer] = urls;
  await page.getByRole("button", { name: "Zoom out" }).focus();
  await page.keyboard.press("Enter");
  await settled();
  const farther = here(page);
  await page.getByRole("button", { name: "Show all" }).focus();
  await page.keyboard.press("Enter");
  await settled();
  const again = here(page);
  await go(job.server + job.pages.planned);
  const finding = page.locator(".findings > li", { hasText: "uneven partitions" });
  await finding.locator("summary").click();
  const place = finding.locator("details a");
  const evidence = await place.innerText();
  await place.click();
  await settled();
  const stage = await page.getByLabel("Tasks of").inputValue();
  return {
    ...{ reached, ring, told, whole, back, closer, farther, again },
    cursors: new Set(pictures).size,
    seen: [evidence, stage],
  };
}

async function errors({ page, job, settled, go, problems }) {
  const met = {};
  const paths = {
    condition: "/trials?where=nonsense",
    trial: "/trials/unknown",
    key: "/cost?by=disk&usd_per_hour=dear",
    nothing: "/trials?where=hosts%3D77",
    page: "/no-such-page",
    group: "/compare?by=disk&group=%5B%22none%22%5D&group=%5B%22SSD%22%5D",
  };
  for (const [name, path] of Object.entries(paths)) {
    await go(job.server + path);
    met[name] = {
      alerts: await page.locator("[role=alert]").allInnerTexts(),
      text: await page.locator("main").innerText(),
    };
  }
  await go(`${job.server}/trials?where=nonsense`);
  await page.locator("ul.chips button", { hasText: "nonsense" }).click();
  await settled();
  const mended = await page.locator("main p[role=status]").first().innerText();
  // The browser itself notes the answers 404 and 422.
  const noted = problems.filter((text) => !/status of 4(04|22)/.test(text));
  problems.length = 0;
  return { met, mended, noted };
}

/** From the first page to an answer, and to the trials behind it: two clicks. */
async function lead(scene) {
  const { page, job, settled, go, ask } = scene;
  await go(job.server);
  const told = await ask("/api/start");
  const questions = await page.locator("dl.answers dt").allInnerTexts();
  const answers = await page.locator("dl.answers p.first").allInnerTexts();
  const recent = await page.locator("table.trials tbody th a").count();
  await page.locator('dl.answers a[href="/effect?key=disk"]').click();
  await settled();
  const verdict = (await page.locator("p.verdict").allInnerTexts()).join(" ");
  await page.locator("a", { hasText: "The trials behind this result" }).click();
  await settled();
  return { told, questions, answers, recent, verdict, behind: await list(scene) };
}

/** From a group to its trials: by its name in the table, and by its bubble. */
async function behind(scene) {
  const { page, job, settled, go, ask } = scene;
  const asked = job.pages.cost;
  const { groups } = await ask(`/api${asked}`);
  await go(job.server + asked);
  const table = page.locator(".ranked table");
  const heads = await table.locator("thead th").allInnerTexts();
  const column = (at) =>
    table
      .locator("tbody tr")
      .evaluateAll((rows, place) => rows.map((row) => row.children[place].innerText), at);
  const at = heads.indexOf("median time");
  const orders = [await column(at)];
  for (let press = 0; press < 2; press++) {
    await table.locator("thead button", { hasText: "median time" }).click();
    orders.push(await column(at));
  }
  const sorted = await table.locator("th[aria-sort]").getAttribute("aria-sort");
  await go(job.server + asked);
  await table.locator("tbody a").first().click();
  await settled();
  const named = await list(scene);
  await go(job.server + asked);
  await page
    .locator(".chart")
    .evaluate((chart) => chart.scrollIntoView({ behavior: "instant", block: "center" }));
  // The chart may be drawn anew while the page scrolls: only a dot that stays is pressed.
  const first = async () => (await page.locator(".chart").evaluate(drawn)).dots[0];
  // On a busy machine it may be drawn anew between the look and the press: then it is pressed again.
  for (let left = 5; !/\/trials/.test(page.url()); left--) {
    let dot;
    for (let before = null; !dot || before?.x !== dot.x || before?.y !== dot.y; ) {
      before = dot;
      await settled();
      dot = await first();
    }
    await page.mouse.click(dot.x, dot.y);
    await page.waitForURL(/\/trials/, { timeout: 15_000 }).catch((late) => {
      if (left === 0) throw late;
    });
  }
  await settled();
  return { groups, orders, sorted, named, drawn: await list(scene) };
}

/** The server goes away while its pages are read, and comes back. */
async function gone({ page, context, job, settled, go, problems }) {
  await go(`${job.server}/trials?${job.lab}`);
  const rows = await page.locator("table.trials tbody tr").count();
  await context.setOffline(true);
  await page.locator("nav a", { hasText: "Exclusions" }).click();
  await page.waitForSelector("main .failure");
  const away = await page.locator("main").innerText();
  await page.goBack();
  await page.waitForSelector("table.trials");
  const kept = {
    sign: await page.locator(".gone").innerText(),
    rows: await page.locator("table.trials tbody tr").count(),
  };
  await context.setOffline(false);
  await page.waitForSelector(".gone", { state: "detached" });
  await settled();
  const noted = problems.filter((text) => !/INTERNET_DISCONNECTED|^failed: /.test(text));
  problems.length = 0;
  return { rows, away, kept, noted };
}

async function theme({ page, job, go }) {
  await page.emulateMedia({ colorScheme: "light" });
  await go(job.server + job.pages.cost);
  const look = () =>
    page.evaluate(() => ({
      background: getComputedStyle(document.body).backgroundColor,
      grid: document.querySelector(".chart svg path").getAttribute("stroke"),
      button: document.querySelector("#theme").innerText,
    }));
  const light = await look();
  await page.locator("#theme").click();
  const dark = await look();
  await page.reload();
  await page.waitForSelector(".chart svg path", { state: "attached" });
  const kept = await look();
  await page.locator("#theme").click();
  return { light, dark, kept, back: await look() };
}

async function history(scene) {
  const { page, job, settled, go } = scene;
  await go(`${job.server}/trials?${job.lab}`);
  await page.locator("nav a", { hasText: "Compare" }).click();
  await settled();
  const urls = [here(page)];
  await page.locator("nav a", { hasText: "Effects" }).click();
  await settled();
  await page.locator("button.chip", { hasText: /^disk/ }).click();
  await settled();
  urls.push(here(page));
  const titles = [await page.title()];
  for (const way of ["goBack", "goBack", "goForward", "goForward"]) {
    await page[way]();
    await settled();
    urls.push(here(page));
    titles.push(await page.title());
  }
  return { urls, titles, charts: await page.locator(".chart svg").count() };
}

async function login({ page, context, job, settled, problems }) {
  await page.goto(`${job.locked}/trials`);
  await page.waitForSelector("input[type=password]");
  const links = await page.locator("nav a").count();
  const enter = async (token) => {
    await page.fill("input[type=password]", token);
    await page.keyboard.press("Enter");
  };
  await enter("not-the-token-0123456789");
  const refused = await page.locator("[role=alert]").innerText();
  await enter(job.token);
  await page.waitForSelector("nav a");
  await settled();
  const stored = await page.evaluate(() => JSON.stringify(localStorage) + document.cookie);
  const cookies = (await context.cookies()).map(({ httpOnly, sameSite }) => ({
    httpOnly,
    sameSite,
  }));
  const tools = await page.locator(".tools summary").allInnerTexts();
  const noted = problems.filter((text) => !/status of 401/.test(text));
  problems.length = 0;
  const text = await page.locator("main").innerText();
  return { links, refused, stored, cookies, tools, noted, text, url: page.url() };
}

async function starter({ page, job, settled, go }) {
  await go(job.empty);
  const before = await page.locator("main").innerText();
  const begun = Date.now();
  await page.locator("button", { hasText: "Import the published tables" }).click();
  await page.waitForSelector("#imported");
  const said = await page.locator("#imported").innerText();
  await page.locator("main a", { hasText: "SSDs and InfiniBand" }).click();
  await page.waitForSelector(".chart svg path", { state: "attached" });
  await settled();
  const elapsed_ms = Date.now() - begun;
  const chart = await page.locator(".chart").first().evaluate(drawn);
  const table = await ranked(page);
  const status = await (await page.request.get(`${job.empty}/api/status`)).json();
  await go(job.empty);
  return {
    before,
    said,
    elapsed_ms,
    dots: chart.dots.length,
    table,
    status,
    after: await page.locator("main").innerText(),
  };
}

async function exclusion(scene) {
  const { page, job, settled, go, ask } = scene;
  const compared = async () => {
    await go(job.server + job.pages.compare);
    const groups = (await ask(`/api${here(page)}`)).groups.map(({ elapsed_s }) => elapsed_s.n);
    const [heads, ...rows] = await page
      .locator("details.twin")
      .first()
      .evaluate((details) => {
        details.open = true;
        return [...details.querySelectorAll("tr")].map((r) =>
          [...r.children].map((c) => c.innerText),
        );
      });
    return { groups, shown: rows.map((row) => Number(row[heads.indexOf("n")])) };
  };
  const before = await compared();
  const rule = `/trials?${job.lab}&where=disk%3DSSD&where=net%3DIB&where=repetition%3C4`;
  await go(job.server + rule);
  const covered = await list(scene);
  await page.locator("summary", { hasText: "Exclude this selection" }).click();
  const form = page.locator("details.more[open] form");
  await form.getByLabel("Reason").fill("the clock was wrong");
  await form.getByLabel("Your name").fill("Ada");
  await form.locator("button[type=submit]").click();
  // That it is done is said, and is said still when the list has been asked for again.
  await page.locator("main p[role=status]", { hasText: /^0 trials/ }).waitFor();
  await page.waitForSelector(".done");
  await settled();
  const left = await list(scene);
  await page.locator("a", { hasText: "show them" }).click();
  await settled();
  const marked = await page.locator("table.trials .badge.bad").allInnerTexts();
  const during = await compared();
  await go(`${job.server}/exclusions`);
  const listed = await page.locator("main").innerText();
  await page.locator("summary", { hasText: "Revoke" }).click();
  await page.locator("button", { hasText: "Revoke: its trials count again" }).click();
  await page.waitForSelector("section[aria-label=Revoked]");
  await settled();
  const revoked = await page.locator("main").innerText();
  return { covered, left, marked, before, during, listed, revoked, after: await compared() };
}

async function views({ page, job, settled, go }) {
  const path = `/trials?${job.lab}&where=disk%3DSSD&sort=elapsed_s&desc=0`;
  await go(job.server + path);
  const shown = await page.locator("table.trials").innerText();
  await page.locator("summary", { hasText: "Save this view" }).click();
  const form = page.locator("details.more[open] form");
  await form.getByLabel("Name", { exact: true }).fill("fast <b>disks</b>");
  await form.getByLabel("Your name").fill("Ada");
  await form.locator("button[type=submit]").click();
  await page.waitForSelector(".done");
  await page.locator("a.brand").click();
  await settled();
  await page
    .locator("section[aria-label='Saved views'] a", { hasText: "fast <b>disks</b>" })
    .click();
  await settled();
  const opened = { url: here(page), text: await page.locator("table.trials").innerText() };
  await page.locator("a.brand").click();
  await settled();
  await page.getByLabel("Delete the view fast <b>disks</b>").click();
  await page.waitForSelector("section[aria-label='Saved views']", { state: "detached" });
  return { path, shown, opened };
}

/** The network's matrix, and the hosts beside one another, of a trial on many, on a narrow screen. */
async function manyHosts({ page, go, ask }, address, path) {
  await page.setViewportSize({ width: 390, height: 900 });
  await go(address + path);
  const matrix = page.locator("section.scroll:has(> table.heat)");
  const heat = matrix.locator("table.heat");
  const read = await heat.evaluate((table) => {
    const heads = [...table.querySelectorAll("thead th[scope=col]")];
    const tds = [...table.querySelectorAll("tbody td")];
    const colors = new Set(tds.map((td) => getComputedStyle(td).backgroundColor));
    const headed = (td) =>
      td.innerText !== "—" &&
      td.parentElement.firstElementChild.matches("th[scope=row]") &&
      heads[td.cellIndex] !== undefined;
    return { heard: tds.filter(headed).length, colors: colors.size };
  });
  await matrix.focus();
  for (let press = 0; press < 5; press++) await page.keyboard.press("ArrowRight");
  await page.waitForFunction(
    () => document.querySelector("section.scroll:has(> table.heat)").scrollLeft > 0,
  );
  const section = page.locator("section[aria-labelledby=hosts-over-time]");
  await section.locator("details.twin summary").click();
  return {
    ...read,
    matrix: await heat.evaluate(cells),
    label: await matrix.getAttribute("aria-label"),
    scrolled: await matrix.evaluate((element) => element.scrollLeft),
    sentence: await section.locator("> p").innerText(),
    chart: await section.locator(".chart").evaluate(drawn),
    table: await section.locator("details.twin table").evaluate(cells),
    overflow_px: await page.evaluate(
      () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
    ),
    asked: await ask(`/api${path}`),
  };
}

async function hosts(scene) {
  const { page, job, settled } = scene;
  const sixteen = await manyHosts(scene, job.server, job.sixteen);
  const forty = await manyHosts(scene, job.server, job.pages.forty);
  await page.locator("select#device").selectOption("network");
  await settled();
  const chosen = await page.locator("section[aria-labelledby=hosts-over-time] h3").innerText();
  return { sixteen, forty, chosen, url: here(page) };
}

/** Scenes that leave the repository and the browser as they are. */
export const reading = {
  ...{ filters, sorting, paging, columns, compare, prices, permalinks, downloads },
  ...{ lead, behind, stages, hosts, tasks, errors, history },
  cost: analysis("cost"),
  effect: analysis("effect"),
  scaling: analysis("scaling"),
  published: analysis("published"),
};

/** As well, but of what a browser keeps, or what it is set to. */
export const alone = { gone, keyboard, theme, login, starter };

/** Scenes that change it, and leave it as they found it. */
export const changing = { exclusion, views };
