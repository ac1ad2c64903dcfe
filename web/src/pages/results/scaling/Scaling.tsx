// How the time grows with the size: of the cluster, of the data, of anything that has a number.

import { useCallback } from "react";
import { Link } from "wouter";
import { askedInWords, commandOf } from "../../../asked";
import { exported, useTwin } from "../../../data";
import { keyName, plain, valueText } from "../../../format";
import { PAGES } from "../../../generated/pages";
import type { Scaling as Found, KeyInfo, ScalingGroup } from "../../../generated/types";
import {
  Answer,
  Controls,
  Suggestions,
  spreadCells,
  spreadColumns,
  Toggle,
} from "../../../parts/Analysis";
import { Asked } from "../../../parts/Asked";
import type { View } from "../../../parts/Chart";
import { Figure, type Legend } from "../../../parts/Figure";
import { Filters } from "../../../parts/Filters";
import { KeyPicker } from "../../../parts/Keys";
import { Page } from "../../../parts/Page";
import { type Cell, type Column, DataTable } from "../../../parts/Table";
import { useSearch } from "../../../state";
import { href } from "../../../url";
import { drawnGroups, partsOf, scalingChart, sizeText } from "./charts";

const NO_SIZES = new Set(["elapsed_s", "warnings", "repetition"]);

/** Numbers that may be a size. */
const isSize = ({ key, type, distinct }: KeyInfo) =>
  type === "number" && distinct >= 2 && !NO_SIZES.has(key);

function pointsTwin(data: Found) {
  const columns: Column[] = [
    { name: "curve" },
    { name: `${keyName(data.x)}${data.x_unit ? ` (${data.x_unit})` : ""}`, number: true },
    { name: "n", number: true },
    ...spreadColumns("time", "s"),
    { name: "why missing" },
  ];
  const rows = data.groups.flatMap((group) =>
    group.points.map((point): Cell[] => [
      group.name || "all",
      point.x,
      point.elapsed_s.n,
      ...spreadCells(point.elapsed_s),
      point.elapsed_s.reason,
    ]),
  );
  return { columns, rows };
}

function Curve({ group, data }: { group: ScalingGroup; data: Found }) {
  const { formula, basis, error_relative: error, reason, cliff, verdict } = group;
  const size = (value: number) => sizeText(value, data.x_unit);
  return (
    <li>
      {group.name && <strong>{group.name}: </strong>}
      {verdict}.
      <p className="aside">
        {basis}
        {formula && (
          <>
            {" "}
            (<code>{formula}</code>)
          </>
        )}
        {error !== null &&
          `; a point left out of the fit is missed by ${plain(Number((100 * error).toPrecision(2)))} %`}
        {reason && `; ${reason}`}
      </p>
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
  const even = search.get("even") === "1";
  const draw = useCallback((view: View) => scalingChart(data, even, view), [data, even]);
  const drawn = drawnGroups(data);
  const beyond = drawn.some((group) => partsOf(group).beyond.length > 0);
  const legend: Legend = [
    ...drawn.map((group, at): readonly [string, string] => [
      `lane-${at}`,
      group.name || keyName(data.x),
    ]),
    ["band", "where one more trial lies (90 %)"],
    ...(drawn.some((group) => group.cliff)
      ? [["cliff", "the data stop fitting in memory"] as const]
      : []),
  ];
  const same = Object.entries(data.same).map(
    ([key, value]) => `${keyName(key)} ${valueText(value)}`,
  );
  return (
    <Figure
      title={`Time by ${keyName(data.x)}`}
      caption={
        <>
          Dots are median times with their intervals, a line is the curve through trials alike in
          all but {keyName(data.x)}
          {beyond && ", dashed beyond what was measured, where nothing has an interval"}.
          {same.length > 0 && ` All: ${same.join(", ")}.`}
        </>
      }
      draw={draw}
      table={pointsTwin(data)}
      file={`time-by-${data.x.replace(/\W+/g, "-")}`}
      legend={legend}
    >
      <div className="controls">
        <Toggle label="even axes from zero" param="even" />
      </div>
    </Figure>
  );
}

/** All curves that there are, each a link that draws it and those after it. */
function Listed({ data }: { data: Found }) {
  const [, edit] = useSearch();
  if (data.total <= data.groups.length) return null;
  const columns: Column[] = [
    { name: "curve" },
    ...data.by.map((key) => ({ name: keyName(key) })),
    { name: `least ${keyName(data.x)}`, number: true },
    { name: `most ${keyName(data.x)}`, number: true },
    { name: "values", number: true },
    { name: "trials", number: true },
  ];
  const rows = data.listed.map((one): Cell[] => {
    const shown = one.skip >= data.skip && one.skip < data.skip + data.groups.length;
    const go = () => edit((next) => next.set("skip", String(one.skip)));
    const show = shown ? (
      "drawn"
    ) : (
      <button key={one.skip} type="button" className="quiet" onClick={go}>
        Draw {one.skip + 1}
      </button>
    );
    return [
      { value: one.skip + 1, show },
      ...one.key.map(valueText),
      one.x_low,
      one.x_high,
      one.values,
      one.trials,
    ];
  });
  return (
    <section>
      <h2>All curves</h2>
      <p className="aside">
        {data.total} curves, {data.groups.length} drawn at a time
        {data.listed.length < data.total && `; the first ${data.listed.length} are listed`}.
      </p>
      <DataTable columns={columns} rows={rows} caption="All curves" />
    </section>
  );
}

/** Of curves that are none because other keys change too: a way to leave those out. */
function LeaveOut({ keys }: { keys: readonly string[] }) {
  const [search] = useSearch();
  if (exported || keys.length === 0) return null;
  const asked = new URLSearchParams(search);
  for (const key of keys) asked.append("leave_out", key);
  return (
    <p className="ways">
      <Link href={href(PAGES.scaling.path, asked)}>leave out {keys.map(keyName).join(", ")}</Link>
    </p>
  );
}

const OPTIONS = { by: "--by", leave_out: "--leave-out", skip: "--skip", to: "--to" };

export default function Scaling() {
  const [search] = useSearch();
  const twin = useTwin("/api/scaling", search);
  return (
    <Page
      title={PAGES.scaling.title}
      asked={askedInWords(search)}
      intro="How the time grows or falls with the number of hosts, the size of the data, or any other number. A curve is of trials alike in everything else that was chosen."
    >
      <Filters />
      <Controls>
        <KeyPicker label="Size" param="x" only={isSize} fallback={["hosts"]} />
        <KeyPicker label="First those that differ in" param="by" multiple />
      </Controls>
      <Asked command={commandOf("scaling", search, OPTIONS, [search.get("x") ?? "hosts"])} />
      <Answer
        twin={twin}
        what="scaling"
        empty={(data) => (data.groups.length === 0 ? `${data.verdict}.` : null)}
        ways={(data) => <LeaveOut keys={data.leave_out} />}
      >
        {(data) => (
          <>
            <Curves data={data} />
            <section>
              <h2>In words</h2>
              <p className="aside">t is the median time of a trial, x is {keyName(data.x)}.</p>
              <ul className="verdicts">
                {data.groups.map((group) => (
                  <Curve key={JSON.stringify(group.key)} group={group} data={data} />
                ))}
              </ul>
            </section>
            <Listed data={data} />
          </>
        )}
      </Answer>
      {twin.problem && (
        <Suggestions param="x" text="These keys have numbers that may be a size:" only={isSize} />
      )}
    </Page>
  );
}
