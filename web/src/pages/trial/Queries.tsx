// The SQL queries of a job: the plan of each as a tree, with rows, bytes and time on its operators.
import { bytes, count, duration } from "../../format";
import type { JobData, JobOperator, JobQuery } from "../../generated/types";

const INDENT_REM = 1.1;
const MOST_INDENT = 12;

function Operator({ operator, most }: { operator: JobOperator; most: number }) {
  const { depth, name, text, rows, bytes: size, timer, time_s: time, stages } = operator;
  const told = [
    rows !== null && `${count(rows)} rows`,
    size !== null && bytes(size),
    time !== null && `${timer} ${duration(time)}`,
    stages.length > 0 && `stage ${stages.join(", ")}`,
  ].filter(Boolean);
  return (
    <li style={{ marginInlineStart: `${INDENT_REM * Math.min(depth, MOST_INDENT)}rem` }}>
      <span className="operator">
        <strong>{name}</strong> <span title={text}>{told.join(" · ")}</span>
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

function Query({ query, open }: { query: JobQuery; open: boolean }) {
  const { id, name, outcome, elapsed_s: elapsed, operators, operators_left_out: left } = query;
  const most = Math.max(0, ...operators.map(({ time_s }) => time_s ?? 0));
  return (
    <details open={open}>
      <summary>
        Query {id} {name}
        {elapsed !== null && `: ${duration(elapsed)}`}
        {outcome !== null && outcome !== "succeeded" && `, ${outcome}`}
      </summary>
      {operators.length === 0 ? (
        <p className="nothing">The log has no plan of it.</p>
      ) : (
        <ol className="plan">
          {operators.map((operator, place) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: two operators may be alike
            <Operator key={place} operator={operator} most={most} />
          ))}
        </ol>
      )}
      {left > 0 && <p className="aside">{count(left)} operators further down are left out.</p>}
    </details>
  );
}

/** The longest queries; the plan of the longest is open. */
export function Queries({ data: { queries } }: { data: JobData }) {
  if (queries.length === 0) return null;
  const longest = [...queries].sort((a, b) => (b.elapsed_s ?? 0) - (a.elapsed_s ?? 0))[0];
  return (
    <>
      <h3>Queries and their plans</h3>
      <p className="aside">
        An operator stands above those that it takes rows from. Its time is that of its longest
        timer, which also counts what is below it: do not add up.
      </p>
      {queries.map((query) => (
        <Query key={query.id} query={query} open={query === longest} />
      ))}
    </>
  );
}
