// The answer: one sentence, today against the target, the curve, and where the figures come from.
import { useCallback } from "react";
import { Link } from "wouter";
import { exported } from "../../../data";
import {
  capital,
  count,
  dollars,
  duration,
  fullStop,
  percent,
  range,
  three,
} from "../../../format";
import { PAGES } from "../../../generated/pages";
import type { Bounds, WhatIfCapacity, WhatIfData, WhatIfSide } from "../../../generated/types";
import { onPage } from "../../../here";
import type { View } from "../../../parts/Chart";
import { Figure } from "../../../parts/Figure";
import { Notices } from "../../../parts/Page";
import { Folded } from "../../../parts/Sections";
import { type Cell, DataTable, number } from "../../../parts/Table";
import { rate } from "../../../units";
import {
  BASELINES,
  costByTime,
  costOf,
  lawsOf,
  MODEL,
  sizeOf,
  TODAY,
  timeBySize,
  todayOn,
} from "./charts";
import { bestOf } from "./steps";

export const bounds = (value: Bounds | null, tell: (value: number) => string): Cell =>
  value && {
    value: value.value,
    show: (
      <>
        {tell(value.value)}
        {value.low < value.high && <small className="whole">{range(value, tell)}</small>}
      </>
    ),
  };

export const limitOf = ({ limit_words: words }: Pick<WhatIfData, "limit_words">, name: string) =>
  words[name] ?? name;

const time = (value: number): Cell => ({ value, show: duration(value) });

function Setups({ data }: { data: WhatIfData }) {
  const shown = data.changed ? data.targets : [];
  const row = (name: string, { prediction: found, limited_by: limit }: WhatIfSide): Cell[] => [
    name,
    found.hosts,
    found.executors,
    found.slots,
    bounds(found.time_s, duration),
    bounds(found.usd, dollars),
    { value: found.core_hours, show: three(found.core_hours) },
    limit,
  ];
  const unpriced = [...new Set([data.today, ...shown].map((side) => side.prediction.unpriced))];
  return (
    <>
      <DataTable
        caption="Today and the target"
        columns={[
          { name: "Setup" },
          number("Hosts"),
          number("Executors"),
          number("Slots"),
          number("Time"),
          number("Cost"),
          number("Core-hours"),
          { name: "Limited by" },
        ]}
        rows={[row("today", data.today), ...shown.map((side) => row(side.prediction.name, side))]}
      />
      <p className="aside">
        Ranges are 90 % intervals.
        {unpriced.filter(Boolean).map((reason) => ` No cost: ${fullStop(onPage(reason))}`)}
      </p>
    </>
  );
}

function Spot({ data: { spot } }: { data: WhatIfData }) {
  const [first] = spot;
  if (!first) return null;
  const reasons = new Set(spot.map((each) => each.do_not_use || each.unpriced).filter(Boolean));
  return (
    <>
      <h3>On spot machines</h3>
      <DataTable
        caption="On spot machines"
        columns={[
          { name: "Setup" },
          number("Expected time"),
          number("Expected cost"),
          number("Losses"),
          number("Each adds"),
        ]}
        rows={spot.map((each): Cell[] => [
          each.name,
          bounds(each.time_s, duration),
          bounds(each.usd, dollars),
          each.losses && { value: each.losses, show: three(each.losses) },
          time(each.loss_s),
        ])}
      />
      <p className="aside">
        {three(first.rate.value)} losses per machine and hour ({first.rate.kind}):{" "}
        {fullStop(first.rate.source)}{" "}
        {first.assumes.map((text) => capital(fullStop(text))).join(" ")}
        {[...reasons].map((reason) => ` ${capital(fullStop(reason))}`)}
      </p>
    </>
  );
}

function Limits({ data, side }: { data: WhatIfData; side: WhatIfSide }) {
  const parts = Object.entries(side.prediction.limits).filter(([, share]) => share >= 0.005);
  return (
    <p>
      Time by bottleneck:{" "}
      {parts.map(([name, share]) => `${limitOf(data, name)} ${percent(share)}`).join(", ")}.
    </p>
  );
}

function Curves({ data }: { data: WhatIfData }) {
  const { curve } = data;
  const byTime = useCallback((view: View) => timeBySize(data, view), [data]);
  const byCost = useCallback((view: View) => costByTime(data, view), [data]);
  const cost = costOf(curve);
  const columns = [
    number(curve.by),
    number("Hosts"),
    number("Time"),
    number(capital(cost.name)),
    ...BASELINES.map(([name]) => number(capital(name))),
  ];
  const rows = curve.points.map((point): Cell[] => [
    sizeOf(curve, point),
    point.hosts,
    bounds(point.time_s, duration),
    bounds(cost.of(point), cost.tell),
    ...BASELINES.map(([name]) => {
      const found = point.baselines_s[name];
      return found === undefined ? null : time(found);
    }),
  ]);
  return (
    <>
      <Figure
        title={`Time by number of ${curve.by}`}
        caption={
          <>
            The large dot is the target. Dashed lines are simpler predictions, which know nothing of
            disks, networks or data.
            {!curve.replayed &&
              " The job has many tasks, so only the target is replayed: the other sizes are estimates in proportion to it."}
          </>
        }
        draw={byTime}
        nothing="The job has only one size to show."
        file={`whatif-${data.trial}`}
        legend={[
          [MODEL, "predicted, with its 90 % interval"],
          ...(todayOn(data) ? [[TODAY, "today"] as const] : []),
          ...lawsOf(curve).map(({ name, role }) => [role, name] as const),
        ]}
        table={{ columns, rows }}
      />
      <Figure
        title={cost.name === "core-hours" ? "Core-hours against time" : "Cost against time"}
        caption={`Each dot is a number of ${curve.by}. Bars are 90 % intervals.`}
        draw={byCost}
        nothing="The job has only one size to show."
        file={`whatif-cost-${data.trial}`}
        table={{
          columns: columns.slice(0, 4),
          rows: rows.map((row) => row.slice(0, 4)),
        }}
      />
    </>
  );
}

const inUnit = ({ unit }: WhatIfCapacity, value: number): string =>
  unit === "bytes/s" ? rate(value) : `${three(value)} ${unit}`;

function Capacities({ data }: { data: WhatIfData }) {
  const best = bestOf(data);
  const named = (which: string, side: WhatIfSide) =>
    side.capacities.map((each): Cell[] => [
      `${each.name}, ${which}`,
      { value: each.value.value, show: inUnit(each, each.value.value) },
      each.value.low === each.value.high
        ? "none"
        : `${inUnit(each, each.value.low)} to ${inUnit(each, each.value.high)}`,
      each.value.kind,
      each.value.source,
    ]);
  return (
    <DataTable
      caption="Capacities of each host"
      long
      columns={[
        { name: "Capacity" },
        number("Value"),
        { name: "Range" },
        { name: "Kind" },
        { name: "Source" },
      ]}
      rows={[...named("today", data.today), ...(data.changed ? named("target", best) : [])]}
    />
  );
}

function Stages({ data }: { data: WhatIfData }) {
  const { prediction, stages_left_out: left } = bestOf(data);
  return (
    <Folded id="stages" title={`Stages before and after (${count(prediction.stages.length)})`}>
      <p className="aside">
        Each stage alone on all slots.
        {left > 0 && ` The ${count(left)} shortest stages aren't listed.`}
      </p>
      <DataTable
        caption="Stages before and after"
        columns={[
          { name: "Stage" },
          { name: "Name" },
          number("Before"),
          number("After"),
          number("Tasks before"),
          number("Tasks after"),
          { name: "Limited by" },
        ]}
        rows={prediction.stages.map((stage): Cell[] => [
          stage.stage,
          stage.name,
          time(stage.before_s),
          time(stage.after_s),
          stage.tasks_before,
          stage.tasks_after,
          limitOf(data, stage.limit),
        ])}
      />
    </Folded>
  );
}

/** A sentence begins with a capital letter, but the name of a type stays as it is. */
export const Verdict = ({ sentence }: { sentence: string }) => (
  <p className="verdict" aria-live="polite">
    <strong>{fullStop(sentence.startsWith("as ") ? capital(sentence) : sentence)}</strong>
  </p>
);

export function Answer({ data }: { data: WhatIfData }) {
  const best = bestOf(data);
  return (
    <>
      <section aria-labelledby="answer">
        <h2 id="answer" className="visually-hidden">
          The answer
        </h2>
        <Notices texts={data.not_modeled.map((name) => `Not modeled: ${name}.`)} />
        <Setups data={data} />
        <Limits data={data} side={best} />
        <Spot data={data} />
      </section>
      <section aria-labelledby="sizes">
        <h2 id="sizes">With fewer and more {data.curve.by}</h2>
        <Curves data={data} />
        <Stages data={data} />
      </section>
      <section aria-labelledby="rests">
        <h2 id="rests">What the answer rests on</h2>
        <ul className="dots">
          {best.rests_on.map((text) => (
            <li key={text}>{capital(text)}</li>
          ))}
          {best.prediction.assumes.map((text) => (
            <li key={text}>Assumes: {fullStop(text)}</li>
          ))}
          <li>{fullStop(capital(data.replay))}</li>
          <li>
            {fullStop(capital(best.prediction.interval_from))}{" "}
            {!exported && <Link href={PAGES.predictions.path}>Errors of earlier predictions</Link>}
          </li>
        </ul>
        <Folded id="capacities" title="Capacities and their origin">
          <Capacities data={data} />
        </Folded>
      </section>
    </>
  );
}
