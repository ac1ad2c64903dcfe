// The effect of a setting: matched trials that differ in nothing else; the verdict first.

import { useCallback, useMemo } from "react";
import { Link } from "wouter";
import { askedInWords } from "../../../asked";
import { groupName } from "../../../charts/common";
import { NumericCurve } from "../../../charts/NumericCurve";
import type { Behind } from "../../../charts/view";
import { commandOf } from "../../../commands";
import { exported, useTwin } from "../../../data";
import { keyName, percent, ratio, valueText } from "../../../format";
import { PAGES } from "../../../generated/pages";
import type { Effects, Effect as Found, PartEffect } from "../../../generated/types";
import {
  Answer,
  Common,
  Controls,
  fewValues,
  GroupChoice,
  groupCells,
  Suggestions,
  ValueChoice,
} from "../../../parts/Analysis";
import { Asked } from "../../../parts/Asked";
import type { View } from "../../../parts/Chart";
import { Figure, type Legend } from "../../../parts/Figure";
import { Filters } from "../../../parts/Filters";
import { KeyPicker } from "../../../parts/Keys";
import { Page } from "../../../parts/Page";
import { type SectionList, Sections } from "../../../parts/Sections";
import { type Cell, type Column, DataTable } from "../../../parts/Table";
import { useSearch } from "../../../state";
import { href, trialsAt } from "../../../url";
import { behindEffect, effects, MACHINE, parts, perhaps, strata } from "./charts";

const LEGEND: Legend = [
  ["faster", "less time than the baseline"],
  ["slower", "more time"],
  ["undecided", "no difference, depends, or can't tell"],
];

const numbers = (...names: string[]): Column[] => names.map((name) => ({ name, number: true }));

function valuesTable(data: Effects, search: URLSearchParams) {
  const columns: Column[] = [
    ...data.keys.map((key) => ({ name: keyName(key) })),
    ...numbers("time ratio", "low", "high", "matched settings", "less time in", "more time in"),
    ...numbers("trials", "baseline trials", "failed"),
    { name: "verdict" },
    { name: "next" },
  ];
  const rows = data.effects.map((one): Cell[] => [
    ...groupCells(data.keys, one.value, search),
    one.ratio,
    one.interval?.low ?? null,
    one.interval?.high ?? null,
    one.strata,
    one.below,
    one.above,
    one.n,
    one.n_baseline,
    one.failed,
    one.verdict,
    one.next.words,
  ]);
  return { columns, rows };
}

function strataTable(data: Effects) {
  const columns: Column[] = [
    ...data.keys.map((key) => ({ name: keyName(key) })),
    ...numbers("time ratio"),
  ];
  const rows = data.effects.flatMap((one) =>
    one.points.map((point): Cell[] => [...one.value.map(valueText), point]),
  );
  return { columns, rows };
}

const baselineName = (data: Effects) =>
  data.baseline ? groupName(data.keys, data.baseline) : "the baseline";

function Values({ data }: { data: Effects }) {
  const [search] = useSearch();
  const drawEffects = useCallback((view: View) => effects(data, view), [data]);
  const drawStrata = useCallback((view: View) => strata(data, view), [data]);
  const keys = data.keys.map(keyName).join(" and ");
  const known = data.effects.some(({ strata: count }) => count > 0);
  if (!known) return null;
  return (
    <>
      <Figure
        id="effect"
        title={`Effect of ${keys}, all else being equal`}
        caption={`Each value compared with ${baselineName(data)}: the mean over all settings that have both, each counted once, with its ${percent(data.level)} interval.${data.effects.some(perhaps) ? " A ring means “perhaps”: with so many values tested together, it may be chance." : ""}${data.rows && ` ${data.rows}.`}`}
        draw={drawEffects}
        table={valuesTable(data, search)}
        file={`effect-of-${keys.replace(/\W+/g, "-")}`}
        legend={LEGEND}
      />
      <Figure
        id="each-setting"
        title="Ratio of each matched setting"
        caption="A wide spread means that the mean predicts a new setting poorly."
        draw={drawStrata}
        table={strataTable(data)}
        file={`settings-of-${keys.replace(/\W+/g, "-")}`}
      />
    </>
  );
}

function PartsFigure({
  id,
  title,
  by,
  all,
  base,
  behind,
}: {
  id: string;
  title: string;
  by: string;
  all: readonly PartEffect[];
  base: string;
  /** The trials of all parts. */
  behind: Behind;
}) {
  const [search] = useSearch();
  const draw = useCallback(
    (view: View) => parts(by, all, base, behind, view),
    [by, all, base, behind],
  );
  const columns: Column[] = [
    { name: keyName(by) },
    ...numbers("time ratio", "low", "high", "matched settings", "trials"),
  ];
  const rows = all.map((part): Cell[] => [
    by === MACHINE || exported
      ? valueText(part.value)
      : {
          value: part.value,
          show: (
            <Link href={trialsAt(search, [[by, part.value], ...behind])}>
              {valueText(part.value)}
            </Link>
          ),
        },
    part.ratio,
    part.interval?.low ?? null,
    part.interval?.high ?? null,
    part.strata,
    part.trials,
  ]);
  return (
    <Figure
      id={id}
      title={title}
      draw={draw}
      table={{ columns, rows }}
      file={`effect-by-${by.replace(/\W+/g, "-")}`}
      legend={LEGEND}
    />
  );
}

function Confounders({ one }: { one: Found }) {
  if (one.confounders.length === 0) return null;
  const columns: Column[] = [
    { name: "key" },
    ...numbers("imbalance", "ratio when matched", "effect of matching"),
    { name: "matters" },
  ];
  const rows = one.confounders.map((each): Cell[] => [
    each.keys.map(keyName).join(", "),
    percent(each.apart),
    each.ratio === null ? "no common value" : ratio(each.ratio),
    each.change === null ? "" : percent(each.change),
    each.flagged ? "yes" : "no",
  ]);
  return (
    <section id="confounders">
      <h2>Confounders: what else differs</h2>
      <p>
        These keys also differ between all trials of the two values. That's why the crude ratio
        isn't the effect. In the matched settings above they are equal.
      </p>
      <div className="panel">
        <DataTable columns={columns} rows={rows} caption="Confounders" />
      </div>
    </section>
  );
}

function Leading({ data, one }: { data: Effects; one: Found }) {
  const name = groupName(data.keys, one.value);
  const base = baselineName(data);
  const behind = useMemo(() => behindEffect(data.keys, one), [data, one]);
  const [depends] = one.depends;
  const by = depends?.keys[0];
  return (
    <>
      {one.works.length > 1 && (
        <PartsFigure
          id="by-workload"
          title={`${name} by workload`}
          by="workload"
          all={one.works}
          base={base}
          behind={behind}
        />
      )}
      {depends && by && by !== "workload" && (
        <PartsFigure
          id="by-key"
          title={`${name} by ${keyName(by)}`}
          by={by}
          all={depends.parts}
          base={base}
          behind={behind}
        />
      )}
      {one.machines.length > 1 && by !== "cluster" && (
        <PartsFigure
          id="by-machine"
          title={`${name} by machine`}
          by={MACHINE}
          all={one.machines}
          base={base}
          behind={behind}
        />
      )}
      <Confounders one={one} />
    </>
  );
}

/** The next step, with links where the page can do it. */
function WhatNext({ one: { next } }: { one: Found }) {
  const [search] = useSearch();
  if (!next.words) return null;
  const also = (name: string, value: string) => {
    const asked = new URLSearchParams(search);
    asked.append(name, value);
    return href(PAGES.effect.path, asked);
  };
  const ways = exported
    ? []
    : [
        ...next.where.map((text) => [`only ${text}`, also("where", text)] as const),
        ...next.ignore.map((key) => [`ignore ${keyName(key)}`, also("ignore", key)] as const),
      ];
  return (
    <p className="ways">
      <span>Next: {next.words}.</span>
      {ways.map(([text, to]) => (
        <Link key={text} href={to}>
          {text}
        </Link>
      ))}
    </p>
  );
}

/** The figures and tables of the page, for its list of sections. */
function sectionsOf(data: Effects, one: Found | undefined): SectionList {
  const known = data.effects.some(({ strata: count }) => count > 0);
  const by = one?.depends[0]?.keys[0];
  const listed: [id: string, name: string, shown: boolean][] = [
    ["curve", "Curve", data.curve !== null],
    ["effect", "Effect", known && data.curve === null],
    ["each-setting", "Each setting", known && data.curve === null],
    ["by-workload", "By workload", (one?.works.length ?? 0) > 1],
    ["by-key", `By ${keyName(by ?? "")}`, by !== undefined && by !== "workload"],
    ["by-machine", "By machine", (one?.machines.length ?? 0) > 1 && by !== "cluster"],
    ["confounders", "Confounders", (one?.confounders.length ?? 0) > 0],
  ];
  return listed.filter(([, , shown]) => shown).map(([id, name]) => [id, name] as const);
}

function Shown({ data }: { data: Effects }) {
  const [search] = useSearch();
  const one = data.main === null ? undefined : data.effects[data.main];
  return (
    <>
      {one && !exported && (
        <p className="ways">
          <Link href={trialsAt(search, behindEffect(data.keys, one))}>
            The trials behind this result
          </Link>
        </p>
      )}
      {one && <WhatNext one={one} />}
      <Common caption="" explained={data.explained} />
      {one?.adjusted && (
        <p>
          Adjusted by a model instead of matched: {ratio(one.adjusted.ratio)}, from{" "}
          {one.adjusted.kept} of {one.adjusted.trials} trials.
        </p>
      )}
      {one?.crude && (
        <p>
          Crude ratio over all trials (confounded): {ratio(one.crude.ratio)}, the ratio of medians.
        </p>
      )}
      <Sections of={sectionsOf(data, one)} above={4} />
      {data.curve ? <NumericCurve curve={data.curve} /> : <Values data={data} />}
      {one && <Leading data={data} one={one} />}
    </>
  );
}

export default function Effect() {
  const [search] = useSearch();
  const keys = search.getAll("key");
  const asked = keys.length > 0;
  const twin = useTwin(asked ? "/api/effect" : null, search);
  const data = asked ? twin.data : undefined;
  const chosen = data?.baseline;
  return (
    <Page
      title={PAGES.effect.title}
      asked={askedInWords(search)}
      intro="The effect of a setting: trials are compared only if everything else is equal."
    >
      <Filters />
      <Controls>
        <KeyPicker label="Setting" param="key" multiple only={fewValues} clears={["baseline"]} />
        {keys.length === 1 && data ? (
          <ValueChoice
            label="Baseline"
            param="baseline"
            values={data.values.map(({ value }) => value[0] ?? null)}
            chosen={chosen?.[0]}
          />
        ) : (
          <GroupChoice label="Baseline" param="baseline" by={keys} chosen={chosen} />
        )}
      </Controls>
      {asked && <Asked command={commandOf(PAGES.effect.path, search)} />}
      {asked ? (
        <Answer
          twin={twin}
          what="effect"
          empty={(found) => (found.trials === 0 ? `${found.verdict}. Remove a condition.` : null)}
        >
          {(found) => <Shown data={found} />}
        </Answer>
      ) : (
        <Suggestions
          param="key"
          text="Choose a setting. Each of these has a few values:"
          only={(key) => key.kind === "configuration" && fewValues(key)}
        />
      )}
    </Page>
  );
}
