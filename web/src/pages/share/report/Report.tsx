// The quickstart's report: a machine, what it can do, how it sorted, what that costs elsewhere.
import { useMemo } from "react";
import { useTwin } from "../../../data";
import type { ReportData } from "../../../generated/types";
import { isMissing, plain } from "../../../missing";
import { Pending, ProblemBox } from "../../../parts/Page";
import {
  type Column,
  Commands,
  Facts,
  Grid,
  Moment,
  Nothing,
  Scroll,
  Section,
  Sections,
  Tell,
  utc,
  words,
} from "../../../parts/Sections";
import { usd } from "../../../report-units";
import { duration, rate } from "../../../units";
import { Limits } from "./Limits";
import { Predicted, Prices } from "./Prices";
import { Sorts } from "./Sorts";

const TELL = { rate, duration, usd };

function Answer({ data }: { data: ReportData }) {
  const { warnings, skipped } = data;
  return (
    <Section id="answer" title="The answer" hidden>
      <ul className="figures">
        {data.figures.map(({ label, value, kind, note }) => (
          <li key={label}>
            <span className="label">{label}</span>
            <span className="value">
              <Tell value={value} as={TELL[kind]} />
            </span>
            <span className="note">{note}</span>
          </li>
        ))}
      </ul>
      {warnings.length + skipped.length > 0 && (
        <p className="alert">
          <a href="#warnings">
            {warnings.length} warning{warnings.length === 1 ? "" : "s"} and {skipped.length} skipped
            step{skipped.length === 1 ? "" : "s"}
          </a>{" "}
          affect these numbers{data.warned.length > 0 && `: ${data.warned.join("; ")}`}.
        </p>
      )}
      <dl className="answers">
        {data.answers.map(({ question, sentences }) => (
          <div key={question}>
            <dt>{question}</dt>
            <dd>
              {sentences.map((sentence) => (
                <p key={sentence}>{sentence}</p>
              ))}
            </dd>
          </div>
        ))}
      </dl>
    </Section>
  );
}

function Machine({ data }: { data: ReportData }) {
  return (
    <Section id="machine" title="Machine">
      <div className="cards">
        {data.host.map(({ title, facts }) => (
          <div className="card" key={title}>
            <h3>{title}</h3>
            <Facts facts={facts} />
          </div>
        ))}
      </div>
    </Section>
  );
}

const TRIALS: Column<ReportData["trials"][number]>[] = [
  { head: "Trial", names: true, cell: (trial) => <code>{trial.id}</code> },
  { head: "Workload", cell: (trial) => trial.label },
  {
    head: "State",
    cell: ({ state, failure }) => (failure ? `${state}: ${failure}` : state),
  },
  {
    head: "Started",
    kind: "date",
    cell: ({ started_at }) => (started_at ? utc(started_at) : "—"),
  },
  { head: "Time", kind: "n", cell: (trial) => <Tell value={trial.elapsed_s} as={duration} /> },
  { head: "Provenance", cell: (trial) => trial.provenance },
];

function Notices({ of }: { of: { name: string; code?: string; text: string }[] }) {
  if (of.length === 0) return <Nothing>None.</Nothing>;
  return (
    <ul className="notices">
      {of.map(({ name, code, text }) => (
        <li key={`${name} ${code} ${text}`}>
          <strong>{name}</strong> {code && <code>{code}</code>} {text}
        </li>
      ))}
    </ul>
  );
}

function Method({ data }: { data: ReportData }) {
  return (
    <Section id="method" title="How it was measured">
      <div className="cards">
        <div className="card">
          <h3>Method</h3>
          <Facts facts={data.method} />
        </div>
        <div className="card">
          <h3>Software</h3>
          <Facts facts={data.software} />
          <h3>Reproduce it</h3>
          {data.commands.length > 0 ? (
            <Commands commands={data.commands} />
          ) : (
            <Nothing>The commands weren't recorded.</Nothing>
          )}
        </div>
      </div>
      <h3 id="warnings">Warnings</h3>
      <Notices
        of={data.warnings.map(({ trial, code, message }) => ({ name: trial, code, text: message }))}
      />
      <h3>Skipped steps</h3>
      <Notices of={data.skipped.map(({ step, reason }) => ({ name: step, text: reason }))} />
      <h3>Trials</h3>
      {data.trials.length > 0 ? (
        <Scroll label="trials">
          <Grid columns={TRIALS} rows={data.trials} />
        </Scroll>
      ) : (
        <Nothing>No trial was recorded.</Nothing>
      )}
    </Section>
  );
}

function Whole({ data }: { data: ReportData }) {
  const charts = useMemo(() => plain(data), [data]);
  return (
    <div className="report">
      <h1>{data.headline}</h1>
      <p className="meta">
        <Moment at={data.generated_at} />
        {data.software.slice(0, 3).map(({ label, value }) => (
          <span key={label}>
            {" "}
            · {label} {isMissing(value) ? words(value) : value}
          </span>
        ))}
      </p>
      <Answer data={data} />
      <Sections
        of={[
          ["machine", "Machine"],
          ["limits", "Device limits"],
          ["sorts", "Sorts"],
          ["predicted", "Predicted and measured"],
          ["price", "Time and cost elsewhere"],
          ["method", "Method"],
        ]}
      />
      <Machine data={data} />
      <Limits data={data} charts={charts} />
      <Sorts data={data} />
      <Predicted data={data} charts={charts} />
      <Prices data={data} charts={charts} />
      <Method data={data} />
      <p className="provenance">
        Every number comes from a trial listed above, from the price catalog, or from the formula
        given with it.
      </p>
    </div>
  );
}

export default function Report() {
  const { data, problem } = useTwin("/api/report");
  if (problem) return <ProblemBox problem={problem} />;
  return data ? <Whole data={data} /> : <Pending />;
}
