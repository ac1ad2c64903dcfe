// The tasks of a job over time by executor, with a brush; their time against bytes; the slowest.
import {
  type KeyboardEvent,
  type PointerEvent,
  type RefObject,
  useCallback,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from "react";
import { viewOf } from "../../../charts/view";
import { exported, useTwin } from "../../../data";
import { bytes, count, duration } from "../../../format";
import type { Trial } from "../../../generated/record";
import type { JobData, JobTasks, TaskSpread } from "../../../generated/types";
import { Figure, type Legend } from "../../../parts/Figure";
import { Pending, ProblemBox } from "../../../parts/Page";
import { type Cell, DataTable, number } from "../../../parts/Table";
import { useSearch, useTheme } from "../../../state";
import {
  drawLanes,
  middlesOf,
  momentAt,
  type Plot,
  plotOf,
  type Strip,
  seenAt,
  spansAt,
  stripsOf,
  taskRole,
  timeAgainstBytes,
} from "./charts/tasks";

/** The heading of the tasks. */
export const TASKS_ID = "tasks";

type View = Parameters<typeof timeAgainstBytes>[1];
type Span = readonly [number, number];

const LEAST_PX = 4;
const CURSOR_PX = 5;
const STEPS = 40; // of the keyboard from the left to the right
const CLOSER = 4;
const MOVES: Readonly<Record<string, readonly [number, number]>> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};
const SHOWN_SPANS = 6;
const spanText = ({ name, from, to }: Strip["spans"][number]) => `${name}: ${duration(to - from)}`;
const WHOLE = "";

/** The causes that are the main one of something, with their colors. */
const legendOf = ({ causes, lanes, dots }: JobTasks): Legend => {
  const there = new Set([...lanes.flatMap(({ main }) => main), ...dots.map(({ cause }) => cause)]);
  return causes.flatMap((cause, place) =>
    there.has(place) ? [[taskRole(cause), cause] as const] : [],
  );
};

/** Where a column and a row of the keyboard's cursor are. */
const cursorAt = ([column, row]: Span, rows: readonly number[], place: Plot): Span => [
  place.left + (column / STEPS) * place.width,
  rows[Math.min(row, rows.length - 1)] ?? 0, // a part of the time may have fewer executors
];

/** Draw the lanes, what is brushed, and the keyboard's cursor if keys moved it last. */
function paint(
  element: HTMLCanvasElement,
  data: JobTasks,
  strips: readonly Strip[],
  brush: Span | null,
  cursor: Span | null,
) {
  const pen = element.getContext("2d");
  if (!pen || element.clientWidth === 0) return;
  const view = viewOf(element);
  const plot = plotOf(strips.length, data.lanes.length, view);
  const density = window.devicePixelRatio || 1;
  element.width = view.width * density;
  element.height = plot.height * density;
  element.style.height = `${plot.height}px`;
  pen.scale(density, density);
  drawLanes(pen, strips, data, plot, view);
  if (brush) {
    pen.globalAlpha = 0.25;
    pen.fillStyle = view.color("link");
    pen.fillRect(Math.min(...brush), 0, Math.abs(brush[1] - brush[0]), plot.height);
    pen.globalAlpha = 1;
  }
  if (cursor) {
    const [x, y] = cursorAt(cursor, middlesOf(strips.length, data.lanes.length, plot), plot);
    pen.strokeStyle = view.color("ink");
    pen.lineWidth = 2;
    pen.beginPath();
    pen.moveTo(x, 0);
    pen.lineTo(x, plot.height);
    pen.stroke();
    pen.beginPath();
    pen.arc(x, y, CURSOR_PX, 0, 2 * Math.PI);
    pen.stroke();
  }
}

/** The width of an element, followed as it changes. */
function useWidth(of: RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const element = of.current;
    if (!element) return;
    const watch = new ResizeObserver(() => setWidth(element.clientWidth));
    watch.observe(element);
    return () => watch.disconnect();
  }, [of]);
  return width;
}

/** Where the pointer is in the element. */
const at = ({ clientX, clientY, currentTarget }: PointerEvent): Span => {
  const box = currentTarget.getBoundingClientRect();
  return [clientX - box.left, clientY - box.top];
};

/** A shorter time range around a time. */
const closer = (moment: number, { from_s: from, to_s: to }: JobTasks): Span => {
  const half = ((to ?? 0) - (from ?? 0)) / CLOSER / 2;
  return [Math.max(0, moment - half), moment + half];
};

/** The time range that a brush selects; a click selects the span under it. */
function brushed(
  brush: Span,
  y: number,
  strips: readonly Strip[],
  data: JobTasks,
  place: Plot,
): Span | null {
  if (Math.abs(brush[1] - brush[0]) < LEAST_PX) {
    const [span] = spansAt(brush[1], y, strips, data, place);
    return span ? [span.from, span.to] : null;
  }
  const ends = brush.map((each) => momentAt(each, data, place));
  return [Math.min(...ends), Math.max(...ends)];
}

/** The content at the pointer or the cursor. */
interface Seen {
  x: number;
  y: number;
  lines: readonly string[];
}

function Tip({ seen, width }: { seen: Seen | null; width: number }) {
  return (
    <div
      className="tip"
      role="status"
      hidden={seen === null}
      style={
        seen
          ? {
              top: seen.y + 12,
              ...(seen.x > width / 2 ? { right: width - seen.x + 12 } : { left: seen.x + 12 }),
            }
          : {}
      }
    >
      {seen?.lines.map((line) => (
        <div key={line}>{line}</div>
      ))}
    </div>
  );
}

/** The lanes on a canvas; what is drawn over with the pointer, or gone to with keys, is chosen. */
function Lanes({
  data,
  strips,
  choose,
}: {
  data: JobTasks;
  strips: readonly Strip[];
  choose: (span: Span | null) => void;
}) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const width = useWidth(canvas);
  const [theme] = useTheme();
  const [brush, setBrush] = useState<Span | null>(null);
  const [seen, setSeen] = useState<Seen | null>(null);
  const [cursor, setCursor] = useState<Span>([0, 0]);
  const [keyed, setKeyed] = useState(false); // whether keys moved the cursor last

  // biome-ignore lint/correctness/useExhaustiveDependencies: width and theme change the view
  useLayoutEffect(() => {
    if (canvas.current) paint(canvas.current, data, strips, brush, keyed ? cursor : null);
  }, [data, strips, width, theme, brush, cursor, keyed]);

  const plot = () => {
    const element = canvas.current;
    return element ? plotOf(strips.length, data.lanes.length, viewOf(element)) : null;
  };
  const look = (x: number, y: number, place: Plot) => {
    const spans = spansAt(x, y, strips, data, place).slice(0, SHOWN_SPANS);
    const lines = seenAt(x, y, data, place) ?? spans.map(spanText);
    setSeen(lines.length > 0 ? { x, y, lines } : null);
  };
  /** A keyboard step over times and rows, a zoom into the span at the cursor, or back. */
  const press = (event: KeyboardEvent) => {
    const place = plot();
    const move = MOVES[event.key];
    if (event.key === "Escape") {
      setSeen(null);
      setBrush(null);
      choose(null);
      return;
    }
    if (!place || (!move && event.key !== "Enter")) return;
    event.preventDefault();
    const rows = middlesOf(strips.length, data.lanes.length, place);
    const [column, row] = [
      Math.min(Math.max(cursor[0] + (move?.[0] ?? 0), 0), STEPS),
      Math.min(Math.max(cursor[1] + (move?.[1] ?? 0), 0), rows.length - 1),
    ];
    const [x, y] = cursorAt([column, row], rows, place);
    setKeyed(true);
    if (move) {
      setCursor([column, row]);
      look(x, y, place);
      return;
    }
    const [span] = spansAt(x, y, strips, data, place);
    if (!span && seenAt(x, y, data, place) === null) return;
    setSeen(null); // something else is there then
    choose(span ? [span.from, span.to] : closer(momentAt(x, data, place), data));
  };
  return (
    <div
      className="task-map"
      role="application"
      aria-label="Queries, jobs, stages, and tasks by executor over time. Arrow keys move the cursor, Enter zooms in, Escape shows everything."
      // biome-ignore lint/a11y/noNoninteractiveTabindex: keys work it
      tabIndex={0}
      onKeyDown={press}
      onBlur={() => {
        setSeen(null);
        setKeyed(false);
      }}
    >
      <canvas
        ref={canvas}
        role="img"
        aria-label="Queries, jobs, stages, and tasks by executor over time"
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId);
          setBrush([at(event)[0], at(event)[0]]);
        }}
        onPointerMove={(event) => {
          const [x, y] = at(event);
          const place = plot();
          setKeyed(false);
          if (brush) setBrush([brush[0], x]);
          if (!place || brush) return setSeen(null);
          look(x, y, place);
        }}
        onPointerUp={(event) => {
          const place = plot();
          const [x, y] = at(event);
          const span = brush && place && brushed([brush[0], x], y, strips, data, place);
          if (span) choose(span);
          setBrush(null);
        }}
        onPointerCancel={() => setBrush(null)}
        onPointerLeave={() => setSeen(null)}
      />
      <Tip seen={seen} width={width} />
    </div>
  );
}

/** Chooses the time range and the stage; the page's URL keeps them. */
function Controls({
  data,
  job,
  choose,
}: {
  data: JobTasks;
  job: JobData;
  choose: (span: Span | null) => void;
}) {
  const [search, edit] = useSearch();
  const [from, to] = [data.from_s ?? 0, data.to_s ?? 0];
  const length = to - from;
  const end = job.elapsed_s ?? to;
  const moved = (share: number): Span => {
    const by = Math.min(Math.max(share * length, -from), end - to);
    return [from + by, to + by];
  };
  const scaled = (factor: number): Span => {
    const [middle, half] = [(from + to) / 2, (factor * length) / 2];
    return [Math.max(0, middle - half), Math.min(end, middle + half)];
  };
  if (exported) return null;
  return (
    <div className="controls">
      <div className="field">
        <label htmlFor="tasks-of">Tasks of</label>
        <select
          id="tasks-of"
          value={search.get("stage") ?? WHOLE}
          onChange={({ target }) =>
            edit(
              (next) => {
                next.delete("from_s");
                next.delete("to_s");
                if (target.value === WHOLE) next.delete("stage");
                else next.set("stage", target.value);
              },
              { replace: true },
            )
          }
        >
          <option value={WHOLE}>all stages</option>
          {job.stages.map(({ label, name }) => (
            <option key={label} value={label}>{`${label} ${name}`}</option>
          ))}
        </select>
      </div>
      {(
        [
          ["Zoom in", scaled(0.5)],
          ["Zoom out", scaled(2)],
          ["Earlier", moved(-0.5)],
          ["Later", moved(0.5)],
        ] as const
      ).map(([name, span]) => (
        <button key={name} type="button" className="quiet" onClick={() => choose(span)}>
          {name}
        </button>
      ))}
      <button
        type="button"
        className="quiet"
        disabled={!search.has("from_s")}
        onClick={() => choose(null)}
      >
        Show all
      </button>
    </div>
  );
}

function Scatter({ data, file }: { data: JobTasks; file: string }) {
  const draw = useCallback((view: View) => timeAgainstBytes(data, view), [data]);
  return (
    <Figure
      title="Task time against bytes read"
      caption="Points on a diagonal: time follows data size. A vertical column: something else, such as a slow host or waiting. Large dots stand for many similar tasks. The table lists the slowest tasks."
      draw={draw}
      file={`${file}-tasks`}
      legend={legendOf(data)}
      table={{
        columns: [
          { name: "Task" },
          { name: "Stage" },
          number("Index"),
          { name: "Executor" },
          { name: "Host" },
          { name: "Outcome" },
          number("Started"),
          number("Duration"),
          number("Read"),
          { name: "Largest part" },
        ],
        rows: data.slowest.map((task): Cell[] => [
          task.task_id,
          task.stage,
          task.index,
          task.executor,
          task.host,
          task.outcome,
          { value: task.started_s, show: duration(task.started_s) },
          { value: task.elapsed_s, show: duration(task.elapsed_s) },
          task.bytes_read === null
            ? null
            : { value: task.bytes_read, show: bytes(task.bytes_read) },
          data.causes[task.cause] ?? null,
        ]),
      }}
    />
  );
}

const amountOf = (unit: string, value: number | null): Cell =>
  value === null ? null : { value, show: unit === "s" ? duration(value) : bytes(value) };

/** How the tasks of the chosen stage differ: quantiles of their time and their bytes. */
function Spreads({ spreads }: { spreads: readonly TaskSpread[] }) {
  if (spreads.length === 0) return null;
  return (
    <>
      <DataTable
        caption="Spread across tasks"
        columns={[
          { name: "Successful tasks" },
          number("Tasks"),
          number("Min"),
          number("25%"),
          number("Median"),
          number("75%"),
          number("Max"),
        ]}
        rows={spreads.map((each): Cell[] => [
          each.reason === null ? each.what : `${each.what}: ${each.reason}`,
          each.n,
          ...[each.least, each.quarter, each.median, each.three_quarters, each.most].map((value) =>
            amountOf(each.unit, value),
          ),
        ])}
      />
      <p className="aside">
        This covers the whole stage, whatever time range is shown. A maximum far above 75% means
        that a few tasks had more work than the others, or ran slower.
      </p>
    </>
  );
}

/** How many short queries, jobs and stages aren't drawn above the executors. */
function leftOut(job: JobData): string {
  const kinds = [
    ["queries", job.queries_left_out],
    ["jobs", job.jobs_left_out],
    ["stages", job.stages_left_out],
  ] as const;
  const hidden = kinds.filter(([, n]) => n > 0).map(([what, n]) => `${count(n)} ${what}`);
  return hidden.length > 0 ? ` Too short to draw: ${hidden.join(", ")}.` : "";
}

/** The tasks of a job, from the server in as many pieces as can be seen. */
export function Tasks({ trial, job }: { trial: Trial; job: JobData }) {
  const [search, edit] = useSearch();
  const { data, problem, pending } = useTwin("/api/trials/{id}/tasks", search, trial.id);
  const strips = useMemo(() => stripsOf(job), [job]);
  /** Shows a part of the time; null is the whole. */
  const choose = (span: Span | null) =>
    edit(
      (next) => {
        for (const [place, key] of ["from_s", "to_s"].entries()) {
          const moment = span?.[place];
          if (moment === undefined) next.delete(key);
          else next.set(key, moment.toFixed(3));
        }
      },
      { replace: true },
    );
  return (
    <>
      <h3 id={TASKS_ID}>Tasks over time, by executor</h3>
      {problem && <ProblemBox problem={problem} />}
      {pending && <Pending what="the tasks" lines={12} />}
      {data?.missing_reason && <p className="nothing">{data.missing_reason}</p>}
      {data && data.missing_reason === null && (
        <>
          <p className="aside">
            {count(data.tasks)} attempts from {duration(data.from_s ?? 0)} to{" "}
            {duration(data.to_s ?? 0)}. Color shows the cause that took the most time; height shows
            how many tasks ran concurrently.
            {!exported &&
              " Drag over a time range to zoom in, or click a query, job or stage. Arrow keys and Enter do the same; Escape shows everything."}
            {leftOut(job)}
            {data.lanes_left_out > 0 &&
              ` ${count(data.lanes_left_out)} executors with less task time aren't shown.`}
          </p>
          <Controls data={data} job={job} choose={choose} />
          <ul className="legend" aria-label="Causes">
            {legendOf(data).map(([role, name]) => (
              <li key={role + name}>
                <span className={`swatch ${role}`} aria-hidden="true" />
                {name}
              </li>
            ))}
          </ul>
          <Lanes data={data} strips={strips} choose={choose} />
          <Spreads spreads={data.spreads} />
          <Scatter data={data} file={trial.id} />
        </>
      )}
    </>
  );
}
