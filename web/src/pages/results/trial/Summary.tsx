// The top of a job's page: the headline, the findings with their fixes, where the time went, what next.
import { Link } from "wouter";
import { exported } from "../../../data";
import { count, duration, moment, percent, sentence } from "../../../format";
import { PAGES } from "../../../generated/pages";
import type { Trial } from "../../../generated/record";
import type { JobData, JobPart, JobStage, TrialDetail } from "../../../generated/types";
import { Pending, ProblemBox } from "../../../parts/Page";
import { SectionLink } from "../../../parts/Sections";
import { type Cell, DataTable, number } from "../../../parts/Table";
import { Findings } from "./Findings";
import { barsOf, bySize, headlineOf, total } from "./headline";
import { useJob } from "./Timeline";

const LEAST_SHARE = 0.005;
function TimeBars({ parts }: { parts: readonly JobPart[] }) {
  const bars = barsOf(parts);
  const most = Math.max(...bars.map(({ share }) => share));
  return (
    <ol className="time-bars">
      {bars.map(({ part, words, time_s: time, share }) => (
        <li key={part}>
          <span>{words}</span>
          <span className="track" aria-hidden="true">
            <span className="filled" style={{ width: `${(100 * share) / most}%` }} />
          </span>
          <span className="n">{duration(time)}</span>
          <span className="n">{percent(share)}</span>
        </li>
      ))}
    </ol>
  );
}

/** A row for each part of the application's time; tiny parts share one. */
function partRows(parts: readonly JobPart[]): Cell[][] {
  const row = (words: string, time: number, share: number): Cell[] => [
    words,
    { value: time, show: duration(time) },
    { value: share, show: percent(share) },
  ];
  const known = bySize(parts).filter(({ share }) => share > 0);
  const tiny = known.filter(({ share }) => share < LEAST_SHARE);
  const rows = known
    .filter(({ share }) => share >= LEAST_SHARE)
    .map(({ words, time_s: time, share }) => row(words, time, share));
  if (tiny.length === 0) return rows;
  const name = `${count(tiny.length)} part${tiny.length > 1 ? "s" : ""} under 0.5% each`;
  const [time, share] = [total(tiny, (part) => part.time_s), total(tiny, (part) => part.share)];
  return [...rows, row(name, time, share)];
}

/** The longest stage that the host's load is known of. */
function longestWithHost({ stages }: JobData): JobStage | undefined {
  return stages
    .filter(({ meanwhile }) => meanwhile !== null)
    .sort((a, b) => (b.elapsed_s ?? 0) - (a.elapsed_s ?? 0))[0];
}

function Failure({ data: { failure, stages } }: { data: JobData }) {
  if (!failure) return null;
  return (
    <div className="failure">
      <p>
        <strong>The application {failure}</strong>
      </p>
      {stages.map(
        ({ label, name, reason }) =>
          reason && (
            <p key={label}>
              Stage {label} {name}: {reason}
            </p>
          ),
      )}
    </div>
  );
}

function WhereTimeWent({ data }: { data: JobData }) {
  const { parts, elapsed_s: elapsed, verdict } = data;
  const stage = longestWithHost(data);
  return (
    <>
      <h3>Where the {elapsed === null ? "" : `${duration(elapsed)} of `}elapsed time went</h3>
      {parts.length > 0 && (
        <>
          <TimeBars parts={parts} />
          <details>
            <summary>All parts as a table</summary>
            <DataTable
              caption="Where the time went"
              columns={[{ name: "Where the time went" }, number("Time"), number("Share")]}
              rows={partRows(parts)}
            />
          </details>
        </>
      )}
      {verdict && <p className="reason">{sentence(verdict)}</p>}
      {stage && (
        <p className="reason">{sentence(`longest stage (${stage.label}): ${stage.meanwhile}`)}</p>
      )}
    </>
  );
}

const RUNS_OFFERED = 5;

/** Links to comparisons of this job with others of its repeat group, and with any other job. */
function CompareRuns({ trial, detail }: { trial: Trial; detail: TrialDetail }) {
  const path = (before?: string) =>
    `${PAGES.jobs.path}?${new URLSearchParams({ ...(before && { before }), after: trial.id })}`;
  return (
    <li>
      Compare it with another run, to see why one is slower:{" "}
      {detail.siblings.slice(0, RUNS_OFFERED).map(({ id, started_at: started }) => (
        <span key={id}>
          <Link href={path(id)}>{started === null ? id : moment(started)}</Link>,{" "}
        </span>
      ))}
      <Link href={path()}>choose a run</Link>.
    </li>
  );
}

function NextSteps({ trial, detail, data }: { trial: Trial; detail: TrialDetail; data: JobData }) {
  return (
    <>
      <h3>Next steps</h3>
      <ul className="dots">
        {!exported && data.dropped === null && <CompareRuns trial={trial} detail={detail} />}
        {data.executors.length > 0 && trial.state === "succeeded" && !exported && (
          <li>
            <Link href={`${PAGES.whatif.path}?${new URLSearchParams({ trial: trial.id })}`}>
              What would it take elsewhere?
            </Link>{" "}
            Other machines, settings, or more data.
          </li>
        )}
        {data.dropped !== null && (
          <li>
            To restore stages and tasks: <code>venturi import LOG</code>
          </li>
        )}
        {data.outlook.reason === null && (
          <li>
            See how long it would take with{" "}
            <SectionLink to="what-if">fewer or more slots</SectionLink>.
          </li>
        )}
        <li>
          In a terminal: <code>venturi show {trial.id}</code>
        </li>
      </ul>
    </>
  );
}

/** Headline, reasons, next steps. */
export function JobSummary({ trial, detail }: { trial: Trial; detail: TrialDetail }) {
  const { data, problem } = useJob(trial.id, detail);
  if (problem) return <ProblemBox problem={problem} />;
  if (!data) return <Pending what="the job" lines={20} />;
  return (
    <section aria-labelledby="summary" className="job-summary">
      <h2 id="summary">{data.missing_reason ? "No job analysis" : headlineOf(data)}</h2>
      {data.missing_reason ? (
        <p className="nothing">{data.missing_reason}</p>
      ) : (
        <>
          <Failure data={data} />
          <Findings data={data} />
          <WhereTimeWent data={data} />
          {data.dropped !== null && (
            <p className="nothing">Stages and tasks can't be shown: {data.dropped}.</p>
          )}
          <NextSteps trial={trial} detail={detail} data={data} />
        </>
      )}
    </section>
  );
}
