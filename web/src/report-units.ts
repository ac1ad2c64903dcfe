// Quantities that only reports print; python/venturi/core/units.py prints them the same way.

const grouped = (value: number, digits = 0) =>
  value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });

function scaled(value: number, step: number, names: readonly string[]): string {
  let power = 0;
  let rest = value;
  while (Math.abs(rest) >= step && power < names.length - 1) {
    rest /= step;
    power += 1;
  }
  return `${rest.toFixed(power ? 1 : 0)} ${names[power]}`;
}

/** Memory, in binary units: `4.0 GiB`. */
export const memory = (bytes: number) =>
  scaled(bytes, 1024, ["B", "KiB", "MiB", "GiB", "TiB", "PiB"]);

/** Data, in decimal units: `100.0 TB`. */
export const size = (bytes: number) => scaled(bytes, 1000, ["B", "kB", "MB", "GB", "TB", "PB"]);

/** US dollars to the cent. */
export const usd = (value: number) => `$${grouped(value, 2)}`;
export const count = (value: number) => grouped(value);
export const hourly = (usd: number) => `$${grouped(usd, 3)}`;
export const ratio = (value: number) => value.toFixed(2);

/** `12%`, and one digit more below ten. */
export const share = (fraction: number) =>
  `${(100 * fraction).toFixed(fraction >= 0.0995 ? 0 : 1)}%`;

/** A request's time: `85 ns`, `85 µs`, `1.2 ms`, `2 s`. */
export function requestTime(seconds: number): string {
  for (const [step, unit] of [
    [1, "s"],
    [1e-3, "ms"],
    [1e-6, "µs"],
  ] as const) {
    if (seconds >= step) return `${Number((seconds / step).toPrecision(3))} ${unit}`;
  }
  return `${grouped(seconds * 1e9)} ns`;
}
