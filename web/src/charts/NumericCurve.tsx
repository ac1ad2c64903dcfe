// The figure of a numeric setting, with its values as a table below it.
import { useCallback } from "react";
import { keyName } from "../format";
import type { NumericCurve as Curve } from "../generated/types";
import type { View } from "../parts/Chart";
import { Figure, type Legend } from "../parts/Figure";
import type { Cell, Column } from "../parts/Table";
import { valueName } from "./common";
import { numericCurve } from "./numeric-curve";

const LEGEND: Legend = [
  ["write", "best, or tied with the best"],
  ["throat", "worse"],
  ["outline", "can't tell"],
];

const numbers = (...names: string[]): Column[] => names.map((name) => ({ name, number: true }));

function table({ key, values }: Curve) {
  const columns: Column[] = [
    ...numbers(keyName(key), "time ratio", "low", "high", "matched settings", "trials"),
    { name: "standing" },
  ];
  const rows = values.map((each): Cell[] => [
    { value: each.value, show: valueName(key, each.value) },
    each.ratio,
    each.interval?.low ?? null,
    each.interval?.high ?? null,
    each.settings,
    each.n,
    each.standing,
  ]);
  return { columns, rows };
}

export function NumericCurve({ curve }: { curve: Curve }) {
  const name = keyName(curve.key);
  const draw = useCallback((view: View) => numericCurve(curve, name, view), [curve, name]);
  return (
    <Figure
      id="curve"
      title={`Time by ${name}, all else being equal`}
      caption={`Each value compared with ${valueName(curve.key, curve.reference)} in the settings that both have. The intervals hold for all values together.${curve.best ? " The best range is shaded: its ends tie with the best value." : ""}`}
      draw={draw}
      table={table(curve)}
      file={`time-by-${name.replace(/\W+/g, "-")}`}
      legend={LEGEND}
      open
    />
  );
}
