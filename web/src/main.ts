// The report's charts.
import { CustomChart, LineChart, ScatterChart } from "echarts/charts";
import {
  AxisPointerComponent,
  GridComponent,
  MarkLineComponent,
  TitleComponent,
  TooltipComponent,
} from "echarts/components";
import { use } from "echarts/core";
import { LabelLayout } from "echarts/features";
import { SVGRenderer } from "echarts/renderers";
import { latencies, network, rates } from "./charts/devices";
import { prices } from "./charts/prices";
import { predicted, stages } from "./charts/sorts";
import { timeline } from "./charts/timeline";
import type { Charts } from "./data";
import { start } from "./page";

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

start<Charts>({ latencies, network, predicted, prices, rates, stages, timeline });
