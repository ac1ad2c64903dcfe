// How long a job takes when nodes differ: simulated trials compared with the plain formula.
import { useMemo } from "react";
import { useTwin } from "../../../data";
import type { SimulationPage, Histogram as Values } from "../../../generated/types";
import { Chart, type View } from "../../../parts/Chart";
import { Pending, ProblemBox } from "../../../parts/Page";
import {
  Commands,
  Facts,
  Grid,
  Lines,
  Moment,
  Nothing,
  Section,
  Sections,
  Tell,
  Twin,
} from "../../../parts/Sections";
import { count, share, usd } from "../../../report-units";
import { duration } from "../../../units";
import { histogram, nodes } from "./charts";

function Bins({ of: { counts, edges_s: edges }, what }: { of: Values; what: string }) {
  const total = counts.reduce((sum, each) => sum + each, 0);
  return (
    <Grid
      columns={[
        { head: "From", kind: "n", names: true, cell: (_, bin) => duration(edges[bin] ?? 0) },
        { head: "To", kind: "n", cell: (_, bin) => duration(edges[bin + 1] ?? 0) },
        { head: what, kind: "n", cell: (each) => count(each) },
        { head: "Share", kind: "n", cell: (each) => (total ? share(each / total) : "—") },
      ]}
      rows={counts}
    />
  );
}

function Answer({ page }: { page: SimulationPage }) {
  const lost = page.trials - page.finished_trials;
  return (
    <Section id="answer" title="The answer" hidden>
      <ul className="figures">
        {page.quantiles.map(({ name, time_s, cost_usd }) => (
          <li key={name}>
            <span className="label">{name}</span>
            <span className="value">
              <Tell value={time_s} as={duration} />
            </span>
            <span className="note">
              <Tell value={cost_usd} as={usd} />
            </span>
          </li>
        ))}
      </ul>
      {lost > 0 && (
        <p className="failure">
          <strong>
            {count(lost)} of {count(page.trials)} trials did not finish.
          </strong>{" "}
          Times and quantiles cover only those that did.
        </p>
      )}
      <Lines texts={page.reasons} />
    </Section>
  );
}

function Times({ page }: { page: SimulationPage }) {
  const draw = useMemo(() => (view: View) => histogram(page.histogram, page.marks, view), [page]);
  return (
    <Section id="times" title="Job times">
      <figure>
        <figcaption>
          <p>
            {count(page.finished_trials)} simulated trials by job time, compared with the plain
            formula, which assumes equal nodes.
          </p>
        </figcaption>
        <Chart
          label="Distribution of the simulated times of the job, with its quantiles and the time of the plain formula"
          draw={draw}
        />
        <Twin label="reference times" open>
          <Grid
            columns={[
              { head: "Reference", names: true, cell: (mark) => mark.name },
              { head: "Time", kind: "n", cell: (mark) => duration(mark.at_s) },
            ]}
            rows={page.marks}
          />
        </Twin>
        <Twin label="trials by time">
          <Bins of={page.histogram} what="Trials" />
        </Twin>
      </figure>
    </Section>
  );
}

function Nodes({ page }: { page: SimulationPage }) {
  return (
    <Section id="nodes" title="Node times">
      {page.node_times.length === 0 && <Nothing>The nodes' times weren't kept.</Nothing>}
      {page.node_times.map(({ phase, note, histogram: of }, place) => (
        <figure key={phase}>
          <figcaption>
            <h3>{phase}</h3>
            <p>
              Time at which each node finished this phase, over all trials. A phase ends with its
              last node.
              {note && ` ${note}`}
            </p>
          </figcaption>
          <Chart
            label={`Distribution of the nodes' finishing times in ${phase}`}
            draw={(view) => nodes(page.node_times, view, place)}
          />
          <Twin label={`nodes by finishing time, ${phase}`}>
            <Bins of={of} what="Nodes" />
          </Twin>
        </figure>
      ))}
    </Section>
  );
}

function Whole({ page }: { page: SimulationPage }) {
  return (
    <div className="report">
      <p className="question">{page.question}</p>
      <h1>{page.answer}</h1>
      <p className="meta">
        <Moment at={page.generated_at} /> · simulated, not measured
      </p>
      <Answer page={page} />
      <Sections
        of={[
          ["times", "Job times"],
          ["nodes", "Node times"],
          ["settings", "Settings and assumptions"],
        ]}
      />
      <Times page={page} />
      <Nodes page={page} />
      <Section id="settings" title="Settings and assumptions">
        <div className="card">
          <Facts facts={page.settings} />
        </div>
        {page.assumptions.length > 0 && (
          <>
            <h3>Assumptions</h3>
            <Lines texts={page.assumptions} />
          </>
        )}
        {page.commands.length > 0 && (
          <>
            <h3>Run it in a terminal</h3>
            <Commands commands={page.commands} />
          </>
        )}
      </Section>
      <p className="provenance">
        Simulated from the distributions and the seed above. The same seed gives the same times.
      </p>
    </div>
  );
}

export default function Simulation() {
  const { data, problem } = useTwin("/api/simulation");
  if (problem) return <ProblemBox problem={problem} />;
  return data ? <Whole page={data} /> : <Pending />;
}
