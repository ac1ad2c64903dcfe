// An axis with round ticks. Their pixels are known before anything is drawn, so that labels can be
// placed where they overlap nothing.
import { logTicks } from "../units";

export interface Axis {
  log: boolean;
  minimum: number;
  maximum: number;
  ticks: number[];
  /** Where `value` stands, from 0 (minimum) to 1 (maximum). */
  share(value: number): number;
}

/** Values further apart than this factor are drawn to a logarithmic scale. */
const LOG_RANGE = 20;

/** Steps of an axis of money or of decimal seconds. */
const DECIMAL = [1, 2, 5, 10] as const;

function logAxis(low: number, high: number, most: number): Axis {
  const [minimum, maximum] = [low / 1.25, high * 1.25];
  const choices = [[1, 2, 5], [1, 3], [1]].map((steps) => logTicks(minimum, maximum, steps));
  const ticks = choices.find((each) => each.length <= most + 1) ?? logTicks(minimum, maximum, [1]);
  const span = Math.log(maximum / minimum);
  return { log: true, minimum, maximum, ticks, share: (v) => Math.log(v / minimum) / span };
}

/**
 * An axis that holds all `values` with at most `most` steps: logarithmic where the greatest is more
 * than `logRange` times the least, else from 0 on where it is more than three times the least.
 */
export function axisOf(
  values: number[],
  most: number,
  { fromZero = false, logRange = LOG_RANGE } = {},
): Axis {
  const [least, greatest] = [Math.min(...values), Math.max(...values)];
  if (!fromZero && least > 0 && greatest / least > logRange) return logAxis(least, greatest, most);
  const margin = fromZero ? 0 : 0.06 * (greatest - least || greatest || 1);
  const low = fromZero || least - margin < greatest / 3 ? 0 : least - margin;
  const high = greatest + margin || 1; // of nothing but zeros
  const power = 10 ** Math.floor(Math.log10((high - low) / most));
  const step = (DECIMAL.find((each) => each * power * most >= high - low) ?? 10) * power;
  const first = Math.floor(low / step);
  const last = Math.ceil(high / step);
  const at = (place: number) => Number((place * step).toPrecision(12));
  const [minimum, maximum] = [at(first), at(last)];
  return {
    log: false,
    minimum,
    maximum,
    ticks: Array.from({ length: last - first + 1 }, (_, place) => at(first + place)),
    share: (value) => (value - minimum) / (maximum - minimum),
  };
}

/** Whether `values` spread so widely that only a logarithmic scale shows the small ones. */
export function farApart(values: readonly number[]): boolean {
  const least = Math.min(...values);
  return values.length > 0 && least > 0 && Math.max(...values) / least > LOG_RANGE;
}

/** The unit in which an axis of times up to `greatestS` reads best. */
export function timeUnit(greatestS: number): { name: string; seconds: number } {
  if (greatestS < 1) return { name: "ms", seconds: 1e-3 };
  if (greatestS < 180) return { name: "s", seconds: 1 };
  if (greatestS < 3 * 3600) return { name: "min", seconds: 60 };
  return { name: "h", seconds: 3600 };
}
