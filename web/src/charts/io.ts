// The requests of a trial to its disks, pattern by pattern: how large, how long, how far, and where.

import { bytes, count, percent, size } from "../format";
import type { IoPattern } from "../generated/types";
import { latency } from "../units";
import { type Mark, type Panel, panels, type Shared } from "./panels";
import { base, type Drawing, quietAxis, tip, type View } from "./view";

/** The counted unit: requests, or bytes where they are known. */
export type Counted = "requests" | "bytes";
/** How amounts are distinguished: by themselves, or by their powers. */
export type Scale = "linear" | "log";

const SECTOR_BYTES = 512;
const ROLES = ["read", "write", "memory", "blocked", "cpu-user", "network"] as const;

export const roleAt = (place: number): string => ROLES[place % ROLES.length] ?? "read";

/** A caption with the losses of the trace: a chart that is used by itself names them, too. */
export function captioned(caption: string, lost: string | null): string {
  if (!lost) return caption;
  const said = caption && `${caption.replace(/\.?$/, ".")} `;
  return `${said}${lost.charAt(0).toUpperCase()}${lost.slice(1)}.`;
}

export const drawn = (patterns: readonly IoPattern[]) =>
  patterns.filter(({ sizes }) => sizes !== null);

/** From nothing to the largest share, in at most four steps. */
function shareAxis(shares: readonly number[]): Shared {
  const most = Math.max(0.01, ...shares);
  const step = [0.005, 0.01, 0.02, 0.05, 0.1, 0.25].find((each) => 4 * each >= most) ?? 0.25;
  const steps = Math.ceil(most / step - 1e-9);
  return {
    minimum: 0,
    maximum: steps * step,
    ticks: Array.from({ length: steps + 1 }, (_, place) => Number((place * step).toFixed(3))),
    format: (value) => (step < 0.01 ? `${(100 * value).toFixed(1)}%` : percent(value)),
  };
}

/** Every whole power from the least to the greatest, but at most `most` of them. */
export function powers(least: number, greatest: number, most: number): number[] {
  const [first, last] = [Math.ceil(least - 1e-9), Math.floor(greatest + 1e-9)];
  const step = Math.max(1, Math.ceil((last - first + 1) / most));
  const found: number[] = [];
  for (let power = first; power <= last; power += step) found.push(power);
  return found;
}

/** A logarithmic axis in powers of `root`. */
export function powerAxis(
  values: readonly number[],
  root: number,
  format: (value: number) => string,
): Shared {
  const minimum = values.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
  const maximum = values.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
  const whole = powers(minimum, maximum, 4);
  return {
    minimum,
    maximum: maximum > minimum ? maximum : minimum + 1,
    ticks: whole.length > 1 ? whole : [minimum, maximum],
    format: (power) => format(root ** power),
  };
}

const bar = (
  from: number,
  to: number,
  share: number,
  more: Pick<Mark, "title" | "lines">,
): Mark => ({
  from,
  to,
  low: 0,
  high: share,
  role: "read",
  ...more,
});

/** The share that each has of all; of nothing each has none. */
const sharesOf = (values: readonly number[]) => {
  const whole = values.reduce((a, b) => a + b, 0);
  return values.map((value) => (whole > 0 ? value / whole : 0));
};

/** The least share that a logarithmic axis has: a hundredth of a per cent. */
const LEAST_POWER = -4;

function barsChart(all: readonly Panel[], x: Shared, scale: Scale, view: View): Drawing {
  if (scale === "linear") {
    return panels(
      all,
      x,
      shareAxis(all.flatMap(({ marks }) => marks.map(({ high }) => high))),
      view,
    );
  }
  const power = (share: number) => Math.max(LEAST_POWER, Math.log10(Math.max(share, 1e-9)));
  const y: Shared = {
    minimum: LEAST_POWER,
    maximum: 0,
    ticks: [-4, -3, -2, -1, 0],
    format: (value) => `${Number((100 * 10 ** value).toPrecision(1))}%`,
  };
  const marked = all.map((panel) => ({
    ...panel,
    marks: panel.marks.map((mark) => ({ ...mark, low: LEAST_POWER, high: power(mark.high) })),
  }));
  return panels(marked, x, y, view);
}

/** How large requests are, by powers of two. */
export function sizesChart(
  patterns: readonly IoPattern[],
  counted: Counted,
  scale: Scale,
  view: View,
): Drawing {
  const all = drawn(patterns).map(({ name, sizes }): Panel => {
    const bins = sizes ?? [];
    const shares = sharesOf(
      bins.map((bin) => (counted === "bytes" ? (bin.bytes ?? 0) : bin.requests)),
    );
    return {
      title: name,
      marks: bins.map((bin, at) =>
        bar(Math.log2(bin.low), Math.log2(bin.high), shares[at] ?? 0, {
          title: `${size(bin.low)} to ${size(bin.high)}`,
          lines: [
            `${percent(shares[at] ?? 0)} of the ${counted}`,
            `${count(bin.requests)} requests, ${bytes(bin.bytes ?? 0)}`,
          ],
        }),
      ),
    };
  });
  const ends = all.flatMap(({ marks }) => marks.flatMap(({ from, to }) => [from, to]));
  return ends.length === 0 ? null : barsChart(all, powerAxis(ends, 2, size), scale, view);
}

/** How long the device took. */
export function timesChart(patterns: readonly IoPattern[], scale: Scale, view: View): Drawing {
  const all = drawn(patterns).map(({ name, times }): Panel => {
    const bins = times ?? [];
    const shares = sharesOf(bins.map(({ requests }) => requests));
    return {
      title: name,
      marks: bins.map((bin, at) =>
        bar(Math.log10(bin.low), Math.log10(bin.high), shares[at] ?? 0, {
          title: `${latency(bin.low)} to ${latency(bin.high)}`,
          lines: [`${percent(shares[at] ?? 0)}, ${count(bin.requests)} requests`],
        }),
      ),
    };
  });
  const ends = all.flatMap(({ marks }) => marks.flatMap(({ from, to }) => [from, to]));
  return ends.length === 0 ? null : barsChart(all, powerAxis(ends, 10, latency), scale, view);
}

/** The least distance of an octave with its sign, as text. */
export const distance = (octave: number): string =>
  octave === 0
    ? "0"
    : `${octave < 0 ? "−" : "+"}${size(2 ** (Math.abs(octave) - 1) * SECTOR_BYTES)}`;

/** How far each begins from where the last one ended, by direction; 0 stands in the middle. */
export function seeksChart(patterns: readonly IoPattern[], scale: Scale, view: View): Drawing {
  const all = drawn(patterns).map(({ name, seeks }): Panel => {
    const bins = seeks ?? [];
    const shares = sharesOf(bins.map(({ requests }) => requests));
    return {
      title: name,
      marks: bins.map(({ octave, requests }, at) =>
        bar(octave - 0.5, octave + 0.5, shares[at] ?? 0, {
          title: octave === 0 ? "no seek" : `${distance(octave)} or more`,
          lines: [`${percent(shares[at] ?? 0)}, ${count(requests)} requests`],
        }),
      ),
    };
  });
  const ends = all.flatMap(({ marks }) => marks.flatMap(({ from, to }) => [from, to]));
  if (ends.length === 0) return null;
  const reach = Math.max(4.5, ...ends.map(Math.abs));
  const half = Math.max(2, Math.round(reach / 2));
  const x = {
    minimum: -reach,
    maximum: reach,
    ticks: [-2 * half, -half, 0, half, 2 * half].filter((tick) => Math.abs(tick) <= reach),
    format: distance,
  };
  return barsChart(all, x, scale, view);
}

const CCDF_PX = 300;

/** The share of requests that took longer, of all patterns in one plane, both scales logarithmic. */
export function ccdfChart(patterns: readonly IoPattern[], view: View): Drawing {
  const lines = drawn(patterns).filter(({ ccdf }) => (ccdf?.length ?? 0) > 0);
  if (lines.length === 0) return null;
  const quiet = quietAxis(view);
  const log = { type: "log", ...quiet, splitLine: { lineStyle: { color: view.color("line") } } };
  return {
    height: CCDF_PX,
    option: {
      ...base(view),
      tooltip: {
        ...(base(view).tooltip as object),
        trigger: "item",
        formatter: ({ seriesIndex, data }: { seriesIndex: number; data: [number, number] }) =>
          tip(lines[seriesIndex]?.name ?? "", [
            `${(100 * data[1]).toPrecision(2)}% took ${latency(data[0])} or longer`,
          ]),
      },
      grid: { left: 56, right: 14, top: 12, bottom: 44 },
      xAxis: {
        ...log,
        name: "device latency",
        nameLocation: "middle",
        nameGap: 28,
        axisLabel: { ...quiet.axisLabel, formatter: latency },
      },
      yAxis: {
        ...log,
        max: 1,
        axisLabel: {
          ...quiet.axisLabel,
          formatter: (value: number) => `${Number((100 * value).toPrecision(2))}%`,
        },
      },
      series: lines.map(({ name, ccdf }, place) => ({
        type: "line",
        name,
        step: "end",
        data: (ccdf ?? []).filter(([took, share]) => took > 0 && share > 0),
        showSymbol: true,
        symbolSize: 3,
        lineStyle: { width: 1.75, color: view.color(roleAt(place)) },
        itemStyle: { color: view.color(roleAt(place)) },
      })),
    },
  };
}
