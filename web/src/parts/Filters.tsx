// The trials of a page: conditions in the URL, from facets or written by hand.
import { type FormEvent, useId, useState } from "react";
import { exported, useTwin } from "../data";
import { condition, count, keyName, type Scalar, valueText } from "../format";
import type { Facet } from "../generated/types";
import { nearest } from "../keys";
import { type Edit, useSearch } from "../state";
import { selectionOf } from "../url";
import { Pending, ProblemBox } from "./Page";

const FEW = 8;
const SUGGESTED = 40;
const OPEN = 2; // facets that are unfolded from the beginning
const ID = /^(?=.*\d)[0-9A-Za-z][0-9A-Za-z_-]{15,63}$/;
const CONDITION = /^[^=<>]+?(!=|<=|>=|=|<|>)/;

/** Sets the conditions; a list then begins at its first page. */
const setWhere = (edit: Edit, where: readonly string[]) =>
  edit((next) => {
    next.delete("where");
    next.delete("cursor");
    for (const text of where) next.append("where", text);
  });

const conditionText = (text: string) => {
  const [, key, not] = text.match(/^([^=<>]+?)(!?)=$/) ?? [];
  if (key === undefined) return text;
  return `${key} ${not ? "has a value" : "is missing"}`;
};

/** The active conditions, each with a way to drop it. */
function Conditions({ where, edit }: { where: readonly string[]; edit: Edit }) {
  if (where.length === 0) return null;
  return (
    <ul className="chips" aria-label="Conditions">
      {where.map((text) => (
        <li key={text}>
          {exported ? (
            <span className="chip">{conditionText(text)}</span>
          ) : (
            <button
              type="button"
              className="chip"
              aria-label={`${conditionText(text)}: remove the condition`}
              onClick={() =>
                setWhere(
                  edit,
                  where.filter((each) => each !== text),
                )
              }
            >
              {conditionText(text)}
              <span aria-hidden="true">×</span>
            </button>
          )}
        </li>
      ))}
      {!exported && where.length > 1 && (
        <li>
          <button type="button" className="quiet" onClick={() => setWhere(edit, [])}>
            Clear all
          </button>
        </li>
      )}
    </ul>
  );
}

/** The condition that `text` means: itself, a value that some key has, or a trial's id. */
function meant(text: string, facets: readonly Facet[]): string | undefined {
  if (CONDITION.test(text)) return text;
  for (const { key, values } of facets) {
    const same = values.find(({ value }) => String(value).toLowerCase() === text.toLowerCase());
    if (same) return condition(key, same.value);
  }
  return ID.test(text) ? `id=${text}` : undefined;
}

/** The condition on the value that `text` was most likely to be. */
function nearValue(text: string, facets: readonly Facet[]): string | undefined {
  const known = new Map(
    facets.flatMap(({ key, values }) =>
      values.map(({ value }) => [String(value), condition(key, value)] as const),
    ),
  );
  return known.get(nearest(text, known.keys()) ?? "");
}

/** A condition, a value or a trial's id, by hand. */
function Entry({
  where,
  edit,
  facets,
}: {
  where: readonly string[];
  edit: Edit;
  facets: readonly Facet[];
}) {
  const id = useId();
  const [text, setText] = useState("");
  const [wrong, setWrong] = useState("");
  const [near, setNear] = useState<string>();
  const { data } = useTwin("/api/keys");
  const suggested = new Set([
    ...facets.flatMap(({ key, values }) =>
      values.slice(0, SUGGESTED).map(({ value }) => condition(key, value)),
    ),
    ...(data?.keys.map(({ key }) => `${key}=`) ?? []),
  ]);
  const add = (event: FormEvent) => {
    event.preventDefault();
    const typed = text.trim();
    const whole = meant(typed, facets);
    if (whole === undefined) {
      setNear(nearValue(typed, facets));
      setWrong(
        `No value matches “${typed}”. Enter a value, KEY=VALUE, KEY!=VALUE, KEY<NUMBER, KEY>=NUMBER, KEY= (missing), or a full trial ID.`,
      );
      return;
    }
    put(whole);
  };
  const put = (whole: string) => {
    setWrong("");
    setNear(undefined);
    setText("");
    if (!where.includes(whole)) setWhere(edit, [...where, whole]);
  };
  return (
    <form className="entry" onSubmit={add}>
      <label htmlFor={id}>Search: a value, a condition or a trial ID</label>
      <div>
        <input
          id={id}
          value={text}
          list={`${id}-keys`}
          placeholder="elapsed_s<5000"
          autoComplete="off"
          spellCheck={false}
          aria-invalid={wrong !== ""}
          aria-describedby={wrong ? `${id}-wrong` : undefined}
          onChange={({ target }) => setText(target.value)}
        />
        <button type="submit">Add</button>
      </div>
      <datalist id={`${id}-keys`}>
        {[...suggested].map((each) => (
          <option key={each} value={each} />
        ))}
      </datalist>
      {wrong && (
        <p className="wrong" id={`${id}-wrong`} role="alert">
          {wrong}
          {near !== undefined && (
            <>
              {" "}
              Did you mean{" "}
              <button type="button" className="quiet" onClick={() => put(near)}>
                {conditionText(near)}
              </button>
              ?
            </>
          )}
        </p>
      )}
    </form>
  );
}

function FacetBox({
  facet,
  where,
  edit,
  open,
}: {
  facet: Facet;
  where: readonly string[];
  edit: Edit;
  open: boolean;
}) {
  const [all, setAll] = useState(false);
  const values: { value: Scalar; n: number }[] = [...facet.values];
  if (facet.missing > 0) values.push({ value: null, n: facet.missing });
  const on = (value: Scalar) => where.includes(condition(facet.key, value));
  const shown = all ? values : values.filter(({ value }, at) => at < FEW || on(value));
  const toggle = (value: Scalar) => {
    const text = condition(facet.key, value);
    setWhere(edit, on(value) ? where.filter((each) => each !== text) : [...where, text]);
  };
  return (
    <details className="facet" open={open || values.some(({ value }) => on(value))}>
      <summary>
        {keyName(facet.key)} <span className="aside">{count(facet.distinct)}</span>
      </summary>
      <ul>
        {shown.map(({ value, n }) => (
          <li key={String(value)}>
            <label>
              <input type="checkbox" checked={on(value)} onChange={() => toggle(value)} />
              <span className={value === null ? "missing" : undefined}>{valueText(value)}</span>
              <span className="n">{count(n)}</span>
            </label>
          </li>
        ))}
      </ul>
      {shown.length < values.length && (
        <button type="button" className="quiet" onClick={() => setAll(true)}>
          Show all {count(values.length)}
        </button>
      )}
      {all && facet.distinct > facet.values.length && (
        <p className="aside">
          These are the {count(facet.values.length)} most frequent of {count(facet.distinct)}{" "}
          values.
        </p>
      )}
    </details>
  );
}

/** Whether a facet has a choice, or one that was made. */
const tells = ({ key, values, missing }: Facet, where: readonly string[]) =>
  values.length + Number(missing > 0) > 1 || where.some((text) => text.startsWith(`${key}=`));

/** Edits the conditions of the URL; folded away unless `open`. */
export function Filters({ open = false }: { open?: boolean }) {
  const [search, edit] = useSearch();
  const [unfolded, setUnfolded] = useState(open);
  const where = search.getAll("where");
  const selection = selectionOf(search);
  const { data, problem, pending } = useTwin(
    unfolded && !exported ? "/api/facets" : null,
    selection,
  );
  const conditions = <Conditions where={where} edit={edit} />;
  if (exported) return where.length > 0 ? <div className="filters">{conditions}</div> : null;
  return (
    <div className="filters">
      {conditions}
      <details open={open} onToggle={({ currentTarget }) => setUnfolded(currentTarget.open)}>
        <summary>
          Filter trials <span className="aside">by value, or by number: elapsed_s&lt;5000</span>
        </summary>
        <Entry where={where} edit={edit} facets={data?.facets ?? []} />
        <label className="check">
          <input
            type="checkbox"
            checked={selection.has("excluded")}
            onChange={({ target }) =>
              edit((next) => {
                next.delete("cursor");
                if (target.checked) next.set("excluded", "1");
                else next.delete("excluded");
              })
            }
          />
          include excluded trials
        </label>
        {pending && unfolded && <Pending what="facets" lines={12} />}
        {problem && <ProblemBox problem={problem} />}
        <div className="facets">
          {data?.facets
            .filter((facet) => tells(facet, where))
            .map((facet, at) => (
              <FacetBox
                key={facet.key}
                facet={facet}
                where={where}
                edit={edit}
                open={open && at < OPEN}
              />
            ))}
        </div>
      </details>
    </div>
  );
}
