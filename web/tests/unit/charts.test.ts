import { expect, test } from "vitest";
import { groupName, names, valueName } from "../../src/charts/common";
import { numericCurve, placedValues } from "../../src/charts/numeric-curve";
import { meet } from "../../src/charts/plot";
import { stages } from "../../src/charts/stages";
import type {
  ComparisonData,
  CurveValue,
  Effects,
  NumericCurve,
  RankingData,
  TimeMark,
} from "../../src/generated/types";
import { histogram } from "../../src/pages/machines/simulation/charts";
import { ecdf, ratios } from "../../src/pages/results/compare/charts";
import { costScatter, MOST_BUBBLES } from "../../src/pages/results/cost/charts";
import { effects, perhaps, strata } from "../../src/pages/results/effect/charts";
import { drawn, type Placed, shapes, view } from "./view";

test("groups are named by their values, bytes with their unit", () => {
  expect(valueName("input_bytes", "100000000000")).toBe("100 GB");
  expect(valueName("nodes", 4)).toBe("4");
  expect(groupName([], [])).toBe("all trials");
  expect(groupName(["network", "input_bytes"], ["IB", 2e9])).toBe("IB · 2 GB");
  expect(valueName("io_file_buffer_bytes", "65536")).toBe("64 KiB");
});

test("names beside their places meet neither each other nor a place", () => {
  const frame = { left: 0, top: 0, right: 600, bottom: 400 };
  const places = Array.from({ length: 40 }, (_, at) => ({
    x: 20 + ((at * 137) % 560),
    y: 20 + ((at * 71) % 360),
    radius: 5,
    text: `group ${at}`,
    role: "ink",
  }));
  const texts = names(places, [], [], frame, view()).map(({ style }) => {
    const { text, x, y } = style as { text: string; x: number; y: number };
    return { left: x, top: y - 7, right: x + 7 * text.length, bottom: y + 7 };
  });
  expect(texts.length).toBeGreaterThan(20);
  for (const [at, box] of texts.entries()) {
    expect(texts.slice(at + 1).filter((other) => meet(box, other))).toEqual([]);
  }
});

test("where there is no room a place has no name, unless it must have one", () => {
  const place = { x: 50, y: 50, radius: 5, text: "group", role: "ink" };
  const taken = [{ left: 0, top: 0, right: 100, bottom: 100 }];
  const frame = { left: 0, top: 0, right: 100, bottom: 100 };
  expect(names([place], taken, [], frame, view())).toEqual([]);
  expect(names([{ ...place, must: true }], taken, [], frame, view())).toHaveLength(1);
});

test("ratios to the first have a row each, and the line of no difference is on the scale", () => {
  const first = { name: "ETH", key: ["ETH"], ratio: null, ratio_interval: null, outcome: null };
  const interval = { low: 1.4, high: 2.2, level: 0.95 };
  const second = {
    name: "IB",
    key: ["IB"],
    ratio: 1.6,
    ratio_interval: interval,
    outcome: "higher",
  };
  const third = {
    name: "GE",
    key: ["GE"],
    ratio: 1.1,
    ratio_interval: null,
    outcome: "cannot tell",
  };
  const data = { by: ["net"], groups: [first, second, third] } as unknown as ComparisonData;
  const chart = drawn(ratios(data, view()));
  expect(chart.series[0]?.data).toHaveLength(2);
  const axis = chart.xAxis as unknown as { min: number; max: number };
  expect(axis.min).toBeLessThan(1);
  expect(axis.max).toBeGreaterThan(2.2);
  const alone = { by: ["net"], groups: [first] } as unknown as ComparisonData;
  expect(ratios(alone, view())).toBeNull();
});

test("the share of trials that took no longer goes up by one trial at each time", () => {
  const group = {
    name: "IB",
    key: ["IB"],
    values_s: [30, 10, 20],
    elapsed_s: { n: 3 },
    by_state: {},
  };
  const chart = drawn(
    ecdf({ by: ["net"], groups: [group] } as unknown as ComparisonData, false, view()),
  );
  const [curve] = shapes(chart, 0).filter(({ type }) => type === "polyline");
  const points = curve?.shape?.points as [number, number][];
  const steps = points.map(([x], at) => [x, points[at]?.[1] ?? 0] as const);
  expect(steps).toHaveLength(1 + 2 * 3 + 1);
  for (const [at, [x, y]] of steps.entries()) {
    const before = steps[at - 1];
    if (!before) continue;
    expect(x).toBeGreaterThanOrEqual(before[0]);
    expect(y).toBeLessThanOrEqual(before[1]); // pixels grow downwards
  }
  const heights = [...new Set(steps.map(([, y]) => Math.round(y)))];
  const rises = heights.slice(1).map((y, at) => (heights[at] ?? 0) - y);
  expect(Math.max(...rises) - Math.min(...rises)).toBeLessThanOrEqual(1);
});

const mark = (name: string, at_s: number): TimeMark => ({ name, kind: "quantile", at_s });

test("bins are as high as their shares, and as wide as their times", () => {
  const of = { edges_s: [10, 20, 40, 60], counts: [1, 3, 0] };
  const chart = drawn(histogram(of, [], view()));
  const bars = shapes(chart, 0).filter(({ type }) => type === "rect" || type === "polygon");
  const [first, second] = bars.map(({ shape }) => shape as Record<string, number>);
  expect((second?.width ?? 0) / (first?.width ?? 1)).toBeCloseTo(2, 0);
  expect((second?.height ?? 0) / (first?.height ?? 1)).toBeCloseTo(3, 0);
});

test("names of marks that stand close together get rows of their own", () => {
  const of = { edges_s: [0, 100], counts: [5] };
  const height = (marks: TimeMark[]) => {
    const texts = shapes(drawn(histogram(of, marks, view())), 1).filter(
      ({ type }) => type === "text",
    );
    return new Set(texts.map(({ style }) => style?.y)).size;
  };
  expect(height([mark("a", 50)])).toBe(1);
  expect(height([mark("a", 50), mark("b", 50), mark("c", 51)])).toBe(3);
  expect(histogram({ edges_s: [], counts: [] }, [mark("a", 1)], view())).toBeNull();
});

test("a mark far beyond what was simulated does not stretch the scale", () => {
  const of = { edges_s: [0, 100], counts: [5] };
  const text = JSON.stringify;
  const far = drawn(histogram(of, [mark("deadline", 1000)], view()));
  expect(text(far.xAxis)).toBe(text(drawn(histogram(of, [], view())).xAxis));
});

const effect = (ratio: number | null) => ({
  baseline: ["HDD"],
  value: ["SSD"],
  outcome: "cannot tell",
  verdict: "cannot tell",
  ratio,
  interval: null,
  strata: ratio === null ? 0 : 3,
  below: 1,
  above: 2,
  low_tenth: ratio,
  high_tenth: ratio,
  points: ratio === null ? [] : [ratio, ratio, 2 * ratio],
});

const answer = (...ratios: (number | null)[]): Effects =>
  ({
    keys: ["disk"],
    main: 0,
    baseline: ["HDD"],
    effects: ratios.map(effect),
  }) as unknown as Effects;

test("effects without a ratio have no row, and the line of no effect is on the scale", () => {
  const chart = drawn(effects(answer(1.5, null, 3), view()));
  expect(chart.series[0]?.data).toHaveLength(2);
  const axis = chart.xAxis as unknown as { min: number; max: number };
  expect(axis.min).toBeLessThan(1);
  expect(axis.max).toBeGreaterThan(3);
  expect(effects(answer(null), view())).toBeNull();
});

test("what is not sure of all values together is drawn as a ring", () => {
  const found = answer(0.5, 0.7);
  found.effects.forEach((one, at) => {
    Object.assign(one, { outcome: "faster", sure: at === 0 });
  });
  expect(found.effects.map(perhaps)).toEqual([false, true]);
  const [series] = drawn(effects(found, view())).series as unknown as {
    renderItem: (params: object, api: { coord: (at: number[]) => number[] }) => Placed;
  }[];
  const fills = [0, 1].map((dataIndex) => {
    const row = series?.renderItem({ dataIndex }, { coord: (at) => at });
    return row?.children?.find(({ type }) => type === "circle")?.style?.fill;
  });
  expect(fills).toEqual(["write", "surface"]); // a dot, a ring
});

test("every setting is drawn, in the row of its value", () => {
  expect(drawn(strata(answer(1.5, null, 3), view())).series[0]?.data).toHaveLength(2);
  expect(strata(answer(null), view())).toBeNull();
});

test("stages are under their phases; one of which nothing was reported says so", () => {
  const stage = {
    phase: "map",
    name: "read",
    device: null,
    workers: 2,
    bytes: 10,
    useful_s: 3,
    idle_s: 1,
    waiting_for_memory_s: 0,
    blocked_s: 0,
    cpu_s: 1.5,
    core_wait_s: null,
    page_faults: 7,
    started_s: 0,
    ended_s: 2,
    narrowest: true,
  };
  const entries = [
    stage,
    { ...stage, name: "sort", useful_s: null },
    { ...stage, phase: "reduce" },
  ];
  expect(drawn(stages(entries, view())).series[0]?.data).toHaveLength(3 + 2);
  expect(stages([], view())).toBeNull();
});

test("bubbles of very many groups are drawn together and open the trials of them", () => {
  const spread = (median: number) => ({ median, interval: null, n: 2 });
  const groups = Array.from({ length: MOST_BUBBLES + 100 }, (_, at) => ({
    key: [at % 2 ? "SSD" : "HDD", `c${at}`],
    n: 2,
    elapsed_s: spread(100 + at),
    cost_usd: spread(1 + at / 100),
    usd_per_hour: null,
    standing: "worse",
    on_frontier: at === 0,
    frontier: "no",
    rank: at + 1,
  }));
  const ranking = { by: ["disk", "cluster"], groups } as unknown as RankingData;
  const display = { log: false, time: [0, 1], cost: [0, 1] } as never;
  const drawing = costScatter(ranking, display, view());
  const bubbles = drawn(drawing).series[1]?.data.length ?? 0;
  expect(bubbles).toBeGreaterThan(1);
  expect(bubbles).toBeLessThan(MOST_BUBBLES);
  expect(drawing?.behind?.({ seriesIndex: 1, dataIndex: 0 })).toEqual([
    ["disk", "HDD"],
    ["cluster", "c0"],
  ]);
  const crowd = drawing?.behind?.({ seriesIndex: 1, dataIndex: bubbles - 1 }) ?? [];
  const bounds = crowd.slice(-2).map(([key, value, relation]) => [key, relation, Number(value)]);
  expect(bounds.map(([key, relation]) => [key, relation])).toEqual([
    ["elapsed_s", ">="],
    ["elapsed_s", "<="],
  ]);
  expect(bounds[0]?.[2]).toBeLessThan(Number(bounds[1]?.[2]));
  expect(new Set(crowd.flatMap(([key, value]) => (key === "disk" ? [value] : [])))).toEqual(
    new Set(["HDD", "SSD"]),
  );
});

const curveValue = (
  at: number,
  ratio: number | null,
  standing: CurveValue["standing"],
  [low, high]: [number, number] | [] = [],
): CurveValue => ({
  value: at,
  n: 9,
  settings: 3,
  ratio,
  interval:
    low === undefined || high === undefined ? null : { low, high, level: 0.98, method: "t" },
  standing,
});

const curve: NumericCurve = {
  key: "maps",
  values: [
    curveValue(1, 3, "worse", [2.5, 3.5]),
    curveValue(2, 1.1, "tied", [0.9, 1.3]),
    { ...curveValue(4, 1, "best"), settings: null },
    curveValue(6, 1.2, "cannot tell", [1e-7, 1e6]),
    curveValue(8, null, "cannot tell"),
  ],
  sentence: "No single best maps; 2 to 4 tie",
  reference: 4,
  best: [2, 4],
};

test("a curve has its values in order, and the best range is shaded", () => {
  const chart = drawn(numericCurve(curve, "maps", view()));
  const [rect, , line] = shapes(chart, 0);
  const marks = shapes(chart, 1);
  const dots = marks.filter(({ type }) => type === "circle");
  const xs = dots.map(({ shape }) => Number(shape?.cx));
  expect(xs).toEqual([...xs].sort((a, b) => a - b));
  expect(placedValues(curve).map(({ value: at }) => at)).toEqual([1, 2, 4, 6]);
  expect(dots.map(({ style }) => style?.fill)).toEqual(["throat", "write", "write", "surface"]);
  const { x = 0, width = 0 } = (rect?.shape ?? {}) as { x?: number; width?: number };
  expect([x < (xs[1] ?? 0), x > (xs[0] ?? 0), x + width > (xs[2] ?? 0)]).toEqual([
    true,
    true,
    true,
  ]);
  expect(x + width).toBeLessThan(xs[3] ?? 0);
  // The line leaves out the value of which too little is known.
  expect(line?.shape?.points).toHaveLength(3);
});

test("a wide interval ends at the edge of the plane", () => {
  const chart = drawn(numericCurve(curve, "maps", view()));
  const ys = shapes(chart, 1)
    .filter(({ type }) => type === "line")
    .flatMap(({ shape }) => [Number(shape?.y1), Number(shape?.y2)]);
  expect(Math.min(...ys)).toBeGreaterThanOrEqual(36);
  expect(Math.max(...ys)).toBeLessThanOrEqual(chart.height - 46);
});

test("without a best range nothing is shaded, without ratios nothing is drawn", () => {
  const chart = drawn(numericCurve({ ...curve, best: null }, "maps", view(400)));
  expect(shapes(chart, 0).map(({ type }) => type)).toEqual(["line", "polyline"]);
  expect(
    numericCurve({ ...curve, values: [curveValue(8, null, "cannot tell")] }, "x", view()),
  ).toBeNull();
});
