// Quantities as text, as python/venturi/core/units.py prints them.

const grouped = (value: number, digits = 0) =>
  value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });

/** Decimal MB/s. */
export function rate(bytesPerS: number): string {
  const mb = bytesPerS / 1e6;
  return `${grouped(mb, mb >= 10 || mb === 0 ? 0 : 2)} MB/s`;
}

/** In bits, as links are sold: `10 Gbit/s`. */
export function lineRate(bytesPerS: number): string {
  const bits = bytesPerS * 8;
  const [scale, name] = bits >= 1e9 ? [1e9, "Gbit/s"] : [1e6, "Mbit/s"];
  return `${Number((bits / scale).toPrecision(4))} ${name}`;
}

/** `85 µs`, `1.35 ms`, `850 ms`, `12.3 s`, `4 min 05 s`, `2 h 03 min`. */
export function duration(valueS: number): string {
  if (valueS > 0 && valueS < 0.009995) {
    const scales: [number, string][] = [
      [1e-3, "ms"],
      [1e-6, "µs"],
    ];
    const [scale, name] = scales.find(([each]) => valueS >= 0.9995 * each) ?? [1e-9, "ns"];
    return `${Number((valueS / scale).toPrecision(3))} ${name}`;
  }
  if (valueS < 0.9995) return `${(valueS * 1000).toFixed(0)} ms`;
  if (valueS < 99.95) return `${valueS.toFixed(1)} s`;
  const total = Math.round(valueS);
  const two = (value: number) => String(Math.floor(value)).padStart(2, "0");
  if (total < 3600) return `${Math.floor(total / 60)} min ${two(total % 60)} s`;
  const minutes = Math.round(valueS / 60);
  return `${Math.floor(minutes / 60)} h ${two(minutes % 60)} min`;
}

/** A request's time: `85 µs`, `1.2 ms`. */
export function latency(valueS: number): string {
  if (valueS >= 1) return `${Number(valueS.toPrecision(3))} s`;
  if (valueS >= 1e-3) return `${Number((valueS * 1e3).toPrecision(3))} ms`;
  return `${Number((valueS * 1e6).toPrecision(3))} µs`;
}

export const usd = (value: number) => `$${grouped(value, value < 1000 ? 2 : 0)}`;
export const percent = (fraction: number) => `${(fraction * 100).toFixed(0)}%`;

/** Round values 1, 2, 5 x 10^n from `low` to `high`, both inside. */
export function logTicks(
  low: number,
  high: number,
  steps: readonly number[] = [1, 2, 5],
): number[] {
  const ticks: number[] = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) {
    for (const step of steps) {
      const tick = Number(`${step}e${power}`);
      if (tick >= low * 0.999 && tick <= high * 1.001) ticks.push(tick);
    }
  }
  return ticks;
}
