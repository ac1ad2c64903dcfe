// Draws a page's charts into the places it left for them, and follows its light and dark.
import { type EChartsType, init } from "echarts/core";
import { type Drawing, type View, viewOf } from "./view";

/** What a page can draw: `data-kind` of a place -> its chart, from the page's JSON island. */
export type Kinds<Data> = Record<string, (data: Data, view: View, index: number) => Drawing>;

const PRINT_WIDTH_PX = 680; // an A4 page between its margins

const drawn = new Map<HTMLElement, EChartsType>();

function draw<Data>(element: HTMLElement, data: Data, kinds: Kinds<Data>): void {
  const kind = kinds[element.dataset.kind ?? ""];
  const drawing = kind?.(data, viewOf(element), Number(element.dataset.index));
  drawn.get(element)?.dispose();
  drawn.delete(element);
  element.replaceChildren();
  if (!drawing) {
    const nothing = document.createElement("p");
    nothing.className = "nothing";
    nothing.textContent = "Nothing known to draw; the table gives the reasons.";
    element.append(nothing);
    element.style.height = "auto";
    return;
  }
  element.style.height = `${drawing.height}px`;
  const chart = init(element, null, { renderer: "svg", height: drawing.height });
  chart.setOption(drawing.option);
  drawn.set(element, chart);
}

/** Calls `all` when the page's width, its light and dark, or its paper changes. */
function follow(all: () => void, places: HTMLElement[]): void {
  const root = document.documentElement;
  let width = root.clientWidth;
  let waiting = 0;
  window.addEventListener("resize", () => {
    window.clearTimeout(waiting);
    waiting = window.setTimeout(() => {
      // Phones fire resize when their address bar hides; only the width matters here.
      if (root.clientWidth === width) return;
      width = root.clientWidth;
      all();
    }, 120);
  });

  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ?? (dark.matches ? "dark" : "light")) === "dark";
  const button = document.getElementById("theme");
  const name = () => {
    if (button) button.textContent = isDark() ? "Light" : "Dark";
  };
  if (button) {
    button.hidden = false;
    button.addEventListener("click", () => {
      root.dataset.theme = isDark() ? "light" : "dark";
      name();
      all();
    });
  }
  name();
  dark.addEventListener("change", () => {
    name();
    all();
  });

  // Paper is white and narrow, whatever the screen is.
  let before: string | undefined;
  window.addEventListener("beforeprint", () => {
    before = root.dataset.theme;
    root.dataset.theme = "light";
    for (const place of places) place.style.width = `${PRINT_WIDTH_PX}px`;
    all();
  });
  window.addEventListener("afterprint", () => {
    if (before === undefined) delete root.dataset.theme;
    else root.dataset.theme = before;
    for (const place of places) place.style.removeProperty("width");
    all();
  });
}

/** Draws every chart of the page now and whenever it must look different. */
export function start<Data>(kinds: Kinds<Data>): void {
  const island = document.getElementById("charts");
  if (!island) return;
  const data = JSON.parse(island.textContent ?? "") as Data;
  const places = [...document.querySelectorAll<HTMLElement>(".chart")];
  const all = () => {
    for (const place of places) draw(place, data, kinds);
  };
  all();
  follow(all, places);
}
