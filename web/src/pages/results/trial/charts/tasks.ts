// The tasks of a job: by executor over time, on a canvas, and their time against what they read.
import { axisOf, timeUnit } from "../../../../charts/scale";
import { base, type Drawing, pointTip, quietAxis, tip, type View } from "../../../../charts/view";
import { bytes, count, duration, plain } from "../../../../format";
import type { JobData, JobTasks } from "../../../../generated/types";
import { causeRole, REST } from "./job";

/** Where lanes are drawn, in px: below `top`, which the strips take. */
export interface Plot {
  left: number;
  width: number;
  top: number;
  lane: number;
  height: number;
}

/** The spans of one kind above the lanes: queries, jobs, stages. */
export interface Strip {
  name: string;
  spans: { name: string; from: number; to: number; role: string }[];
}

/** The usual role; but tasks without a cause must differ from an idle lane. */
export const taskRole = (cause: string): string => {
  const role = causeRole(cause);
  return role === REST ? "outline" : role;
};

const LANE_PX = 16;
const NARROW_LANE_PX = 12;
const ROOM_PX = 120; // which few lanes fill
const MOST_LANE_PX = 40;
const STRIP_PX = 16;
const AXIS_PX = 24;
const LABEL_PX = 84;
const NARROW_LABEL_PX = 34;

export const plotOf = (strips: number, lanes: number, view: View): Plot => {
  const least = view.narrow ? NARROW_LANE_PX : LANE_PX;
  const lane = Math.max(least, Math.min(MOST_LANE_PX, ROOM_PX / Math.max(lanes, 1)));
  const left = view.narrow ? NARROW_LABEL_PX : LABEL_PX;
  const top = strips * STRIP_PX;
  return { left, width: view.width - left, top, lane, height: top + lanes * lane + AXIS_PX };
};

/** The strips of a job; of stages those on the critical path stand out. */
export function stripsOf({ queries, jobs, stages }: JobData): Strip[] {
  const span = (name: string, from: number | null, took: number | null, role: string) =>
    from === null || took === null ? [] : [{ name, from, to: from + took, role }];
  const strips = [
    {
      name: "queries",
      spans: queries.flatMap(({ id, name, started_s, elapsed_s }) =>
        span(`query ${id} ${name}`, started_s, elapsed_s, "phase-odd"),
      ),
    },
    {
      name: "jobs",
      spans: jobs.flatMap(({ id, name, started_s, elapsed_s }) =>
        span(`job ${id} ${name}`, started_s, elapsed_s, "phase-even"),
      ),
    },
    {
      name: "stages",
      spans: stages.flatMap(({ label, name, started_s, elapsed_s, on_critical_path: path }) =>
        span(`stage ${label} ${name}`, started_s, elapsed_s, path ? "outline" : "phase-odd"),
      ),
    },
  ];
  return strips.filter(({ spans }) => spans.length > 0);
}

/** A name on the left, in the room that it has. */
function nameLeft(pen: CanvasRenderingContext2D, name: string, y: number, plot: Plot, view: View) {
  pen.fillStyle = view.color("muted");
  pen.textAlign = "right";
  pen.fillText(name, plot.left - 8, y, plot.left - 10);
}

function drawStrips(
  pen: CanvasRenderingContext2D,
  strips: readonly Strip[],
  { from_s: from, to_s: to }: JobTasks,
  plot: Plot,
  view: View,
) {
  if (from === null || to === null) return;
  const x = (at: number) =>
    plot.left + Math.min(Math.max((at - from) / (to - from), 0), 1) * plot.width;
  strips.forEach(({ name, spans }, row) => {
    for (const span of spans) {
      if (span.to < from || span.from > to) continue;
      pen.fillStyle = view.color(span.role);
      const width = Math.max(1, x(span.to) - x(span.from) - 1);
      pen.fillRect(x(span.from), row * STRIP_PX + 2, width, STRIP_PX - 4);
    }
    nameLeft(pen, name, row * STRIP_PX + STRIP_PX / 2, plot, view);
  });
}

/** Draws the lanes: each piece of time in the color of its main cause, as high as its tasks. */
export function drawLanes(
  pen: CanvasRenderingContext2D,
  strips: readonly Strip[],
  data: JobTasks,
  plot: Plot,
  view: View,
) {
  const { lanes, causes, from_s: from, to_s: to } = data;
  const most = Math.max(1, ...lanes.flatMap(({ busy }) => busy));
  const colors = causes.map((cause) => view.color(taskRole(cause)));
  pen.clearRect(0, 0, view.width, plot.height);
  pen.textBaseline = "middle";
  pen.font = `12px ${view.font}`;
  drawStrips(pen, strips, data, plot, view);
  lanes.forEach(({ executor, main, busy }, row) => {
    const top = plot.top + row * plot.lane;
    const bottom = top + plot.lane - 1;
    const step = plot.width / main.length;
    pen.fillStyle = view.color("idle");
    pen.globalAlpha = 0.5;
    pen.fillRect(plot.left, top, plot.width, plot.lane - 1);
    pen.globalAlpha = 1;
    main.forEach((cause, place) => {
      if (cause < 0) return;
      const high = Math.max(2, ((plot.lane - 1) * (busy[place] ?? 0)) / most);
      pen.fillStyle = colors[cause] ?? view.color("idle");
      pen.fillRect(plot.left + place * step, bottom - high, step + 0.5, high);
    });
    nameLeft(pen, executor, top + plot.lane / 2, plot, view);
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

/** About `most` round times between two times. */
export function ticksOf(from: number, to: number, most: number): number[] {
  const unit = timeUnit(to).seconds;
  const raw = (to - from) / unit / most;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = ([1, 2, 5, 10].find((each) => each * power >= raw) ?? 10) * power * unit;
  const found: number[] = [];
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) found.push(at);
  return found;
}

/** The heights of the middles of all strips and lanes, from above. */
export const middlesOf = (strips: number, lanes: number, { top, lane }: Plot): number[] => [
  ...Array.from({ length: strips }, (_, row) => (row + 0.5) * STRIP_PX),
  ...Array.from({ length: lanes }, (_, row) => top + (row + 0.5) * lane),
];

/** The time at `x`, within the shown range. */
export function momentAt(x: number, { from_s, to_s }: JobTasks, plot: Plot): number {
  const share = Math.min(Math.max((x - plot.left) / plot.width, 0), 1);
  return (from_s ?? 0) + share * ((to_s ?? 0) - (from_s ?? 0));
}

/** The spans of the strip at a place of the canvas. */
export function spansAt(
  x: number,
  y: number,
  strips: readonly Strip[],
  data: JobTasks,
  plot: Plot,
): Strip["spans"] {
  const at = momentAt(x, data, plot);
  if (x < plot.left) return [];
  return (strips[Math.floor(y / STRIP_PX)]?.spans ?? []).filter(
    ({ from, to }) => y < plot.top && from <= at && at <= to,
  );
}

/** The lines of the tip at a place of the lanes; null if there is nothing. */
export function seenAt(x: number, y: number, data: JobTasks, plot: Plot): string[] | null {
  const lane = data.lanes[Math.floor((y - plot.top) / plot.lane)];
  if (!lane || x < plot.left) return null;
  const at = Math.floor(((x - plot.left) / plot.width) * lane.main.length);
  const cause = data.causes[lane.main[at] ?? -1];
  const busy = plain(lane.busy[at] ?? 0);
  return [
    `executor ${lane.executor}${lane.host === null ? "" : ` on ${lane.host}`}`,
    `at ${duration(momentAt(x, data, plot))}`,
    cause === undefined
      ? "no task"
      : `${busy} concurrent task${busy === "1" ? "" : "s"}, mostly ${cause}`,
  ];
}

/** Each dot is a task, or several similar ones: its time against the bytes that it read. */
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
        return tip(dot.n === 1 ? "1 task" : `${count(dot.n)} tasks (mean)`, [
          `took ${duration(dot.elapsed_s)}`,
          `read ${bytes(dot.bytes_read)}`,
          `mostly ${causes[dot.cause] ?? "unknown"}`,
        ]);
      }),
      series: [
        {
          type: "scatter",
          data: dots.map(({ bytes_read, elapsed_s, n, cause }) => ({
            value: [bytes_read / 1e6, elapsed_s / unit.seconds],
            symbolSize: Math.min(7 + 2 * Math.log2(n), 24),
            itemStyle: { color: view.color(taskRole(causes[cause] ?? "")), opacity: 0.75 },
          })),
        },
      ],
    },
  };
}
