// The requests of a trial to its disks, pattern by pattern: how large, how long, how far, and where.
import { type Mark, type Panel, panels, type Shared } from "../../../charts/panels";
import { base, type Drawing, quietAxis, tip, type View } from "../../../charts/view";
import { bytes, count, percent, size } from "../../../format";
import type { IoHeat, IoPattern } from "../../../generated/types";
import { duration, latency } from "../../../units";

/** What is counted of each: requests, or bytes where they are known. */
export type Counted = "requests" | "bytes";

const SECTOR_BYTES = 512;
const ROLES = ["read", "write", "memory", "blocked", "cpu-user", "network"] as const;

export const roleAt = (place: number): string => ROLES[place % ROLES.length] ?? "read";

const drawn = (patterns: readonly IoPattern[]) => patterns.filter(({ sizes }) => sizes !== null);

/** From nothing to the largest share, in at most four steps. */
function shareAxis(shares: readonly number[]): Shared {
  const most = Math.max(0.01, ...shares);
  const step = [0.005, 0.01, 0.02, 0.05, 0.1, 0.25].find((each) => 4 * each >= most) ?? 0.25;
  const steps = Math.ceil(most / step - 1e-9);
  return {
    minimum: 0,
    maximum: steps * step,
    ticks: Array.from({ length: steps + 1 }, (_, place) => Number((place * step).toFixed(3))),
    format: (value) => (step < 0.01 ? `${(100 * value).toFixed(1)} %` : percent(value)),
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
function powerAxis(
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

function barsChart(all: readonly Panel[], x: Shared, view: View): Drawing {
  const y = shareAxis(all.flatMap(({ marks }) => marks.map(({ high }) => high)));
  return panels(all, x, y, view);
}

/** How large requests are, by powers of two. */
export function sizesChart(patterns: readonly IoPattern[], counted: Counted, view: View): Drawing {
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
  return ends.length === 0 ? null : barsChart(all, powerAxis(ends, 2, size), view);
}

/** How long the device took. */
export function timesChart(patterns: readonly IoPattern[], view: View): Drawing {
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
  return ends.length === 0 ? null : barsChart(all, powerAxis(ends, 10, latency), view);
}

/** The least distance of an octave with its sign, as text. */
export const distance = (octave: number): string =>
  octave === 0
    ? "0"
    : `${octave < 0 ? "−" : "+"}${size(2 ** (Math.abs(octave) - 1) * SECTOR_BYTES)}`;

/** How far each begins from where the last one ended, by direction; 0 stands in the middle. */
export function seeksChart(patterns: readonly IoPattern[], view: View): Drawing {
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
  return barsChart(all, x, view);
}

/** Cells of time and of something else, the darker the more is in them. */
function heatMarks(
  heat: IoHeat,
  up: (value: number) => number,
  told: (low: number, high: number, amount: number) => string[],
): Mark[] {
  const most = Math.max(1, ...heat.cells.map(([, , amount]) => amount));
  return heat.cells.map(([column, row, amount]) => {
    const from = heat.start_s + column * heat.column_s;
    const [low, high] = [heat.rows[row] ?? 0, heat.rows[row + 1] ?? heat.rows[row] ?? 0];
    return {
      from,
      to: from + heat.column_s,
      low: up(low),
      high: up(high),
      role: "read",
      // Of little there is still something to be seen.
      opacity: 0.2 + (0.8 * Math.log1p(amount)) / Math.log1p(most),
      title: `from ${duration(from)}`,
      lines: told(low, high, amount),
    };
  });
}

function heatChart(
  all: readonly Panel[],
  elapsedS: number,
  y: (marks: readonly Mark[]) => Shared,
  view: View,
): Drawing {
  const marks = all.flatMap((panel) => panel.marks);
  if (marks.length === 0) return null;
  const maximum = marks.reduce((a, { to }) => Math.max(a, to), elapsedS);
  const step = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 60, 120, 300, 600, 1800, 3600, 7200].find(
    (each) => 4 * each >= maximum,
  );
  const steps = step ? Math.floor(maximum / step) : 0;
  const ticks = Array.from({ length: steps + 1 }, (_, place) => place * (step ?? maximum));
  return panels(all, { minimum: 0, maximum, ticks, format: duration }, y(marks), view);
}

/** Where on the disk requests are over time. */
export function placesChart(patterns: readonly IoPattern[], elapsedS: number, view: View): Drawing {
  const all = drawn(patterns).map(
    ({ name, places }): Panel => ({
      title: name,
      marks: places
        ? heatMarks(
            places,
            (value) => value,
            (low, high, amount) => [`${bytes(low)} to ${bytes(high)} of the disk`, bytes(amount)],
          )
        : [],
    }),
  );
  const y = (marks: readonly Mark[]): Shared => {
    const minimum = marks.reduce((a, { low }) => Math.min(a, low), Number.POSITIVE_INFINITY);
    const maximum = marks.reduce((a, { high }) => Math.max(a, high), 0);
    return { minimum, maximum, ticks: [minimum, (minimum + maximum) / 2, maximum], format: bytes };
  };
  return heatChart(all, elapsedS, y, view);
}

/** How long requests took over time. */
export function timesOverChart(
  patterns: readonly IoPattern[],
  elapsedS: number,
  view: View,
): Drawing {
  const power = (value: number) => Math.log10(Math.max(value, 1e-9));
  const all = drawn(patterns).map(
    ({ name, times_over }): Panel => ({
      title: name,
      marks: times_over
        ? heatMarks(times_over, power, (low, high, amount) => [
            `${latency(low)} to ${latency(high)}`,
            `${count(amount)} requests`,
          ])
        : [],
    }),
  );
  const y = (marks: readonly Mark[]) =>
    powerAxis(
      marks.flatMap(({ low, high }) => [low, high]),
      10,
      latency,
    );
  return heatChart(all, elapsedS, y, view);
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
            `${(100 * data[1]).toPrecision(2)} % took ${latency(data[0])} or longer`,
          ]),
      },
      grid: { left: 56, right: 14, top: 12, bottom: 44 },
      xAxis: {
        ...log,
        name: "time at the device",
        nameLocation: "middle",
        nameGap: 28,
        axisLabel: { ...quiet.axisLabel, formatter: latency },
      },
      yAxis: {
        ...log,
        max: 1,
        axisLabel: {
          ...quiet.axisLabel,
          formatter: (value: number) => `${Number((100 * value).toPrecision(2))} %`,
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
