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

/** A table of the streaming queries, and the batches of those that worked the most. */
export function Streams({ trial, data }: { trial: Trial; data: JobData }) {
  const { streams, batches } = data;
  if (streams.length === 0) return null;
  return (
    <>
      <h3>Streaming queries</h3>
      <DataTable
        caption="Streaming queries"
        columns={[
          { name: "Stream" },
          number("Batches"),
          number("Rows"),
          number("Came in a second"),
          number("Worked off a second"),
          number("Median batch"),
          number("Slowest"),
          { name: "Most of it" },
          number("Busy"),
          { name: "Keeps up" },
          number("Left at its sources"),
          number("Rows of state"),
          number("State"),
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
      caption="Each batch until the next one, by what the driver did for it; a red line is where the slowest began. What a batch has came in since the one before began. Of more than 400 some stand together: the slowest of them, their rates, the state after the last."
      draw={draw}
      file={file}
      legends={laneLegends(lanes)}
      table={{
        columns: [
          number("Batch"),
          number("Began"),
          number("Took"),
          ...parts.map(({ what }) => number(what)),
          number("Rows"),
          number("Came in a second"),
          number("Worked off a second"),
          number("Rows of state"),
          number("State"),
          number("Watermark behind"),
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
