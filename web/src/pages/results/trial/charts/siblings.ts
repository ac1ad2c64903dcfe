// A repeat group as a strip: every trial's time, this one's among them.
import { timeScale } from "../../../../charts/common";
import { type Row, rowsChart } from "../../../../charts/rows";
import type { Drawing, View } from "../../../../charts/view";
import { plain, seconds, trials } from "../../../../format";

export interface Timed {
  id: string;
  elapsed_s: number;
  warm_up: boolean;
}

export function siblings(group: readonly Timed[], id: string, view: View): Drawing {
  if (group.length === 0) return null;
  const times = group.map(({ elapsed_s }) => elapsed_s);
  const { unit, axis } = timeScale(times, view.narrow ? 4 : 8);
  const row = (label: string, of: readonly Timed[]): Row => ({
    label,
    // The trial of this page is drawn last, so it lies on top.
    marks: [...of]
      .sort((a, b) => Number(a.id === id) - Number(b.id === id))
      .map((trial) => ({
        at: trial.elapsed_s / unit.seconds,
        role: trial.id === id ? "throat" : "outline",
        shape: "dot" as const,
      })),
    details: [trials(of.length), ...of.slice(0, 12).map(({ elapsed_s }) => seconds(elapsed_s))],
  });
  const counted = group.filter(({ warm_up }) => !warm_up);
  const warm = group.filter(({ warm_up }) => warm_up);
  return rowsChart(
    [row("counted", counted), ...(warm.length ? [row("warm-ups", warm)] : [])],
    {
      minimum: axis.minimum,
      maximum: axis.maximum,
      ticks: axis.ticks,
      name: `time (${unit.name})`,
      format: plain,
    },
    view,
    24,
  );
}
