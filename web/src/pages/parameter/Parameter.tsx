// What one parameter does to the time: as it was measured, and where all else is equal.

import { useCallback } from "react";
import { groupName, MOST_ROWS } from "../../charts/common";
import { effects } from "../../charts/ratios";
import { useTwin } from "../../data";
import { keyName, type Scalar, valueText } from "../../format";
import { PAGES } from "../../generated/pages";
import type { ParameterEvaluation } from "../../generated/types";
import {
  Answer,
  Controls,
  Parameter as Field,
  fewValues,
  LogChoice,
  Suggestions,
  spreadCells,
  spreadColumns,
  useLog,
  ValueChoice,
} from "../../parts/Analysis";
import type { View } from "../../parts/Chart";
import { EFFECTS, effectsTwin } from "../../parts/effects";
import { Figure } from "../../parts/Figure";
import { Filters } from "../../parts/Filters";
import { KeyPicker } from "../../parts/Keys";
import { Page } from "../../parts/Page";
import type { Cell, Column } from "../../parts/Table";
import { useSearch } from "../../state";
import { parameterTimes } from "./charts";

function timesTwin(data: ParameterEvaluation) {
  const columns: Column[] = [
    ...data.by.map((key) => ({ name: keyName(key) })),
    { name: keyName(data.key) },
    { name: "n", number: true },
    { name: "failed", number: true },
    ...spreadColumns("time", "s"),
    { name: "why missing" },
  ];
  const rows = data.groups.flatMap((group) =>
    group.values.map((one): Cell[] => [
      ...group.key.map(valueText),
      valueText(one.value),
      one.elapsed_s.n,
      one.failed,
      ...spreadCells(one.elapsed_s),
      one.elapsed_s.reason,
    ]),
  );
  return { columns, rows };
}

function Times({ data }: { data: ParameterEvaluation }) {
  const log = useLog(() =>
    data.groups.flatMap(({ values }) => values.flatMap((one) => one.elapsed_s.median ?? [])),
  );
  const draw = useCallback((view: View) => parameterTimes(data, log, view), [data, log]);
  const name = keyName(data.key);
  const rows = data.groups.reduce((sum, group) => sum + group.values.length + 1, 0);
  return (
    <Figure
      title={`Time by ${name}`}
      caption={
        <>
          Median times with their intervals. Trials of different values may differ in other keys as
          well: the effect where all else is equal stands below. Failed trials are counted and have
          no time.
          {rows > MOST_ROWS && " The first groups are drawn; the table has all."}
        </>
      }
      draw={draw}
      table={timesTwin(data)}
      file={`time-by-${name.replace(/\W+/g, "-")}`}
    >
      <div className="controls">
        <LogChoice log={log} />
      </div>
    </Figure>
  );
}

function Effects({ data }: { data: ParameterEvaluation }) {
  const draw = useCallback((view: View) => effects(data.effects, view), [data]);
  const name = keyName(data.key);
  const [first] = data.effects;
  if (!first)
    return (
      <section className="card">
        <h2>Effect of {name}, all else equal</h2>
        <p>
          Cannot tell: no two trials differ in {name} alone, so that nothing can be matched with the
          baseline.
        </p>
      </section>
    );
  return (
    <Figure
      title={`Effect of ${name}, all else equal`}
      caption={`Only trials that have a partner with the baseline ${valueText(first.baseline)} and equal in every other key are compared: in each such stratum the median time over the baseline's, and the geometric mean of these ratios over the strata.`}
      draw={draw}
      table={effectsTwin(data.effects.map((effect) => ({ key: data.key, effect })))}
      file={`effect-of-${name.replace(/\W+/g, "-")}`}
      legend={EFFECTS}
    />
  );
}

function Verdicts({ data }: { data: ParameterEvaluation }) {
  const told = data.groups.filter((group) => group.verdict).slice(0, 20);
  if (told.length === 0) return null;
  return (
    <section>
      <h2>In words</h2>
      <ul className="verdicts">
        {told.map((group) => (
          <li key={JSON.stringify(group.key)}>
            {data.by.length > 0 && <strong>{groupName(data.by, group.key)}: </strong>}
            {group.verdict}
          </li>
        ))}
      </ul>
      {data.groups.length > told.length && (
        <p className="aside">
          The first {told.length} groups of {data.groups.length}.
        </p>
      )}
    </section>
  );
}

const valuesOf = (data: ParameterEvaluation): Scalar[] => [
  ...new Set(data.groups.flatMap((group) => group.values.map((one) => one.value))),
];

export default function Parameter() {
  const [search] = useSearch();
  const asked = search.has("key");
  const twin = useTwin(asked ? "/api/parameter" : null, search);
  const data = asked ? twin.data : undefined;
  return (
    <Page
      title={PAGES.parameter.title}
      intro="What one parameter does to the time: as it was measured, and where all else is equal."
    >
      <Filters />
      <Controls>
        <KeyPicker label="Parameter" param="key" only={fewValues} clears={["baseline"]} />
        {data && (
          <ValueChoice
            label="Baseline"
            param="baseline"
            values={valuesOf(data)}
            chosen={data.effects[0]?.baseline ?? (search.get("baseline") || undefined)}
          />
        )}
        <KeyPicker
          label="Within each"
          param="by"
          multiple
          {...(data ? { fallback: data.by } : {})}
        />
        <Field label="Least trials of a value" param="least" kind="whole" hint="1" />
      </Controls>
      {asked ? (
        <Answer
          twin={twin}
          what="parameter evaluation"
          empty={(found) =>
            found.groups.length === 0
              ? "No value of this parameter has that many succeeded trials. Ask for fewer, or remove a condition."
              : null
          }
        >
          {(found) => (
            <>
              <Times data={found} />
              <Effects data={found} />
              <Verdicts data={found} />
            </>
          )}
        </Answer>
      ) : (
        <Suggestions
          param="key"
          text="Choose a parameter. These keys take a few values each:"
          only={(key) => key.kind === "configuration" && fewValues(key)}
        />
      )}
    </Page>
  );
}
