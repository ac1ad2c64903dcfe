// Draws the report's charts into the places the page left for them, and follows its light and dark.
import { CustomChart, LineChart, ScatterChart } from "echarts/charts";
import {
  AxisPointerComponent,
  GridComponent,
  MarkLineComponent,
  TitleComponent,
  TooltipComponent,
} from "echarts/components";
import { type EChartsType, init, use } from "echarts/core";
import { LabelLayout } from "echarts/features";
import { SVGRenderer } from "echarts/renderers";
import { latencies, network, rates } from "./charts/devices";
import { prices } from "./charts/prices";
import { predicted, stages } from "./charts/sorts";
import { timeline } from "./charts/timeline";
import type { Charts } from "./data";
import { type Drawing, type View, viewOf } from "./view";

use([
  AxisPointerComponent,
  CustomChart,
  GridComponent,
  LabelLayout,
  LineChart,
  MarkLineComponent,
  ScatterChart,
  SVGRenderer,
  TitleComponent,
  TooltipComponent,
]);

const KINDS: Record<string, (data: Charts, view: View, index: number) => Drawing> = {
  latencies,
  network,
  predicted,
  prices,
  rates,
  stages,
  timeline,
};

const PRINT_WIDTH_PX = 680; // an A4 page between its margins

function draw(element: HTMLElement, data: Charts): void {
  const kind = KINDS[element.dataset.kind ?? ""];
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

const drawn = new Map<HTMLElement, EChartsType>();
const island = document.getElementById("charts");
const root = document.documentElement;

if (island) {
  const data = JSON.parse(island.textContent ?? "") as Charts;
  const places = [...document.querySelectorAll<HTMLElement>(".chart")];
  const all = () => {
    for (const place of places) draw(place, data);
  };
  all();

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
