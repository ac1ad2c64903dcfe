// What can be done about a job's time, what was done in vain, and what its cores did.
import { exported } from "../../../data";
import { bytes, count, duration, percent, three } from "../../../format";
import type { CoreTime, Finding, JobData } from "../../../generated/types";
import { type Cell, DataTable, number, oneLine } from "../../../parts/Table";
import { useSearch } from "../../../state";
import { queryId } from "./Queries";
import { TASKS_ID } from "./Tasks";

const SHOWN = 3;
const EXECUTORS_ID = "executors";

type Place = Finding["where"][number];

const placeOf = ({ stage, task, host, executor, query }: Place): string =>
  [
    stage !== null && `stage ${stage}`,
    task !== null && `task ${task}`,
    host !== null && `host ${host}`,
    executor !== null && `executor ${executor}`,
    query !== null && `query ${query}`,
  ]
    .filter(Boolean)
    .join(", ");

const costOf = ({ saves_s: saves, share, spares }: Finding): string =>
  [
    saves > 0 && `${duration(saves)} sooner (${percent(share)})`,
    spares !== null && `${spares.what} less (${percent(spares.share)})`,
  ]
    .filter(Boolean)
    .join(", and ");

/** Where on the page more is to be seen of a place, if there is more. */
const anchorOf = (
  { stage, executor, query }: Place,
  { queries, executors }: JobData,
): string | null => {
  if (stage !== null) return TASKS_ID;
  if (queries.some(({ id }) => id === query)) return queryId(query);
  return executor === null || executors.length === 0 ? null : EXECUTORS_ID;
};

/** A place of the evidence, which leads to the tasks of its stage, its query, or the executors. */
function Seen({ place, data }: { place: Place; data: JobData }) {
  const [, edit] = useSearch();
  const anchor = anchorOf(place, data);
  if (anchor === null) return <>{placeOf(place)}</>;
  const show = () => {
    const { stage } = place;
    const target = document.getElementById(anchor);
    if (target instanceof HTMLDetailsElement) target.open = true;
    if (stage === null || exported) return;
    edit(
      (next) => {
        next.delete("from_s");
        next.delete("to_s");
        next.set("stage", stage);
      },
      { replace: true },
    );
  };
  return (
    <a href={`#${anchor}`} onClick={show}>
      {placeOf(place)}
    </a>
  );
}

function FindingItem({ finding, data }: { finding: Finding; data: JobData }) {
  const places = new Map(finding.where.map((place) => [placeOf(place), place]));
  places.delete("");
  const options = Object.entries(finding.settings)
    .map(([key, value]) => `--conf ${key}=${value}`)
    .join(" ");
  return (
    <li>
      <h4>
        {finding.title}: at most {costOf(finding)}
      </h4>
      <p>{finding.says}.</p>
      <p>
        <strong>Do:</strong> {finding.do}.
      </p>
      {options && (
        <p className="options">
          <code>{options}</code>
        </p>
      )}
      <details>
        <summary>Why, and how sure</summary>
        <p>{finding.costs}</p>
        <p>
          Assumed: {finding.assumes}. Confidence: {finding.confidence}. Rule: {finding.rule}, after{" "}
          {finding.source}.
        </p>
        {places.size > 0 && (
          <p>
            Seen at{" "}
            {[...places].map(([text, place], at) => (
              <span key={text}>
                {at > 0 && "; "}
                <Seen place={place} data={data} />
              </span>
            ))}
            .
          </p>
        )}
      </details>
    </li>
  );
}

/** The findings that cost the most time, or why there is none. */
export function Findings({ data }: { data: JobData }) {
  const { findings, silence, overlap, unseen } = data;
  const [first, rest] = [findings.slice(0, SHOWN), findings.slice(SHOWN)];
  return (
    <>
      <h3>What to do, by the time that it costs</h3>
      {silence !== null && <p className="nothing">{silence}</p>}
      {first.length > 0 && (
        <ol className="findings">
          {first.map((finding) => (
            <FindingItem key={finding.rule} finding={finding} data={data} />
          ))}
        </ol>
      )}
      {rest.length > 0 && (
        <details>
          <summary>{count(rest.length)} more</summary>
          <ol className="findings" start={SHOWN + 1}>
            {rest.map((finding) => (
              <FindingItem key={finding.rule} finding={finding} data={data} />
            ))}
          </ol>
        </details>
      )}
      {overlap !== null && <p className="aside">{overlap}</p>}
      {unseen.map((said) => (
        <p key={said} className="aside">
          {said}
        </p>
      ))}
    </>
  );
}

const HOUR_S = 3600;

/** What executors offered, by what became of it; nothing where that is not recorded. */
export function Cores({ data: { cores } }: { data: JobData }) {
  if (cores === null || cores.offered_s <= 0) return null;
  const { offered_s: offered } = cores;
  const row = (used: string, { what, time_s: time }: CoreTime): Cell[] => [
    `${used}: ${what}`,
    { value: time / HOUR_S, show: three(time / HOUR_S) },
    { value: time / offered, show: percent(time / offered) },
  ];
  return (
    <>
      <h3>What the cores did</h3>
      <DataTable
        caption="Cores: used and unused"
        columns={[{ name: "Cores" }, number("Core-hours"), number("Share")]}
        rows={[
          ...cores.used.map((each) => row("used", each)),
          ...cores.unused.map((each) => row("unused", each)),
        ]}
      />
    </>
  );
}

const spanOf = (from: number | null, to: number | null): string =>
  `${from === null ? "—" : duration(from)} to ${to === null ? "the end" : duration(to)}`;
const sized = (value: number | null): Cell =>
  value === null ? null : { value, show: bytes(value) };
const shared = (value: number | null): Cell =>
  value === null ? null : { value, show: percent(value) };

/** The executors: when each was there, how busy, its losses and its memory. */
export function Executors({ data: { executors, executors_left_out: left } }: { data: JobData }) {
  if (executors.length === 0) return null;
  return (
    <>
      <h3 id={EXECUTORS_ID}>Executors</h3>
      <DataTable
        caption="Executors"
        columns={[
          { name: "Executor" },
          { name: "Host" },
          number("Cores"),
          { name: "There from" },
          { name: "Why gone" },
          number("Tasks"),
          number("Failed"),
          number("Task time"),
          number("Busy"),
          number("Collecting memory"),
          number("Spilled"),
          number("Heap at most"),
          number("For execution and storage"),
          number("Python at most"),
        ]}
        rows={executors.map((each): Cell[] => [
          each.executor_id,
          each.host,
          each.cores,
          oneLine(spanOf(each.added_s, each.removed_s)),
          each.reason === null ? null : oneLine(each.reason),
          each.tasks,
          each.failed,
          { value: each.task_s, show: duration(each.task_s) },
          shared(each.busy),
          shared(each.collecting),
          sized(each.spilled_bytes),
          sized(each.heap_bytes),
          sized(each.region_bytes),
          sized(each.python_bytes),
        ])}
      />
      <p className="aside">
        Memory is what samples saw; where none fell into a task, nothing is known.
        {left > 0 && ` ${count(left)} executors with less task time are left out.`}
      </p>
    </>
  );
}

/** The application on other numbers of slots, by replay of its tasks. */
export function Outlook({ data: { outlook, elapsed_s: elapsed } }: { data: JobData }) {
  const { found, replayed_s: replayed, assumes, reason: missing } = outlook;
  return (
    <>
      <h3>With fewer and more slots</h3>
      {missing !== null || replayed === null ? (
        <p className="nothing">{missing}</p>
      ) : (
        <>
          <DataTable
            caption="With fewer and more slots"
            columns={[
              number("Slots"),
              number("Executors"),
              number("Time"),
              number("At least (Amdahl)"),
              number("Core-hours"),
              number("Use"),
            ]}
            rows={found.map((each): Cell[] => [
              each.slots,
              each.executors,
              { value: each.time_s, show: duration(each.time_s) },
              { value: each.bound_s, show: duration(each.bound_s) },
              { value: each.core_hours, show: three(each.core_hours) },
              { value: each.use, show: percent(each.use) },
            ])}
          />
          <p className="aside">
            Assumed: {assumes}. On the slots that there were it gives {duration(replayed)}
            {elapsed !== null && `, and ${duration(elapsed)} were recorded`}.
          </p>
        </>
      )}
    </>
  );
}

const timed = (value: number): Cell => ({ value, show: duration(value) });

/** The jobs, each by itself: the slots that its tasks can fill, and how many of them are enough. */
export function Jobs({ data: { jobs, outlook } }: { data: JobData }) {
  if (jobs.length === 0) return null;
  const told = jobs.some(({ ideal }) => ideal !== null);
  return (
    <>
      <h3>Jobs, and the slots that each needs</h3>
      <DataTable
        caption="Jobs, and the slots that each needs"
        columns={[
          { name: "Job" },
          { name: "Outcome" },
          number("Began"),
          number("Took"),
          number("Slots it can fill"),
          number("Takes with these"),
          number("Slots enough"),
          number("Executors enough"),
          number("Takes with enough"),
        ]}
        rows={jobs.map(
          ({ id, name, outcome, started_s: began, elapsed_s: took, ideal }): Cell[] => [
            oneLine(`${id} ${ideal?.name ?? name}`),
            outcome,
            began === null ? null : timed(began),
            took === null ? null : timed(took),
            ideal?.useful_slots ?? null,
            ideal ? timed(ideal.least_s) : null,
            ideal?.slots ?? null,
            ideal?.executors ?? null,
            ideal ? timed(ideal.time_s) : null,
          ],
        )}
      />
      <p className="aside">
        {told
          ? "By the same replay of each job by itself: so many slots are enough that it takes at most 10 % longer than with all that its tasks can fill at once. It was looked for in the longest jobs that have tasks."
          : `What slots they need cannot be told: ${outlook.reason ?? "their tasks are not recorded"}.`}
      </p>
    </>
  );
}

/** What was done in vain, and the executors that were lost. */
export function Losses({ data: { losses, lost_executors: gone } }: { data: JobData }) {
  if (losses.length === 0 && gone.length === 0) return null;
  return (
    <>
      <h3>What was in vain</h3>
      {losses.length > 0 && (
        <DataTable
          caption="Task time in vain"
          columns={[
            { name: "Task time in vain" },
            number("Attempts"),
            number("Time"),
            { name: "Said" },
            { name: "Means" },
          ]}
          rows={losses.map((each): Cell[] => [
            each.what,
            each.n,
            { value: each.time_s, show: duration(each.time_s) },
            each.said,
            each.meaning,
          ])}
        />
      )}
      {gone.length > 0 && (
        <DataTable
          caption="Executors that were lost"
          columns={[
            { name: "Executor that was lost" },
            { name: "Host" },
            number("After"),
            { name: "Reason" },
            { name: "Means" },
          ]}
          rows={gone.map((each): Cell[] => [
            each.executor_id,
            each.host,
            { value: each.at_s, show: duration(each.at_s) },
            each.reason,
            each.meaning,
          ])}
        />
      )}
    </>
  );
}
