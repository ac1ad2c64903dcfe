// Predicted and measured times of each sort and its phases.
import { type Row, rowsChart } from "../../../../charts/rows";
import type { Drawing, View } from "../../../../charts/view";
import type { PredictedTime, ReportData } from "../../../../generated/types";
import type { Plain } from "../../../../missing";
import { duration } from "../../../../units";

const WHOLE = "whole sort";

/** One row on the scale of measured / predicted, so that short and long phases are comparable. */
function comparisonRow(row: Plain<PredictedTime>): Row {
  const { predicted_s: predicted, measured_s: measured, low_s: low, high_s: high } = row;
  const label = row.phase;
  const bold = row.phase === WHOLE;
  if (predicted === null || predicted <= 0) {
    const text = measured === null ? "— unknown" : `${duration(measured)}, not predicted`;
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

export function predicted(data: Plain<ReportData>, view: View): Drawing {
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
