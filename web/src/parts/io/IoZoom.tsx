// A chart of one pattern over any time range, in finer cells the closer you zoom in.
import { useCallback, useMemo, useState } from "react";
import { captioned } from "../../charts/io";
import {
  cut,
  fileAt,
  finest,
  moved,
  type Shown,
  type Window,
  zoomChart,
} from "../../charts/io-heat";
import type { View } from "../../charts/view";
import { useTwin } from "../../data";
import { bytes, count } from "../../format";
import type { IoCells, IoHeat, IoPattern } from "../../generated/types";
import { duration, latency } from "../../units";
import { Choice } from "../Choice";
import { Figure } from "../Figure";
import { ProblemBox } from "../Page";
import { number } from "../Table";

const CHARTS = ["places", "times"] as const;
/** The buttons: the factor of the window's length, and the share of it by which it moves. */
const STEPS = [
  ["Zoom in", 0.5, 0],
  ["Zoom out", 2, 0],
  ["Earlier", 1, -0.5],
  ["Later", 1, 0.5],
] as const;

const nameOf = ({ name, device }: IoPattern) => `${name} on ${device}`;

/** `cells` are those in a file; without them the server is asked, for the trial `id`. */
export function IoZoom({
  id,
  patterns,
  shown,
  lost,
  cells,
}: {
  id: string;
  patterns: readonly IoPattern[];
  shown: Shown;
  /** The losses of the trace. */
  lost: string | null;
  cells?: readonly IoCells[] | undefined;
}) {
  const end = shown.window[1];
  const [window, setWindow] = useState<Window>([0, end]);
  const [chart, setChart] = useState<(typeof CHARTS)[number]>("places");
  const [name, setName] = useState("");
  const pattern = patterns.find((each) => nameOf(each) === name) ?? patterns[0];
  const asked = useMemo(
    () =>
      new URLSearchParams({
        pattern: pattern?.name ?? "",
        device: pattern?.device ?? "",
        chart,
        from_s: String(window[0]),
        until_s: String(window[1]),
      }),
    [pattern, chart, window],
  );
  const answer = useTwin(cells ? null : "/api/trials/{id}/io/heat", asked, id);
  const heat: IoHeat | undefined = useMemo(() => {
    if (!cells) return answer.data;
    const found = cells.filter(
      (each) =>
        each.pattern === pattern?.name && each.device === pattern.device && each.chart === chart,
    );
    const fitting = finest(found, window);
    return fitting && cut(fitting, window);
  }, [cells, answer.data, pattern, chart, window]);
  const draw = useCallback(
    (view: View) =>
      heat ? zoomChart(pattern?.name ?? "", chart, heat, { ...shown, window }, view) : null,
    [heat, pattern, chart, shown, window],
  );
  const told = chart === "places" ? bytes : latency;
  const when = `from ${duration(window[0])} to ${duration(window[1])}`;
  const none = `No request of ${pattern ? nameOf(pattern) : "any pattern"} ${chart === "places" ? "started" : "ended"} ${when}.`;
  return (
    <>
      {answer.problem && <ProblemBox problem={answer.problem} />}
      <Figure
        title="Zoom into one pattern"
        caption={captioned(
          `${pattern ? nameOf(pattern) : ""}, ${when}${heat ? `, in columns of ${duration(heat.column_s)}` : ""}`,
          lost,
        )}
        draw={draw}
        nothing={heat || cells ? none : "Loading the data …"}
        file={`${id}-io-closer`}
        table={{
          columns: [
            number("From"),
            number(chart === "places" ? "Offset from" : "Latency from"),
            number("Requests"),
            { name: "File" },
          ],
          rows: (heat?.cells ?? []).map(([column, row, requests], at) => {
            const from = (heat?.start_s ?? 0) + column * (heat?.column_s ?? 0);
            const low = heat?.rows[row] ?? 0;
            return [
              { value: from, show: duration(from) },
              { value: low, show: told(low) },
              { value: requests, show: count(requests) },
              heat ? fileAt(heat, at) : null,
            ];
          }),
        }}
      >
        <div className="controls">
          <Choice
            label="Pattern"
            words={patterns.map(nameOf)}
            chosen={pattern ? nameOf(pattern) : ""}
            choose={setName}
          />
          <Choice label="Chart" words={CHARTS} chosen={chart} choose={setChart} />
          {STEPS.map(([words, longer, by]) => (
            <button
              key={words}
              type="button"
              className="quiet"
              onClick={() => setWindow(moved(window, longer, by, end))}
            >
              {words}
            </button>
          ))}
          <button type="button" className="quiet" onClick={() => setWindow([0, end])}>
            Show all
          </button>
        </div>
      </Figure>
    </>
  );
}
