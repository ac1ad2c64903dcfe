// The first page: what is here, what can be asked of it, and how to begin with nothing.

import { Link } from "wouter";
import { exported, useTwin } from "../../data";
import { count, moment, trials } from "../../format";
import { PAGES } from "../../generated/pages";
import type { StarterReport, View } from "../../generated/types";
import { type Change, useChange, useMayWrite } from "../../parts/changes";
import { Page, Pending, ProblemBox } from "../../parts/Page";

const QUESTIONS = Object.values(PAGES).filter(({ question }) => question);

const address = (path: string, ...pairs: [string, string][]) =>
  `${path}?${new URLSearchParams(pairs)}`;
const from = (source: string): [string, string] => ["where", `source=${source}`];

/** What to look at first in the published tables. */
const EXAMPLES: readonly (readonly [string, string])[] = [
  [
    "what SSDs and InfiniBand do to time and cost (Poggi and Carrera 2015)",
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
    "what virtual machines cost or save (Buell 2011, Jaffe 2017)",
    address(
      PAGES.parameter.path,
      ["where", "workload=terasort"],
      ["key", "vms_per_host"],
      ["baseline", "0"],
      ["by", "source"],
    ),
  ],
  [
    "how the time of a sort grows with its data (Jaffe 2017)",
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
  ["all of them in the repository", PAGES.repository.path],
];

const COMMANDS: readonly (readonly [string, string])[] = [
  ["Measure this machine, sort on it, record it, price it", "venturi quickstart"],
  [
    "Import results that you have",
    "venturi import aloja FILE.csv\nventuri import hibench hibench.report\nventuri import pkb results.json",
  ],
  ["Send trials to a shared repository", "venturi push https://venturi.example.org"],
];

/** The published tables of others, to see something real before anything was measured. */
function Starter({ empty, change }: { empty: boolean; change: Change<StarterReport> }) {
  const { make, problem, sending } = change;
  const may = useMayWrite();
  return (
    <section className="offer" aria-labelledby="starter">
      <h2 id="starter">
        {empty ? "Nothing is recorded here yet" : "The published tables are not here yet"}
      </h2>
      <p>
        Tables that others published come with Venturi: sorting clusters with different disks,
        networks and virtual machines. Import them to see the pages at work. They are marked as
        imported, each with its publication, and stay apart from what you measure.
      </p>
      <button
        type="button"
        className="main"
        disabled={!may || sending}
        onClick={() => void make("POST", "/api/starter")}
      >
        {sending ? "Importing …" : "Import the published tables"}
      </button>
      {!may && <p className="aside">This server lets you read only.</p>}
      {problem && <ProblemBox problem={problem} />}
    </section>
  );
}

/** What to look at first in the published tables. */
function Imported({ report }: { report: StarterReport }) {
  return (
    <section className="offer" aria-labelledby="imported">
      <h2 id="imported" role="status">
        {trials(report.added)} imported
      </h2>
      <p>Published tables: {report.sources.join(", ")}. Now see</p>
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

function Saved({ views, title }: { views: readonly View[]; title: string }) {
  const { make, problem, sending } = useChange();
  const may = useMayWrite();
  const own = title !== "Presets";
  if (views.length === 0) return null;
  return (
    <section aria-label={title}>
      <h2>{title}</h2>
      {problem && <ProblemBox problem={problem} />}
      <ul className="tiles">
        {views.map(({ name, url, author, created_at }) => (
          <li key={name}>
            <h3>
              <Link href={url}>{name}</Link>
            </h3>
            {own && (
              <p>
                {author}, {moment(created_at)}
              </p>
            )}
            {own && may && (
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

function Questions() {
  return (
    <section aria-labelledby="questions">
      <h2 id="questions">What do you want to know?</h2>
      <ul className="tiles">
        {QUESTIONS.map(({ question, path, about }) => (
          <li key={path}>
            <h3>
              <Link href={path}>{question}</Link>
            </h3>
            <p>{about}</p>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Commands() {
  return (
    <section aria-labelledby="commands">
      <h2 id="commands">Bring your own trials</h2>
      <dl className="commands">
        {COMMANDS.map(([what, command]) => (
          <div key={what}>
            <dt>{what}</dt>
            <dd>
              <pre>{command}</pre>
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

export default function Start() {
  const { data: status, problem, pending } = useTwin("/api/status");
  const { data: views, pending: waiting } = useTwin("/api/views");
  const starter = useChange<StarterReport>();
  const empty = status?.trials === 0;
  return (
    <Page
      title={PAGES.start.title}
      intro="Which configuration is fastest, which is cheapest, and is the difference real?"
    >
      {(pending || waiting) && <Pending what="the repository" lines={20} />}
      {problem && <ProblemBox problem={problem} />}
      {status && !waiting && (
        <>
          {starter.done && <Imported report={starter.done} />}
          {empty && !starter.done && !exported && <Starter empty change={starter} />}
          {!empty && (
            <ul className="figures">
              <li>
                <span className="label">Trials</span>
                <span className="value">{count(status.trials)}</span>
                <span className="note">
                  <Link href={PAGES.repository.path}>see them</Link>
                </span>
              </li>
              <li>
                <span className="label">Excluded by a recorded rule</span>
                <span className="value">{count(status.trials_excluded)}</span>
                <span className="note">
                  <Link href={PAGES.exclusions.path}>rules and reasons</Link>
                </span>
              </li>
              <li>
                <span className="label">Your role</span>
                <span className="value">{status.role}</span>
                <span className="note">
                  {status.uploads ? "uploads with a token" : "no uploads"}
                </span>
              </li>
            </ul>
          )}
          {views && <Saved title="Saved views" views={views.views} />}
          {!empty && views && <Saved title="Presets" views={views.presets} />}
          {!empty && <Questions />}
          <Commands />
          {!empty && !status.starter_present && !starter.done && !exported && (
            <Starter empty={false} change={starter} />
          )}
        </>
      )}
    </Page>
  );
}
