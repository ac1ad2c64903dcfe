// What a trial did to its disks: its requests by whose files they were for, as traced.
import { useCallback, useState } from "react";
import { useTwin } from "../../data";
import { bytes, count, percent, size } from "../../format";
import type { IoHeat, IoPage, IoPattern } from "../../generated/types";
import { Figure } from "../../parts/Figure";
import { Pending, ProblemBox } from "../../parts/Page";
import { type Cell, DataTable, number } from "../../parts/Table";
import { duration, latency } from "../../units";
import {
  type Counted,
  ccdfChart,
  distance,
  placesChart,
  roleAt,
  seeksChart,
  sizesChart,
  timesChart,
  timesOverChart,
} from "./charts/io";

type View = Parameters<typeof timesChart>[1];

const timed = (value: number | null): Cell =>
  value === null ? null : { value, show: latency(value) };
const sized = (value: number | null, show = bytes): Cell =>
  value === null ? null : { value, show: show(value) };

const PATTERNS = {
  columns: [
    { name: "Pattern" },
    number("Requests"),
    number("Bytes"),
    number("Median size"),
    number("Without a seek"),
    number("Mean run"),
    number("Median time"),
    number("99 %"),
    { name: "Verdict" },
  ],
  row: (found: IoPattern): Cell[] => [
    found.name,
    { value: found.requests, show: count(found.requests) },
    sized(found.bytes),
    sized(found.size_median_bytes, size),
    found.zero_seeks === null ? null : { value: found.zero_seeks, show: percent(found.zero_seeks) },
    sized(found.run_mean_bytes),
    timed(found.p50_s),
    timed(found.p99_s),
    found.verdict,
  ],
};

/** Rows of a chart's table: the pattern, then what `row` says of each of its `parts`. */
function rowsOf<Part>(
  patterns: readonly IoPattern[],
  parts: (pattern: IoPattern) => readonly Part[] | null,
  row: (part: Part) => Cell[],
): Cell[][] {
  return patterns.flatMap((pattern) =>
    (parts(pattern) ?? []).map((part) => [pattern.name, ...row(part)]),
  );
}

/** What is in each cell, from when and from which value on. */
const cellsOf = (heat: IoHeat | null) =>
  heat?.cells.map(([column, row, amount]) => ({
    fromS: heat.start_s + column * heat.column_s,
    low: heat.rows[row] ?? 0,
    amount,
  })) ?? null;

function Charts({ id, found }: { id: string; found: IoPage }) {
  const [counted, setCounted] = useState<Counted>("bytes");
  const { patterns, elapsed_s: elapsedS } = found;
  const sizes = useCallback(
    (view: View) => sizesChart(patterns, counted, view),
    [patterns, counted],
  );
  const times = useCallback((view: View) => timesChart(patterns, view), [patterns]);
  const seeks = useCallback((view: View) => seeksChart(patterns, view), [patterns]);
  const places = useCallback(
    (view: View) => placesChart(patterns, elapsedS, view),
    [patterns, elapsedS],
  );
  const over = useCallback(
    (view: View) => timesOverChart(patterns, elapsedS, view),
    [patterns, elapsedS],
  );
  const ccdf = useCallback((view: View) => ccdfChart(patterns, view), [patterns]);
  const shown = patterns.filter(({ sizes: drawn }) => drawn !== null);
  const pattern = { name: "Pattern" };
  const requests = number("Requests");
  return (
    <>
      <Figure
        title="Sizes of requests"
        caption={`As the device got them, by powers of two. ${found.limits.join("; ")}`}
        draw={sizes}
        file={`${id}-io-sizes`}
        table={{
          columns: [pattern, number("From"), requests, number("Bytes")],
          rows: rowsOf(
            shown,
            (each) => each.sizes,
            (bin) => [
              { value: bin.low, show: size(bin.low) },
              { value: bin.requests, show: count(bin.requests) },
              sized(bin.bytes),
            ],
          ),
        }}
      >
        <div className="controls">
          <div className="field">
            <label htmlFor="counted">Counted</label>
            <select
              id="counted"
              value={counted}
              onChange={({ target }) => setCounted(target.value as Counted)}
            >
              <option value="bytes">bytes</option>
              <option value="requests">requests</option>
            </select>
          </div>
        </div>
      </Figure>
      <Figure
        title="Time at the device"
        caption="From when the device's driver got a request to when it was done."
        draw={times}
        file={`${id}-io-times`}
        table={{
          columns: [pattern, number("From"), requests],
          rows: rowsOf(
            shown,
            (each) => each.times,
            (bin) => [
              { value: bin.low, show: latency(bin.low) },
              { value: bin.requests, show: count(bin.requests) },
            ],
          ),
        }}
      />
      <Figure
        title="Seek distances"
        caption="From the end of the last request of the pattern to the beginning of the next: 0 where it goes on, to the left backward."
        draw={seeks}
        file={`${id}-io-seeks`}
        table={{
          columns: [pattern, number("From"), requests],
          rows: rowsOf(
            shown,
            (each) => each.seeks,
            (bin) => [
              { value: bin.octave, show: distance(bin.octave) },
              { value: bin.requests, show: count(bin.requests) },
            ],
          ),
        }}
      />
      <Figure
        title="Place on the disk over time"
        caption="The darker, the more bytes."
        draw={places}
        file={`${id}-io-places`}
        table={{
          columns: [pattern, number("From"), number("Place from"), number("Bytes")],
          rows: rowsOf(
            shown,
            (each) => cellsOf(each.places),
            ({ fromS, low, amount }) => [
              { value: fromS, show: duration(fromS) },
              sized(low),
              sized(amount),
            ],
          ),
        }}
      />
      <Figure
        title="Time at the device over time"
        caption="The darker, the more requests."
        draw={over}
        file={`${id}-io-times-over`}
        table={{
          columns: [pattern, number("From"), number("Took from"), requests],
          rows: rowsOf(
            shown,
            (each) => cellsOf(each.times_over),
            ({ fromS, low, amount }) => [
              { value: fromS, show: duration(fromS) },
              timed(low),
              { value: amount, show: count(amount) },
            ],
          ),
        }}
      />
      <Figure
        title="How many requests took longer"
        draw={ccdf}
        file={`${id}-io-ccdf`}
        legend={shown.map(({ name }, place) => [roleAt(place), name] as const)}
        table={{
          columns: [pattern, number("Time"), number("Share that took longer")],
          rows: rowsOf(
            shown,
            (each) => each.ccdf,
            ([took, share]) => [
              { value: took, show: latency(took) },
              { value: share, show: `${(100 * share).toPrecision(3)} %` },
            ],
          ),
        }}
      />
    </>
  );
}

/** The block I/O of a trial that was traced. */
export function DiskIo({ id }: { id: string }) {
  const { data, problem, pending } = useTwin("/api/trials/{id}/io", undefined, id);
  return (
    <section aria-labelledby="disk-io">
      <h2 id="disk-io">What it did to its disks</h2>
      {pending && <Pending what="the trace" lines={24} />}
      {problem && <ProblemBox problem={problem} />}
      {data?.missing_reason && <p className="nothing">{data.missing_reason}</p>}
      {data?.not_attributed && <p>{data.not_attributed}</p>}
      {data?.not_in_it && <p>{data.not_in_it}</p>}
      {data && data.patterns.length > 0 && (
        <>
          <DataTable
            caption="Patterns, those with the most bytes first"
            columns={PATTERNS.columns}
            rows={data.patterns.map(PATTERNS.row)}
          />
          <Charts id={id} found={data} />
        </>
      )}
    </section>
  );
}
