// The SQL queries of a job: the plan of each as a graph and as a list, with rows, bytes and time.
import { useMemo } from "react";
import { bytes, count, duration } from "../../../format";
import type { JobData, JobOperator, JobQuery } from "../../../generated/types";
import { Folded } from "../../../parts/Sections";
import { depthsOf, NODE, type Placed, planGraph, workWords } from "./charts/plan";

const INDENT_REM = 1.1;
const MOST_INDENT = 12;
const PAD_PX = 9;
const LINES_PX = [20, 38, 55];
const CHARACTERS = 26;

const amountOf = ({ rows, bytes: size }: JobOperator) => [
  rows !== null && `${count(rows)} rows`,
  size !== null && bytes(size),
];
const stagesOf = ({ stages }: JobOperator) =>
  stages.length > 0 && `${stages.length === 1 ? "stage" : "stages"} ${stages.join(", ")}`;
const timed = ({ timer, time_s: time }: JobOperator) =>
  time !== null && `${timer} ${duration(time)}`;
const joined = (parts: readonly (string | false)[]) => parts.filter(Boolean).join(" · ");
const cut = (text: string) =>
  text.length <= CHARACTERS ? text : `${text.slice(0, CHARACTERS - 1)}…`;

/** The box of an operator; its bar is its time by the longest of the plan. */
function Node({ placed, most }: { placed: Placed; most: number }) {
  const { operator, x, y } = placed;
  const { name, text, time_s: time } = operator;
  const lines = [
    joined(amountOf(operator)),
    joined([time !== null && duration(time), stagesOf(operator)]),
  ];
  return (
    <g transform={`translate(${x} ${y})`}>
      <title>{[text, joined([...amountOf(operator), timed(operator)])].join("\n")}</title>
      <rect width={NODE.width} height={NODE.height} rx={4} />
      {time !== null && most > 0 && (
        <rect className="heat" y={NODE.height - 4} width={(NODE.width * time) / most} height={4} />
      )}
      <text x={PAD_PX} y={LINES_PX[0]} className="name">
        {cut(name)}
      </text>
      {lines.map((line, place) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: two lines may be equal
        <text key={place} x={PAD_PX} y={LINES_PX[place + 1]}>
          {cut(line)}
        </text>
      ))}
    </g>
  );
}

/** Rows flow down the edges; wider edges carry more rows. */
function PlanGraph({ query, most }: { query: JobQuery; most: number }) {
  const { width, height, nodes, edges } = useMemo(
    () => planGraph(query.operators),
    [query.operators],
  );
  const middle = ({ x }: Placed) => x + NODE.width / 2;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also by the keyboard
    <section className="plan-graph" aria-label={`Plan of query ${query.id}`} tabIndex={0}>
      <svg
        role="img"
        aria-label={`Plan of query ${query.id}: ${count(nodes.length)} operators, listed below`}
        viewBox={`-2 -2 ${width + 4} ${height + 4}`}
        width={width + 4}
        height={height + 4}
      >
        {edges.map(({ from, to, width: wide }) => {
          const [start, end] = [from.y + NODE.height, to.y];
          const bend = (start + end) / 2;
          return (
            <path
              key={`${from.x} ${from.y}`}
              d={`M${middle(from)} ${start}C${middle(from)} ${bend} ${middle(to)} ${bend} ${middle(to)} ${end}`}
              strokeWidth={wide}
            />
          );
        })}
        {nodes.map((placed) => (
          <Node key={`${placed.x} ${placed.y}`} placed={placed} most={most} />
        ))}
      </svg>
    </section>
  );
}

function Operator({
  operator,
  depth,
  most,
}: {
  operator: JobOperator;
  depth: number;
  most: number;
}) {
  const { name, text, time_s: time } = operator;
  return (
    <li style={{ marginInlineStart: `${INDENT_REM * Math.min(depth, MOST_INDENT)}rem` }}>
      <span className="operator">
        <strong>{name}</strong>{" "}
        <span title={text}>
          {joined([...amountOf(operator), timed(operator), stagesOf(operator)])}
        </span>
      </span>
      {time !== null && most > 0 && (
        <span className="heat" aria-hidden="true" style={{ width: `${(100 * time) / most}%` }} />
      )}
      <details>
        <summary>Arguments</summary>
        <code>{text}</code>
      </details>
    </li>
  );
}

/** Where a query is on the page. */
export const queryId = (id: number | null): string => `query-${id}`;

function Query({ query, open }: { query: JobQuery; open: boolean }) {
  const { id, name, outcome, elapsed_s: elapsed, operators, work, adaptive } = query;
  const left = query.operators_left_out;
  const most = Math.max(0, ...operators.map(({ time_s }) => time_s ?? 0));
  const depths = depthsOf(operators);
  return (
    <details open={open} id={queryId(id)}>
      <summary>
        Query {id} {name}
        {elapsed !== null && `: ${duration(elapsed)}`}
        {outcome !== null && outcome !== "succeeded" && `, ${outcome}`}
      </summary>
      <p className="aside">{workWords(work)}</p>
      {adaptive !== null && <p>Adaptive execution: {adaptive}</p>}
      {operators.length === 0 ? (
        <p className="nothing">The log has no plan for this query.</p>
      ) : (
        <>
          <PlanGraph query={query} most={most} />
          <details>
            <summary>Its {count(operators.length)} operators as a list, with arguments</summary>
            <ol className="plan">
              {operators.map((operator, place) => (
                <Operator
                  // biome-ignore lint/suspicious/noArrayIndexKey: two operators may be equal
                  key={place}
                  operator={operator}
                  depth={depths[place] ?? 0}
                  most={most}
                />
              ))}
            </ol>
          </details>
        </>
      )}
      {left > 0 && <p className="aside">{count(left)} operators further up aren't shown.</p>}
    </details>
  );
}

const FEW = 3; // more queries are folded

/** The longest queries; the plan of the longest is open. */
export function Queries({ data }: { data: JobData }) {
  const { queries, queries_left_out: left } = data;
  if (queries.length === 0) return null;
  const longest = [...queries].sort((a, b) => (b.elapsed_s ?? 0) - (a.elapsed_s ?? 0))[0];
  return (
    <Folded
      id="queries"
      title={`SQL queries and their plans (${count(queries.length)})`}
      open={queries.length <= FEW}
    >
      <p className="aside">
        Rows flow from top to bottom; wider lines carry more rows. An operator's time, and its bar,
        is that of its longest timer. It includes the operators above, so times don't add up.
        {left > 0 && ` ${count(left)} shorter queries aren't shown.`}
      </p>
      {queries.map((query) => (
        <Query key={query.id} query={query} open={query === longest} />
      ))}
    </Folded>
  );
}
