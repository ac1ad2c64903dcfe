// Groups compared: every value, how they are spread, and how far each is from the first.

import {
  behindGroup,
  logAxis,
  names,
  roleOf,
  timeScale,
  told,
  within,
  withLine,
} from "../../../charts/common";
import { type Box, items, layer, type Named, plotOf, type Shape } from "../../../charts/plot";
import { type Row, rowsChart } from "../../../charts/rows";
import { type Axis, axisOf } from "../../../charts/scale";
import { base, type Drawing, pointTip, tip, type View } from "../../../charts/view";
import { count, plain, ratio, seconds } from "../../../format";
import type { ComparedGroup, ComparisonData } from "../../../generated/types";

const LABEL_PX = 13;
const STRIP_PX = 34;
const BOX_PX = 14;
const GAP_PX = 26;
/** Above this many values their dots are small. */
const CROWD = 150;

/** One path for many circles of radius `r`: thousands of them stay one element. */
const circles = (centres: [number, number][], r: number) =>
  centres
    .map(
      ([x, y]) =>
        `M${(x - r).toFixed(1)} ${y.toFixed(1)}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0`,
    )
    .join("");

/** Spreads dots over the height of a strip, always the same way: the golden ratio's multiples. */
const jitter = (index: number) => ((index * 0.6180339887) % 1) - 0.5;

interface Lane {
  group: ComparedGroup;
  name: string;
  role: string;
  top: number;
}

function dots({ group, role, top }: Lane, x: (valueS: number) => number, view: View): Shape[] {
  const crowded = group.values_s.length > CROWD;
  const radius = crowded ? 2 : 3.5;
  const middle = top + STRIP_PX / 2;
  const outliers = new Set(group.outliers_s);
  const centre = (value: number, index: number): [number, number] => [
    x(value),
    middle + jitter(index) * (STRIP_PX - 2 * radius - 2),
  ];
  const path = (centres: [number, number][], r: number, style: Shape): Shape[] =>
    centres.length > 0 ? [{ type: "path", shape: { pathData: circles(centres, r) }, style }] : [];
  const kept = group.values_s.filter((value) => !outliers.has(value)).map(centre);
  // Of many trials only some are drawn, but every outlier is.
  const marked = group.outliers_s.map(centre);
  const fill = view.color(role);
  const ring = { fill: "none", stroke: view.color("throat"), lineWidth: 1.75 };
  const hollow = { fill: view.color("surface"), stroke: view.color("outline"), lineWidth: 1.5 };
  return [
    ...path(group.warm_ups_s.map(centre), 3.5, hollow),
    ...path(kept, radius, { fill, opacity: crowded ? 0.5 : 0.75 }),
    ...path(marked, radius, { fill }),
    ...path(marked, radius + 2.5, ring),
  ];
}

/** The middle half as a box, all between the least and the greatest as a line, the median. */
function boxOf({ group, role, top }: Lane, x: (valueS: number) => number, view: View): Shape[] {
  const { minimum, p25, p75, maximum, median, interval } = group.elapsed_s;
  if (minimum === null || maximum === null || median === null) return [];
  const middle = top + STRIP_PX + 4 + BOX_PX / 2;
  const line = (x1: number, x2: number, y1: number, y2: number, style: Shape): Shape => ({
    type: "line",
    shape: { x1, y1, x2, y2 },
    style,
  });
  const thin = { stroke: view.color("outline"), lineWidth: 1.25 };
  const half = BOX_PX / 2;
  const shapes = [line(x(minimum), x(maximum), middle, middle, thin)];
  if (p25 !== null && p75 !== null) {
    const [left, right] = [x(p25), x(p75)];
    shapes.push({
      type: "rect",
      shape: { x: left, y: middle - half, width: Math.max(1, right - left), height: BOX_PX },
      style: { fill: view.color("idle"), stroke: view.color(role), lineWidth: 1.25 },
    });
  }
  if (interval) {
    const bar = { stroke: view.color("ink"), lineWidth: 3 };
    shapes.push(line(x(interval.low), x(interval.high), middle, middle, bar));
  }
  const mark = { stroke: view.color("ink"), lineWidth: 2.5 };
  shapes.push(line(x(median), x(median), middle - half - 3, middle + half + 3, mark));
  return shapes;
}

function countText(group: ComparedGroup): string {
  const failed = group.by_state.failed ?? 0;
  return `n = ${count(group.elapsed_s.n)}${failed ? `, ${count(failed)} failed` : ""}`;
}

function labels({ group, name, top }: Lane, left: number, view: View): Shape[] {
  const n = countText(group);
  const text = (words: string, style: Shape): Shape => ({
    type: "text",
    style: { text: words, verticalAlign: "middle", overflow: "truncate", ...style },
  });
  const bold = `600 ${LABEL_PX}px ${view.font}`;
  const plain = `400 12px ${view.font}`;
  if (view.narrow) {
    const y = top - 12;
    const width = view.width - 110;
    return [
      text(name, { x: 0, y, width, fill: view.color("ink"), font: bold }),
      text(n, { x: view.width - 2, y, align: "right", fill: view.color("muted"), font: plain }),
    ];
  }
  const at = { x: left - 14, align: "right", width: left - 18 };
  const middle = top + (STRIP_PX + BOX_PX + 4) / 2;
  return [
    text(name, { ...at, y: middle - 9, fill: view.color("ink"), font: bold }),
    text(n, { ...at, y: middle + 10, fill: view.color("muted"), font: plain }),
  ];
}

const shown = (group: ComparedGroup) => [
  ...group.values_s,
  ...group.outliers_s,
  ...group.warm_ups_s,
];

function details(group: ComparedGroup): string[] {
  const { p25, p75, minimum, maximum } = group.elapsed_s;
  return [
    ...told(group.elapsed_s),
    ...(p25 !== null && p75 !== null ? [`middle 50% ${seconds(p25)} to ${seconds(p75)}`] : []),
    ...(minimum !== null && maximum !== null
      ? [`all between ${seconds(minimum)} and ${seconds(maximum)}`]
      : []),
    `${group.outliers_s.length} outliers (counted), ${group.warm_ups_s.length} warm-ups (not counted)`,
  ];
}

/** The plane below `top` with times across and the given values upright. */
const hidden: Axis = { log: false, minimum: 0, maximum: 1, ticks: [0, 1], share: (value) => value };

/** Every value as a dot, and under the dots their box; on the same scale for all groups. */
export function strips(data: ComparisonData, log: boolean, view: View): Drawing {
  const groups = data.groups.filter((group) => shown(group).length > 0);
  if (groups.length === 0) return null;
  const { unit, axis } = timeScale(groups.flatMap(shown), view.narrow ? 4 : 9, { log });
  const longest = Math.max(
    ...groups.flatMap((group) => [group.name.length, countText(group).length]),
  );
  const left = view.narrow ? 8 : Math.min(8.2 * longest + 24, Math.round(view.width * 0.3));
  const head = view.narrow ? 24 : 4;
  const laneHeight = STRIP_PX + BOX_PX + 4 + GAP_PX;
  const lanes = groups.map(
    (group, index): Lane => ({
      group,
      name: group.name,
      role: roleOf(data.groups.indexOf(group)),
      top: head + index * laneHeight,
    }),
  );
  const bottom = head + lanes.length * laneHeight - GAP_PX + 12;
  const box = { left, top: 0, right: view.width - 18, bottom };
  const horizontal: Named = { axis, name: `time of a trial (${unit.name})`, format: plain };
  const plot = plotOf(horizontal, { axis: hidden, name: "", format: () => "" }, box, view);
  const x = (valueS: number) => plot.x(valueS / unit.seconds);
  const shapes = lanes.map((lane) => [
    {
      type: "rect",
      shape: { x: left, y: lane.top, width: box.right - left, height: STRIP_PX + BOX_PX + 6 },
      style: { fill: view.color("surface"), opacity: 0.01 }, // the pointer finds the whole lane
    },
    ...labels(lane, left, view),
    ...dots(lane, x, view),
    ...boxOf(lane, x, view),
  ]);
  return {
    height: bottom + 46,
    behind: ({ dataIndex }) => {
      const group = lanes[dataIndex]?.group;
      return group && behindGroup(data.by, group.key);
    },
    option: {
      ...base(view),
      ...plot.option,
      yAxis: { type: "value", min: 0, max: 1, show: false },
      tooltip: pointTip(view, (index) => {
        const group = lanes[index]?.group;
        return group ? tip(group.name, details(group)) : "";
      }),
      series: [items(shapes, [axis.minimum, 0], { z: 3 })],
    },
  };
}

const DASHES = [[], [7, 3], [2, 3], [8, 3, 2, 3], [12, 4], [4, 4]] as const;

/** The share of each group's trials that took no longer than the time across. */
export function ecdf(data: ComparisonData, log: boolean, view: View): Drawing {
  const groups = data.groups.filter((group) => group.values_s.length > 0);
  if (groups.length === 0) return null;
  const all = groups.flatMap((group) => group.values_s);
  const { unit, axis } = timeScale(all, view.narrow ? 4 : 9, { log });
  const vertical: Named = {
    axis: axisOf([0, 100], 5, { fromZero: true }),
    name: "share of trials up to this time",
    format: (value) => `${value}%`,
  };
  const height = 380;
  const box = { left: 60, top: 36, right: view.width - 18, bottom: height - 46 };
  const horizontal: Named = { axis, name: `time of a trial (${unit.name})`, format: plain };
  const plot = plotOf(horizontal, vertical, box, view);
  const places: Parameters<typeof names>[0] = [];
  const lines: Box[] = [];
  const curves = groups.map((group, order): Shape[] => {
    const sorted = [...group.values_s].sort((a, b) => a - b);
    const place = data.groups.indexOf(group);
    const at = (index: number) => plot.x((sorted[index] ?? 0) / unit.seconds);
    const up = (done: number) => plot.y((100 * done) / sorted.length);
    const points: [number, number][] = [[at(0), up(0)]];
    for (const index of sorted.keys()) {
      points.push([at(index), up(index)], [at(index), up(index + 1)]);
    }
    points.push([box.right, up(sorted.length)]);
    for (const [index, [x2, y2]] of points.entries()) {
      const [x1, y1] = points[index - 1] ?? [x2, y2];
      lines.push({ left: Math.min(x1, x2) - 1, top: y2 - 1, right: x2 + 1, bottom: y1 + 1 });
    }
    const share = 0.25 + (0.5 * (order + 0.5)) / groups.length;
    const named = Math.min(sorted.length - 1, Math.floor(share * sorted.length));
    const role = roleOf(place);
    const [x, y] = [at(named), up(named + 1)];
    places.push({
      x,
      y,
      radius: 4,
      text: group.name,
      role: "ink",
      bold: true,
      must: true,
    });
    const lineDash = [...(DASHES[place % DASHES.length] ?? [])];
    const stroke = view.color(role);
    return [
      // A wide, hardly visible line for the pointer.
      {
        type: "polyline",
        shape: { points },
        style: { stroke, lineWidth: 12, opacity: 0.01, fill: "none" },
      },
      {
        type: "polyline",
        shape: { points },
        style: { stroke, lineWidth: 2, lineDash, fill: "none" },
      },
      { type: "circle", shape: { cx: x, cy: y, r: 4 }, style: { fill: stroke } },
    ];
  });
  const origin: [number, number] = [axis.minimum, 0];
  return {
    height,
    option: {
      ...base(view),
      ...plot.option,
      tooltip: {
        ...(base(view).tooltip as object),
        formatter: ({ dataIndex }: { dataIndex: number }) => {
          const group = groups[dataIndex];
          return group ? tip(group.name, details(group)) : "";
        },
      },
      series: [
        items(curves, origin, { z: 3 }),
        layer(names(places, [], lines, box, view), origin, 4),
      ],
    },
  };
}

const OUTCOME = { lower: "faster", higher: "slower", "cannot tell": "cannot tell" } as const;

/** Colors of verdicts: those of the other charts of ratios. */
const VERDICT = { faster: "write", slower: "throat", "cannot tell": "outline" } as const;

/** How each group's times stand to the first's, with the interval of that. */
export function ratios(data: ComparisonData, view: View): Drawing {
  const [first, ...others] = data.groups;
  const known = others.flatMap((group) =>
    group.ratio === null ? [] : [{ group, middle: group.ratio, interval: group.ratio_interval }],
  );
  if (!first || known.length === 0) return null;
  const ends = known.flatMap(({ middle, interval }) =>
    interval ? [middle, interval.low, interval.high] : [middle],
  );
  const axis = logAxis([1, ...ends], view.narrow ? 4 : 8);
  const rows = known.map(({ group, middle, interval }): Row => {
    const outcome = group.outcome ? OUTCOME[group.outcome] : "cannot tell";
    return {
      label: group.name,
      ...(interval ? { whisker: [interval.low, interval.high] as [number, number] } : {}),
      marks: [{ at: middle, role: VERDICT[outcome], shape: "dot" }],
      behind: behindGroup(data.by, group.key),
      text: `${ratio(middle)}: ${outcome}`,
      textRole: outcome === "cannot tell" ? "muted" : "ink",
      textAt: axis.maximum,
      details: [
        `${ratio(middle)}${interval ? ` ${within(interval, ratio)}` : ", no interval"}`,
        group.verdict,
      ],
    };
  });
  const scale = {
    ...axis,
    name: `time relative to ${view.narrow ? "the first" : first.name}; below 1 is faster`,
    format: plain,
  };
  return withLine(rowsChart(rows, scale, view, 190), 1, view);
}
