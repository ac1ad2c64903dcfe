// A recorded Spark job on other machines, settings and data: what would it take, and cost?
import { useRef } from "react";
import { Link } from "wouter";
import { commandOf } from "../../../commands";
import { exported, useTwin } from "../../../data";
import { duration, moment } from "../../../format";
import { PAGES } from "../../../generated/pages";
import type { Problem, WhatIfPage, WhatIfSide } from "../../../generated/types";
import { Asked } from "../../../parts/Asked";
import { Page, Pending, ProblemBox } from "../../../parts/Page";
import { type Cell, DataTable, number } from "../../../parts/Table";
import { useSearch } from "../../../state";
import { Answer, Verdict } from "./Answer";
import { Question } from "./Question";
import { Ranking } from "./Ranking";

function Jobs({ jobs }: Pick<WhatIfPage, "jobs">) {
  if (jobs.length === 0)
    return (
      <p className="nothing">
        No Spark job with an event log has succeeded here. Import one:{" "}
        <code>venturi import spark-eventlog FILE</code>
      </p>
    );
  return (
    <section aria-labelledby="jobs">
      <h2 id="jobs">Choose a job</h2>
      <DataTable
        caption="Newest jobs"
        columns={[{ name: "Job" }, { name: "Engine" }, { name: "Started" }, number("Time")]}
        rows={jobs.map(({ id, name, engine, started_at: started, elapsed_s: elapsed }): Cell[] => [
          {
            value: name,
            show: exported ? (
              name
            ) : (
              <Link href={`${PAGES.whatif.path}?${new URLSearchParams({ trial: id })}`}>
                {name}
              </Link>
            ),
          },
          engine,
          started === null ? null : { value: started, show: moment(started) },
          elapsed === null ? null : { value: elapsed, show: duration(elapsed) },
        ])}
      />
    </section>
  );
}

/** The job, and a way to another one. */
function Job({ trial, name }: { trial: string; name: string | undefined }) {
  if (exported) return <p>Job: {name ?? trial}</p>;
  return (
    <p>
      Job: <Link href={PAGES.trial.path.replace("{id}", trial)}>{name ?? trial}</Link>,{" "}
      <Link href={PAGES.whatif.path}>choose another</Link>
    </p>
  );
}

/** Whether another question about the same trial would be refused, too. */
const hopeless = (problem: Problem | undefined) =>
  problem !== undefined && (problem.code === "VEN-RECORD-UNKNOWN" || "trial" in problem.where);

export default function WhatIf() {
  const [search] = useSearch();
  const { data, problem, pending, stale } = useTwin("/api/whatif", search);
  const trial = search.get("trial");
  const answer = data?.answer ?? data?.ranking;
  // A refused question keeps the sliders of the last answer about the same job.
  const last = useRef<{ trial: string | null; today: WhatIfSide; job: string } | undefined>(
    undefined,
  );
  if (answer && !stale) last.current = { trial, today: answer.today, job: answer.job };
  const known = last.current?.trial === trial ? last.current : undefined;
  return (
    <Page
      title={PAGES.whatif.title}
      asked={known?.job ?? ""}
      intro="Predicted time and cost of a recorded Spark job on other machines, with other settings, or with more data."
    >
      {trial && <Job trial={trial} name={known?.job} />}
      {answer && (
        <div className={stale ? "stale" : undefined}>
          <Verdict sentence={answer.sentence} />
        </div>
      )}
      {trial && !exported && !hopeless(problem) && <Question today={known?.today} />}
      {trial && <Asked command={commandOf(PAGES.whatif.path, search)} />}
      {problem && <ProblemBox problem={problem} />}
      {pending && <Pending what="the prediction" lines={30} />}
      {data && (
        <div className={stale ? "stale" : undefined} aria-busy={stale}>
          {data.answer && <Answer data={data.answer} />}
          {data.ranking && <Ranking data={data.ranking} />}
          {!answer && <Jobs jobs={data.jobs} />}
        </div>
      )}
    </Page>
  );
}
