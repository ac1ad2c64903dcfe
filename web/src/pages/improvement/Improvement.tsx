// Which configuration would be faster than the one in use, and which single change does it.

import { useCallback } from "react";
import { groupName, MOST_ROWS } from "../../charts/common";
import { effectsByKey, improvements } from "../../charts/ratios";
import { useTwin } from "../../data";
import { keyName, ratio, seconds, valueText } from "../../format";
import { PAGES } from "../../generated/pages";
import type { Improvement as Found } from "../../generated/types";
import {
  Answer,
  Controls,
  fewValues,
  GroupChoice,
  intervalCell,
  Suggestions,
  spreadCell,
  spreadCells,
  spreadColumns,
  useFitting,
} from "../../parts/Analysis";
import type { View } from "../../parts/Chart";
import { EFFECTS, effectsTwin } from "../../parts/effects";
import { Figure, type Legend } from "../../parts/Figure";
import { Filters } from "../../parts/Filters";
import { KeyPicker } from "../../parts/Keys";
import { Page } from "../../parts/Page";
import { type Cell, type Column, DataTable } from "../../parts/Table";
import { isGroup } from "../../url";

const SPEEDUPS: Legend = [
  ["faster", "faster than the baseline"],
  ["slower", "slower"],
  ["undecided", "the baseline, or cannot tell"],
];

function twinOf(data: Found) {
  const columns: Column[] = [
    ...data.by.map((key) => ({ name: keyName(key) })),
    { name: "n", number: true },
    ...spreadColumns("time", "s"),
    { name: "speedup", number: true },
    { name: "low", number: true },
    { name: "high", number: true },
    { name: "changes" },
    { name: "verdict" },
  ];
  const rows = data.configurations.map((one): Cell[] => [
    ...one.key.map(valueText),
    one.elapsed_s.n,
    ...spreadCells(one.elapsed_s),
    one.speedup,
    one.interval?.low ?? null,
    one.interval?.high ?? null,
    one.changes.join("; "),
    one.verdict,
  ]);
  return { columns, rows };
}

function Configurations({ data }: { data: Found }) {
  const draw = useCallback((view: View) => improvements(data, view), [data]);
  const columns: Column[] = [
    { name: "what changes" },
    { name: "n", number: true },
    { name: "median time", number: true },
    { name: "speedup", number: true },
    { name: "verdict" },
  ];
  const rows = data.configurations
    .slice(0, 20)
    .map((one): Cell[] => [
      one.changes.length > 0 ? one.changes.join("; ") : `nothing: ${groupName(data.by, one.key)}`,
      one.elapsed_s.n,
      spreadCell(one.elapsed_s, seconds),
      intervalCell(one.speedup, one.interval, ratio),
      one.verdict,
    ]);
  const baseline = data.baseline ? groupName(data.by, data.baseline) : "the baseline";
  const all = data.configurations.length;
  return (
    <>
      <Figure
        title={`Configurations against ${baseline}`}
        caption={
          <>
            The baseline's median time over that of each configuration, with its interval. A minimum
            of many configurations is lucky: what leads here should be repeated before it is taken.
            {all > MOST_ROWS && ` The first ${MOST_ROWS} of ${all}; the table has all.`}
          </>
        }
        draw={draw}
        table={twinOf(data)}
        file="configurations"
        legend={SPEEDUPS}
      />
      <section>
        <h2>What changes</h2>
        <div className="panel standings">
          <DataTable columns={columns} rows={rows} caption="Configurations and what they change" />
        </div>
        {all > rows.length && (
          <p className="aside">
            The first {rows.length} of {all}; the table under the chart has all.
          </p>
        )}
      </section>
    </>
  );
}

function Effects({ data }: { data: Found }) {
  const draw = useCallback((view: View) => effectsByKey(data, view), [data]);
  const all = Object.entries(data.effects).flatMap(([key, effects]) =>
    effects.map((effect) => ({ key, effect })),
  );
  if (all.length === 0) return null;
  return (
    <Figure
      title="Effect of each single key, all else equal"
      caption="Only trials that differ in this one key are compared; the ratio is the time over the baseline's."
      draw={draw}
      table={effectsTwin(all)}
      file="effects-of-keys"
      legend={EFFECTS}
    />
  );
}

const fits = (name: string, value: string, search: URLSearchParams) =>
  name !== "baseline" || !search.has("by") || isGroup(value, search.getAll("by"));

export default function Improvement() {
  const search = useFitting(fits);
  const by = search.getAll("by");
  const asked = by.length > 0;
  const twin = useTwin(asked ? "/api/improvement" : null, search);
  return (
    <Page
      title={PAGES.improvement.title}
      intro="Which configuration of the selected trials is faster than the one in use, what it changes, and what each change does by itself."
    >
      <Filters />
      <Controls>
        <KeyPicker label="Configuration keys" param="by" multiple />
        <GroupChoice
          label="Baseline"
          param="baseline"
          by={by}
          chosen={asked ? twin.data?.baseline : null}
        />
      </Controls>
      {asked ? (
        <Answer
          twin={twin}
          what="configurations"
          empty={(data) =>
            data.configurations.length === 0
              ? "No succeeded trial meets the conditions. Remove one of them, or choose other keys."
              : null
          }
        >
          {(data) => (
            <>
              <Configurations data={data} />
              <Effects data={data} />
            </>
          )}
        </Answer>
      ) : (
        <Suggestions
          param="by"
          text="Choose the keys that make a configuration. These take a few values each:"
          only={(key) => key.kind === "configuration" && fewValues(key)}
        />
      )}
    </Page>
  );
}
