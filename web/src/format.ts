// Quantities as text. Missing is never a number: what is null has no text here, see `Missing`.
export { duration, percent, rate, usd } from "./units";

export type Scalar = string | number | boolean | null;
export type Key = readonly Scalar[];

const number = (value: number, digits: number) =>
  value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });

/** Seconds to three digits, whole from 100 s on: `0.51 s`, `12.3 s`, `1,432 s`. */
export const seconds = (value: number) =>
  `${number(value, value < 10 ? 2 : value < 100 ? 1 : 0)} s`;

/** US dollars to a tenth of a cent below ten: `$0.309`, `$97.00`. */
export const dollars = (value: number) =>
  `$${number(value, value < 10 ? 3 : value < 1000 ? 2 : 0)}`;

/** How many times: `1.24×`. */
export const ratio = (value: number) => `${number(value, value < 10 ? 2 : value < 100 ? 1 : 0)}×`;

/** `text` with a capital letter at its beginning. */
export const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

/** `text` with a full stop at its end; it may begin with a name, which stays as it is. */
export const fullStop = (text: string) => text.replace(/[^.?!]$/, "$&.");

/** `text` as a sentence: a capital letter first, a full stop last. */
export const sentence = (text: string) => fullStop(capital(text));

/** A whole number: `37,049`. */
export const count = (value: number) => value.toLocaleString("en-US");

/** `3 trials`, `1 trial`. */
export const trials = (value: number) => `${count(value)} ${value === 1 ? "trial" : "trials"}`;

/** Any number to at most six digits. */
export const plain = (value: number) =>
  value.toLocaleString("en-US", { maximumSignificantDigits: 6 });

/** Any number to three digits, without an exponent: `0.0000319`, `12,300`. */
export const three = (value: number) =>
  value.toLocaleString("en-US", { maximumSignificantDigits: 3 });

const UNITS = ["B", "kB", "MB", "GB", "TB", "PB"];

/** Decimal bytes: `2.00 GB`, `512 B`. */
export function bytes(value: number): string {
  const step = value < 1000 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log10(value) / 3));
  const scaled = value / 1000 ** step;
  return `${number(scaled, step === 0 || scaled >= 100 ? 0 : scaled >= 10 ? 1 : 2)} ${UNITS[step]}`;
}

/** A size that was chosen, as it was probably written: `64 KiB`, `100 GB`; in whichever units it is
 * shorter, and rounded where it is long in both. */
export function size(value: number): string {
  const inUnits = (step: number, names: readonly string[]) => {
    let power = 0;
    while (value / step ** (power + 1) >= 1 && power < 4) power += 1;
    return `${Number((value / step ** power).toPrecision(12))} ${names[power]}`;
  };
  const decimal = inUnits(1000, UNITS);
  const binary = inUnits(1024, ["B", "KiB", "MiB", "GiB", "TiB"]);
  const shortest = binary.length < decimal.length ? binary : decimal;
  return shortest.length <= 8 ? shortest : bytes(value);
}

/** `215 to 231 s` from the ends of an interval. */
export const range = (
  { low, high }: { low: number; high: number },
  show: (value: number) => string,
) => `${show(low)} to ${show(high)}`;

/** A time in UTC: `2014-09-30 12:31 UTC`. */
export const moment = (iso: string) => {
  const at = new Date(iso);
  return Number.isNaN(at.getTime())
    ? iso
    : `${at.toISOString().slice(0, 16).replace("T", " ")} UTC`;
};

const PREFIX = "configuration.";

/** A key as a heading: configuration keys without their prefix. */
export const keyName = (key: string) =>
  key.startsWith(PREFIX) ? key.slice(PREFIX.length) : key.replace(/_/g, " ");

/** One value of a key, or that it's missing. */
export const valueText = (value: Scalar) => (value === null ? "(missing)" : String(value));

/** The values that a group stands for: `IB · SSD`; no keys at all: all trials. */
export const keyText = (key: Key) =>
  key.length === 0 ? "all trials" : key.map(valueText).join(" · ");

/** The condition that a trial's `key` has this value, as the API reads it. */
export const condition = (key: string, value: Scalar) => `${key}=${value === null ? "" : value}`;
