// Time against size: measured medians, the fitted curve with its band, and the memory cliff.

import {
  axisFor,
  MOST_ROLES,
  names,
  type Place,
  reach,
  roleOf,
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
} from "../../../charts/plot";
import { base, type Drawing, pointTip, tip, type View } from "../../../charts/view";
import { bytes, keyName, plain } from "../../../format";
import type { Scaling, ScalingGroup } from "../../../generated/types";

/** A size as text: `4`, `100 GB`. */
export const sizeText = (value: number, unit: string): string =>
  isBytes(unit) ? bytes(value) : `${plain(value)}${unit ? ` ${unit}` : ""}`;

const isBytes = (unit: string) => unit === "bytes" || unit === "B";

/** A size in the unit of its axis. */
export function sizeUnit(unit: string, greatest: number): { name: string; size: number } {
  if (!isBytes(unit)) return { name: unit, size: 1 };
  const steps = [
    ["TB", 1e12],
    ["GB", 1e9],
    ["MB", 1e6],
  ] as const;
  const [name, size] = steps.find(([, each]) => greatest >= 2 * each) ?? ["B", 1];
  return { name, size };
}

/** So many curves are drawn at a time; the list leads to the others. */
export const drawnGroups = (data: Scaling): ScalingGroup[] =>
  data.groups
    .filter((group) => group.points.some((point) => point.elapsed_s.median !== null))
    .slice(0, MOST_ROLES);

const MUCH = 8;

/** Whether values spread so widely that a linear axis would press most of them together. */
export const farApart = (values: readonly number[]): boolean =>
  values.length > 0 && Math.min(...values) > 0 && Math.max(...values) >= MUCH * Math.min(...values);

type At = (value: number) => number;
type Curve = ScalingGroup["curve"];

/** A curve in parts: the measured range, and the dashed parts before and beyond it. */
export function partsOf(group: ScalingGroup): { measured: Curve; beyond: Curve[] } {
  const xs = group.points.map(({ x }) => x);
  const [low, high] = [Math.min(...xs), Math.max(...xs)];
  return {
    measured: group.curve.filter(({ x }) => x >= low && x <= high),
    beyond: [
      group.curve.filter(({ x }) => x <= low),
      group.curve.filter(({ x }) => x >= high),
    ].filter((part) => part.length > 1),
  };
}

function bandOf(group: ScalingGroup, role: string, x: At, y: At, view: View): Shape[] {
  const known = group.curve.filter((point) => point.low_s !== null && point.high_s !== null);
  const points = [
    ...known.map((point) => [x(point.x), y(point.high_s ?? 0)]),
    ...known.map((point) => [x(point.x), y(point.low_s ?? 0)]).reverse(),
  ];
  // Across a cliff nothing is drawn: there the curve jumps.
  const edge = group.cliff?.below ?? Number.POSITIVE_INFINITY;
  const { measured, beyond } = partsOf(group);
  const drawn = (part: Curve) => part.map((point) => [x(point.x), y(point.elapsed_s)]);
  const curves = [
    measured.filter((point) => point.x <= edge),
    measured.filter((point) => point.x > edge),
  ].map(drawn);
  const stroke = view.color(role);
  return [
    ...(known.length > 1
      ? [{ type: "polygon", shape: { points }, style: { fill: stroke, opacity: 0.14 } }]
      : []),
    ...curves
      .filter((points) => points.length > 1)
      .map((points) => ({
        type: "polyline",
        shape: { points },
        style: { stroke, lineWidth: 2, fill: "none" },
      })),
    ...beyond.map(drawn).map((points) => ({
      type: "polyline",
      shape: { points },
      style: { stroke, lineWidth: 1.5, lineDash: [5, 5], fill: "none" },
    })),
  ];
}

function pointsOf(group: ScalingGroup, role: string, x: At, y: At, view: View): Shape[][] {
  return group.points.map(({ x: at, elapsed_s: { median, interval } }): Shape[] => {
    if (median === null) return [];
    const [cx, cy] = [x(at), y(median)];
    const style = { stroke: view.color(role), lineWidth: 1.5 };
    const line = (x1: number, y1: number, x2: number, y2: number): Shape => ({
      type: "line",
      shape: { x1, y1, x2, y2 },
      style,
    });
    const ends = interval ? [y(interval.low), y(interval.high)] : [];
    const [low, high] = ends;
    return [
      ...(low !== undefined && high !== undefined ? [line(cx, low, cx, high)] : []),
      ...ends.map((end) => line(cx - 4, end, cx + 4, end)),
      {
        type: "circle",
        shape: { cx, cy, r: 5 },
        style: { fill: view.color(role), stroke: view.color("surface"), lineWidth: 1.25 },
      },
    ];
  });
}

/** Between which sizes the data stop fitting in memory. */
function cliffsOf(groups: ScalingGroup[], x: At, box: Box, view: View) {
  const shapes: Shape[] = [];
  const taken: Box[] = [];
  for (const { cliff } of groups) {
    if (!cliff) continue;
    const [left, right] = [x(cliff.below), x(cliff.above)];
    shapes.push({
      type: "rect",
      shape: {
        x: left,
        y: box.top,
        width: Math.max(2, right - left),
        height: box.bottom - box.top,
      },
      style: { fill: view.color("throat"), opacity: 0.1 },
    });
    const text = `memory cliff × ${plain(Number(cliff.jump.toPrecision(2)))}`;
    const width = 7.2 * text.length;
    const middle = Math.min(
      box.right - width / 2,
      Math.max(box.left + width / 2, (left + right) / 2),
    );
    const around = (top: number) => ({
      left: middle - width / 2,
      right: middle + width / 2,
      top,
      bottom: top + 16,
    });
    let name = around(box.top + 4);
    while (taken.some((other) => other.top === name.top)) name = around(name.top + 17);
    taken.push(name);
    shapes.push({
      type: "text",
      style: {
        text,
        x: middle,
        y: name.top + 8,
        align: "center",
        verticalAlign: "middle",
        fill: view.color("throat"),
        stroke: view.color("surface"),
        lineWidth: 3,
        font: `600 12px ${view.font}`,
      },
    });
  }
  return { shapes, taken };
}

export function scalingChart(data: Scaling, even: boolean, view: View): Drawing {
  const groups = drawnGroups(data);
  const sizes = groups.flatMap((group) => [...group.points, ...group.curve].map(({ x }) => x));
  const times = groups.flatMap((group) => [
    ...group.points.flatMap((point) => reach(point.elapsed_s)),
    ...group.curve.map((point) => point.elapsed_s),
  ]);
  if (sizes.length === 0 || times.length === 0) return null;
  const unit = sizeUnit(data.x_unit, Math.max(...sizes));
  const inUnit = sizes.map((size) => size / unit.size);
  const log = !even && (farApart(sizes) || farApart(times));
  const across = axisFor(inUnit, view.narrow ? 4 : 9, log);
  const { unit: time, axis } = timeScale(times, 7, log ? { log } : { fromZero: true });
  const suffix = unit.name && unit.name !== data.x ? ` (${unit.name})` : "";
  const horizontal: Named = { axis: across, name: `${keyName(data.x)}${suffix}`, format: plain };
  const vertical: Named = { axis, name: `median time (${time.name})`, format: plain };
  const height = view.narrow ? 380 : 460;
  const box = { left: labelRoom(vertical), top: 36, right: view.width - 18, bottom: height - 46 };
  const plot = plotOf(horizontal, vertical, box, view);
  const x = (size: number) => plot.x(size / unit.size);
  // A band ends at the edge of the plane.
  const y = (valueS: number) => {
    const value = Math.min(axis.maximum, Math.max(axis.minimum, valueS / time.seconds));
    return plot.y(value);
  };
  const cliffs = cliffsOf(groups, x, box, view);
  const marks = groups.flatMap((group, index) =>
    pointsOf(group, roleOf(index), x, y, view).map((shapes, place) => ({ group, place, shapes })),
  );
  const places = groups.flatMap((group): Place[] => {
    const last = [...group.points].reverse().find((point) => point.elapsed_s.median !== null);
    if (!last || group.name === "" || view.narrow) return [];
    const at = { x: x(last.x), y: y(last.elapsed_s.median ?? 0), radius: 6 };
    return [{ ...at, text: group.name, role: "ink", bold: true }];
  });
  const taken = [
    ...cliffs.taken,
    ...groups.flatMap((group) =>
      group.points.map((point) => {
        const [px, py] = [x(point.x), y(point.elapsed_s.median ?? 0)];
        return { left: px - 6, right: px + 6, top: py - 6, bottom: py + 6 };
      }),
    ),
  ];
  const origin: [number, number] = [across.minimum, axis.minimum];
  const bands = groups.flatMap((group, index) => bandOf(group, roleOf(index), x, y, view));
  return {
    height,
    option: {
      ...base(view),
      ...plot.option,
      tooltip: pointTip(view, (index) => {
        const mark = marks[index];
        const point = mark?.group.points[mark.place];
        if (!mark || !point) return "";
        const name = mark.group.name ? `${mark.group.name}: ` : "";
        return tip(`${name}${sizeText(point.x, data.x_unit)}`, told(point.elapsed_s));
      }),
      series: [
        layer([...cliffs.shapes, ...bands], origin, 2),
        items(
          marks.map(({ shapes }) => shapes),
          origin,
          { z: 3 },
        ),
        layer(names(places, taken, [], box, view), origin, 4),
      ],
    },
  };
}
