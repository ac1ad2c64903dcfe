// How the sorts went: their stages, and their predicted beside their measured time.
import type { Charts, Comparison, Stage } from "../missing";
import { duration, percent } from "../units";
import { type Row, rowsChart } from "./rows";
import type { Drawing, View } from "./view";

const WHOLE = "whole sort";

const PARTS = [
  ["useful_s", "useful", "useful"],
  ["idle_s", "idle", "idle"],
  ["waiting_for_memory_s", "memory", "waiting for memory"],
  ["blocked_s", "blocked", "blocked"],
] as const;

function stageRow(stage: Stage): Row {
  const label = stage.device ? `${stage.name} · ${stage.device}` : stage.name;
  const { started_s: started, ended_s: ended } = stage;
  const known = PARTS.every(([key]) => stage[key] !== null);
  const total = PARTS.reduce((sum, [key]) => sum + (stage[key] ?? 0), 0);
  if (started === null || ended === null || !known || total <= 0) {
    return { label, text: "— not reported", textRole: "muted", details: [] };
  }
  const bars: NonNullable<Row["bars"]> = [];
  const details: string[] = [`from ${duration(started)} to ${duration(ended)}`];
  let at = started;
  for (const [key, role, words] of PARTS) {
    const share = (stage[key] ?? 0) / total;
    const to = at + share * (ended - started);
    bars.push({ from: at, to, role, outlined: role === "idle" });
    details.push(`${words} ${percent(share)} (${duration(stage[key] ?? 0)})`);
    at = to;
  }
  return {
    label,
    bold: stage.narrowest,
    bars,
    text: `${percent((stage.useful_s ?? 0) / total)} useful${stage.narrowest ? " · narrowest" : ""}`,
    textRole: stage.narrowest ? "throat" : "muted",
    textAt: ended,
    details,
  };
}

export function stages(data: Charts, view: View, index: number): Drawing {
  const entries = data.sorts[index]?.stages ?? [];
  const rows: Row[] = [];
  let phase: string | null = null;
  for (const stage of entries) {
    if (stage.phase !== phase) {
      phase = stage.phase;
      rows.push({ label: phase, heading: true, details: [] });
    }
    rows.push(stageRow(stage));
  }
  const end = Math.max(0, ...entries.map((stage) => stage.ended_s ?? 0));
  if (end === 0) return null;
  return rowsChart(
    rows,
    {
      minimum: 0,
      maximum: end * 1.02,
      name: "seconds since the sort began",
      format: (value) => `${Number(value.toFixed(3))} s`,
    },
    view,
    180,
  );
}

/** One row on the scale of measured / predicted, so that short and long phases show alike. */
function comparisonRow(row: Comparison): Row {
  const { predicted_s: predicted, measured_s: measured, low_s: low, high_s: high } = row;
  const label = row.phase;
  const bold = row.phase === WHOLE;
  if (predicted === null || predicted <= 0) {
    const text = measured === null ? "— not known" : `${duration(measured)}, not predicted`;
    return { label, bold, text, textAt: 1, textRole: "muted", details: [text] };
  }
  const result: Row = {
    label,
    bold,
    marks: [{ at: 1, role: "predicted", shape: "line" }],
    details: [`predicted ${duration(predicted)}`],
    text: `${measured === null ? "— not measured" : duration(measured)}, predicted ${duration(predicted)}`,
    textAt: 1,
  };
  if (low !== null && high !== null) {
    result.band = { from: low / predicted, to: high / predicted, role: "predicted" };
    result.details.push(`interval ${duration(low)} to ${duration(high)}`);
  }
  if (measured !== null) {
    const ratio = measured / predicted;
    result.marks?.push({ at: ratio, role: "measured", shape: "dot" });
    result.details.push(`measured ${duration(measured)}, ${ratio.toFixed(2)} × predicted`);
  }
  result.textAt = Math.max(1, result.band?.to ?? 1, measured === null ? 1 : measured / predicted);
  return result;
}

export function predicted(data: Charts, view: View): Drawing {
  const rows: Row[] = [];
  for (const sort of data.sorts) {
    rows.push({ label: sort.label, heading: true, details: [] });
    rows.push(...sort.comparisons.map(comparisonRow));
  }
  const at = rows.flatMap((row) => [
    ...(row.marks ?? []).map((mark) => mark.at),
    ...(row.band ? [row.band.from, row.band.to] : []),
  ]);
  if (at.length === 0) return null;
  return rowsChart(
    rows,
    {
      minimum: Math.min(0.8, ...at.map((ratio) => ratio - 0.05)),
      maximum: Math.max(1.2, ...at.map((ratio) => ratio + 0.05)),
      name: "measured / predicted",
      format: (value) => value.toFixed(2),
    },
    view,
    200,
  );
}
