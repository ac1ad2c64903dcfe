// Cost against time, one dot per instance type.

import { base, type Drawing, quietAxis, tip, type View } from "../../../../charts/view";
import type { PriceRow, ReportData } from "../../../../generated/types";
import type { Plain } from "../../../../missing";
import { duration, logTicks, usd } from "../../../../units";

const TIME_TICKS_S = [
  60, 120, 300, 600, 1200, 1800, 3600, 7200, 18000, 36000, 86400, 259200, 864000,
];

function shortTime(valueS: number): string {
  if (valueS >= 86400) return `${valueS / 86400} d`;
  if (valueS >= 3600) return `${valueS / 3600} h`;
  return valueS >= 60 ? `${valueS / 60} min` : `${valueS} s`;
}

type Priced = Plain<PriceRow> & { elapsed_s: number; cost_usd: number };
const isPriced = (price: Plain<PriceRow>): price is Priced =>
  price.elapsed_s !== null && price.cost_usd !== null && price.elapsed_s > 0 && price.cost_usd > 0;

function dotTip(known: Priced[]) {
  return (item: { dataIndex: number }) => {
    const price = known[item.dataIndex];
    if (!price) return "";
    const least = price.lower_bound ? "at least " : "";
    return tip(price.instance_type, [
      price.nodes === null ? "" : `${price.nodes.toLocaleString("en-US")} nodes`,
      `${least}${duration(price.elapsed_s)}`,
      `${least}${usd(price.cost_usd)}`,
      price.bottleneck ? `narrowest: ${price.bottleneck}` : "",
    ]);
  };
}

function logAxisOf(view: View) {
  const axis = quietAxis(view);
  return (min: number, max: number, ticks: number[], format: (value: number) => string) => ({
    type: "log",
    min,
    max,
    ...axis,
    splitLine: { show: true, lineStyle: { color: view.color("line") } },
    axisLabel: {
      ...axis.axisLabel,
      formatter: format,
      ...(ticks.length > 0 ? { customValues: ticks } : {}),
    },
    axisTick: { show: false, ...(ticks.length > 0 ? { customValues: ticks } : {}) },
  });
}

export function prices(data: Plain<ReportData>, view: View): Drawing {
  const known = (data.prices ?? []).filter(isPriced);
  if (known.length === 0) return null;
  const around = (values: number[]) => [Math.min(...values) / 1.6, Math.max(...values) * 1.6];
  const [fast = 1, slow = 1] = around(known.map((price) => price.elapsed_s));
  const [cheap = 1, dear = 1] = around(known.map((price) => price.cost_usd));
  const timeTicks = TIME_TICKS_S.filter((tick) => tick >= fast && tick <= slow);
  const logAxis = logAxisOf(view);
  const best = known.reduce((least, price) =>
    !price.lower_bound && (least.lower_bound || price.cost_usd < least.cost_usd) ? price : least,
  );
  return {
    height: view.narrow ? 340 : 380,
    option: {
      ...base(view),
      tooltip: {
        ...(base(view).tooltip as object),
        formatter: dotTip(known),
      },
      grid: { left: 62, right: 20, top: 30, bottom: 44 },
      xAxis: {
        ...logAxis(fast, slow, timeTicks, shortTime),
        name: "time of the sort",
        nameLocation: "middle",
        nameGap: 28,
      },
      yAxis: {
        ...logAxis(
          cheap,
          dear,
          logTicks(cheap, dear),
          (value) => `$${value.toLocaleString("en-US")}`,
        ),
        name: "cost",
        nameLocation: "end",
        nameGap: 12,
      },
      series: [
        {
          type: "scatter",
          symbolSize: 11,
          data: known.map((price) => ({
            value: [price.elapsed_s, price.cost_usd],
            itemStyle: {
              color: price.lower_bound ? view.color("surface") : view.color("measured"),
              borderColor: view.color(price === best ? "throat" : "measured"),
              borderWidth: price === best || price.lower_bound ? 2.5 : 0,
            },
            label: {
              ...(price === best ? { fontWeight: 600 } : {}),
              position: view.narrow
                ? "top"
                : Math.log(price.elapsed_s / fast) > 0.6 * Math.log(slow / fast)
                  ? "left"
                  : "right",
            },
          })),
          label: {
            show: true,
            distance: 7,
            color: view.color("ink"),
            fontSize: 12,
            formatter: (item: { dataIndex: number }) => known[item.dataIndex]?.instance_type ?? "",
          },
          labelLayout: { hideOverlap: true, moveOverlap: "shiftY" },
        },
      ],
    },
  };
}
