// Traced block I/O: requests by the files that they were for.
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
    number("Median latency"),
    number("p99 latency"),
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

/** The content of each cell, with the time and the value where it begins. */
const cellsOf = (heat: IoHeat | null) =>
  heat?.cells.map(([column, row, requests], at) => ({
    fromS: heat.start_s + column * heat.column_s,
    low: heat.rows[row] ?? 0,
    requests,
    bytes: heat.bytes?.[at] ?? null,
    file: fileAt(heat, at),
  })) ?? null;

interface Traced {
  /** The trial's ID; it also begins the names of downloads. */
  id: string;
  found: IoPage;
  /** Finer cells, where the page is in a file. */
  cells?: readonly IoCells[] | undefined;
}

const PATTERN = { name: "Pattern" };
const REQUESTS = number("Requests");

/** Shared by the charts of a trace. */
interface Charted extends Traced {
  counted: Counted;
  scale: Scale;
}

const drawnOf = ({ patterns }: IoPage) => patterns.filter(({ sizes }) => sizes !== null);

/** Distributions of the requests' sizes, latencies and seek distances. */
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
        title="Request sizes"
        caption={captioned(
          `As issued to the device, by powers of two. ${found.limits.join("; ")}`,
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
        title="Device latency"
        caption={captioned("From issue to the device driver until completion.", lost)}
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
          "From the end of a pattern's previous request to the start of its next one. 0 means sequential; left means backward.",
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

/** The requests' offsets and latencies over time. */
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
        title="Disk offset over time"
        caption={captioned(
          `A stronger color means more ${counted}.${stages.length > 0 ? " The bars above are the stages of the job." : ""}`,
          lost,
        )}
        draw={places}
        file={`${id}-io-places`}
        table={{
          columns: [
            PATTERN,
            number("From"),
            number("Offset from"),
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
        title="Device latency over time"
        caption={captioned("A stronger color means more requests.", lost)}
        draw={over}
        file={`${id}-io-times-over`}
        table={{
          columns: [PATTERN, number("From"), number("Latency from"), REQUESTS, { name: "File" }],
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

/** The share of requests with more than a given latency. */
function Longer({ id, found }: Traced) {
  const { patterns, not_in_it: lost } = found;
  const ccdf = useCallback((view: View) => ccdfChart(patterns, view), [patterns]);
  const drawn = drawnOf(found);
  return (
    <Figure
      title="Share of requests above each latency"
      caption={captioned("", lost)}
      draw={ccdf}
      file={`${id}-io-ccdf`}
      legend={drawn.map(({ name }, place) => [roleAt(place), name] as const)}
      table={{
        columns: [PATTERN, number("Latency"), number("Share above it")],
        rows: rowsOf(
          drawn,
          (each) => each.ccdf,
          ([took, share]) => [
            { value: took, show: latency(took) },
            { value: share, show: `${(100 * share).toPrecision(3)}%` },
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
        <Choice label="Count" words={["bytes", "requests"]} chosen={counted} choose={setCounted} />
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
    { name: "Data" },
    number("Reported by the engine"),
    number("Seen at the disks"),
    number("Disks / engine"),
  ],
  row: ({ what, engine_bytes: engine, disk_bytes: disk }: IoAmount): Cell[] => [
    what,
    sized(engine),
    sized(disk),
    { value: disk / engine, show: (disk / engine).toFixed(2) },
  ],
};

/** The content of a trace. */
export function Io({ id, found, cells }: Traced) {
  return (
    <>
      {found.missing_reason && <p className="nothing">{found.missing_reason}</p>}
      {found.not_attributed && <p>{found.not_attributed}</p>}
      {found.not_in_it && <p>{found.not_in_it}</p>}
      {found.flushes.map((line) => (
        <p key={line}>{line}</p>
      ))}
      {found.patterns.length > 0 && (
        <>
          <DataTable
            caption="I/O patterns, most bytes first"
            columns={PATTERNS.columns}
            rows={found.patterns.map(PATTERNS.row)}
          />
          {found.amounts.length > 0 && (
            <DataTable
              caption="Bytes reported by the engine and seen at the disks during the trace"
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
