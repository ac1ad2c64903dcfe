// Groups compared: every value, not only means, and whether the difference is real.

import { useCallback } from "react";
import { askedInWords } from "../../../asked";
import { useTwin } from "../../../data";
import { ratio, seconds } from "../../../format";
import { PAGES } from "../../../generated/pages";
import type { ComparedGroup, ComparisonData } from "../../../generated/types";
import {
  Answer,
  Choice,
  Common,
  Controls,
  fewValues,
  GroupsChoice,
  LogChoice,
  Suggestions,
  stateText,
  Toggle,
  TrialsBehind,
  useFitting,
  useLog,
} from "../../../parts/Analysis";
import { Asked } from "../../../parts/Asked";
import type { View } from "../../../parts/Chart";
import { Figure, type Legend } from "../../../parts/Figure";
import { Filters } from "../../../parts/Filters";
import { KeyPicker } from "../../../parts/Keys";
import { Page } from "../../../parts/Page";
import type { Cell, Column } from "../../../parts/Table";
import { useSearch } from "../../../state";
import { isGroup } from "../../../url";
import { ecdf, ratios, strips } from "./charts";

const MOST_GROUPS = 6;

const numbers = (...names: string[]): Column[] => names.map((name) => ({ name, number: true }));

function spreads(data: ComparisonData) {
  const columns: Column[] = [
    { name: "group" },
    { name: "trials by state" },
    ...numbers("n", "median (s)", "low (s)", "high (s)", "minimum (s)", "25 % (s)", "75 % (s)"),
    ...numbers("90 % (s)", "maximum (s)", "mean (s)", "coefficient of variation"),
    ...numbers("outliers marked", "warm-ups not counted"),
    { name: "why missing" },
  ];
  const rows = data.groups.map((group): Cell[] => {
    const { n, median, interval, minimum, p25, p75, p90, maximum, mean, variation, reason } =
      group.elapsed_s;
    return [
      group.name,
      stateText(group.by_state),
      n,
      median,
      interval?.low ?? null,
      interval?.high ?? null,
      ...[minimum, p25, p75, p90, maximum, mean, variation],
      group.outliers_s.length,
      group.warm_ups_s.length,
      reason,
    ];
  });
  return { columns, rows };
}

function ratiosTable(data: ComparisonData) {
  const columns: Column[] = [
    { name: "group" },
    ...numbers("n", "ratio", "low", "high", "p", "share of pairs with a lower time"),
    { name: "verdict" },
  ];
  const rows = data.groups
    .slice(1)
    .map((group): Cell[] => [
      group.name,
      group.elapsed_s.n,
      group.ratio,
      group.ratio_interval?.low ?? null,
      group.ratio_interval?.high ?? null,
      group.p_value,
      group.chance_lower,
      group.verdict,
    ]);
  return { columns, rows };
}

const MARKS: Legend = [
  ["outlier", "outlier: marked, and counted"],
  ["hollow", "warm-up: not counted"],
  ["half", "the middle half of the trials"],
  ["median-interval", "median with its interval"],
];

/** The least and the greatest time of a group. */
const reach = ({ elapsed_s: { minimum, maximum } }: ComparedGroup) =>
  [minimum, maximum].filter((value) => value !== null);

function Distributions({ data }: { data: ComparisonData }) {
  const [search] = useSearch();
  const log = useLog(() => data.groups.flatMap((group) => reach(group)));
  const shares = search.get("tab") === "shares";
  const draw = useCallback(
    (view: View) => (shares ? ecdf : strips)(data, log, view),
    [data, log, shares],
  );
  const groups: Legend = data.groups.map((group, at) => [`lane-${at % 6}`, group.name]);
  const most = Math.max(...data.groups.map((group) => group.values_s.length));
  return (
    <Figure
      title={shares ? "Share of trials by time" : "Every trial's time"}
      caption={
        shares
          ? "How many of a group's trials took no longer than the time across. A curve that lies left of another is the faster one; where they cross, neither is faster throughout."
          : `Each dot is a trial; its height says nothing. Outliers by this rule: ${data.outlier_rule}.${most >= 2000 ? " Of a group of more than 2,000 trials as many are drawn, evenly taken." : ""}`
      }
      draw={draw}
      table={spreads(data)}
      file="compared-groups"
      legend={shares ? groups : MARKS}
    >
      <div className="controls">
        <Choice
          label="Show"
          param="tab"
          options={[
            ["values", "every value"],
            ["shares", "shares (cumulative)"],
          ]}
        />
        <LogChoice log={log} />
      </div>
    </Figure>
  );
}

function Ratios({ data }: { data: ComparisonData }) {
  const draw = useCallback((view: View) => ratios(data, view), [data]);
  const [first] = data.groups;
  if (!first || data.groups.length < 2) return null;
  return (
    <Figure
      title={`Time relative to ${first.name}`}
      caption="The time of a trial in multiples of that of one of the first group, in the middle of all pairs, with its interval. An interval that holds 1 cannot tell who is faster."
      draw={draw}
      table={ratiosTable(data)}
      file="ratios"
    />
  );
}

function Verdicts({ data }: { data: ComparisonData }) {
  const others = data.groups.slice(1);
  if (others.length === 0) return null;
  return (
    <section>
      <h2>Verdicts</h2>
      <ul className="verdicts">
        {others.map((group) => (
          <li key={JSON.stringify(group.key)}>
            <strong>{group.name}</strong>
            {group.ratio !== null && (
              <span className="aside">
                {" "}
                {ratio(group.ratio)}; n = {group.elapsed_s.n}
                {group.elapsed_s.median === null
                  ? ""
                  : `, median ${seconds(group.elapsed_s.median)}`}
              </span>
            )}{" "}
            <TrialsBehind by={data.by} group={group.key} />
            <p>{group.verdict}</p>
            {group.crude !== null && (
              <p className="aside">All trials, not like with like: {group.crude}</p>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

const fits = (name: string, value: string, search: URLSearchParams) =>
  name !== "group" || isGroup(value, search.getAll("by"));

export default function Compare() {
  const search = useFitting(fits);
  const twin = useTwin("/api/compare", search);
  const by = twin.data?.by ?? search.getAll("by");
  const chosen = twin.data?.groups.map((group) => group.key) ?? [];
  return (
    <Page
      title={PAGES.compare.title}
      asked={askedInWords(search)}
      intro="Two or more groups of trials: how their times are spread, how far they are from the first, and whether that difference is real."
    >
      <Filters />
      <Controls>
        <KeyPicker label="Group by" param="by" multiple fallback={by} />
        {by.length > 0 && <GroupsChoice param="group" by={by} chosen={chosen} max={MOST_GROUPS} />}
        {by.length > 0 && <Toggle label="all trials, not like with like" param="crude" />}
      </Controls>
      <Asked />
      <Answer
        twin={twin}
        what="comparison"
        empty={(data) =>
          data.groups.length === 0
            ? "No trial meets the conditions. Remove one of them, or group by other keys."
            : null
        }
      >
        {(data) => (
          <>
            {data.by.length === 0 && (
              <Suggestions
                param="by"
                text="Choose what tells the groups apart. These keys take a few values each:"
                only={fewValues}
              />
            )}
            <Verdicts data={data} />
            <Common caption={data.caption} explained={data.explained} />
            <Distributions data={data} />
            <Ratios data={data} />
          </>
        )}
      </Answer>
    </Page>
  );
}
