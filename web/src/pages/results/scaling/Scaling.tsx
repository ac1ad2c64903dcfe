// How run time scales with the size of the cluster, the size of the data, or any other number.

import { useCallback } from "react";
import { Link } from "wouter";
import { askedInWords } from "../../../asked";
import { NumericCurve } from "../../../charts/NumericCurve";
import { commandOf } from "../../../commands";
import { exported, useTwin } from "../../../data";
import { fullStop, keyName, plain, sentence, valueText } from "../../../format";
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
    { name: "reason if missing" },
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
      {fullStop(verdict)}
      <p className="aside">
        {basis}
        {formula && (
          <>
            {" "}
            (<code>{formula}</code>)
          </>
        )}
        {error !== null && `; leave-one-out error ${plain(Number((100 * error).toPrecision(2)))}%`}
        {reason && `; ${reason}`}
      </p>
      {cliff && (
        <p>
          <span className="throat">Memory cliff</span> between {size(cliff.below)} and{" "}
          {size(cliff.above)}: time jumps by {plain(Number(cliff.jump.toPrecision(2)))}×.{" "}
          {sentence(cliff.evidence)}
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
    ["band", "90% prediction interval of one more trial"],
    ...(drawn.some((group) => group.cliff)
      ? [["cliff", "data no longer fits in memory"] as const]
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
          Dots are median times with their intervals. Each line is the curve through trials that are
          equal in everything but {keyName(data.x)}.
          {beyond && " Dashed parts lie beyond the measurements and have no interval."}
          {same.length > 0 && ` Same for all: ${same.join(", ")}.`}
        </>
      }
      draw={draw}
      table={pointsTwin(data)}
      file={`time-by-${data.x.replace(/\W+/g, "-")}`}
      legend={legend}
    >
      <div className="controls">
        <Toggle label="linear axes from zero" param="even" />
      </div>
    </Figure>
  );
}

/** All curves, each a link that draws it and those after it. */
function Listed({ data }: { data: Found }) {
  const [, edit] = useSearch();
  if (data.total <= data.groups.length) return null;
  const columns: Column[] = [
    { name: "curve" },
    ...data.by.map((key) => ({ name: keyName(key) })),
    { name: `min ${keyName(data.x)}`, number: true },
    { name: `max ${keyName(data.x)}`, number: true },
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
        {data.total} curves, {data.groups.length} drawn at a time.
        {data.listed.length < data.total && ` The first ${data.listed.length} are listed.`}
      </p>
      <DataTable columns={columns} rows={rows} caption="All curves" />
    </section>
  );
}

/** Where there is no curve because other keys change too: a link that ignores those. */
function LeaveOut({ keys }: { keys: readonly string[] }) {
  const [search] = useSearch();
  if (exported || keys.length === 0) return null;
  const asked = new URLSearchParams(search);
  for (const key of keys) asked.append("ignore", key);
  return (
    <p className="ways">
      <Link href={href(PAGES.scaling.path, asked)}>ignore {keys.map(keyName).join(", ")}</Link>
    </p>
  );
}

/** Whether the answer is the matched curve: the notes are then on the curves below it. */
const leads = ({ matched, verdict }: Found) => matched?.sentence === verdict;

export default function Scaling() {
  const [search] = useSearch();
  const twin = useTwin("/api/scaling", search);
  const notes = twin.data && leads(twin.data) ? twin.data.warnings : [];
  const answer = notes.length > 0 && twin.data ? { ...twin.data, warnings: [] } : twin.data;
  return (
    <Page
      title={PAGES.scaling.title}
      asked={askedInWords(search)}
      intro="How run time scales with the number of hosts, the data size or another number. Each curve covers trials that are equal in everything else."
    >
      <Filters />
      <Controls>
        <KeyPicker label="Scale with" param="x" only={isSize} fallback={["hosts"]} />
        <KeyPicker label="Compare curves by" param="by" multiple />
      </Controls>
      <Asked command={commandOf(PAGES.scaling.path, search)} />
      <Answer
        twin={{ ...twin, data: answer }}
        what="scaling"
        empty={(data) => (data.groups.length === 0 ? sentence(data.verdict) : null)}
        ways={(data) => <LeaveOut keys={data.leave_out} />}
      >
        {(data) => (
          <>
            {data.matched && data.total > 1 && <NumericCurve curve={data.matched} />}
            <Curves data={data} />
            {notes.map((note) => (
              <p key={note} className="aside">
                {sentence(note)}
              </p>
            ))}
            <section>
              <h2>Each curve in words</h2>
              <p className="aside">
                In formulas, t is the median time of a trial and x is {keyName(data.x)}.
              </p>
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
        <Suggestions param="x" text="Choose a numeric key to scale with:" only={isSize} />
      )}
    </Page>
  );
}
