// Time against cost of every group: bubbles grow with the trials, whiskers are the intervals.

import {
  axisFor,
  behindGroup,
  groupName,
  logAxis,
  names,
  reach,
  signedAxis,
  timeScale,
  told,
} from "../../../charts/common";
import {
  type Box,
  items,
  labelRoom,
  layer,
  type Named,
  plotOf,
  type Shape,
  textWidth,
} from "../../../charts/plot";
import { type Behind, base, type Drawing, pointTip, tip, type View } from "../../../charts/view";
import { dollars, duration, plain } from "../../../format";
import type { RankedGroup, RankingData, SpreadData } from "../../../generated/types";

export interface CostDisplay {
  log: boolean;
  /** From 0, the least median of those shown, to 1, the greatest. */
  normalised: boolean;
}

type Known = RankedGroup & { cost_usd: SpreadData };
type Pair = [number, number];

interface Point {
  group: Known;
  x: number;
  y: number;
  radius: number;
  across: Pair | null;
  along: Pair | null;
}

const BUBBLES = 1; // the place of their series
const LARGEST_PX = 17;
const SMALLEST_PX = 5;
const LABEL_PX = 12;
const MUST_NAMED = 3;
/** Of more groups only those that matter are named: tied with the best, or on the frontier. */
const MOST_NAMED = 16;

const isKnown = (group: RankedGroup): group is Known =>
  group.elapsed_s.median !== null && group.cost_usd !== null && group.cost_usd.median !== null;

const isTied = ({ standing }: RankedGroup) => standing === "best" || standing === "tied";

export const standingRole = ({ standing }: RankedGroup): string =>
  ({ best: "write", worse: "predicted", "cannot tell": "surface" })[standing] ?? "read";

const middle = (values: number[]): number => {
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length / 2;
  return ((sorted[Math.ceil(half) - 1] ?? 0) + (sorted[Math.floor(half)] ?? 0)) / 2;
};

/** From `values` to shares of their range, on the chosen scale. */
function normaliser(values: number[], log: boolean): (value: number) => number {
  const scale = log ? Math.log : (value: number) => value;
  const [low, high] = [scale(Math.min(...values)), scale(Math.max(...values))];
  return (value) => (high > low ? (scale(value) - low) / (high - low) : 0.5);
}

/** Both axes, what a time and a cost are on them, and where the quadrants meet. */
function planeOf(known: Known[], { log, normalised }: CostDisplay, view: View) {
  const times = known.flatMap((group) => reach(group.elapsed_s));
  const costs = known.flatMap((group) => reach(group.cost_usd));
  const middles = {
    time: known.map((group) => group.elapsed_s.median ?? 0),
    cost: known.map((group) => group.cost_usd.median ?? 0),
  };
  const steps = view.narrow ? 4 : 9;
  if (normalised) {
    const time = normaliser(middles.time, log);
    const cost = normaliser(middles.cost, log);
    const named = (name: string, values: number[], most: number): Named => ({
      axis: signedAxis([...values, -0.05, 1.05], most),
      name,
      format: plain,
    });
    const words = log ? "normalized, logarithmic" : "normalized";
    return {
      horizontal: named(`time (${words})`, times.map(time), steps),
      vertical: named(`cost (${words})`, costs.map(cost), 6),
      time,
      cost,
      centre: [0.5, 0.5] as Pair,
    };
  }
  const { unit, axis } = timeScale(times, steps, { log });
  const logCosts = log && costs.every((cost) => cost > 0);
  return {
    horizontal: { axis, name: `median time (${unit.name})`, format: plain },
    vertical: {
      axis: logCosts ? logAxis(costs, 7) : axisFor(costs, 7, false),
      name: "median cost of a trial (US$)",
      format: (value: number) => `$${plain(value)}`,
    },
    time: (value: number) => value / unit.seconds,
    cost: (value: number) => value,
    centre: [middle(middles.time) / unit.seconds, middle(middles.cost)] as Pair,
  };
}

const QUADRANTS = [
  ["fast, economical", "left", "bottom"],
  ["slow, economical", "right", "bottom"],
  ["fast, expensive", "left", "top"],
  ["slow, expensive", "right", "top"],
] as const;

function quadrants(x: number, y: number, box: Box, view: View) {
  const style = { stroke: view.color("outline"), lineWidth: 1, lineDash: [4, 4] };
  const lines: Shape[] = [
    { type: "line", shape: { x1: x, y1: box.top, x2: x, y2: box.bottom }, style },
    { type: "line", shape: { x1: box.left, y1: y, x2: box.right, y2: y }, style },
  ];
  const taken: Box[] = [];
  const words = QUADRANTS.map(([text, side, end]): Shape => {
    const width = textWidth(text, LABEL_PX);
    const left = side === "left" ? box.left + 6 : box.right - 6 - width;
    const top = end === "top" ? box.top + 4 : box.bottom - 18;
    taken.push({ left, top, right: left + width, bottom: top + 14 });
    return {
      type: "text",
      style: {
        text,
        x: side === "left" ? box.left + 6 : box.right - 6,
        y: top + 7,
        align: side,
        verticalAlign: "middle",
        fill: view.color("muted"),
        stroke: view.color("surface"),
        lineWidth: 3,
        font: `italic 400 ${LABEL_PX}px ${view.font}`,
      },
    };
  });
  return { lines, words, taken };
}

function whiskers({ group, x, y, across, along }: Point, view: View): Shape[] {
  const role = standingRole(group) === "surface" ? "outline" : standingRole(group);
  const style = { stroke: view.color(role), lineWidth: 1.25, opacity: 0.8 };
  const line = (x1: number, y1: number, x2: number, y2: number): Shape => ({
    type: "line",
    shape: { x1, y1, x2, y2 },
    style,
  });
  const level = across?.flatMap((end) => [line(end, y - 4, end, y + 4)]) ?? [];
  const upright = along?.flatMap((end) => [line(x - 4, end, x + 4, end)]) ?? [];
  return [
    ...(across ? [line(across[0], y, across[1], y), ...level] : []),
    ...(along ? [line(x, along[0], x, along[1]), ...upright] : []),
  ];
}

function bubble({ group, x, y, radius }: Point, view: View): Shape {
  const hollow = group.standing === "cannot tell";
  return {
    type: "circle",
    shape: { cx: x, cy: y, r: radius },
    style: {
      fill: view.color(standingRole(group)),
      fillOpacity: hollow ? 0.3 : 0.75,
      stroke: view.color(group.on_frontier ? "ink" : hollow ? "outline" : "surface"),
      lineWidth: group.on_frontier ? 2.5 : hollow ? 2 : 1,
    },
  };
}

/** From the fastest to the cheapest of the groups that no other beats in both medians. */
function staircase(points: Point[], view: View): Shape[] {
  const corners: Pair[] = [];
  const frontier = points.filter(({ group }) => group.on_frontier);
  for (const { x, y } of frontier.sort((a, b) => a.x - b.x || b.y - a.y)) {
    const last = corners[corners.length - 1];
    if (last && y <= last[1]) continue; // pixels grow downwards: this one is not cheaper
    if (last) corners.push([x, last[1]]);
    corners.push([x, y]);
  }
  if (corners.length < 2) return [];
  const style = { fill: "none", stroke: view.color("ink"), lineWidth: 1.5, opacity: 0.5 };
  return [{ type: "polyline", shape: { points: corners }, style }];
}

function details(group: Known): string[] {
  const place = group.rank === null ? "not ranked" : `rank ${group.rank}`;
  return [
    `${place}: ${group.standing}${group.reason ? ` (${group.reason})` : ""}`,
    ...told(group.elapsed_s),
    ...told(group.cost_usd, dollars),
    ...(group.usd_per_hour === null ? [] : [`${dollars(group.usd_per_hour)} per hour`]),
    ...(group.on_frontier ? ["on the Pareto frontier"] : []),
    ...(group.frontier === "cannot tell" ? ["on the frontier: can't tell"] : []),
  ];
}

/** Groups that tie with the best or are on the frontier are drawn last and named first. */
const weight = (group: RankedGroup) =>
  (group.standing === "best" ? 4 : isTied(group) ? 2 : 0) + (group.on_frontier ? 1 : 0);

/** More groups are not drawn one by one. */
export const MOST_BUBBLES = 400;
const BIN_PX = 22;

/** Bubbles of groups near each other, as one. */
interface Crowd {
  x: number;
  y: number;
  radius: number;
  groups: Known[];
}

/** Of very many groups those that matter; the others together where they are near each other. */
function gathered(points: Point[], radiusOf: (n: number) => number): [Point[], Crowd[]] {
  if (points.length <= MOST_BUBBLES) return [points, []];
  const bins = new Map<string, Point[]>();
  for (const point of points) {
    if (weight(point.group) > 0) continue;
    const place = `${Math.floor(point.x / BIN_PX)} ${Math.floor(point.y / BIN_PX)}`;
    bins.set(place, [...(bins.get(place) ?? []), point]);
  }
  const crowds = [...bins.values()].map((near): Crowd => {
    const middle = (of: (point: Point) => number) =>
      near.reduce((sum, point) => sum + of(point), 0) / near.length;
    const n = near.reduce((sum, { group }) => sum + group.n, 0);
    const groups = near.map(({ group }) => group);
    return { x: middle(({ x }) => x), y: middle(({ y }) => y), radius: radiusOf(n), groups };
  });
  return [points.filter(({ group }) => weight(group) > 0), crowds];
}

const crowdShape = ({ x, y, radius }: Crowd, view: View): Shape => ({
  type: "circle",
  shape: { cx: x, cy: y, r: radius },
  style: { fill: view.color("predicted"), fillOpacity: 0.45, stroke: view.color("surface") },
});

/** The fastest and the slowest of a crowd's median times, in seconds. */
function timesOf({ groups }: Crowd): Pair {
  const times = groups.map(({ elapsed_s }) => elapsed_s.median ?? 0);
  return [Math.min(...times), Math.max(...times)];
}

function crowdDetails(crowd: Crowd): string[] {
  const trials = crowd.groups.reduce((sum, group) => sum + group.n, 0);
  const [fastest, slowest] = timesOf(crowd).map(duration);
  return [
    `${plain(trials)} trials, median times ${fastest} to ${slowest}; the table lists each group`,
    "click to open the trials with their values and times",
  ];
}

/** More values of a key aren't listed one by one: any value matches. */
const MOST_VALUES = 20;

/** Trials with the values of a crowd's groups, within their median times. */
function behindCrowd(by: readonly string[], crowd: Crowd): Behind {
  const [fastest, slowest] = timesOf(crowd);
  const values = by.flatMap((key, at) => {
    const all = [...new Set(crowd.groups.map((group) => group.key[at] ?? null))];
    return all.length > MOST_VALUES ? [] : all.map((value) => [key, value] as const);
  });
  return [...values, ["elapsed_s", fastest, ">="], ["elapsed_s", slowest, "<="]];
}

export function costScatter(data: RankingData, display: CostDisplay, view: View): Drawing {
  const known = data.groups.filter(isKnown).sort((a, b) => weight(a) - weight(b));
  if (known.length === 0) return null;
  const height = view.narrow ? 460 : 520;
  const plane = planeOf(known, display, view);
  const left = labelRoom(plane.vertical);
  const box = { left, top: 40, right: view.width - 18, bottom: height - 46 };
  const plot = plotOf(plane.horizontal, plane.vertical, box, view, 16);
  const most = Math.max(...known.map((group) => group.n));
  const large = view.narrow ? LARGEST_PX - 4 : LARGEST_PX;
  const radiusOf = (n: number) =>
    Math.min(large, Math.max(SMALLEST_PX, large * Math.sqrt(n / most)));
  const every = known.map((group): Point => {
    const { interval: time, median: timeS } = group.elapsed_s;
    const { interval: cost, median: costUsd } = group.cost_usd;
    const x = (value: number) => plot.x(plane.time(value));
    const y = (value: number) => plot.y(plane.cost(value));
    return {
      group,
      x: x(timeS ?? 0),
      y: y(costUsd ?? 0),
      radius: radiusOf(group.n),
      across: time && [x(time.low), x(time.high)],
      along: cost && [y(cost.low), y(cost.high)],
    };
  });
  const [points, crowds] = gathered(every, radiusOf);
  const fields = quadrants(plot.x(plane.centre[0]), plot.y(plane.centre[1]), box, view);
  const lines = points.flatMap(({ x, y, across, along }): Box[] => [
    ...(across ? [{ left: across[0], top: y - 1, right: across[1], bottom: y + 1 }] : []),
    ...(along ? [{ left: x - 1, top: along[1], right: x + 1, bottom: along[0] }] : []),
  ]);
  const crowded = points.length > MOST_NAMED;
  const told = [...points].reverse().filter(({ group }) => !crowded || weight(group) > 0);
  const labels = told.map(({ group, x, y, radius }, place) => ({
    x,
    y,
    radius,
    text: groupName(data.by, group.key),
    role: weight(group) > 0 ? "ink" : "muted",
    bold: group.standing === "best",
    clear: weight(group) === 0,
    must: place < MUST_NAMED && (group.standing === "best" || group.on_frontier),
  }));
  const origin: Pair = [plane.horizontal.axis.minimum, plane.vertical.axis.minimum];
  const behind = [...fields.lines, ...fields.words, ...staircase(points, view)];
  return {
    height,
    behind: ({ seriesIndex, dataIndex }) => {
      if (seriesIndex !== BUBBLES) return undefined;
      const group = points[dataIndex]?.group;
      if (group) return behindGroup(data.by, group.key);
      const crowd = crowds[dataIndex - points.length];
      return crowd && behindCrowd(data.by, crowd);
    },
    option: {
      ...base(view),
      ...plot.option,
      tooltip: pointTip(view, (index) => {
        const group = points[index]?.group;
        if (group) return tip(groupName(data.by, group.key), details(group));
        const crowd = crowds[index - points.length];
        return crowd ? tip(`${crowd.groups.length} groups`, crowdDetails(crowd)) : "";
      }),
      series: [
        layer([...behind, ...points.flatMap((point) => whiskers(point, view))], origin, 2),
        items(
          [
            ...points.map((point) => [bubble(point, view)]),
            ...crowds.map((crowd) => [crowdShape(crowd, view)]),
          ],
          origin,
          { z: 3 },
        ),
        layer(names(labels, fields.taken, lines, box, view), origin, 4),
      ],
    },
  };
}
