// The places of the sliders, and how a question is written in the page's URL.
import { count } from "../../../format";
import type { WhatIfData } from "../../../generated/types";

/** A place of a slider: the parameter's text, null for the recorded value, and its words. */
export interface Step {
  value: string | null;
  words: string;
}

const RECORDED: Step = { value: null, words: "as recorded" };
const SIZES = [1, 1.5] as const;
const LARGEST = 8;
const LEAST_LARGEST = 16;

/** 1, 2, 3, 4, 6, 8, 12, ... up to eight times `recorded`. */
export function sizes(recorded: number): number[] {
  const most = Math.max(recorded * LARGEST, LEAST_LARGEST);
  const found = new Set([1, recorded]);
  for (let power = 2; power <= most; power *= 2) {
    for (const size of SIZES) if (power * size <= most) found.add(power * size);
  }
  return [...found].sort((a, b) => a - b);
}

/** Steps of a number that was recorded, which is unknown until a first answer. */
export const sizeSteps = (recorded: number | undefined): Step[] =>
  recorded === undefined
    ? [RECORDED, ...plainSteps(1)]
    : sizes(recorded).map((size) =>
        size === recorded
          ? { value: null, words: `${count(size)} (as recorded)` }
          : { value: String(size), words: count(size) },
      );

/** Steps of a number that nothing recorded, such as machines of another type. */
export const plainSteps = (usual: number): Step[] =>
  sizes(usual).map((size) => ({ value: String(size), words: count(size) }));

const step = (value: string, words = value): Step => ({ value, words });

export const DISKS: readonly Step[] = [
  RECORDED,
  step("hdd", "one HDD"),
  step("ssd", "one SATA SSD"),
  step("1GB/s", "1 GB/s"),
  step("nvme", "one NVMe SSD"),
  step("4GB/s", "4 GB/s"),
  step("8GB/s", "8 GB/s"),
];
export const NETWORKS: readonly Step[] = [
  RECORDED,
  ...[1, 5, 10, 25, 50, 100].map((rate) => step(`${rate}Gbit`, `${rate} Gbit/s`)),
];
export const DATA: readonly Step[] = [
  step("0.25x", "a quarter"),
  step("0.5x", "half"),
  { value: null, words: "as recorded" },
  ...[1.5, 2, 3, 4, 6, 8, 12, 16].map((factor) => step(`${factor}x`, `${factor} times`)),
];

const factorOf = (text: string) => Number(text.replace(/x$/, ""));

/**
 * The steps with `value` among them: a URL may have any value. Numbers and factors find their
 * place in order, other texts come last.
 */
export function withValue(steps: readonly Step[], value: string | null): readonly Step[] {
  if (steps.some((each) => each.value === value)) return steps;
  if (value === null) return [RECORDED, ...steps];
  const factor = factorOf(value);
  const own = step(value);
  const numberOf = (each: Step) => factorOf(each.value ?? "1");
  const at = Number.isNaN(factor)
    ? -1
    : steps.findIndex((each) => each.value !== null && numberOf(each) > factor);
  return at < 0 ? [...steps, own] : [...steps.slice(0, at), own, ...steps.slice(at)];
}

/** The catalog with all current types: as a machine type, it asks to rank them. */
export const ALL_TYPES = "current";

/** `i4i.4xlarge:8` in its parts; without a number of machines, one. */
export function machinesOf(on: string | null): { type: string; nodes: number } | null {
  if (!on || on === ALL_TYPES) return null;
  const [type = "", nodes = "1"] = on.split(":");
  return { type, nodes: Number.parseInt(nodes, 10) || 1 };
}

/** `KEY=VALUE` texts that spaces or lines divide. */
export const settingsOf = (text: string): string[] => text.split(/\s+/).filter(Boolean);

/** The fastest target, which the sentence and the curve are about. */
export const bestOf = ({ targets, best, today }: WhatIfData) => targets[best] ?? today;
