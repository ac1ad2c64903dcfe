// The overview: the jobs, the repository's content and main results, the pages, how to start.

import { Link } from "wouter";
import { exported, useTwin } from "../../../data";
import { moment, trials } from "../../../format";
import { PAGES } from "../../../generated/pages";
import type { StartAnswer, StarterReport, Start as Told, View } from "../../../generated/types";
import { BY_TOPIC } from "../../../parts/navigation/topics";
import { Page, Pending, ProblemBox } from "../../../parts/Page";
import { type Change, useChange, useMayWrite } from "../../../parts/server/changes";
import { Trials } from "../../../parts/Trials";
import { useSearch } from "../../../state";
import { Fleet } from "./Fleet";

const address = (path: string, ...pairs: [string, string][]) =>
  `${path}?${new URLSearchParams(pairs)}`;
const from = (source: string): [string, string] => ["where", `source=${source}`];

/** First examples from the published tables. */
const EXAMPLES: readonly (readonly [string, string])[] = [
  [
    "Effect of SSDs and InfiniBand on time and cost (Poggi and Carrera 2015)",
    address(
      PAGES.cost.path,
      from("Poggi and Carrera 2015, Table 2"),
      ["by", "net"],
      ["by", "disk"],
      ["usd_per_hour", "3.5"],
      ["plus", "disk=HD5:1.0"],
      ["plus", "disk=SSD:0.7"],
      ["plus", "disk=SS2:1.4"],
      ["plus", "disk=HS5:1.7"],
      ["plus", "net=IB:0.8"],
      ["per", "cluster"],
      ["objective", "cost"],
      ["price_source", "Poggi and Carrera 2015"],
    ),
  ],
  [
    "Effect of virtual machines on sort time (Buell 2011, Jaffe 2017)",
    address(
      PAGES.effect.path,
      ["where", "workload=terasort"],
      ["key", "vms_per_host"],
      ["baseline", "0"],
    ),
  ],
  [
    "How sort time scales with data size (Jaffe 2017)",
    address(
      PAGES.scaling.path,
      ["where", "workload=terasort"],
      from("Jaffe 2017, Table 9"),
      from("Jaffe 2017, Table 10"),
      from("Jaffe 2017, Table 11"),
      ["x", "input_bytes"],
      ["by", "platform"],
    ),
  ],
  ["All imported trials", PAGES.repository.path],
];

/** Commands by topic, for tasks that no page does. */
const COMMANDS: Readonly<Record<string, readonly (readonly [string, string])[]>> = {
  measure: [["Measure this machine, run a sort, and price it", "venturi quickstart"]],
  results: [["Import your existing results", "venturi import FILE.csv"]],
  jobs: [
    [
      "Import the logs of Spark and Hadoop jobs",
      "venturi import /var/spark/history\nventuri import http://history:18080",
    ],
  ],
  machines: [
    ["Recommend machines for a sort", "venturi advise hardware --sort 100TB --deadline 30min"],
  ],
  share: [
    ["Send trials to a shared repository", "venturi push https://venturi.example.org"],
    [
      "Write a page with its data as one file",
      `venturi report '${PAGES.compare.path}?by=disk' -o compare.html`,
    ],
  ],
};

/** The first two ways to begin; the third is the button below them. */
const BEGIN: readonly (readonly [string, string])[] = [
  ["1. Find out why a Spark or MapReduce job is slow", "venturi import /var/spark/history"],
  ["2. Measure this machine: disk, sort, price", "venturi quickstart"],
];

/** An offer to import published tables, for a look at real data before the first measurement. */
function Starter({ empty, change }: { empty: boolean; change: Change<StarterReport> }) {
  const { make, problem, sending } = change;
  const may = useMayWrite();
  return (
    <section className="offer" aria-labelledby="starter">
      <h2 id="starter">
        {empty ? "Three ways to begin" : "Published results aren't imported yet"}
      </h2>
      {empty && (
        <dl className="commands">
          {BEGIN.map(([aim, command]) => (
            <div key={aim}>
              <dt>{aim}</dt>
              <dd>
                <pre>{command}</pre>
              </dd>
            </div>
          ))}
        </dl>
      )}
      <p>
        {empty && "3. Look at published results. "}
        Venturi includes published benchmark tables: sorting clusters with different disks, networks
        and virtual machines. Import them to see the pages with real data. They are marked as
        imported, name their publication, and stay separate from your own measurements.
      </p>
      <button
        type="button"
        className="main"
        disabled={!may || sending}
        onClick={() => void make("POST", "/api/starter")}
      >
        {sending ? "Importing …" : "Import the published tables"}
      </button>
      {!may && <p className="aside">You can only read on this server.</p>}
      {problem && <ProblemBox problem={problem} />}
    </section>
  );
}

/** The result of importing the published tables, with first examples. */
function Imported({ report }: { report: StarterReport }) {
  return (
    <section className="offer" aria-labelledby="imported">
      <h2 id="imported" role="status">
        {trials(report.added)} imported
      </h2>
      <p>Published tables: {report.sources.join(", ")}. Next:</p>
      <ul className="dots">
        {EXAMPLES.map(([question, to]) => (
          <li key={to}>
            <Link href={to}>{question}</Link>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** Large numbers, each with a link to the things that it counts. */
function Figures({ figures }: { figures: Told["figures"] }) {
  return (
    <ul className="figures">
      {figures.map(({ label, value, note, url }) => (
        <li key={label}>
          <span className="label">{label}</span>
          <Link className="value" href={url}>
            {value}
          </Link>
          <span className="note">{note}</span>
        </li>
      ))}
    </ul>
  );
}

/** The most common questions with their answers; each links to its page and to its trials. */
function Answers({ answers }: { answers: readonly StartAnswer[] }) {
  if (answers.length === 0) return null;
  return (
    <section aria-labelledby="answers">
      <h2 id="answers">Main results</h2>
      <dl className="answers">
        {answers.map(({ question, sentences: [first, ...others], known, url, trials_url }) => (
          <div key={question}>
            <dt>{question}</dt>
            <dd>
              <p className={known ? "first" : "first unknown"}>{first}</p>
              {others.map((sentence) => (
                <p className="aside" key={sentence}>
                  {sentence}
                </p>
              ))}
              {!exported && (
                <p className="ways">
                  <Link href={url}>
                    Full answer<span className="visually-hidden">: {question}</span>
                  </Link>
                  {trials_url !== null && trials_url !== url && (
                    <Link href={trials_url}>
                      Trials<span className="visually-hidden"> behind: {question}</span>
                    </Link>
                  )}
                </p>
              )}
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

function Findings({ findings }: { findings: Told["findings"] }) {
  if (findings.length === 0) return null;
  return (
    <section aria-labelledby="findings">
      <h2 id="findings">Needs attention</h2>
      <ul className="notices">
        {findings.map(({ text, url }) => (
          <li key={text}>
            <Link href={url}>{text}</Link>
          </li>
        ))}
      </ul>
    </section>
  );
}

const RECENT_COLUMNS = ["workload", "engine", "input_bytes", "elapsed_s", "state", "started_at"];

function Recent({ rows }: { rows: Told["recent"] }) {
  if (rows.length === 0) return null;
  const columns = RECENT_COLUMNS.filter((key) => rows.some((row) => row[key as "scale"] !== null));
  return (
    <section aria-labelledby="recent">
      <h2 id="recent">
        {rows.some((row) => row.started_at !== null) ? "Newest trials" : "Some trials"}
      </h2>
      <div className="panel">
        <Trials caption="Newest trials" rows={rows} columns={columns} />
      </div>
    </section>
  );
}

/** Saved pages, each with author and date. */
function Saved({ views }: { views: readonly View[] }) {
  const { make, problem, sending } = useChange();
  const may = useMayWrite();
  if (views.length === 0) return null;
  return (
    <section aria-label="Saved views">
      <h2>Saved views</h2>
      {problem && <ProblemBox problem={problem} />}
      <ul className="tiles">
        {views.map(({ name, url, author, created_at }) => (
          <li key={name}>
            <h3>
              <Link href={url}>{name}</Link>
            </h3>
            <p>
              {author.text}, {moment(created_at)}
            </p>
            {may && (
              <button
                type="button"
                className="quiet"
                disabled={sending}
                aria-label={`Delete the view ${name}`}
                onClick={() => void make("DELETE", `/api/views/${encodeURIComponent(name)}`)}
              >
                Delete
              </button>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

/** The five topics, each with its question, its pages and its commands. */
function Topics({ presets }: { presets: readonly View[] }) {
  return (
    <section aria-labelledby="topics">
      <h2 id="topics">Questions and pages</h2>
      <ul className="topic-map">
        {BY_TOPIC.map(({ topic, name, question, pages }) => (
          <li key={topic}>
            <div>
              <h3>{name}</h3>
              <p>{question}</p>
            </div>
            <div className="ways-in">
              <ul className="tiles">
                {pages.map(
                  ({ path, question: asked, about }) =>
                    asked && (
                      <li key={path}>
                        <h4>
                          <Link href={path}>{asked}</Link>
                        </h4>
                        <p>{about}</p>
                      </li>
                    ),
                )}
              </ul>
              <dl className="commands">
                {COMMANDS[topic]?.map(([what, command]) => (
                  <div key={what}>
                    <dt>{what}</dt>
                    <dd>
                      <pre>{command}</pre>
                    </dd>
                  </div>
                ))}
              </dl>
            </div>
          </li>
        ))}
      </ul>
      {presets.length > 0 && (
        <details className="more">
          <summary>Example: a published table (ALOJA, Table 2)</summary>
          <ul className="dots">
            {presets.map(({ name, url }) => (
              <li key={name}>
                <Link href={url}>{name}</Link>
              </li>
            ))}
          </ul>
        </details>
      )}
    </section>
  );
}

export default function Start() {
  const [search] = useSearch();
  const { data: status, problem } = useTwin("/api/status");
  const { data: fleet, problem: noFleet, pending: waiting } = useTwin("/api/fleet", search);
  const { data: told, problem: untold, pending } = useTwin("/api/start");
  const { data: views } = useTwin("/api/views");
  const starter = useChange<StarterReport>();
  const empty = status?.trials === 0;
  const refused = problem ?? noFleet ?? untold;
  const jobs = fleet !== undefined && fleet.jobs.length > 0;
  const headline = told && !empty ? told.headline : PAGES.start.title;
  return (
    <Page title={jobs ? "Jobs" : headline}>
      {refused && <ProblemBox problem={refused} />}
      {jobs && <Fleet fleet={fleet} />}
      {(pending || waiting) && !refused && <Pending what="the repository" lines={20} />}
      {status && told && fleet && (
        <>
          {starter.done && <Imported report={starter.done} />}
          {empty && !starter.done && !exported && <Starter empty change={starter} />}
          {!empty && <Figures figures={told.figures} />}
          <Answers answers={told.answers} />
          <Findings findings={told.findings} />
          <Recent rows={told.recent} />
          {views && <Saved views={views.views} />}
          <Topics presets={empty ? [] : (views?.presets ?? [])} />
          {!empty && !status.starter_present && !starter.done && !exported && (
            <Starter empty={false} change={starter} />
          )}
        </>
      )}
    </Page>
  );
}
