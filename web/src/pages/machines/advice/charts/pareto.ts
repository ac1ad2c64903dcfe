// Cost against time of every option, with the ranges of both; the frontier is a staircase.
import {
  type Box,
  items,
  labelRoom,
  layer,
  meet,
  type Named,
  type Plot,
  plotOf,
  type Shape,
  textWidth,
} from "../../../../charts/plot";
import { axisOf, timeUnit } from "../../../../charts/scale";
import { base, type Drawing, pointTip, tip, type View } from "../../../../charts/view";
import type {
  AdvicePage,
  Bounds,
  ClusterSizePoint,
  Option,
  OptionRow,
} from "../../../../generated/types";
import { duration, usd } from "../../../../units";

type Known = Option & Omit<OptionRow, "option"> & { cost_usd: Bounds };

/** An option at its pixels. */
interface Point {
  option: Known;
  x: number;
  y: number;
  whiskers: [number, number, number, number][];
}

const LABEL_PX = 12;
const ARROW_PX = 18;
/** One dear type must not press all others together. */
const COST_LOG_RANGE = 5;
/** With more options than this the beaten ones are small and show no ranges. */
const CROWD = 40;
/** With more than this on the frontier, only the chosen one shows its ranges. */
const CROWDED_FRONTIER = 20;

/** The options of which a cost is known. */
const knownOf = (rows: readonly OptionRow[]): Known[] =>
  rows.flatMap(({ option, ...place }) =>
    option.cost_usd === null ? [] : [{ ...option, ...place, cost_usd: option.cost_usd }],
  );

const around = ({ x, y }: Point): Box => ({ left: x - 7, top: y - 7, right: x + 7, bottom: y + 7 });

/** The most important options are drawn last and named first. */
const rank = ({ chosen, frontier }: Known) =>
  chosen ? 3 : { yes: 2, "cannot tell": 1, no: 0 }[frontier];

const roleOf = (option: Known) => (option.frontier === "no" ? "predicted" : "measured");

/** `value` of the reader, where it is not so far from `values` that it would crush them. */
const near = (value: number | null | undefined, values: number[]): number[] =>
  value && value <= 2 * Math.max(...values) && value >= 0.5 * Math.min(...values) ? [value] : [];

function pointsOf(known: Known[], plot: Plot, seconds: number): Point[] {
  const everywhere = known.length <= CROWD;
  const named = known.filter((option) => rank(option) > 0).length <= CROWDED_FRONTIER;
  return [...known]
    .sort((a, b) => rank(a) - rank(b))
    .map((option) => {
      const { time_s: time, cost_usd: cost, lower_bound: least } = option;
      const [x, y] = [plot.x(time.value / seconds), plot.y(cost.value)];
      const right = least ? x + ARROW_PX : plot.x(time.high / seconds);
      const top = least ? y - ARROW_PX : plot.y(cost.high);
      const whiskers: Point["whiskers"] =
        option.chosen || everywhere || (named && rank(option) > 0)
          ? [
              [plot.x(time.low / seconds), y, right, y],
              [x, plot.y(cost.low), x, top],
            ]
          : [];
      return { option, x, y, whiskers };
    });
}

function whiskersOf({ option, x, y, whiskers }: Point, view: View): Shape[] {
  const style = { stroke: view.color(roleOf(option)), lineWidth: 1.25, opacity: 0.75 };
  const line = (x1: number, y1: number, x2: number, y2: number): Shape => ({
    type: "line",
    shape: { x1, y1, x2, y2 },
    style,
  });
  const shapes = whiskers.map((ends) => line(...ends));
  const [across, along] = whiskers;
  if (!across || !along) return shapes;
  const [left, , right] = across;
  const [, bottom, , top] = along;
  shapes.push(line(left, y - 4, left, y + 4), line(x - 4, bottom, x + 4, bottom));
  if (option.lower_bound) {
    shapes.push(line(right - 4, y - 4, right, y), line(right - 4, y + 4, right, y));
    shapes.push(line(x - 4, top + 4, x, top), line(x + 4, top + 4, x, top));
  } else {
    shapes.push(line(right, y - 4, right, y + 4), line(x - 4, top, x + 4, top));
  }
  return shapes;
}

function dotOf({ option, x, y }: Point, crowded: boolean, view: View): Shape {
  const beaten = option.frontier === "no";
  const hollow = option.frontier === "cannot tell";
  const outline = option.chosen ? "throat" : hollow ? "measured" : "surface";
  return {
    type: "circle",
    shape: { cx: x, cy: y, r: option.chosen ? 7 : beaten ? (crowded ? 3 : 4.5) : 5.5 },
    style: {
      fill: view.color(hollow ? "surface" : roleOf(option)),
      stroke: view.color(outline),
      lineWidth: option.chosen ? 3 : hollow ? 2.5 : 1,
    },
  };
}

/** From the fastest to the cheapest: dearer options to the left of each step are not worth it. */
function staircase(points: Point[], view: View): Shape[] {
  const corners: [number, number][] = [];
  const frontier = points.filter(({ option }) => option.frontier === "yes");
  for (const { x, y } of frontier.sort((a, b) => a.x - b.x)) {
    const last = corners[corners.length - 1];
    if (last && y <= last[1]) continue; // pixels grow downwards: this one is not cheaper
    if (last) corners.push([x, last[1]]);
    corners.push([x, y]);
  }
  if (corners.length < 2) return [];
  const style = { fill: "none", stroke: view.color("measured"), lineWidth: 1.5, opacity: 0.45 };
  return [{ type: "polyline", shape: { points: corners }, style }];
}

/** Pixels between two numbers of nodes on the curve. */
const CURVE_STEP_PX = 56;

/** The recommended type by number of nodes: a line with the numbers next to it. */
function curveOf(
  curve: readonly ClusterSizePoint[],
  plot: Plot,
  seconds: number,
  view: View,
): { lines: Shape[]; names: Shape[]; taken: Box[] } {
  const { box } = plot;
  const drawn = curve
    .map(({ nodes, time_s, usd: cost }) => ({
      nodes,
      x: plot.x(time_s.value / seconds),
      y: plot.y(cost.value),
    }))
    .filter(({ x, y }) => x >= box.left && x <= box.right && y >= box.top && y <= box.bottom);
  if (drawn.length < 2) return { lines: [], names: [], taken: [] };
  const style = { fill: "none", stroke: view.color("throat"), lineWidth: 2, opacity: 0.6 };
  const lines: Shape[] = [
    { type: "polyline", shape: { points: drawn.map(({ x, y }) => [x, y]) }, style },
  ];
  const names: Shape[] = [];
  const taken: Box[] = [];
  let last = { x: Number.POSITIVE_INFINITY, y: 0 };
  for (const { nodes, x, y } of drawn) {
    if (Math.hypot(x - last.x, y - last.y) < CURVE_STEP_PX) continue;
    last = { x, y };
    const text = nodes.toLocaleString("en-US");
    const width = textWidth(text, LABEL_PX);
    taken.push({ left: x + 4, top: y + 2, right: x + 4 + width, bottom: y + 16 });
    lines.push({ type: "circle", shape: { cx: x, cy: y, r: 2.5 }, style: { fill: style.stroke } });
    names.push({
      type: "text",
      style: {
        text,
        x: x + 4,
        y: y + 9,
        verticalAlign: "middle",
        fill: view.color("throat"),
        stroke: view.color("surface"),
        lineWidth: 3,
        font: `400 ${LABEL_PX}px ${view.font}`,
      },
    });
  }
  return { lines, names, taken };
}

/** Names next to their dots: each where it overlaps no dot and no other name, or not at all. */
function labels(points: Point[], taken: Box[], frame: Box, view: View): Shape[] {
  const repeated = new Set<string>();
  const seen = new Set<string>();
  for (const { option } of points) {
    (seen.has(option.instance_type) ? repeated : seen).add(option.instance_type);
  }
  const boxes = [...taken, ...points.map(around)];
  const lines = points.flatMap(({ whiskers }) =>
    whiskers.map(([x1, y1, x2, y2]) => ({
      left: Math.min(x1, x2) - 1,
      top: Math.min(y1, y2) - 1,
      right: Math.max(x1, x2) + 1,
      bottom: Math.max(y1, y2) + 1,
    })),
  );
  const shapes: Shape[] = [];
  const done = new Set<string>();
  for (const { option, x, y } of [...points].reverse()) {
    const { instance_type: type, nodes } = option;
    if (done.has(type)) continue;
    done.add(type);
    const text = `${repeated.has(type) ? `${nodes} × ` : ""}${type}`;
    const width = textWidth(text, LABEL_PX) + 4;
    const places = [
      [x + 10, y - 15],
      [x - 10 - width, y - 15],
      [x + 10, y + 1],
      [x - 10 - width, y + 1],
      [x + 10, y - 7],
      [x - 10 - width, y - 7],
      ...[width / 2, 10, width - 10].flatMap((shift) => [
        [x - shift, y - 24],
        [x - shift, y + 10],
      ]),
    ] as [number, number][];
    const inside = places
      .map(([left, top]) => ({ left, top, right: left + width, bottom: top + 14 }))
      .filter((box) => box.left >= frame.left && box.right <= frame.right)
      .filter((box) => box.top >= frame.top && box.bottom <= frame.bottom);
    const free = inside
      .filter((box) => !boxes.some((other) => meet(box, other)))
      .map((box) => ({ box, crossed: lines.filter((line) => meet(box, line)).length }))
      .sort((a, b) => a.crossed - b.crossed)[0];
    // The chosen option is named even where it covers others.
    const covered = (box: Box) => boxes.filter((other) => meet(box, other)).length;
    const [least] = option.chosen ? inside.sort((a, b) => covered(a) - covered(b)) : [];
    const box = free?.box ?? least;
    if (!box) continue;
    boxes.push(box);
    shapes.push({
      type: "text",
      style: {
        text,
        x: box.left + 2,
        y: box.top + 7,
        verticalAlign: "middle",
        fill: view.color(rank(option) > 0 ? "ink" : "muted"),
        stroke: view.color("surface"),
        lineWidth: 3,
        font: `${option.chosen ? 600 : 400} ${LABEL_PX}px ${view.font}`,
      },
    });
  }
  return shapes;
}

/** The deadline as an upright line and the budget as a level one, each with its name. */
function asked(
  plot: Plot,
  dots: Box[],
  deadline: { at: number; text: string } | null,
  budget: { at: number; text: string } | null,
  view: View,
): { lines: Shape[]; names: Shape[]; taken: Box[] } {
  const { box } = plot;
  const style = { stroke: view.color("throat"), lineWidth: 1.5, lineDash: [5, 4] };
  const lines: Shape[] = [];
  const names: Shape[] = [];
  const taken: Box[] = [];
  const name = (text: string, right: number, bottom: number) => {
    const width = textWidth(text, LABEL_PX);
    taken.push({ left: right - width, top: bottom - 14, right, bottom });
    names.push({
      type: "text",
      style: {
        text,
        x: right,
        y: bottom,
        align: "right",
        verticalAlign: "bottom",
        fill: view.color("throat"),
        stroke: view.color("surface"),
        lineWidth: 3,
        font: `400 ${LABEL_PX}px ${view.font}`,
      },
    });
  };
  if (deadline) {
    const x = plot.x(deadline.at);
    lines.push({ type: "line", shape: { x1: x, y1: box.top, x2: x, y2: box.bottom }, style });
    const width = textWidth(deadline.text, LABEL_PX);
    name(
      deadline.text,
      Math.min(box.right, Math.max(box.left + width, x + width / 2)),
      box.top - 3,
    );
  }
  if (budget) {
    const y = plot.y(budget.at);
    lines.push({ type: "line", shape: { x1: box.left, y1: y, x2: box.right, y2: y }, style });
    // At the end, above or below, where its name covers the fewest dots.
    const width = textWidth(budget.text, LABEL_PX);
    const ends = [box.right - 4, box.left + 4 + width];
    const places = ends.flatMap((right) => [y - 3, y + 17].map((bottom) => ({ right, bottom })));
    const covered = ({ right, bottom }: { right: number; bottom: number }) =>
      dots.filter((dot) => meet(dot, { left: right - width, top: bottom - 14, right, bottom }))
        .length;
    const [place] = places.sort((a, b) => covered(a) - covered(b));
    if (place) name(budget.text, place.right, place.bottom);
  }
  return { lines, names, taken };
}

function details(option: Known): string[] {
  const least = option.lower_bound ? "at least " : "";
  const told = ({ value, low, high }: Bounds, tell: (value: number) => string) =>
    `${least}${tell(value)}${low < high ? `, from ${tell(low)} to ${tell(high)}` : ""}`;
  return [
    told(option.time_s, duration),
    told(option.cost_usd, usd),
    ...option.phases.map(
      (phase) => `${phase.name}: ${phase.narrowest}${phase.certain ? "" : " (uncertain)"}`,
    ),
    { yes: "on the frontier", no: "dominated", "cannot tell": "on the frontier: can't tell" }[
      option.frontier
    ],
  ];
}

export function pareto(
  data: Pick<AdvicePage, "options" | "curve" | "deadline_s" | "budget_usd">,
  view: View,
): Drawing {
  const known = knownOf(data.options);
  if (known.length === 0) return null;
  const height = view.narrow ? 380 : 440;
  const ends = ({ low, high, value }: Bounds, least: boolean) => [low, least ? value : high];
  const times = known.flatMap((option) => ends(option.time_s, option.lower_bound));
  const costs = known.flatMap((option) => ends(option.cost_usd, option.lower_bound));
  const [deadline] = near(data.deadline_s, times);
  const [budget] = near(data.budget_usd, costs);
  const unit = timeUnit(Math.max(...times));
  const inUnit = [...times, ...(deadline ? [deadline] : [])].map((time) => time / unit.seconds);
  const x = axisOf(inUnit, view.narrow ? 4 : 9);
  const y = axisOf([...costs, ...(budget ? [budget] : [])], 7, { logRange: COST_LOG_RANGE });
  const count = (value: number) => value.toLocaleString("en-US", { maximumFractionDigits: 6 });
  const dollars: Named = { axis: y, name: "cost (US$)", format: (value) => `$${count(value)}` };
  const time: Named = { axis: x, name: `time of the job (${unit.name})`, format: count };
  const box = { left: labelRoom(dollars), top: 44, right: view.width - 18, bottom: height - 46 };
  const plot = plotOf(time, dollars, box, view, 20);
  const points = pointsOf(known, plot, unit.seconds);
  const limits = asked(
    plot,
    points.map(around),
    deadline ? { at: deadline / unit.seconds, text: `deadline ${duration(deadline)}` } : null,
    budget ? { at: budget, text: `budget ${usd(budget)}` } : null,
    view,
  );
  const curve = curveOf(data.curve, plot, unit.seconds, view);
  const origin: [number, number] = [x.minimum, y.minimum];
  const whiskers = points.flatMap((point) => whiskersOf(point, view));
  const dots = points.map((point) => [dotOf(point, points.length > CROWD, view)]);
  return {
    height,
    option: {
      ...base(view),
      ...plot.option,
      tooltip: pointTip(view, (index) => {
        const option = points[index]?.option;
        if (!option) return "";
        const nodes = option.nodes.toLocaleString("en-US");
        return tip(`${nodes} × ${option.instance_type}`, details(option));
      }),
      series: [
        layer(
          [...staircase(points, view), ...whiskers, ...limits.lines, ...curve.lines],
          origin,
          2,
        ),
        items(dots, origin, { z: 3 }),
        layer(
          [
            ...limits.names,
            ...curve.names,
            ...labels(points, [...limits.taken, ...curve.taken], box, view),
          ],
          origin,
          4,
        ),
      ],
    },
  };
}
