// A numeric setting as a curve: the time of each value in order, and the best range shaded.
import { ratio } from "../format";
import type { CurveValue, NumericCurve } from "../generated/types";
import { axisFor, logAxis, valueName, within } from "./common";
import { items, labelRoom, layer, type Named, plotOf, type Shape, textWidth } from "./plot";
import { farApart } from "./scale";
import { base, type Drawing, pointTip, tip, type View } from "./view";

/** Intervals are cut so far beyond the ratios, so that wide ones leave room for the others. */
const BEYOND = 1.5;

export const ROLES: Record<CurveValue["standing"], string> = {
  best: "write",
  tied: "write",
  worse: "throat",
  "cannot tell": "outline",
};

/** The values of a curve that have a place on it. */
export const placedValues = ({ values }: NumericCurve) =>
  values.flatMap((each) => (each.ratio === null ? [] : [{ ...each, ratio: each.ratio }]));

type Placed = ReturnType<typeof placedValues>[number];

/** The sorted `values`, without those with a label that meets another one. */
function labeled(values: readonly number[], at: (value: number) => number, key: string): number[] {
  let end = Number.NEGATIVE_INFINITY;
  return values.filter((value) => {
    const half = textWidth(valueName(key, value), 12) / 2 + 5;
    if (at(value) - half < end) return false;
    end = at(value) + half;
    return true;
  });
}

function mark(each: Placed, cx: number, y: (value: number) => number, view: View): Shape[] {
  const color = view.color(ROLES[each.standing]);
  const style = { stroke: color, lineWidth: 1.5 };
  const ends = each.interval ? [y(each.interval.low), y(each.interval.high)] : [];
  const line = (x1: number, y1: number, x2: number, y2: number): Shape => ({
    type: "line",
    shape: { x1, y1, x2, y2 },
    style,
  });
  const [low, high] = ends;
  return [
    ...(low !== undefined && high !== undefined ? [line(cx, low, cx, high)] : []),
    ...ends.map((end) => line(cx - 4, end, cx + 4, end)),
    {
      type: "circle",
      shape: { cx, cy: y(each.ratio), r: 5 },
      style:
        each.standing === "cannot tell"
          ? { fill: view.color("surface"), stroke: color, lineWidth: 1.5 }
          : { fill: color, stroke: view.color("surface"), lineWidth: 1.25 },
    },
  ];
}

const settings = ({ settings: count }: CurveValue) =>
  count === null ? "the reference" : `${count} matched ${count === 1 ? "setting" : "settings"}`;

export function numericCurve(curve: NumericCurve, name: string, view: View): Drawing {
  const placed = placedValues(curve);
  if (placed.length === 0) return null;
  const xs = placed.map(({ value }) => value);
  const ratios = placed.map((each) => each.ratio);
  const [least, most] = [Math.min(...ratios) / BEYOND, Math.max(...ratios) * BEYOND];
  const ends = placed.flatMap(({ interval }) => (interval ? [interval.low, interval.high] : []));
  const inside = ends.map((end) => Math.min(most, Math.max(least, end)));
  const across = axisFor(xs, view.narrow ? 4 : 9, farApart(xs));
  const up = logAxis([1, ...ratios, ...inside], 7);
  const horizontal: Named = {
    axis: across,
    name,
    format: (value) => valueName(curve.key, value),
  };
  const vertical: Named = {
    axis: up,
    name: `time relative to ${valueName(curve.key, curve.reference)}; below 1 is faster`,
    format: (value) => String(Number(value.toPrecision(3))),
  };
  const height = view.narrow ? 340 : 400;
  const box = { left: labelRoom(vertical), top: 36, right: view.width - 18, bottom: height - 46 };
  const x = (value: number) => box.left + across.share(value) * (box.right - box.left);
  const ticks = labeled(xs, x, curve.key);
  const plot = plotOf({ ...horizontal, axis: { ...across, ticks } }, vertical, box, view);
  const y = (value: number) => plot.y(Math.min(up.maximum, Math.max(up.minimum, value)));
  const best = curve.best?.map(x);
  const [from = 0, to = 0] = best ?? [];
  const shaded: Shape = {
    type: "rect",
    shape: { x: from - 9, y: box.top, width: to - from + 18, height: box.bottom - box.top },
    style: { fill: view.color("write"), opacity: 0.12 },
  };
  const known = placed.filter(({ standing }) => standing !== "cannot tell");
  const stroke = view.color("outline");
  const equal = { x1: box.left, x2: box.right, y1: y(1), y2: y(1) };
  const back: Shape[] = [
    ...(best ? [shaded] : []),
    { type: "line", shape: equal, style: { stroke, lineWidth: 1.5 } },
    {
      type: "polyline",
      shape: { points: known.map((each) => [x(each.value), y(each.ratio)]) },
      style: { stroke, lineWidth: 1.5, fill: "none" },
    },
  ];
  const origin: [number, number] = [across.minimum, up.minimum];
  return {
    height,
    option: {
      ...base(view),
      ...plot.option,
      tooltip: pointTip(view, (index) => {
        const each = placed[index];
        if (!each) return "";
        return tip(`${name} ${valueName(curve.key, each.value)}: ${each.standing}`, [
          `${ratio(each.ratio)} of the time`,
          ...(each.interval ? [within(each.interval, ratio)] : []),
          settings(each),
        ]);
      }),
      series: [
        layer(back, origin, 2),
        items(
          placed.map((each) => mark(each, x(each.value), y, view)),
          origin,
          { z: 3 },
        ),
      ],
    },
  };
}
