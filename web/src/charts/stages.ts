// The stages of a sort, each from its first to its last activity.
import type { ReportStage } from "../generated/types";
import type { Plain } from "../missing";
import { duration, percent } from "../units";
import { type Row, rowsChart } from "./rows";
import type { Drawing, View } from "./view";

const PARTS = [
  ["useful_s", "useful", "busy"],
  ["idle_s", "idle", "idle"],
  ["waiting_for_memory_s", "memory", "waiting for memory"],
  ["blocked_s", "blocked", "blocked"],
] as const;

function stageRow(stage: Plain<ReportStage>): Row {
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
  if (stage.cpu_s !== null) details.push(`CPU time ${duration(stage.cpu_s)}`);
  if (stage.core_wait_s !== null) details.push(`waiting for a core ${duration(stage.core_wait_s)}`);
  return {
    label,
    bold: stage.narrowest,
    bars,
    text: `${percent((stage.useful_s ?? 0) / total)} busy${stage.narrowest ? " · narrowest" : ""}`,
    textRole: stage.narrowest ? "throat" : "muted",
    textAt: ended,
    details,
  };
}

export function stages(entries: readonly Plain<ReportStage>[], view: View): Drawing {
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
      name: "seconds since the sort started",
      format: (value) => `${Number(value.toFixed(3))} s`,
    },
    view,
    180,
  );
}
