// Shared by the analysis pages: controls that keep their state in the URL, and cells of tables.
import "./analysis.css";
import { type ReactNode, useEffect, useId, useRef, useState } from "react";
import { Link } from "wouter";
import { behindGroup, groupName, valueName } from "../charts/common";
import { farApart } from "../charts/scale";
import { exported, type Twin, useTwin } from "../data";
import { count, type Key, keyName, range, type Scalar, trials, valueText } from "../format";
import type { Interval, KeyInfo, SpreadData } from "../generated/types";
import { byInterest } from "../keys";
import { useSearch } from "../state";
import { selectionOf, trialsAt } from "../url";
import { Verdict } from "./Facts";
import { Notices, Pending } from "./Page";
import { Refusal } from "./server/Refusal";
import { type Cell, type Column, NameCell } from "./Table";

const DEBOUNCE_MS = 350;
const CODES_OPEN = 8; // more are folded

/** Whether a parameter fits the others of the URL. */
type Fits = (name: string, value: string, search: URLSearchParams) => boolean;

/** The query without what does not fit to the rest of it any more; the URL follows. */
export function useFitting(fits: Fits): URLSearchParams {
  const [search, edit] = useSearch();
  const fitting = new URLSearchParams(
    [...search].filter(([name, value]) => fits(name, value, search)),
  );
  const text = fitting.toString();
  const same = fitting.size === search.size;
  useEffect(() => {
    if (same) return;
    edit(
      (next) => {
        for (const name of [...next.keys()]) next.delete(name);
        for (const [name, value] of new URLSearchParams(text)) next.append(name, value);
      },
      { replace: true },
    );
  }, [same, text, edit]);
  return fitting;
}

/** Controls that need a server; an exported page has none. */
export function Controls({ children }: { children: ReactNode }) {
  return exported ? null : <div className="controls">{children}</div>;
}

/** One of several values of a parameter; the first is the default, which the URL omits. */
export function Choice({
  label,
  param,
  options,
}: {
  label: string;
  param: string;
  options: readonly (readonly [value: string, name: string])[];
}) {
  const id = useId();
  const [search, edit] = useSearch();
  const [first] = options;
  const value = search.get(param) ?? first?.[0] ?? "";
  const put = (next: string) =>
    edit((all) => {
      if (next === first?.[0]) all.delete(param);
      else all.set(param, next);
    });
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <select id={id} value={value} onChange={({ target }) => put(target.value)}>
        {options.map(([each, name]) => (
          <option key={each} value={each}>
            {name}
          </option>
        ))}
      </select>
    </div>
  );
}

/** Whether an axis is logarithmic: as the reader chose, else where the values spread widely. */
export function useLog(values: () => readonly number[]): boolean {
  const [search] = useSearch();
  const said = search.get("log");
  return said === null ? farApart(values()) : said === "1";
}

/** The reader's choice of a logarithmic axis; `log` is the current one. */
export function LogChoice({ log }: { log: boolean }) {
  const [, edit] = useSearch();
  return (
    <label className="check">
      <input
        type="checkbox"
        checked={log}
        onChange={({ target }) =>
          edit((next) => next.set("log", target.checked ? "1" : "0"), { replace: true })
        }
      />
      logarithmic
    </label>
  );
}

/** A parameter that is 1 or not there. */
export function Toggle({ label, param }: { label: string; param: string }) {
  const [search, edit] = useSearch();
  return (
    <label className="check">
      <input
        type="checkbox"
        checked={search.get(param) === "1"}
        onChange={({ target }) =>
          edit(
            (next) => {
              if (target.checked) next.set(param, "1");
              else next.delete(param);
            },
            { replace: true },
          )
        }
      />
      {label}
    </label>
  );
}

/** A text that is applied when the reader pauses, or immediately when the field loses the focus. */
export function Typed({
  label,
  value,
  onValue,
  kind = "text",
  hint,
  hidden = false,
}: {
  label: string;
  value: string;
  onValue: (value: string) => void;
  kind?: "text" | "usd" | "whole" | "date";
  hint?: string;
  /** Whether the label is only for those who do not see the table around it. */
  hidden?: boolean;
}) {
  const id = useId();
  const [text, setText] = useState(value);
  const given = useRef(value);
  const hand = useRef(onValue);
  hand.current = onValue;
  const number = kind === "usd" || kind === "whole";
  const valid =
    text === "" || !number || (kind === "usd" ? /^\d+(\.\d+)?$/ : /^[1-9]\d*$/).test(text);

  useEffect(() => {
    // The URL changed by other means than this field, such as the way back.
    if (value !== given.current) setText(value);
    given.current = value;
  }, [value]);
  useEffect(() => {
    // An empty price is on its way to another one until the reader leaves the field.
    if (!valid || text === given.current || (number && text === "")) return;
    const waiting = window.setTimeout(() => {
      given.current = text;
      hand.current(text);
    }, DEBOUNCE_MS);
    return () => window.clearTimeout(waiting);
  }, [text, valid, number]);
  const leave = () => {
    if (!valid || text === given.current) return;
    given.current = text;
    hand.current(text);
  };

  return (
    <div className={kind === "text" ? "field wide" : "field"}>
      <label htmlFor={id} className={hidden ? "visually-hidden" : undefined}>
        {label}
      </label>
      <input
        id={id}
        type={kind === "date" ? "date" : "text"}
        value={text}
        size={number ? 8 : 28}
        inputMode={kind === "usd" ? "decimal" : kind === "whole" ? "numeric" : "text"}
        autoComplete="off"
        spellCheck={false}
        placeholder={hint}
        aria-invalid={!valid}
        onBlur={leave}
        onChange={({ target }) => setText(target.value.trim() === "" ? "" : target.value)}
      />
    </div>
  );
}

/** A parameter as a field. */
export function Parameter({
  param,
  ...field
}: {
  label: string;
  param: string;
  kind?: "text" | "usd" | "whole" | "date";
  hint?: string;
}) {
  const [search, edit] = useSearch();
  const put = (value: string) =>
    edit(
      (next) => {
        if (value) next.set(param, value);
        else next.delete(param);
      },
      { replace: true },
    );
  return <Typed {...field} value={search.get(param) ?? ""} onValue={put} />;
}

const MOST_OFFERED = 200;

/** One of the values that `values` has, of the key that is looked at. */
export function ValueChoice({
  label,
  param,
  values,
  chosen,
}: {
  label: string;
  param: string;
  values: readonly Scalar[];
  chosen: Scalar | undefined;
}) {
  const id = useId();
  const [, edit] = useSearch();
  if (values.length === 0) return null;
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <select
        id={id}
        value={chosen === undefined ? "" : String(chosen)}
        onChange={({ target }) => edit((next) => next.set(param, target.value))}
      >
        {values.map((value) => (
          <option key={String(value)} value={String(value)}>
            {valueText(value)}
          </option>
        ))}
      </select>
    </div>
  );
}

/** The groups that the trials make by the keys of the URL, the largest first. */
function useGroups(by: readonly string[]) {
  const [search] = useSearch();
  const asked = selectionOf(search);
  for (const key of by) asked.append("by", key);
  const { data } = useTwin(exported || by.length === 0 ? null : "/api/groups", asked);
  return [...(data?.groups ?? [])].sort((a, b) => b.n - a.n);
}

/** One group of the URL's, such as a baseline. */
export function GroupChoice({
  label,
  param,
  by,
  chosen,
}: {
  label: string;
  param: string;
  by: readonly string[];
  chosen: Key | null | undefined;
}) {
  const id = useId();
  const [, edit] = useSearch();
  const groups = useGroups(by).slice(0, MOST_OFFERED);
  const value = chosen ? JSON.stringify(chosen) : "";
  const known = groups.some(({ key }) => JSON.stringify(key) === value);
  if (by.length === 0) return null;
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <select
        id={id}
        value={value}
        onChange={({ target }) => edit((next) => next.set(param, target.value))}
      >
        {!known && (
          <option value={value}>{chosen ? groupName(by, chosen) : "choose a group …"}</option>
        )}
        {groups.map(({ key, n }) => (
          <option key={JSON.stringify(key)} value={JSON.stringify(key)}>
            {groupName(by, key)} ({n})
          </option>
        ))}
      </select>
    </div>
  );
}

/** Groups to compare, in order: the first is the baseline. */
export function GroupsChoice({
  param,
  by,
  chosen,
  max,
}: {
  param: string;
  by: readonly string[];
  chosen: readonly Key[];
  max: number;
}) {
  const id = useId();
  const [, edit] = useSearch();
  const groups = useGroups(by);
  const texts = chosen.map((key) => JSON.stringify(key));
  const put = (next: readonly string[]) =>
    edit((all) => {
      all.delete(param);
      for (const text of next) all.append(param, text);
    });
  const free = groups.filter(({ key }) => !texts.includes(JSON.stringify(key)));
  return (
    <div className="field keys">
      <label htmlFor={id}>Groups (the first is the baseline)</label>
      <ul className="chips">
        {chosen.map((key, place) => (
          <li key={texts[place]} className="pair">
            {place > 0 && (
              <button
                type="button"
                className="chip"
                aria-label={`Make ${groupName(by, key)} the baseline`}
                title="Make it the baseline"
                onClick={() => {
                  const own = texts[place] ?? "";
                  put([own, ...texts.filter((text) => text !== own)]);
                }}
              >
                <span aria-hidden="true">↑</span>
              </button>
            )}
            <button
              type="button"
              className="chip"
              aria-label={`Remove the group ${groupName(by, key)}`}
              disabled={chosen.length <= 2}
              onClick={() => put(texts.filter((text) => text !== texts[place]))}
            >
              {place === 0 ? <strong>{groupName(by, key)}</strong> : groupName(by, key)}{" "}
              {chosen.length > 2 && <span aria-hidden="true">×</span>}
            </button>
          </li>
        ))}
      </ul>
      {chosen.length < max && free.length > 0 && (
        <select id={id} value="" onChange={({ target }) => put([...texts, target.value])}>
          <option value="" disabled>
            add a group …
          </option>
          {free.slice(0, MOST_OFFERED).map(({ key, n }) => (
            <option key={JSON.stringify(key)} value={JSON.stringify(key)}>
              {groupName(by, key)} ({n})
            </option>
          ))}
        </select>
      )}
    </div>
  );
}

const MOST_SUGGESTED = 12;

/** Keys with a few values to choose from first. */
export function Suggestions({
  param,
  text,
  only,
}: {
  param: string;
  text: string;
  only: (key: KeyInfo) => boolean;
}) {
  const [, edit] = useSearch();
  const { data } = useTwin(exported ? null : "/api/keys");
  const offered = byInterest((data?.keys ?? []).filter(only)).slice(0, MOST_SUGGESTED);
  return (
    <div className="card">
      <p>{text}</p>
      <ul className="chips">
        {offered.map(({ key, distinct }) => (
          <li key={key}>
            <button
              type="button"
              className="chip"
              onClick={() => edit((next) => next.set(param, key))}
            >
              {keyName(key)} ({distinct} values)
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}

/** Outcomes of a trial, not settings. */
const OUTCOMES = new Set([
  "failure",
  "failure_kind",
  "provenance",
  "repetition",
  "state",
  "warm_up",
  "warnings",
]);

/** Whether a key has a few values, so that it can group trials. */
export const fewValues = ({ key, distinct, type }: KeyInfo) =>
  distinct >= 2 && distinct <= 40 && type !== "moment" && !OUTCOMES.has(key);

/** The answer: its headline, its notes, then `controls` and details; or the reason why not. */
export function Answer<T extends { warnings: readonly string[]; verdict?: string }>({
  twin,
  what,
  empty,
  ways,
  codes,
  controls,
  children,
}: {
  twin: Twin<T>;
  what: string;
  /** Why there is nothing to show, if there is nothing. */
  empty: (data: T) => string | null;
  /** Other questions, where there is nothing to show. */
  ways?: (data: T) => ReactNode;
  /** The meaning of the codes in the headline. */
  codes?: (data: T) => ReactNode;
  /** Inputs that stand below the headline, also without an answer. */
  controls?: ReactNode;
  children: (data: T) => ReactNode;
}) {
  const { problem, stale } = twin;
  const data = problem || twin.pending ? undefined : twin.data;
  const nothing = data ? empty(data) : null;
  return (
    <div className={stale ? "answer stale" : "answer"} aria-busy={stale}>
      {problem && <Refusal problem={problem} />}
      {!problem && !data && <Pending what={what} lines={28} />}
      {data && <h2 className="visually-hidden">Result</h2>}
      {data && nothing === null && data.verdict && <Verdict text={data.verdict} />}
      {data && nothing !== null && (
        <div className="card">
          <p>{nothing}</p>
          {ways?.(data)}
        </div>
      )}
      {data && nothing === null && codes?.(data)}
      {controls}
      {data && <Notices texts={data.warnings.filter((text) => text !== data.verdict)} />}
      {data && nothing === null && children(data)}
    </div>
  );
}

/** The settings that all groups share, and the meaning of the codes in their names. */
export function Common({
  caption,
  explained,
}: {
  caption: string;
  explained: { readonly [code: string]: string };
}) {
  const codes = Object.entries(explained);
  if (caption === "" && codes.length === 0) return null;
  return (
    <div className="common aside">
      {caption !== "" && <p>Same for all groups: {caption}.</p>}
      {codes.length > CODES_OPEN ? (
        <details>
          <summary>
            Meaning of {codes[0]?.[0]} and {codes.length - 1} other codes
          </summary>
          <dl className="facts">
            {codes.map(([code, meaning]) => (
              <div key={code}>
                <dt>{code}</dt>
                <dd>{meaning}</dd>
              </div>
            ))}
          </dl>
        </details>
      ) : (
        codes.length > 0 && (
          <p>{codes.map(([code, meaning]) => `${code}: ${meaning}`).join("; ")}.</p>
        )
      )}
    </div>
  );
}

/** A link to the trials of a group, where a server has them. */
export function TrialsBehind({ by, group }: { by: readonly string[]; group: Key }) {
  const [search] = useSearch();
  if (exported) return null;
  return (
    <Link className="behind" href={trialsAt(search, behindGroup(by, group))}>
      trials<span className="visually-hidden">: {groupName(by, group)}</span>
    </Link>
  );
}

/** Cells of a group's values, the first of which opens its trials. */
export function groupCells(
  by: readonly string[],
  group: Key,
  search: URLSearchParams,
  meanings: readonly (string | null)[] = [],
): Cell[] {
  const url = exported ? undefined : trialsAt(search, behindGroup(by, group));
  return group.map((value, place): Cell => {
    const text = valueName(by[place] ?? "", value);
    const link = place === 0 ? url : undefined;
    return { value, show: <NameCell text={text} url={link} meaning={meanings[place]} /> };
  });
}

/** The columns of a spread, each a number with its unit: for tables that programs read. */
export const spreadColumns = (what: string, unit: string): Column[] => [
  { name: `median ${what} (${unit})`, number: true },
  { name: `low (${unit})`, number: true },
  { name: `high (${unit})`, number: true },
];

export const spreadCells = (spread: SpreadData | null): Cell[] => [
  spread?.median ?? null,
  spread?.interval?.low ?? null,
  spread?.interval?.high ?? null,
];

/** A median with its interval, or the reason if missing. */
export function spreadCell(spread: SpreadData | null, tell: (value: number) => string): Cell {
  if (spread === null) return null;
  const { median, interval, reason } = spread;
  if (median === null)
    return { value: null, show: <span className="missing">— {reason ?? "no trial"}</span> };
  return {
    value: median,
    show: (
      <>
        {tell(median)}
        {interval ? (
          <small className="whole">{range(interval, tell)}</small>
        ) : (
          <small>{reason}</small>
        )}
      </>
    ),
  };
}

const WIDE = 10_000;

/** The ends of an interval, unless it is so wide that it means nothing. */
const ends = (interval: Interval, tell: (value: number) => string) =>
  interval.low > 0 && interval.high / interval.low > WIDE
    ? `interval wider than a factor of ${count(WIDE)}`
    : range(interval, tell);

/** A ratio or a difference with its interval. */
export const intervalCell = (
  value: number | null,
  interval: Interval | null,
  tell: (value: number) => string,
): Cell =>
  value === null
    ? null
    : {
        value,
        show: (
          <>
            {tell(value)}
            <small className="whole">{interval ? ends(interval, tell) : "no interval"}</small>
          </>
        ),
      };

/** `succeeded 12, failed 2` */
export const stateText = (byState: { [state: string]: number }) =>
  Object.entries(byState)
    .map(([state, n]) => `${state} ${n}`)
    .join(", ") || trials(0);
