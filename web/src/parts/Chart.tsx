// A chart of ECharts that follows its width, light and dark, and paper.
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
import { useEffect, useLayoutEffect, useRef, useState } from "react";
import { useLocation } from "wouter";
import { type Chosen, type Drawing, type View, viewOf } from "../charts/view";
import { exported } from "../data";
import { useSearch, useTheme } from "../state";
import { trialsAt } from "../url";

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

export type { Chosen, Drawing, View } from "../charts/view";

const PRINT_WIDTH_PX = 680; // an A4 page between its margins

/** Paper is white and narrow, whatever the screen is. */
function onPaper(element: HTMLElement, redraw: () => void): () => void {
  const root = document.documentElement;
  let before: string | undefined;
  const print = () => {
    before = root.dataset.theme;
    root.dataset.theme = "light";
    element.style.width = `${PRINT_WIDTH_PX}px`;
    redraw();
  };
  const printed = () => {
    if (before === undefined) delete root.dataset.theme;
    else root.dataset.theme = before;
    element.style.removeProperty("width");
    redraw();
  };
  window.addEventListener("beforeprint", print);
  window.addEventListener("afterprint", printed);
  return () => {
    window.removeEventListener("beforeprint", print);
    window.removeEventListener("afterprint", printed);
  };
}

/**
 * Draws what `draw` gives for the view; null says that nothing known can be drawn. Keep `draw` the
 * same function while its data are the same (useCallback): a new one draws anew.
 */
export function Chart({
  label,
  draw,
  nothing: why = "Nothing to draw: no value is known. The table gives the reasons.",
  onSelect,
}: {
  label: string;
  draw: (view: View) => Drawing;
  /** The text where there is nothing to draw. */
  nothing?: string | undefined;
  onSelect?: ((chosen: Chosen) => void) | undefined;
}) {
  const place = useRef<HTMLDivElement>(null);
  const chart = useRef<EChartsType | null>(null);
  const [search] = useSearch();
  const [, navigate] = useLocation();
  const behind = useRef<NonNullable<Drawing>["behind"]>(undefined);
  const select = useRef(onSelect);
  select.current = (chosen) => {
    const values = behind.current?.(chosen);
    if (onSelect) onSelect(chosen);
    else if (values && !exported) navigate(trialsAt(search, values));
  };
  const [theme] = useTheme();
  const [width, setWidth] = useState(0);
  const [nothing, setNothing] = useState(false);

  useEffect(() => {
    const element = place.current;
    if (!element) return;
    const watch = new ResizeObserver(() => setWidth(element.clientWidth));
    watch.observe(element);
    return () => watch.disconnect();
  }, []);

  // biome-ignore lint/correctness/useExhaustiveDependencies: width and theme change the view
  useLayoutEffect(() => {
    const element = place.current;
    if (!element) return;
    const redraw = () => {
      const drawing = element.clientWidth > 0 ? draw(viewOf(element)) : null;
      behind.current = drawing?.behind;
      setNothing(drawing === null && element.clientWidth > 0);
      element.style.height = drawing ? `${drawing.height}px` : "0";
      if (!drawing) {
        chart.current?.clear();
        return;
      }
      if (!chart.current) {
        chart.current = init(element, null, { renderer: "svg", height: drawing.height });
        chart.current.on("click", ({ seriesIndex, dataIndex }) =>
          select.current?.({ seriesIndex: seriesIndex ?? 0, dataIndex }),
        );
      }
      chart.current.resize({ width: element.clientWidth, height: drawing.height });
      chart.current.setOption(drawing.option, { notMerge: true });
    };
    redraw();
    return onPaper(element, redraw);
  }, [draw, width, theme]);

  useEffect(
    () => () => {
      chart.current?.dispose();
      chart.current = null;
    },
    [],
  );

  return (
    <>
      <div className="chart" role="img" aria-label={label} ref={place} />
      {nothing && <p className="nothing">{why}</p>}
    </>
  );
}
