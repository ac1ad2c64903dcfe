// How many times faster each value of a factor is than a baseline.

import { useCallback } from "react";
import { MOST_ROWS } from "../../charts/common";
import { speedups } from "../../charts/ratios";
import { useTwin } from "../../data";
import { keyName, valueText } from "../../format";
import { PAGES } from "../../generated/pages";
import type { Speedups } from "../../generated/types";
import {
  Answer,
  Choice,
  Controls,
  fewValues,
  Suggestions,
  ValueChoice,
} from "../../parts/Analysis";
import type { View } from "../../parts/Chart";
import { Figure, type Legend } from "../../parts/Figure";
import { Filters } from "../../parts/Filters";
import { KeyPicker } from "../../parts/Keys";
import { Page } from "../../parts/Page";
import type { Cell, Column } from "../../parts/Table";
import { useSearch } from "../../state";

const LEGEND: Legend = [
  ["faster", "faster than the baseline"],
  ["slower", "slower"],
  ["undecided", "the baseline, or cannot tell"],
];

function twinOf(data: Speedups) {
  const columns: Column[] = [
    ...data.by.map((key) => ({ name: keyName(key) })),
    { name: keyName(data.factor) },
    { name: "n", number: true },
    { name: "median (s)", number: true },
    { name: "n of the baseline", number: true },
    { name: "baseline (s)", number: true },
    { name: "speedup", number: true },
    { name: "low", number: true },
    { name: "high", number: true },
    { name: "verdict" },
  ];
  const rows = data.speedups.map((one): Cell[] => [
    ...one.key.map(valueText),
    valueText(one.value),
    one.n,
    one.median_s,
    one.n_baseline,
    one.baseline_median_s,
    one.speedup,
    one.interval?.low ?? null,
    one.interval?.high ?? null,
    one.speedup === null ? (one.reason ?? one.verdict) : one.verdict,
  ]);
  return { columns, rows };
}

function Chart({ data }: { data: Speedups }) {
  const draw = useCallback((view: View) => speedups(data, view), [data]);
  const aloja = data.definition === "aloja";
  const factor = keyName(data.factor);
  const many = data.speedups.length > MOST_ROWS;
  return (
    <Figure
      title={`Speedup by ${factor}`}
      caption={
        <>
          {aloja
            ? "The mean time of all that is selected over the mean time of the value. What counts as 1 is the mix of the selection: it moves when a filter adds or takes away trials of any value, and one very long trial raises every speedup. Use it to compare with ALOJA's figures, not to decide."
            : `Median time of ${valueText(data.baseline)} over the median time of the value, with its interval; n is that of the value and that of the baseline.`}
          {many && ` The first groups are drawn; the table has all ${data.speedups.length} rows.`}
        </>
      }
      draw={draw}
      table={twinOf(data)}
      file={`speedup-by-${factor.replace(/\W+/g, "-")}`}
      {...(aloja ? {} : { legend: LEGEND })}
    />
  );
}

export default function Speedup() {
  const [search] = useSearch();
  const asked = search.has("factor");
  const twin = useTwin(asked ? "/api/speedup" : null, search);
  const data = asked ? twin.data : undefined;
  const aloja = search.get("definition") === "aloja";
  return (
    <Page
      title={PAGES.speedup.title}
      intro="How many times faster each value of a factor is than a baseline that you choose, within groups that are otherwise alike."
    >
      <Filters />
      <Controls>
        <KeyPicker label="Factor" param="factor" only={fewValues} clears={["baseline"]} />
        {data && !aloja && (
          <ValueChoice
            label="Baseline"
            param="baseline"
            values={data.values}
            chosen={data.baseline}
          />
        )}
        <KeyPicker
          label="Within each"
          param="by"
          multiple
          {...(data ? { fallback: data.by } : {})}
        />
        <Choice
          label="Against"
          param="definition"
          options={[
            ["baseline", "the baseline"],
            ["aloja", "the mean of all (ALOJA's)"],
          ]}
        />
      </Controls>
      {asked ? (
        <Answer
          twin={twin}
          what="speedups"
          empty={(found) =>
            found.speedups.length === 0
              ? "No succeeded trial meets the conditions and has a value of this factor."
              : null
          }
        >
          {(found) => <Chart data={found} />}
        </Answer>
      ) : (
        <Suggestions
          param="factor"
          text="Choose what is varied. These keys take a few values each:"
          only={fewValues}
        />
      )}
    </Page>
  );
}
