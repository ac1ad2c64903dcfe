// The jobs of the repository: a sentence about all, and a row for each, biggest savings first.
import { useEffect, useState } from "react";
import { Link } from "wouter";
import { askedInWords } from "../../../asked";
import { commandOf } from "../../../commands";
import { askAgainAt, exported } from "../../../data";
import { count, duration, moment } from "../../../format";
import { PAGES } from "../../../generated/pages";
import type { FleetJob, Fleet as FleetOfJobs } from "../../../generated/types";
import { Toggle } from "../../../parts/Analysis";
import { Field } from "../../../parts/Field";
import { Missing } from "../../../parts/Page";
import { type Cell, DataTable, number } from "../../../parts/Table";
import { useSearch } from "../../../state";
import { costText, inFleet, savingText, sparkline, worthText } from "./fleet-rows";

const UNDIAGNOSED_MS = 1_000;
const RUNNING_MS = 30_000;
const SPARK = { width: 84, height: 20 };
/** Fewer jobs need no search. */
const SEARCHED = 8;

const address = (id: string) => PAGES.trial.path.replace("{id}", id);

function Name({ job }: { job: FleetJob }) {
  return (
    <>
      {exported ? job.name : <Link href={address(job.id)}>{job.name}</Link>}
      {job.state !== "succeeded" && (
        <>
          {" "}
          <span className={job.state === "failed" ? "badge bad" : "badge quiet"}>{job.state}</span>
        </>
      )}
      {job.application && <span className="application">{job.application}</span>}
    </>
  );
}

/** The sentence about all jobs; the one to start with is a link. */
function Sentence({ fleet: { jobs, sentence } }: { fleet: FleetOfJobs }) {
  const [first] = jobs;
  const before = first === undefined ? "" : `start with ${first.name}`;
  const at = before ? sentence.lastIndexOf(before) : -1;
  if (first === undefined || at < 0 || exported) return sentence;
  const end = at + before.length;
  return (
    <>
      {sentence.slice(0, end - first.name.length)}
      <Link href={address(first.id)}>{first.name}</Link>
      {sentence.slice(end)}
    </>
  );
}

/** The fix; the failure of a failed job; else the reason for having no finding. */
function Fix({ job }: { job: FleetJob }) {
  if (job.state === "failed" && job.finding)
    return (
      <>
        {job.finding}
        {job.fix && <span className="application">{job.fix}</span>}
      </>
    );
  if (job.fix) return <span title={job.finding ?? undefined}>{job.fix}</span>;
  return <Missing reason={job.finding_reason ?? "no finding"} />;
}

/** The times of earlier runs as a line, and the change that is proven. */
function Runs({ job }: { job: FleetJob }) {
  if (job.runs === 1) return <span className="missing">1 run</span>;
  const { trend } = job;
  return (
    <div className="runs">
      <span>
        {count(job.runs)} runs
        {job.median_s !== null && `, median ${duration(job.median_s)}`}
      </span>
      {job.times_s.length > 2 && (
        <svg {...SPARK} aria-hidden="true" className="spark">
          <polyline points={sparkline(job.times_s, SPARK.width, SPARK.height)} />
        </svg>
      )}
      {trend && (
        <span className={trend.ratio > 1 ? "slower" : "faster"}>
          {exported ? (
            trend.text
          ) : (
            <Link
              href={`${PAGES.jobs.path}?${new URLSearchParams({ before: trend.before, after: trend.after })}`}
            >
              {trend.text}
            </Link>
          )}
        </span>
      )}
    </div>
  );
}

/** The cost of the run; the mouse shows the price it comes from. */
function costCell({ cost_usd: cost, cost_basis: basis, cost_reason: reason }: FleetJob): Cell {
  return cost === null
    ? { value: null, show: <Missing reason={reason ?? ""} /> }
    : { value: cost, show: <span title={basis ?? undefined}>{costText(cost)}</span> };
}

/** The saved time, and its cost. */
function savingCell(job: FleetJob): Cell {
  if (job.saving_s === null) return null;
  const worth = worthText(job);
  return {
    value: job.saving_s,
    show: (
      <>
        <span className="whole">{savingText(job)}</span>
        {worth && <span className="application">{worth}</span>}
      </>
    ),
  };
}

function cells(job: FleetJob, costs: boolean, recurring: boolean): Cell[] {
  return [
    { value: job.name, show: <Name job={job} /> },
    job.started_at && {
      value: job.started_at,
      show: <span className="whole">{moment(job.started_at)}</span>,
    },
    job.elapsed_s === null ? null : { value: job.elapsed_s, show: duration(job.elapsed_s) },
    ...(costs ? [costCell(job)] : []),
    { value: job.fix ?? job.finding, show: <Fix job={job} /> },
    savingCell(job),
    ...(recurring ? [{ value: job.runs, show: <Runs job={job} /> }] : []),
  ];
}

/** Asks again while jobs wait for their diagnosis, and now and then for jobs that may still run. */
function useUpdates({ jobs, undiagnosed }: FleetOfJobs) {
  const running = jobs.some(({ state }) => state === "interrupted" || state === "executing");
  const pause = undiagnosed > 0 ? UNDIAGNOSED_MS : running ? RUNNING_MS : null;
  useEffect(() => {
    if (exported || pause === null) return;
    const timer = setInterval(() => void askAgainAt("/api/fleet"), pause);
    return () => clearInterval(timer);
  }, [pause]);
}

export function Fleet({ fleet }: { fleet: FleetOfJobs }) {
  const [wanted, setWanted] = useState("");
  const [search] = useSearch();
  const each = search.get("each") === "1";
  const words = askedInWords(search);
  const command = commandOf(PAGES.start.path, search);
  useUpdates(fleet);
  const costs = fleet.jobs.some(({ cost_usd: cost }) => cost !== null);
  const recurring = fleet.jobs.some(({ runs }) => runs > 1);
  const jobs = fleet.jobs.filter((job) => inFleet(job, wanted));
  const columns = [
    { name: "Job" },
    { name: "Started" },
    number("Time"),
    ...(costs ? [number("Cost")] : []),
    { name: "Biggest fix" },
    { name: "Can be saved" },
    ...(recurring ? [{ name: "Runs" }] : []),
  ];
  return (
    <section aria-label="Jobs" className="fleet">
      <p className="answer">
        <Sentence fleet={fleet} />
      </p>
      {words && (
        <p className="aside">
          Only jobs {words}. {!exported && <Link href={PAGES.start.path}>All jobs</Link>}
        </p>
      )}
      {!exported && (
        <div className="controls">
          {fleet.jobs.length >= SEARCHED && (
            <Field label="Search jobs" type="text" value={wanted} onChange={setWanted} />
          )}
          {(fleet.runs > fleet.n || each) && <Toggle label="Every run" param="each" />}
        </div>
      )}
      {jobs.length > 0 ? (
        <div className="panel">
          <DataTable
            caption="Jobs"
            columns={columns}
            rows={jobs.map((job) => cells(job, costs, recurring))}
            long
          />
        </div>
      ) : (
        <p role="status">No job matches “{wanted}”.</p>
      )}
      {fleet.jobs.length < fleet.n && (
        <p className="aside">
          The first {count(fleet.jobs.length)} of {count(fleet.n)} jobs.
        </p>
      )}
      <p className="aside">
        In a terminal: <code>{command}</code>
      </p>
      {fleet.excluded_runs > 0 && (
        <p className="aside">
          {count(fleet.excluded_runs)} {fleet.excluded_runs === 1 ? "run" : "runs"} left out by
          rules.
        </p>
      )}
    </section>
  );
}
