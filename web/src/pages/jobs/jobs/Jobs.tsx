// Two jobs compared: the parts that took longer, and other differences.
import { useCallback, useId, useState } from "react";
import { Link } from "wouter";
import { commandOf } from "../../../commands";
import { exported, useTwin } from "../../../data";
import { bytes, count, duration, moment, percent, sentence, three } from "../../../format";
import { PAGES } from "../../../generated/pages";
import type { ComparedJob, FleetJob, JobDifference, TwoJobs } from "../../../generated/types";
import { Asked } from "../../../parts/Asked";
import { Field } from "../../../parts/Field";
import { Figure } from "../../../parts/Figure";
import { Page, Pending, ProblemBox } from "../../../parts/Page";
import { type Cell, DataTable, number } from "../../../parts/Table";
import { useSearch } from "../../../state";
import { colored, OTHERS, ROLES, twoJobs } from "./charts";

type View = Parameters<typeof twoJobs>[1];

const EVERY_RUN = new URLSearchParams({ each: "1" });
const NONE = "—";
const time = (value: number | null): Cell =>
  value === null ? null : { value, show: duration(value) };
const gap = (before: number | null, after: number | null): Cell => {
  if (before === null || after === null) return null;
  const value = after - before;
  return { value, show: `${value < 0 ? "−" : "+"}${duration(Math.abs(value))}` };
};
const amount = (unit: string, value: number | null): Cell => {
  if (value === null) return null;
  const show = unit === "B" ? bytes(value) : unit === "s" ? duration(value) : count(value);
  return { value, show };
};
const both = (before: string | number | null, after: string | number | null): string =>
  [...new Set([before ?? NONE, after ?? NONE])].join(" / ");

function Times({ found, file }: { found: JobDifference; file: string }) {
  const draw = useCallback((view: View) => twoJobs(found, view), [found]);
  return (
    <Figure
      title="Where the elapsed time went"
      caption="Both bars have the same parts, those with the largest difference first."
      draw={draw}
      file={file}
      legend={[
        ...colored(found.parts).map(({ part }, place) => [ROLES[place] ?? OTHERS, part] as const),
        [OTHERS, "everything else"],
      ]}
      open
      table={{
        columns: [{ name: "Part" }, number("Before"), number("After"), number("Difference")],
        rows: found.parts.map(({ part, before_s, after_s }): Cell[] => [
          part,
          time(before_s),
          time(after_s),
          gap(before_s, after_s),
        ]),
      }}
    />
  );
}

function Settings({ found: { settings } }: { found: JobDifference }) {
  return (
    <>
      <h3>Settings that differ</h3>
      {settings.length === 0 ? (
        <p>All recorded settings are the same.</p>
      ) : (
        <DataTable
          caption="Settings that differ"
          columns={[{ name: "Setting" }, { name: "Before" }, { name: "After" }]}
          rows={settings.map(({ key, before, after }): Cell[] => [
            key,
            before ?? "not set",
            after ?? "not set",
          ])}
        />
      )}
    </>
  );
}

function Plans({ found: { plans } }: { found: JobDifference }) {
  return (
    <>
      <h3>Plans that differ</h3>
      {plans.length === 0 ? (
        <p>No query that both runs recorded has a different plan.</p>
      ) : (
        <DataTable
          caption="Plans that differ"
          long
          columns={[
            { name: "Query" },
            { name: "Name" },
            { name: "Only before" },
            { name: "Only after" },
          ]}
          rows={plans.map((plan): Cell[] => [
            both(plan.before_query, plan.after_query),
            plan.name,
            plan.gone.join("; ") || NONE,
            plan.new.join("; ") || NONE,
          ])}
        />
      )}
    </>
  );
}

function Amounts({ found: { amounts } }: { found: JobDifference }) {
  return (
    <>
      <h3>Data and resources</h3>
      <DataTable
        caption="Data and resources"
        columns={[{ name: "Amount" }, number("Before"), number("After"), number("Ratio")]}
        rows={amounts.map(({ what, unit, before, after }): Cell[] => [
          what,
          amount(unit, before),
          amount(unit, after),
          before && after ? { value: after / before, show: three(after / before) } : null,
        ])}
      />
    </>
  );
}

function Stages({ found: { stages } }: { found: JobDifference }) {
  return (
    <>
      <h3>Stages, largest difference first</h3>
      <DataTable
        caption="Stages, largest difference first"
        columns={[
          { name: "Stage" },
          { name: "Operation" },
          number("Before"),
          number("After"),
          number("Difference"),
        ]}
        rows={stages.map((stage): Cell[] => [
          both(stage.before, stage.after),
          stage.name,
          time(stage.before_s),
          time(stage.after_s),
          gap(stage.before_s, stage.after_s),
        ])}
      />
    </>
  );
}

function Job({ name, job }: { name: string; job: ComparedJob }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>
        <Link href={PAGES.trial.path.replace("{id}", job.id)}>{job.name}</Link>
        {job.started_at !== null && `, ${moment(job.started_at)}`}
        {job.findings.length > 0 &&
          `: ${job.findings
            .map(({ title, share }) => (share > 0 ? `${title} (${percent(share)})` : title))
            .join(", ")}`}
      </dd>
    </>
  );
}

/** A choice among recorded jobs; without any, a field for the ID of a trial. */
function JobField({
  label,
  jobs,
  value,
  onChange,
}: {
  label: string;
  jobs: readonly FleetJob[];
  value: string;
  onChange: (id: string) => void;
}) {
  const field = useId();
  if (jobs.length === 0)
    return <Field label={`${label} (trial ID)`} value={value} onChange={onChange} />;
  const listed = !value || jobs.some(({ id }) => id === value);
  return (
    <div className="field">
      <label htmlFor={field}>{label}</label>
      <select id={field} value={value} onChange={({ target }) => onChange(target.value)}>
        <option value="">choose a job …</option>
        {!listed && <option>{value}</option>}
        {jobs.map(({ id, name, started_at, elapsed_s }) => (
          <option key={id} value={id}>
            {[
              name,
              ...(started_at === null ? [] : [moment(started_at)]),
              ...(elapsed_s === null ? [] : [duration(elapsed_s)]),
            ].join(" · ")}
          </option>
        ))}
      </select>
    </div>
  );
}

/** A form for the two jobs, with the latest ones first. */
function Choice() {
  const [search, edit] = useSearch();
  const [before, setBefore] = useState(search.get("before") ?? "");
  const [after, setAfter] = useState(search.get("after") ?? "");
  const { data: fleet } = useTwin("/api/fleet", EVERY_RUN);
  const started = ({ started_at }: FleetJob) => started_at ?? "";
  const jobs = [...(fleet?.jobs ?? [])].sort((a, b) => started(b).localeCompare(started(a)));
  return (
    <form
      className="controls"
      onSubmit={(event) => {
        event.preventDefault();
        edit((next) => {
          next.set("before", before);
          next.set("after", after);
        });
      }}
    >
      <JobField label="Before" jobs={jobs} value={before} onChange={setBefore} />
      <JobField label="After" jobs={jobs} value={after} onChange={setAfter} />
      <button type="submit" disabled={!before || !after}>
        Compare
      </button>
    </form>
  );
}

function Answer({ data }: { data: TwoJobs }) {
  const { before, after, difference: found, missing_reason: missing } = data;
  return (
    <>
      <section aria-labelledby="longer">
        <h2 id="longer">What took longer</h2>
        {found && (
          <p>
            <strong>{sentence(found.sentence)}</strong>
          </p>
        )}
        {found?.promise && <p>{sentence(found.promise)}</p>}
        {found?.start_up && <p>{sentence(found.start_up)}</p>}
        {before && after && (
          <dl className="facts">
            <Job name="Before" job={before} />
            <Job name="After" job={after} />
          </dl>
        )}
        {missing !== null && <p className="nothing">{sentence(missing)}</p>}
        {found && (
          <>
            <Times found={found} file={`${before?.id}-${after?.id}`} />
            <Stages found={found} />
          </>
        )}
      </section>
      {found && (
        <section aria-labelledby="changed">
          <h2 id="changed">What else differs</h2>
          <Settings found={found} />
          <Plans found={found} />
          <Amounts found={found} />
        </section>
      )}
    </>
  );
}

export default function JobsPage() {
  const [search] = useSearch();
  const { data, problem, pending } = useTwin("/api/jobs", search);
  const command = commandOf(PAGES.jobs.path, search);
  return (
    <Page
      title={PAGES.jobs.title}
      intro="Why one run took longer than another: where their time went, and how their settings, plans and data differ. Choose two Spark or MapReduce trials that have a job log."
    >
      {!exported && <Choice />}
      {command && <Asked command={command} />}
      {problem && <ProblemBox problem={problem} />}
      {pending && <Pending what="both jobs" lines={20} />}
      {data && <Answer data={data} />}
    </Page>
  );
}
