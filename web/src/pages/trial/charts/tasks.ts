// The tasks of a job: by executor over time, on a canvas, and their time against what they read.
import { axisOf, timeUnit } from "../../../charts/scale";
import { base, type Drawing, pointTip, quietAxis, tip, type View } from "../../../charts/view";
import { bytes, count, duration, plain } from "../../../format";
import type { JobTasks } from "../../../generated/types";
import { causeRole } from "./job";

/** Where lanes are drawn, in px. */
export interface Plot {
  left: number;
  width: number;
  lane: number;
  height: number;
}

const LANE_PX = 16;
const NARROW_LANE_PX = 12;
const ROOM_PX = 120; // which few lanes fill
const MOST_LANE_PX = 40;
const AXIS_PX = 24;
const LABEL_PX = 84;
const NARROW_LABEL_PX = 34;

export const plotOf = (lanes: number, view: View): Plot => {
  const least = view.narrow ? NARROW_LANE_PX : LANE_PX;
  const lane = Math.max(least, Math.min(MOST_LANE_PX, ROOM_PX / Math.max(lanes, 1)));
  const left = view.narrow ? NARROW_LABEL_PX : LABEL_PX;
  return { left, width: view.width - left, lane, height: lanes * lane + AXIS_PX };
};

/** Draws the lanes: of each piece of time the main cause, as high as there were tasks at once. */
export function drawLanes(pen: CanvasRenderingContext2D, data: JobTasks, plot: Plot, view: View) {
  const { lanes, causes, from_s: from, to_s: to } = data;
  const most = Math.max(1, ...lanes.flatMap(({ busy }) => busy));
  const colors = causes.map((cause) => view.color(causeRole(cause)));
  pen.clearRect(0, 0, view.width, plot.height);
  pen.textBaseline = "middle";
  pen.font = `12px ${view.font}`;
  lanes.forEach(({ executor, main, busy }, row) => {
    const bottom = (row + 1) * plot.lane - 1;
    const step = plot.width / main.length;
    pen.fillStyle = view.color("idle");
    pen.globalAlpha = 0.5;
    pen.fillRect(plot.left, row * plot.lane, plot.width, plot.lane - 1);
    pen.globalAlpha = 1;
    main.forEach((cause, place) => {
      if (cause < 0) return;
      const high = Math.max(2, ((plot.lane - 1) * (busy[place] ?? 0)) / most);
      pen.fillStyle = colors[cause] ?? view.color("idle");
      pen.fillRect(plot.left + place * step, bottom - high, step + 0.5, high);
    });
    pen.fillStyle = view.color("muted");
    pen.textAlign = "right";
    pen.fillText(executor, plot.left - 8, row * plot.lane + plot.lane / 2, plot.left - 10);
  });
  if (from === null || to === null) return;
  const unit = timeUnit(to);
  pen.textBaseline = "bottom";
  for (const tick of ticksOf(from, to, view.narrow ? 3 : 8)) {
    const x = plot.left + ((tick - from) / (to - from)) * plot.width;
    pen.fillStyle = view.color("muted");
    pen.textAlign = x > view.width - 30 ? "right" : x < plot.left + 20 ? "left" : "center";
    pen.fillText(`${plain(tick / unit.seconds)} ${unit.name}`, x, plot.height - 2);
  }
}

/** Round moments from one to another, some `most`. */
export function ticksOf(from: number, to: number, most: number): number[] {
  const unit = timeUnit(to).seconds;
  const raw = (to - from) / unit / most;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = ([1, 2, 5, 10].find((each) => each * power >= raw) ?? 10) * power * unit;
  const found: number[] = [];
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) found.push(at);
  return found;
}

/** The moment at `x`, held to what is shown. */
export function momentAt(x: number, { from_s, to_s }: JobTasks, plot: Plot): number {
  const share = Math.min(Math.max((x - plot.left) / plot.width, 0), 1);
  return (from_s ?? 0) + share * ((to_s ?? 0) - (from_s ?? 0));
}

/** What stands at a place of the canvas: the lines of its tip; null: nothing. */
export function seenAt(x: number, y: number, data: JobTasks, plot: Plot): string[] | null {
  const lane = data.lanes[Math.floor(y / plot.lane)];
  if (!lane || x < plot.left) return null;
  const at = Math.floor(((x - plot.left) / plot.width) * lane.main.length);
  const cause = data.causes[lane.main[at] ?? -1];
  return [
    `executor ${lane.executor}${lane.host === null ? "" : ` on ${lane.host}`}`,
    `at ${duration(momentAt(x, data, plot))}`,
    cause === undefined
      ? "no task"
      : `${plain(lane.busy[at] ?? 0)} tasks at once, most of their time ${cause}`,
  ];
}

/** Each dot is a task, or some that are much alike: how long against how much it read. */
export function timeAgainstBytes({ dots, causes }: JobTasks, view: View): Drawing {
  if (dots.length === 0) return null;
  const unit = timeUnit(Math.max(...dots.map(({ elapsed_s }) => elapsed_s)));
  const times = axisOf([0, ...dots.map(({ elapsed_s }) => elapsed_s / unit.seconds)], 5, {
    fromZero: true,
  });
  const read = axisOf([0, ...dots.map(({ bytes_read }) => bytes_read / 1e6)], view.narrow ? 3 : 6, {
    fromZero: true,
  });
  const axis = (of: typeof times, name: string) => ({
    ...quietAxis(view),
    type: "value",
    min: of.minimum,
    max: of.maximum,
    name,
    nameLocation: "middle",
    axisLabel: { ...quietAxis(view).axisLabel, formatter: plain },
  });
  return {
    height: 300,
    option: {
      ...base(view),
      grid: { left: 56, right: 16, top: 16, bottom: 44 },
      xAxis: { ...axis(read, "bytes read (MB)"), nameGap: 28 },
      yAxis: { ...axis(times, `took (${unit.name})`), nameGap: 40 },
      tooltip: pointTip(view, (index) => {
        const dot = dots[index];
        if (!dot) return "";
        return tip(dot.n === 1 ? "1 task" : `${count(dot.n)} tasks, in the mean`, [
          `took ${duration(dot.elapsed_s)}`,
          `read ${bytes(dot.bytes_read)}`,
          `most of it ${causes[dot.cause] ?? "unknown"}`,
        ]);
      }),
      series: [
        {
          type: "scatter",
          data: dots.map(({ bytes_read, elapsed_s, n, cause }) => ({
            value: [bytes_read / 1e6, elapsed_s / unit.seconds],
            symbolSize: Math.min(7 + 2 * Math.log2(n), 24),
            itemStyle: { color: view.color(causeRole(causes[cause] ?? "")), opacity: 0.75 },
          })),
        },
      ],
    },
  };
}
