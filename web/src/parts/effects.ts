// The effects of single keys, all else equal: what their marks mean, and their table.
import { keyName, valueText } from "../format";
import type { ParameterEffect } from "../generated/types";
import type { Legend } from "./Figure";
import type { Cell, Column } from "./Table";

export const EFFECTS: Legend = [
  ["faster", "faster than the baseline"],
  ["slower", "slower"],
  ["undecided", "cannot tell"],
];

export function effectsTwin(all: readonly { key: string; effect: ParameterEffect }[]) {
  const columns: Column[] = [
    { name: "key" },
    { name: "value" },
    { name: "baseline" },
    { name: "matched strata", number: true },
    { name: "trials", number: true },
    { name: "ratio of times", number: true },
    { name: "low", number: true },
    { name: "high", number: true },
    { name: "verdict" },
  ];
  const rows = all.map(({ key, effect }): Cell[] => [
    keyName(key),
    valueText(effect.value),
    valueText(effect.baseline),
    effect.strata,
    effect.trials,
    effect.ratio,
    effect.interval?.low ?? null,
    effect.interval?.high ?? null,
    effect.verdict,
  ]);
  return { columns, rows };
}
