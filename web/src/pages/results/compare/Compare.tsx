// Groups compared: the time of every trial, not only means, and whether the difference is real.

import { useCallback } from "react";
import { Link } from "wouter";
import { askedInWords } from "../../../asked";
import { commandOf } from "../../../commands";
import { exported, useTwin } from "../../../data";
import { keyName, ratio, seconds } from "../../../format";
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
import { href, isGroup, selectionOf } from "../../../url";
import { ecdf, ratios, strips } from "./charts";

const MOST_GROUPS = 6;

const numbers = (...names: string[]): Column[] => names.map((name) => ({ name, number: true }));

function spreads(data: ComparisonData) {
  const columns: Column[] = [
    { name: "group" },
    { name: "trials by state" },
    ...numbers("n", "median (s)", "low (s)", "high (s)", "minimum (s)", "25% (s)", "75% (s)"),
    ...numbers("90% (s)", "maximum (s)", "mean (s)", "coefficient of variation"),
    ...numbers("outliers (counted)", "warm-ups (not counted)"),
    { name: "reason if missing" },
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
  ["outlier", "outlier (counted)"],
  ["hollow", "warm-up (not counted)"],
  ["half", "middle 50% of trials"],
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
      title={shares ? "Share of trials by time" : "Time of every trial"}
      caption={
        shares
          ? "Share of a group's trials that took at most the time on the horizontal axis. A curve further left is faster. Where curves cross, neither group is faster throughout."
          : `Each dot is one trial; its vertical position has no meaning. Outliers: ${data.outlier_rule}.${most >= 2000 ? " A group with more than 2,000 trials shows an even sample of 2,000." : ""}`
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
            ["values", "every trial"],
            ["shares", "cumulative shares"],
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
      caption="Time ratio of a trial in the group to a trial in the first group: the median over all pairs, with its interval. If the interval contains 1, neither group is reliably faster."
      draw={draw}
      table={ratiosTable(data)}
      file="ratios"
    />
  );
}

/** A link to the effect of the key that the groups differ in, if it's a setting. */
function NextStep({ by }: { by: readonly string[] }) {
  const [search] = useSearch();
  const { data } = useTwin(exported ? null : "/api/keys");
  const [key, ...more] = by;
  const setting = data?.keys.find((each) => each.key === key)?.kind === "configuration";
  if (key === undefined || more.length > 0 || !setting) return null;
  const asked = selectionOf(search);
  asked.set("key", key);
  return (
    <p className="ways">
      <span>Next:</span>
      <Link href={href(PAGES.effect.path, asked)}>
        estimate the effect of {keyName(key)}, all else being equal
      </Link>
    </p>
  );
}

function Verdicts({ data }: { data: ComparisonData }) {
  const others = data.groups.slice(1);
  if (others.length === 0) return null;
  return (
    <section>
      <h2>{others.length === 1 ? "Verdict" : "Verdicts"}</h2>
      <ul className="verdicts">
        {others.map((group) => (
          <li key={JSON.stringify(group.key)}>
            <p className="verdict">
              <strong>{group.verdict}</strong>
            </p>
            {group.name}
            {group.ratio !== null && (
              <span className="aside">
                : time ratio {ratio(group.ratio)}; n = {group.elapsed_s.n}
                {group.elapsed_s.median === null
                  ? ""
                  : `, median ${seconds(group.elapsed_s.median)}`}
              </span>
            )}{" "}
            <TrialsBehind by={data.by} group={group.key} />
            {group.crude !== null && (
              <p className="aside">All trials, unmatched (confounded): {group.crude}</p>
            )}
          </li>
        ))}
      </ul>
      <NextStep by={data.by} />
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
      intro="Compare groups of trials: how their times spread, how much each differs from the first group, and whether the difference is real."
    >
      <Filters />
      <Controls>
        <KeyPicker label="Group by" param="by" multiple fallback={by} />
        {by.length > 0 && <GroupsChoice param="group" by={by} chosen={chosen} max={MOST_GROUPS} />}
        {by.length > 0 && <Toggle label="all trials, unmatched" param="crude" />}
      </Controls>
      <Asked command={commandOf(PAGES.compare.path, search)} />
      <Answer
        twin={twin}
        what="comparison"
        empty={(data) =>
          data.groups.length === 0
            ? "No trial matches the conditions. Remove one of them, or group by other keys."
            : null
        }
      >
        {(data) => (
          <>
            {data.by.length === 0 && (
              <Suggestions
                param="by"
                text="Choose the keys to group by. Each of these has a few values:"
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
