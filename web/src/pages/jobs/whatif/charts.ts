// Time by size of the setup, and cost against time, with intervals and simpler predictions.
import { axisFor, names, type Place, timeScale } from "../../../charts/common";
import {
  type Box,
  items,
  labelRoom,
  layer,
  type Named,
  plotOf,
  type Shape,
} from "../../../charts/plot";
import { axisOf } from "../../../charts/scale";
import { base, type Drawing, pointTip, tip, type View } from "../../../charts/view";
import { count, dollars, duration, plain, range, three } from "../../../format";
import type { SizeCurve, SizePoint, WhatIfData } from "../../../generated/types";
import { bestOf } from "./steps";

/** The baselines by name, with their colors. */
export const BASELINES = [
  ["recorded replay", "memory"],
  ["Amdahl's law", "write"],
  ["proportional to slots", "blocked"],
] as const;
export const MODEL = "read";
export const TODAY = "throat";

/** The number that varies along a curve. */
export const sizeOf = (curve: Pick<SizeCurve, "by">, point: SizePoint): number =>
  curve.by === "machines" ? point.hosts : point.executors;

export const dot = (cx: number, cy: number, role: string, large: boolean, view: View): Shape => ({
  type: "circle",
  shape: { cx, cy, r: large ? 6.5 : 3.5 },
  style: { fill: view.color(role), stroke: view.color("surface"), lineWidth: 1.25 },
});

export const line = (points: number[][], stroke: string, more: object = {}): Shape => ({
  type: "polyline",
  shape: { points },
  style: { stroke, lineWidth: 2, fill: "none", ...more },
});

type Spot = [x: number, y: number];

const DASHED = { lineWidth: 1.5, lineDash: [5, 4] };
const HEIGHT = 400;
const NARROW_HEIGHT = 340;

interface Today {
  size: number;
  time_s: number;
}

/** Today's place on a curve by executors; other machines have none. */
export function todayOn({ curve, today: { prediction } }: WhatIfData): Today | null {
  if (curve.by === "machines") return null;
  return { size: prediction.executors, time_s: prediction.time_s.value };
}

function pointText(curve: SizeCurve, point: SizePoint): string[] {
  return [
    `${duration(point.time_s.value)}, 90 % interval ${range(point.time_s, duration)}`,
    ...(point.usd ? [`${dollars(point.usd.value)}, ${range(point.usd, dollars)}`] : []),
    `${count(point.slots)} slots on ${count(point.hosts)} hosts`,
    ...Object.entries(point.baselines_s).map(([name, time]) => `${name}: ${duration(time)}`),
    ...(curve.replayed ? [] : ["without replay"]),
  ];
}

const tooltipOf = (curve: SizeCurve, view: View) =>
  pointTip(view, (index) => {
    const point = curve.points[index];
    if (!point) return "";
    return tip(`${plain(sizeOf(curve, point))} ${curve.by}`, pointText(curve, point));
  });

/** The part of a falling line that is inside a box: it ends where it leaves the box. */
export function inside(
  points: readonly Spot[],
  { top, bottom }: Pick<Box, "top" | "bottom">,
): Spot[] {
  return points.flatMap(([x, y], place): Spot[] => {
    if (y >= top && y <= bottom) return [[x, y]];
    const last = points[place - 1];
    const edge = y > bottom ? bottom : top;
    if (!last || last[1] < top || last[1] > bottom || y === last[1]) return [];
    return [[last[0] + ((edge - last[1]) / (y - last[1])) * (x - last[0]), edge]];
  });
}

/** The simpler predictions along the curve, each with its color. */
export const lawsOf = (curve: SizeCurve) =>
  BASELINES.map(([name, role]) => ({
    name,
    role,
    at: curve.points.flatMap((point) => {
      const time = point.baselines_s[name];
      return time === undefined ? [] : [{ size: sizeOf(curve, point), time }];
    }),
  })).filter(({ at }) => at.length > 1);

/** Time by number of executors or machines. */
export function timeBySize(data: WhatIfData, view: View): Drawing {
  const { curve } = data;
  const { points } = curve;
  if (points.length < 2) return null;
  const today = todayOn(data);
  const best = bestOf(data).prediction;
  const sizes = points.map((point) => sizeOf(curve, point));
  const replays = points.flatMap((point) => point.baselines_s[BASELINES[0][0]] ?? []);
  const times = [...points.flatMap(({ time_s: time }) => [time.low, time.high]), ...replays];
  const across = axisFor(sizes, view.narrow ? 4 : 9, true);
  const { unit, axis } = timeScale([...times, ...(today ? [today.time_s] : [])], 7, { log: true });
  const horizontal: Named = { axis: across, name: curve.by, format: plain };
  const vertical: Named = { axis, name: `time (${unit.name})`, format: plain };
  const height = view.narrow ? NARROW_HEIGHT : HEIGHT;
  const box = { left: labelRoom(vertical), top: 36, right: view.width - 18, bottom: height - 46 };
  const plot = plotOf(horizontal, vertical, box, view);
  const y = (timeS: number) => plot.y(timeS / unit.seconds);
  const at = (point: SizePoint) => plot.x(sizeOf(curve, point));
  const band = [
    ...points.map((point) => [at(point), y(point.time_s.high)]),
    ...points.map((point) => [at(point), y(point.time_s.low)]).reverse(),
  ];
  const origin: [number, number] = [across.minimum, axis.minimum];
  const isBest = (point: SizePoint) =>
    point.executors === best.executors && point.hosts === best.hosts;
  const todayAt = today && { x: plot.x(today.size), y: y(today.time_s) };
  const places: Place[] = todayAt
    ? [{ ...todayAt, radius: 7, text: "today", role: TODAY, bold: true }]
    : [];
  return {
    height,
    option: {
      ...base(view),
      ...plot.option,
      tooltip: tooltipOf(curve, view),
      series: [
        layer(
          [
            {
              type: "polygon",
              shape: { points: band },
              style: { fill: view.color(MODEL), opacity: 0.16 },
            },
            ...lawsOf(curve).map(({ role, at: law }) => {
              const whole = law.map(({ size, time }): Spot => [plot.x(size), y(time)]);
              return line(inside(whole, box), view.color(role), DASHED);
            }),
            line(
              points.map((point) => [at(point), y(point.time_s.value)]),
              view.color(MODEL),
            ),
          ],
          origin,
          2,
        ),
        items(
          points.map((point) => [
            dot(at(point), y(point.time_s.value), MODEL, isBest(point), view),
          ]),
          origin,
          { z: 3 },
        ),
        layer(
          [
            ...(todayAt ? [dot(todayAt.x, todayAt.y, TODAY, true, view)] : []),
            ...names(places, [], [], box, view),
          ],
          origin,
          4,
        ),
      ],
    },
  };
}

/** The cost of a point in dollars, else in core-hours. */
export const costOf = (curve: SizeCurve) => {
  const priced = curve.points.every((point) => point.usd !== null);
  return priced
    ? {
        name: "cost (US$)",
        tell: dollars,
        of: ({ usd: cost }: SizePoint) => cost ?? { value: 0, low: 0, high: 0 },
      }
    : {
        name: "core-hours",
        tell: three,
        of: ({ core_hours: hours, time_s: time }: SizePoint) => ({
          value: hours,
          low: (hours * time.low) / time.value,
          high: (hours * time.high) / time.value,
        }),
      };
};

/** Cost against time: each point is a size. */
export function costByTime(data: WhatIfData, view: View): Drawing {
  const { curve } = data;
  const { points } = curve;
  if (points.length < 2) return null;
  const cost = costOf(curve);
  const best = bestOf(data).prediction;
  const times = points.flatMap(({ time_s: time }) => [time.low, time.high]);
  const costs = points.flatMap((point) => [cost.of(point).low, cost.of(point).high]);
  const { unit, axis: across } = timeScale(times, view.narrow ? 4 : 8, { log: true });
  const upright = axisOf([0, ...costs], 7, { fromZero: true });
  const horizontal: Named = { axis: across, name: `time (${unit.name})`, format: plain };
  const vertical: Named = { axis: upright, name: cost.name, format: plain };
  const height = view.narrow ? NARROW_HEIGHT : HEIGHT;
  const box = { left: labelRoom(vertical), top: 36, right: view.width - 18, bottom: height - 46 };
  const plot = plotOf(horizontal, vertical, box, view);
  const x = (timeS: number) => plot.x(timeS / unit.seconds);
  const marks = points.map((point) => ({
    point,
    x: x(point.time_s.value),
    y: plot.y(cost.of(point).value),
    best: point.executors === best.executors && point.hosts === best.hosts,
  }));
  const stroke = view.color(MODEL);
  const thin = { lineWidth: 1.25, opacity: 0.45 };
  const whiskers = marks.flatMap(({ point, x: px, y: py }) => [
    line(
      [
        [x(point.time_s.low), py],
        [x(point.time_s.high), py],
      ],
      stroke,
      thin,
    ),
    line(
      [
        [px, plot.y(cost.of(point).low)],
        [px, plot.y(cost.of(point).high)],
      ],
      stroke,
      thin,
    ),
  ]);
  const origin: [number, number] = [across.minimum, upright.minimum];
  const places = marks
    .map((mark): Place & { best: boolean } => ({
      x: mark.x,
      y: mark.y,
      radius: mark.best ? 7 : 4,
      text: plain(sizeOf(curve, mark.point)),
      role: "ink",
      bold: mark.best,
      best: mark.best,
    }))
    .sort((a, b) => Number(b.best) - Number(a.best));
  return {
    height,
    option: {
      ...base(view),
      ...plot.option,
      tooltip: tooltipOf(curve, view),
      series: [
        layer(
          [
            ...whiskers,
            line(
              marks.map((mark) => [mark.x, mark.y]),
              stroke,
            ),
          ],
          origin,
          2,
        ),
        items(
          marks.map((mark) => [dot(mark.x, mark.y, MODEL, mark.best, view)]),
          origin,
          { z: 3 },
        ),
        layer(names(places, [], [], box, view), origin, 4),
      ],
    },
  };
}
