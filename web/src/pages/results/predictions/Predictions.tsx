// How far Venturi's own predictions were from the measured times.
import { useCallback } from "react";
import { Link } from "wouter";
import { askedInWords } from "../../../asked";
import { commandOf } from "../../../commands";
import { exported, useTwin } from "../../../data";
import { count, duration, keyName, percent, range } from "../../../format";
import { PAGES } from "../../../generated/pages";
import type { PredictedRun, PredictionsPage } from "../../../generated/types";
import { Answer, Choice, Controls } from "../../../parts/Analysis";
import { Asked } from "../../../parts/Asked";
import type { View } from "../../../parts/Chart";
import { Figure } from "../../../parts/Figure";
import { Filters } from "../../../parts/Filters";
import { Page } from "../../../parts/Page";
import { type Cell, DataTable, number } from "../../../parts/Table";
import { useSearch } from "../../../state";
import { errorOf, HELD, predictedScatter, rangeOf, signed } from "./charts";

const BY = [
  ["", "workload, engine, bottleneck and data"],
  ["workload", "workload"],
  ["bottleneck", "bottleneck"],
  ["data", "distance of the data"],
  ["basis", "method"],
] as const;
const NAMES: Readonly<Record<string, string>> = { data: "distance of the data", basis: "method" };

const share = (value: number | null): Cell => value && { value, show: percent(value) };

function Groups({ data: { found } }: { data: PredictionsPage }) {
  return (
    <section aria-labelledby="groups">
      <h2 id="groups">By group</h2>
      <DataTable
        caption="Errors by group"
        columns={[
          ...found.by.map((key) => ({ name: NAMES[key] ?? keyName(key) })),
          number("n"),
          number("Median error"),
          number("p90"),
          number("Bias"),
          number("Intervals that held"),
        ]}
        rows={found.groups.map(({ key, errors, bias }): Cell[] => [
          ...key.map((value) => value ?? "unknown"),
          errors.runs,
          share(errors.median_error),
          share(errors.p90_error),
          { value: bias, show: signed(bias) },
          errors.ranges === 0
            ? null
            : {
                value: errors.held / errors.ranges,
                show: `${percent(errors.held / errors.ranges)} (${count(errors.held)} of ${count(errors.ranges)})`,
              },
        ])}
      />
      <p className="aside">
        Errors are shares of the measured time. Bias is the median error with its sign: above 0,
        predictions are too long. 90 % of the intervals should hold.
        {found.by.includes("data") &&
          " The distance is the factor between the data and those that the prediction rests on."}
      </p>
    </section>
  );
}

const trialCell = ({ trial }: PredictedRun): Cell => ({
  value: trial,
  show: exported ? (
    trial
  ) : (
    <Link href={PAGES.trial.path.replace("{id}", trial)}>{trial.slice(-8)}</Link>
  ),
});

function Scatter({ data }: { data: PredictionsPage }) {
  const { runs } = data.found;
  const draw = useCallback((view: View) => predictedScatter(runs, view), [runs]);
  const rows = runs.map((run): Cell[] => {
    const interval = rangeOf(run);
    return [
      trialCell(run),
      run.workload,
      run.engine,
      run.bottleneck,
      run.distance,
      run.basis,
      { value: run.predicted_s, show: duration(run.predicted_s) },
      interval ? range(interval, duration) : null,
      { value: run.measured_s, show: duration(run.measured_s) },
      { value: errorOf(run), show: signed(errorOf(run)) },
    ];
  });
  return (
    <Figure
      title="Measured against predicted time"
      caption={
        <>
          Each dot is a run. On the dashed line, the measured time is the predicted one. Bars are 90
          % intervals: those that held cross the line.
          {data.runs_left_out > 0 &&
            ` The newest ${count(runs.length)} runs are drawn; groups have all.`}
        </>
      }
      draw={draw}
      file="predictions"
      legend={HELD}
      table={{
        columns: [
          { name: "Trial" },
          { name: "Workload" },
          { name: "Engine" },
          { name: "Bottleneck" },
          number("Distance of the data"),
          { name: "Method" },
          number("Predicted"),
          { name: "Interval" },
          number("Measured"),
          number("Error"),
        ],
        rows,
      }}
    />
  );
}

function NotCompared({ data: { found, unanalyzed } }: { data: PredictionsPage }) {
  const reasons = Object.entries(found.not_compared);
  if (reasons.length === 0 && unanalyzed === 0) return null;
  return (
    <section aria-labelledby="not-compared">
      <h2 id="not-compared">Left out</h2>
      <ul className="dots">
        {reasons.map(([reason, n]) => (
          <li key={reason}>
            {count(n)} not compared: {reason}
          </li>
        ))}
        {unanalyzed > 0 && (
          <li>The bottlenecks of {count(unanalyzed)} jobs aren't known yet: reload the page.</li>
        )}
      </ul>
    </section>
  );
}

const Begin = ({ data }: { data: PredictionsPage }) => (
  <>
    <p>
      Run with <code>--predict</code> to begin: <code>venturi run terasort --predict</code>
    </p>
    <NotCompared data={data} />
  </>
);

export default function Predictions() {
  const [search] = useSearch();
  const twin = useTwin("/api/predictions", search);
  const answer = twin.data && { ...twin.data, warnings: [] };
  return (
    <Page
      title={PAGES.predictions.title}
      asked={askedInWords(search)}
      intro="How far the predictions that Venturi stored before its runs were from the measured times. Their errors set the intervals of later predictions."
    >
      <Filters />
      <Controls>
        <Choice label="Group by" param="by" options={BY} />
      </Controls>
      <Asked command={commandOf(PAGES.predictions.path, search)} />
      <Answer
        twin={{ ...twin, data: answer }}
        what="predictions"
        empty={({ verdict, found }) => (found.runs.length === 0 ? verdict : null)}
        ways={(data) => <Begin data={data} />}
      >
        {(data) => (
          <>
            <Scatter data={data} />
            <Groups data={data} />
            <NotCompared data={data} />
          </>
        )}
      </Answer>
    </Page>
  );
}
