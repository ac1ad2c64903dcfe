// The charts of the advice and simulation pages.
import { CustomChart } from "echarts/charts";
import { GridComponent, TooltipComponent } from "echarts/components";
import { use } from "echarts/core";
import { SVGRenderer } from "echarts/renderers";
import type { AdviceCharts } from "./advice-data";
import { bars } from "./charts/bars";
import { histogram, nodes } from "./charts/histogram";
import { pareto } from "./charts/pareto";
import { start } from "./page";

use([CustomChart, GridComponent, SVGRenderer, TooltipComponent]);

start<AdviceCharts>({ bars, histogram, nodes, pareto });
