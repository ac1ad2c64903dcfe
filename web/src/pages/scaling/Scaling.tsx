// How the time grows with the size: of the cluster, of the data, of anything that has a number.

import { useCallback } from "react";
import { groupName, MOST_ROLES } from "../../charts/common";
import { useTwin } from "../../data";
import { keyName, plain, seconds, valueText } from "../../format";
import { PAGES } from "../../generated/pages";
import type { Scaling as Found, KeyInfo, ScalingGroup } from "../../generated/types";
import {
  Answer,
  Controls,
  Suggestions,
  spreadCells,
  spreadColumns,
  Toggle,
} from "../../parts/Analysis";
import type { View } from "../../parts/Chart";
import { Figure, type Legend } from "../../parts/Figure";
import { Filters } from "../../parts/Filters";
import { KeyPicker } from "../../parts/Keys";
import { Page } from "../../parts/Page";
import type { Cell, Column } from "../../parts/Table";
import { useSearch } from "../../state";
import { drawnGroups, scalingChart, sizeText } from "./charts";

const MOST_TOLD = 20;
const NO_SIZES = new Set(["elapsed_s", "warnings", "repetition"]);

/** Numbers that may be a size. */
const isSize = ({ key, type, distinct }: KeyInfo) =>
  type === "number" && distinct >= 2 && !NO_SIZES.has(key);

function pointsTwin(data: Found) {
  const columns: Column[] = [
    ...data.by.map((key) => ({ name: keyName(key) })),
    { name: `${keyName(data.x)}${data.x_unit ? ` (${data.x_unit})` : ""}`, number: true },
    { name: "n", number: true },
    ...spreadColumns("time", "s"),
    { name: "why missing" },
  ];
  const rows = data.groups.flatMap((group) =>
    group.points.map((point): Cell[] => [
      ...group.key.map(valueText),
      point.x,
      point.elapsed_s.n,
      ...spreadCells(point.elapsed_s),
      point.elapsed_s.reason,
    ]),
  );
  return { columns, rows };
}

function Formula({ group, data }: { group: ScalingGroup; data: Found }) {
  const { formula, model, error_relative: error, reason, cliff } = group;
  const [first, last] = [group.curve[0], group.curve[group.curve.length - 1]];
  const size = (value: number) => sizeText(value, data.x_unit);
  return (
    <li>
      {data.by.length > 0 && <strong>{groupName(data.by, group.key)}: </strong>}
      {formula === null ? (
        <>cannot tell: {reason ?? "no curve fits"}.</>
      ) : (
        <>
          {cliff && model && `${model}: `}
          <code>{formula}</code>
          {error !== null &&
            `; a point left out of the fit is missed by ${plain(Number((100 * error).toPrecision(2)))} %`}
          {first && last && (
            <>
              . From {size(first.x)} to {size(last.x)} the curve goes from{" "}
              {seconds(first.elapsed_s)} to {seconds(last.elapsed_s)}
            </>
          )}
          .
        </>
      )}
      {cliff && (
        <p>
          <span className="throat">Memory cliff</span> between {size(cliff.below)} and{" "}
          {size(cliff.above)}: times jump by {plain(Number(cliff.jump.toPrecision(2)))}×:{" "}
          {cliff.evidence}.
        </p>
      )}
    </li>
  );
}

function Curves({ data }: { data: Found }) {
  const [search] = useSearch();
  const log = search.get("log") === "1";
  const draw = useCallback((view: View) => scalingChart(data, log, view), [data, log]);
  const drawn = drawnGroups(data);
  const legend: Legend = [
    ...drawn.map((group, at): readonly [string, string] => [
      `lane-${at}`,
      groupName(data.by, group.key),
    ]),
    ["band", "where the curve is, by its interval"],
    ...(drawn.some((group) => group.cliff)
      ? [["cliff", "the data stop fitting in memory"] as const]
      : []),
  ];
  const many = data.groups.length > MOST_ROLES;
  return (
    <Figure
      title={`Time by ${keyName(data.x)}`}
      caption={
        <>
          Dots are median times with their intervals, lines the fitted curves with their bands.
          {many && ` ${MOST_ROLES} of ${data.groups.length} groups are drawn; the table has all.`}
        </>
      }
      draw={draw}
      table={pointsTwin(data)}
      file={`time-by-${data.x.replace(/\W+/g, "-")}`}
      legend={legend}
    >
      <div className="controls">
        <Toggle label="logarithmic" param="log" />
      </div>
    </Figure>
  );
}

export default function Scaling() {
  const [search] = useSearch();
  const twin = useTwin("/api/scaling", search);
  const fallback = twin.data ? { fallback: twin.data.by } : {};
  return (
    <Page
      title={PAGES.scaling.title}
      intro="How the time grows or falls with the number of hosts, the size of the data, or any other number, with the curve that fits it."
    >
      <Filters />
      <Controls>
        <KeyPicker label="Size" param="x" only={isSize} fallback={["hosts"]} />
        <KeyPicker label="A curve for each" param="by" multiple {...fallback} />
      </Controls>
      <Answer
        twin={twin}
        what="scaling"
        empty={(data) =>
          data.groups.every((group) => group.points.length === 0)
            ? "No succeeded trial meets the conditions and has this size."
            : null
        }
      >
        {(data) => (
          <>
            <Curves data={data} />
            <section>
              <h2>In words</h2>
              <p className="aside">t is the median time of a trial, x is {keyName(data.x)}.</p>
              <ul className="verdicts">
                {data.groups.slice(0, MOST_TOLD).map((group) => (
                  <Formula key={JSON.stringify(group.key)} group={group} data={data} />
                ))}
              </ul>
              {data.groups.length > MOST_TOLD && (
                <p className="aside">
                  The first {MOST_TOLD} groups of {data.groups.length}.
                </p>
              )}
            </section>
          </>
        )}
      </Answer>
      {twin.problem && (
        <Suggestions param="x" text="These keys have numbers that may be a size:" only={isSize} />
      )}
    </Page>
  );
}
