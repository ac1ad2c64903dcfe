// What was done to disks: requests by whose files they were for, as traced.
import { useCallback, useMemo, useState } from "react";
import {
  type Counted,
  captioned,
  ccdfChart,
  distance,
  roleAt,
  type Scale,
  seeksChart,
  sizesChart,
  timesChart,
} from "../../charts/io";
import { fileAt, placesChart, timesOverChart } from "../../charts/io-heat";
import type { View } from "../../charts/view";
import { exported } from "../../data";
import { bytes, count, percent, size } from "../../format";
import type { IoAmount, IoCells, IoHeat, IoPage, IoPattern } from "../../generated/types";
import { duration, latency } from "../../units";
import { Choice } from "../Choice";
import { Figure } from "../Figure";
import { type Cell, DataTable, number } from "../Table";
import { IoZoom } from "./IoZoom";

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
  heat?.cells.map(([column, row, requests], at) => ({
    fromS: heat.start_s + column * heat.column_s,
    low: heat.rows[row] ?? 0,
    requests,
    bytes: heat.bytes?.[at] ?? null,
    file: fileAt(heat, at),
  })) ?? null;

interface Traced {
  /** Of the trial; it also begins the names of what is downloaded. */
  id: string;
  found: IoPage;
  /** Finer cells, where the page is in a file. */
  cells?: readonly IoCells[] | undefined;
}

const PATTERN = { name: "Pattern" };
const REQUESTS = number("Requests");

/** What the charts of a trace share. */
interface Charted extends Traced {
  counted: Counted;
  scale: Scale;
}

const drawnOf = ({ patterns }: IoPage) => patterns.filter(({ sizes }) => sizes !== null);

/** How large the requests were, how long they took, how far the disk went for them. */
function Distributions({ id, found, counted, scale }: Charted) {
  const { patterns, not_in_it: lost } = found;
  const sizes = useCallback(
    (view: View) => sizesChart(patterns, counted, scale, view),
    [patterns, counted, scale],
  );
  const times = useCallback((view: View) => timesChart(patterns, scale, view), [patterns, scale]);
  const seeks = useCallback((view: View) => seeksChart(patterns, scale, view), [patterns, scale]);
  const drawn = drawnOf(found);
  return (
    <>
      <Figure
        title="Sizes of requests"
        caption={captioned(
          `As the device got them, by powers of two. ${found.limits.join("; ")}`,
          lost,
        )}
        draw={sizes}
        file={`${id}-io-sizes`}
        table={{
          columns: [PATTERN, number("From"), REQUESTS, number("Bytes")],
          rows: rowsOf(
            drawn,
            (each) => each.sizes,
            (bin) => [
              { value: bin.low, show: size(bin.low) },
              { value: bin.requests, show: count(bin.requests) },
              sized(bin.bytes),
            ],
          ),
        }}
      />
      <Figure
        title="Time at the device"
        caption={captioned(
          "From when the device's driver got a request to when it was done.",
          lost,
        )}
        draw={times}
        file={`${id}-io-times`}
        table={{
          columns: [PATTERN, number("From"), REQUESTS],
          rows: rowsOf(
            drawn,
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
        caption={captioned(
          "From the end of the last request of the pattern to the beginning of the next: 0 where it goes on, to the left backward.",
          lost,
        )}
        draw={seeks}
        file={`${id}-io-seeks`}
        table={{
          columns: [PATTERN, number("From"), REQUESTS],
          rows: rowsOf(
            drawn,
            (each) => each.seeks,
            (bin) => [
              { value: bin.octave, show: distance(bin.octave) },
              { value: bin.requests, show: count(bin.requests) },
            ],
          ),
        }}
      />
    </>
  );
}

/** Where and how slow the requests were over time. */
function OverTime({ id, found, cells, counted, scale }: Charted) {
  const { patterns, elapsed_s: elapsedS, stages, not_in_it: lost } = found;
  const shown = useMemo(
    () => ({ counted, scale, stages, window: [0, elapsedS] as const }),
    [counted, scale, stages, elapsedS],
  );
  const places = useCallback((view: View) => placesChart(patterns, shown, view), [patterns, shown]);
  const over = useCallback(
    (view: View) => timesOverChart(patterns, shown, view),
    [patterns, shown],
  );
  const drawn = drawnOf(found);
  return (
    <>
      <Figure
        title="Place on the disk over time"
        caption={captioned(
          `The stronger the colour, the more ${counted}.${stages.length > 0 ? " Above: the stages of the job." : ""}`,
          lost,
        )}
        draw={places}
        file={`${id}-io-places`}
        table={{
          columns: [
            PATTERN,
            number("From"),
            number("Place from"),
            REQUESTS,
            number("Bytes"),
            { name: "File" },
          ],
          rows: rowsOf(
            drawn,
            (each) => cellsOf(each.places),
            ({ fromS, low, requests: made, bytes: moved, file }) => [
              { value: fromS, show: duration(fromS) },
              sized(low),
              { value: made, show: count(made) },
              sized(moved),
              file,
            ],
          ),
        }}
      />
      <Figure
        title="Time at the device over time"
        caption={captioned("The stronger the colour, the more requests.", lost)}
        draw={over}
        file={`${id}-io-times-over`}
        table={{
          columns: [PATTERN, number("From"), number("Took from"), REQUESTS, { name: "File" }],
          rows: rowsOf(
            drawn,
            (each) => cellsOf(each.times_over),
            ({ fromS, low, requests: made, file }) => [
              { value: fromS, show: duration(fromS) },
              timed(low),
              { value: made, show: count(made) },
              file,
            ],
          ),
        }}
      />
      {(cells ?? !exported) &&
        (found.no_closer_look ? (
          <p className="nothing">{found.no_closer_look}</p>
        ) : (
          <IoZoom id={id} patterns={drawn} shown={shown} lost={lost} cells={cells} />
        ))}
    </>
  );
}

/** The share of the requests that took longer than a time. */
function Longer({ id, found }: Traced) {
  const { patterns, not_in_it: lost } = found;
  const ccdf = useCallback((view: View) => ccdfChart(patterns, view), [patterns]);
  const drawn = drawnOf(found);
  return (
    <Figure
      title="How many requests took longer"
      caption={captioned("", lost)}
      draw={ccdf}
      file={`${id}-io-ccdf`}
      legend={drawn.map(({ name }, place) => [roleAt(place), name] as const)}
      table={{
        columns: [PATTERN, number("Time"), number("Share that took longer")],
        rows: rowsOf(
          drawn,
          (each) => each.ccdf,
          ([took, share]) => [
            { value: took, show: latency(took) },
            { value: share, show: `${(100 * share).toPrecision(3)} %` },
          ],
        ),
      }}
    />
  );
}

function Charts(traced: Traced) {
  const [counted, setCounted] = useState<Counted>("bytes");
  const [scale, setScale] = useState<Scale>("log");
  return (
    <>
      <div className="controls">
        <Choice
          label="Counted"
          words={["bytes", "requests"]}
          chosen={counted}
          choose={setCounted}
        />
        <Choice label="Scale" words={["log", "linear"]} chosen={scale} choose={setScale} />
      </div>
      <Distributions {...traced} counted={counted} scale={scale} />
      <OverTime {...traced} counted={counted} scale={scale} />
      <Longer {...traced} />
    </>
  );
}

const AMOUNTS = {
  columns: [
    { name: "What" },
    number("By the engine"),
    number("By the disks"),
    number("Disks / engine"),
  ],
  row: ({ what, engine_bytes: engine, disk_bytes: disk }: IoAmount): Cell[] => [
    what,
    sized(engine),
    sized(disk),
    { value: disk / engine, show: (disk / engine).toFixed(2) },
  ],
};

/** What a trace says. */
export function Io({ id, found, cells }: Traced) {
  return (
    <>
      {found.missing_reason && <p className="nothing">{found.missing_reason}</p>}
      {found.not_attributed && <p>{found.not_attributed}</p>}
      {found.not_in_it && <p>{found.not_in_it}</p>}
      {found.patterns.length > 0 && (
        <>
          <DataTable
            caption="Patterns, those with the most bytes first"
            columns={PATTERNS.columns}
            rows={found.patterns.map(PATTERNS.row)}
          />
          {found.amounts.length > 0 && (
            <DataTable
              caption="Bytes of the engine's own account, and what the disks did for them while it was recorded"
              columns={AMOUNTS.columns}
              rows={found.amounts.map(AMOUNTS.row)}
            />
          )}
          <Charts id={id} found={found} cells={cells} />
        </>
      )}
    </>
  );
}
