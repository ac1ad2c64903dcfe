// A job's findings, its wasted work, its executors, and the use of its cores.
import { Link } from "wouter";
import { exported } from "../../../data";
import { bytes, count, duration, percent, sentence, three } from "../../../format";
import { PAGES } from "../../../generated/pages";
import type { CoreTime, Finding, JobData } from "../../../generated/types";
import { Folded, reveal } from "../../../parts/Sections";
import { bounded, type Cell, DataTable, number, oneLine } from "../../../parts/Table";
import { useSearch } from "../../../state";
import { queryId } from "./Queries";
import { TASKS_ID } from "./Tasks";

const SHOWN = 3;
const FEW_ROWS = 5; // a table with more is folded
export const EXECUTORS_ID = "executors";

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

/** The section of the page with the details of a place, if there is one. */
const anchorOf = (
  { stage, executor, query }: Place,
  { queries, executors }: JobData,
): string | null => {
  if (stage !== null) return TASKS_ID;
  if (queries.some(({ id }) => id === query)) return queryId(query);
  return executor === null || executors.length === 0 ? null : EXECUTORS_ID;
};

/** A place of the evidence as a link to the tasks of its stage, its query, or the executors. */
function Seen({ place, data }: { place: Place; data: JobData }) {
  const [, edit] = useSearch();
  const anchor = anchorOf(place, data);
  if (anchor === null) return <>{placeOf(place)}</>;
  const show = () => {
    const { stage } = place;
    reveal(anchor);
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
  const options = Object.entries(finding.settings).map(([key, value]) => `--conf ${key}=${value}`);
  return (
    <li>
      <h4>
        {finding.title}: {finding.saving}
        {finding.confidence === "low" && ", low confidence"}
      </h4>
      <p>{sentence(finding.says)}</p>
      <p>
        <strong>Fix:</strong> {sentence(finding.do)}
      </p>
      {options.length > 0 && (
        <p className="options">
          {options.map((option) => (
            <code key={option}>{`${option} `}</code>
          ))}
        </p>
      )}
      <details>
        <summary>Why, and how certain</summary>
        <p>{finding.costs}</p>
        <p>
          Assumption: {finding.assumes}. Saving: {finding.saving_method}. Confidence:{" "}
          {finding.confidence}. Rule: {finding.rule}, based on {finding.source}.
        </p>
        {places.size > 0 && (
          <p>
            Evidence:{" "}
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

/** The findings, the largest saving first, and the parts that could not be checked. */
export function Findings({ data }: { data: JobData }) {
  const { findings, silence, overlap, unseen, failure } = data;
  const [first, rest] = [findings.slice(0, SHOWN), findings.slice(SHOWN)];
  return (
    <>
      {failure !== null && silence !== null && <p>{sentence(silence)}</p>}
      {first.length > 0 && <h3>Fixes, largest saving first</h3>}
      {first.length > 0 && (
        <ol className="findings">
          {first.map((finding) => (
            <FindingItem key={finding.rule} finding={finding} data={data} />
          ))}
        </ol>
      )}
      {rest.length > 0 && (
        <details>
          <summary>
            {count(rest.length)} more finding{rest.length > 1 && "s"}
          </summary>
          <ol className="findings" start={SHOWN + 1}>
            {rest.map((finding) => (
              <FindingItem key={finding.rule} finding={finding} data={data} />
            ))}
          </ol>
        </details>
      )}
      {first.length > 0 && !exported && (
        <p>
          Next: apply the first fix and run the job, import its new log with{" "}
          <code>venturi import LOG</code>, then{" "}
          <Link href={PAGES.jobs.path}>compare both jobs</Link>.
        </p>
      )}
      {overlap !== null && <p className="aside">{sentence(overlap)}</p>}
      {unseen.map((text) => (
        <p key={text} className="aside">
          {sentence(`not checked: ${text}`)}
        </p>
      ))}
    </>
  );
}

const HOUR_S = 3600;

/** The core time that executors offered, by its use; nothing if that was not recorded. */
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
      <h3 id="cores">Used and unused cores</h3>
      <DataTable
        caption="Used and unused cores"
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

/** The mark of sums over tasks: lower bounds where the log lacks some of them. */
const leastOf = ({ lacks_tasks }: JobData) => (lacks_tasks ? "≥" : "");

/** The executors: lifetime, load, failures and memory. */
export function Executors({ data }: { data: JobData }) {
  const { executors, executors_left_out: left } = data;
  if (executors.length === 0) return null;
  const least = leastOf(data);
  return (
    <Folded id={EXECUTORS_ID} title="Executors" open={executors.length <= FEW_ROWS}>
      <DataTable
        caption="Executors"
        columns={[
          { name: "Executor" },
          { name: "Host" },
          number("Cores"),
          { name: "Lifetime" },
          { name: "Removal reason" },
          number("Tasks"),
          number("Failed"),
          number("Task time"),
          number("Busy"),
          number("GC time"),
          number("Spilled"),
          number("Peak heap"),
          number("Execution and storage limit"),
          number("Peak Python memory"),
        ]}
        rows={executors.map((each): Cell[] => [
          each.executor_id,
          each.host,
          each.cores,
          oneLine(spanOf(each.added_s, each.removed_s)),
          each.reason === null ? null : oneLine(each.reason),
          bounded(least, each.tasks),
          bounded(least, each.failed),
          bounded(least, { value: each.task_s, show: duration(each.task_s) }),
          shared(each.busy),
          shared(each.collecting),
          bounded(least, sized(each.spilled_bytes)),
          bounded(least, sized(each.heap_bytes)),
          sized(each.region_bytes),
          bounded(least, sized(each.python_bytes)),
        ])}
      />
      <p className="aside">
        Peaks are the highest samples. An executor with no sample during a task shows none.
        {left > 0 && ` ${count(left)} executors with less task time aren't shown.`}
      </p>
    </Folded>
  );
}

/** The application with other numbers of slots, by a replay of its tasks. */
export function Outlook({ data: { outlook, elapsed_s: elapsed } }: { data: JobData }) {
  const { found, replayed_s: replayed, assumes, reason: missing } = outlook;
  return (
    <>
      <h3 id="what-if">What if: fewer or more slots</h3>
      {missing !== null || replayed === null ? (
        <p className="nothing">{missing}</p>
      ) : (
        <>
          <DataTable
            caption="What if: fewer or more slots"
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
            Assumption: {assumes}. For the recorded slots the replay gives {duration(replayed)}
            {elapsed !== null && `; the job took ${duration(elapsed)}`}.
          </p>
        </>
      )}
    </>
  );
}

const timed = (value: number): Cell => ({ value, show: duration(value) });

/** The jobs, each by itself: how many slots its tasks can fill, and how many are enough. */
export function Jobs({ data: { jobs, outlook } }: { data: JobData }) {
  if (jobs.length === 0) return null;
  const known = jobs.some(({ ideal }) => ideal !== null);
  return (
    <Folded id="jobs" title="Jobs and the slots each needs" open={jobs.length <= FEW_ROWS}>
      <DataTable
        caption="Jobs and the slots each needs"
        columns={[
          { name: "Job" },
          { name: "Outcome" },
          number("Started"),
          number("Duration"),
          number("Useful slots"),
          number("Time with these"),
          number("Enough slots"),
          number("Enough executors"),
          number("Time with enough"),
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
        {known
          ? "Each job is replayed by itself. Useful slots are all that its tasks can fill. With enough slots it takes at most 10% longer than with those. Only the longest jobs with tasks are replayed."
          : `Can't tell how many slots they need: ${outlook.reason ?? "their tasks weren't recorded"}.`}
      </p>
    </Folded>
  );
}

/** Wasted task time, and lost executors. */
export function Losses({ data }: { data: JobData }) {
  const { losses, lost_executors: gone } = data;
  if (losses.length === 0 && gone.length === 0) return null;
  const least = leastOf(data);
  return (
    <>
      <h3 id="wasted">Wasted work</h3>
      {losses.length > 0 && (
        <DataTable
          caption="Wasted task time"
          columns={[
            { name: "Wasted task time" },
            number("Attempts"),
            number("Time"),
            { name: "Where" },
            { name: "Message" },
            { name: "Meaning" },
          ]}
          rows={losses.map((each): Cell[] => [
            each.what,
            bounded(least, each.n),
            bounded(least, { value: each.time_s, show: duration(each.time_s) }),
            each.where,
            each.said,
            each.meaning,
          ])}
        />
      )}
      {gone.length > 0 && (
        <DataTable
          caption="Lost executors"
          columns={[
            { name: "Lost executor" },
            { name: "Host" },
            number("After"),
            { name: "Reason" },
            { name: "Meaning" },
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
