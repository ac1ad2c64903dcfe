// Times by the value of one parameter, within each group.

import {
  groupName,
  MOST_ROWS,
  reach,
  roleOf,
  timeScale,
  told,
  valueName,
  within,
} from "../../charts/common";
import { type Row, rowsChart } from "../../charts/rows";
import type { Drawing, View } from "../../charts/view";
import { plain, seconds } from "../../format";
import type { ParameterEvaluation, ParameterValue } from "../../generated/types";

function rowOf(
  label: string,
  one: ParameterValue,
  unitS: number,
  role: string,
  end: number,
  narrow: boolean,
): Row {
  const { median, interval, n } = one.elapsed_s;
  const failed = one.failed > 0 ? `, ${one.failed} failed` : "";
  const said = median === null ? "no time" : seconds(median);
  const range = interval && !narrow ? ` ${within(interval, seconds)}` : "";
  return {
    label,
    ...(interval
      ? { whisker: [interval.low / unitS, interval.high / unitS] as [number, number] }
      : {}),
    ...(median === null ? {} : { marks: [{ at: median / unitS, role, shape: "dot" as const }] }),
    text: `${said}${range}, n = ${n}${failed}`,
    textRole: median === null ? "muted" : "ink",
    textAt: end,
    details: [...told(one.elapsed_s), `${one.failed} failed`],
  };
}

/** Medians with their intervals, a row a value; failures are counted, never drawn as a time. */
export function parameterTimes(data: ParameterEvaluation, log: boolean, view: View): Drawing {
  const all = data.groups.flatMap((group) => group.values.flatMap((one) => reach(one.elapsed_s)));
  if (all.length === 0) return null;
  const { unit, axis } = timeScale(all, view.narrow ? 4 : 8, { log });
  const rows: Row[] = [];
  for (const [index, group] of data.groups.entries()) {
    if (rows.length >= MOST_ROWS) break;
    if (data.by.length > 0)
      rows.push({ label: groupName(data.by, group.key), heading: true, details: [] });
    for (const one of group.values) {
      const name = valueName(data.key, one.value);
      rows.push(rowOf(name, one, unit.seconds, roleOf(index), axis.maximum, view.narrow));
    }
  }
  const scale = { ...axis, name: `median time (${unit.name})`, format: plain };
  return rowsChart(rows, scale, view, 290);
}
