// The streaming queries of a job: whether they keep up, and their batches over time.
import { useCallback, useMemo } from "react";
import { timeAxis } from "../../../charts/timeline";
import { bytes, duration, percent } from "../../../format";
import type { Trial } from "../../../generated/record";
import type { JobData } from "../../../generated/types";
import { Figure } from "../../../parts/Figure";
import { type Cell, DataTable, number } from "../../../parts/Table";
import { type Batches, batchLanes } from "./charts/streams";
import { laneLegends } from "./Timeline";

type View = Parameters<typeof timeAxis>[1];
const timed = (value: number | null | undefined): Cell =>
  value == null ? null : { value, show: duration(value) };
const sized = (value: number | null | undefined): Cell =>
  value == null ? null : { value, show: bytes(value) };
const whole = (value: number | null | undefined): Cell =>
  value == null ? null : Math.round(value);

/** A table of the streaming queries, and the batches of the busiest of them. */
export function Streams({ trial, data }: { trial: Trial; data: JobData }) {
  const { streams, batches } = data;
  if (streams.length === 0) return null;
  return (
    <>
      <h3 id="streams">Streaming queries</h3>
      <DataTable
        caption="Streaming queries"
        columns={[
          { name: "Stream" },
          number("Batches"),
          number("Rows"),
          number("Input rows/s"),
          number("Processed rows/s"),
          number("Median batch"),
          number("Slowest batch"),
          { name: "Largest part" },
          number("Busy"),
          { name: "Keeps up" },
          number("Rows left at sources"),
          number("State rows"),
          number("State memory"),
        ]}
        rows={streams.map((each): Cell[] => [
          each.name ?? each.stream,
          each.batches,
          each.rows,
          whole(each.input_rows_per_s),
          whole(each.rows_per_s),
          timed(each.median_s),
          timed(each.slowest_s),
          each.slowest_part,
          each.busy === null ? null : { value: each.busy, show: percent(each.busy) },
          each.behind ? "no" : "yes",
          each.left_rows,
          each.state_rows,
          sized(each.state_bytes),
        ])}
      />
      {batches.map((each) => {
        const name = streams.find(({ stream }) => stream === each.stream)?.name ?? each.stream;
        return (
          <BatchesOverTime
            key={each.stream}
            name={name}
            batches={each}
            file={`${trial.id}-batches-${each.stream}`}
            beganS={data.began_s ?? 0}
          />
        );
      })}
    </>
  );
}

function BatchesOverTime({
  name,
  batches,
  file,
  beganS,
}: {
  name: string;
  batches: Batches;
  file: string;
  beganS: number;
}) {
  const lanes = useMemo(() => batchLanes(batches, beganS), [batches, beganS]);
  const draw = useCallback(
    (view: View) => timeAxis({ spans: [], t_s: lanes[0]?.t_s ?? [], lanes }, view),
    [lanes],
  );
  const { parts } = batches;
  return (
    <Figure
      title={`Batches of ${name}`}
      caption="Each batch until the next one starts, split by the driver's work for it. A red line marks the start of the slowest batch. A batch's input arrived after the previous batch started. Of more than 400 batches, neighbors are merged: the chart shows their slowest batch, their rates, and the state after the last of them."
      draw={draw}
      file={file}
      legends={laneLegends(lanes)}
      table={{
        columns: [
          number("Batch"),
          number("Started"),
          number("Duration"),
          ...parts.map(({ what }) => number(what)),
          number("Rows"),
          number("Input rows/s"),
          number("Processed rows/s"),
          number("State rows"),
          number("State memory"),
          number("Watermark delay"),
        ],
        rows: batches.batch.map((batch, at): Cell[] => [
          batch,
          timed(beganS + (batches.t_s[at] ?? 0)),
          timed(batches.took_s[at]),
          ...parts.map(({ time_s }) => timed(time_s[at])),
          batches.rows[at] ?? null,
          whole(batches.input_rows_per_s[at]),
          whole(batches.rows_per_s[at]),
          batches.state_rows[at] ?? null,
          sized(batches.state_bytes[at]),
          timed(batches.late_s[at]),
        ]),
      }}
    />
  );
}
