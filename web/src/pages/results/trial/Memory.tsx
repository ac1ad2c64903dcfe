// The memory of executors over time, with the limits of each.
import { useCallback, useMemo } from "react";
import { timeAxis } from "../../../charts/timeline";
import { bytes } from "../../../format";
import type { Trial } from "../../../generated/record";
import type { JobData } from "../../../generated/types";
import { Figure } from "../../../parts/Figure";
import { type Cell, number } from "../../../parts/Table";
import { memoryLanes, stageBars } from "./charts/job";
import { laneLegends } from "./Timeline";

type View = Parameters<Parameters<typeof Figure>[0]["draw"]>[0];
const sized = (value: number | null): Cell =>
  value === null ? null : { value, show: bytes(value) };

/** The memory of the executors with the fullest heaps; nothing without samples. */
export function Memory({ trial, data }: { trial: Trial; data: JobData }) {
  const began = data.began_s ?? 0;
  const lanes = useMemo(() => memoryLanes(data, began), [data, began]);
  const draw = useCallback(
    (view: View) =>
      timeAxis({ spans: [], t_s: lanes[0]?.t_s ?? [], lanes, bars: stageBars(data, began) }, view),
    [data, lanes, began],
  );
  if (lanes.length === 0) return null;
  const figure = (
    <Figure
      title="Executor memory"
      caption="Peak so far at each time, for the executors with the fullest heaps. Spark samples memory at heartbeats, every 10 s by default. Execution and storage share a region of the heap."
      draw={draw}
      file={`${trial.id}-memory`}
      legends={laneLegends(lanes)}
      table={{
        columns: [
          { name: "Executor" },
          { name: "Memory" },
          number("Peak"),
          number("Heap size"),
          number("Execution and storage limit"),
        ],
        rows: data.memory.flatMap(({ executor_id, heap_bytes, region_bytes, lines }) =>
          lines.map(({ what, bytes: values }): Cell[] => [
            executor_id,
            what,
            sized(Math.max(...values)),
            sized(heap_bytes),
            sized(region_bytes),
          ]),
        ),
      }}
    />
  );
  return <div id="memory">{figure}</div>;
}
