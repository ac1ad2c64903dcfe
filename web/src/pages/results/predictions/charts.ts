// Measured against predicted time: on the diagonal, a prediction was right.
import { axisFor, logAxis } from "../../../charts/common";
import { items, labelRoom, layer, type Named, plotOf, type Shape } from "../../../charts/plot";
import { timeUnit } from "../../../charts/scale";
import { base, type Drawing, pointTip, tip, type View } from "../../../charts/view";
import { duration, percent, plain, range } from "../../../format";
import type { PredictedRun } from "../../../generated/types";

/** The color of a run, by whether its range held the time. */
export const HELD: readonly (readonly [role: string, name: string])[] = [
  ["read", "the interval held"],
  ["throat", "it didn't"],
  ["outline", "no interval"],
];
const [INSIDE, OUTSIDE, NO_RANGE] = HELD.map(([role]) => role) as [string, string, string];

const roleOf = ({ inside }: PredictedRun) =>
  inside === null ? NO_RANGE : inside ? INSIDE : OUTSIDE;

/** The error with its sign: above 0, the prediction was too long. */
export const errorOf = ({ predicted_s: predicted, measured_s: measured }: PredictedRun) =>
  predicted / measured - 1;

export const signed = (share: number) => `${share < 0 ? "−" : "+"}${percent(Math.abs(share))}`;

/** A run's interval; null without one. */
export const rangeOf = ({ low_s: low, high_s: high }: PredictedRun) =>
  low === null || high === null ? null : { low, high };

function details(run: PredictedRun): string[] {
  const interval = rangeOf(run);
  return [
    `predicted ${duration(run.predicted_s)}${interval ? `, ${range(interval, duration)}` : ""}`,
    `measured ${duration(run.measured_s)}: error ${signed(errorOf(run))}`,
    `bottleneck: ${run.bottleneck ?? "unknown"}`,
    `from: ${run.basis}`,
  ];
}

/** Each run is a dot with its interval; both axes have the same scale. */
export function predictedScatter(runs: readonly PredictedRun[], view: View): Drawing {
  if (runs.length === 0) return null;
  const times = runs.flatMap((run) => [run.predicted_s, run.measured_s]);
  const [least, greatest] = [Math.min(...times), Math.max(...times)];
  const unit = timeUnit(Math.sqrt(least * greatest));
  const ends = [least, greatest].map((time) => time / unit.seconds);
  const most = view.narrow ? 4 : 8;
  // One value would leave an axis without a length.
  const axis = least < greatest ? axisFor(ends, most, true) : logAxis(around(ends), most);
  const horizontal: Named = { axis, name: `predicted (${unit.name})`, format: plain };
  const vertical: Named = { axis, name: `measured (${unit.name})`, format: plain };
  const height = view.narrow ? 360 : 460;
  const box = { left: labelRoom(vertical), top: 36, right: view.width - 18, bottom: height - 46 };
  const plot = plotOf(horizontal, vertical, box, view);
  const x = (timeS: number) => plot.x(timeS / unit.seconds);
  const y = (timeS: number) => plot.y(timeS / unit.seconds);
  const onPlane = (px: number) => Math.min(Math.max(px, box.left), box.right);
  const line = (x1: number, y1: number, x2: number, y2: number, style: object): Shape => ({
    type: "line",
    shape: { x1, y1, x2, y2 },
    style,
  });
  const diagonal = line(box.left, box.bottom, box.right, box.top, {
    stroke: view.color("ink"),
    lineWidth: 1.25,
    lineDash: [5, 4],
  });
  const whiskers = runs.flatMap((run): Shape[] => {
    const interval = rangeOf(run);
    if (interval === null) return [];
    const at = y(run.measured_s);
    const [from, to] = [onPlane(x(interval.low)), onPlane(x(interval.high))];
    return [
      line(from, at, to, at, { stroke: view.color(roleOf(run)), lineWidth: 1.25, opacity: 0.55 }),
    ];
  });
  const dot = (run: PredictedRun): Shape => ({
    type: "circle",
    shape: { cx: x(run.predicted_s), cy: y(run.measured_s), r: 5 },
    style: {
      fill: view.color(roleOf(run)),
      fillOpacity: 0.8,
      stroke: view.color("surface"),
      lineWidth: 1,
    },
  });
  const origin: [number, number] = [axis.minimum, axis.minimum];
  return {
    height,
    behind: ({ dataIndex }) => {
      const run = runs[dataIndex];
      return run && [["id", run.trial]];
    },
    option: {
      ...base(view),
      ...plot.option,
      tooltip: pointTip(view, (index) => {
        const run = runs[index];
        return run ? tip(`${run.workload} on ${run.engine}`, details(run)) : "";
      }),
      series: [
        layer([diagonal, ...whiskers], origin, 2),
        items(
          runs.map((run) => [dot(run)]),
          origin,
          { z: 3 },
        ),
      ],
    },
  };
}

const around = (values: readonly number[]) => values.flatMap((each) => [each / 1.5, each * 1.5]);
