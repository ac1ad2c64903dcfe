// Picks keys of the trials into the URL.
import { useId } from "react";
import { useTwin } from "../data";
import { keyName } from "../format";
import type { KeyInfo } from "../generated/types";
import { byInterest, isAskedFirst } from "../keys";
import { useSearch } from "../state";

/** Keys of which `only` is true and some trial has a value, what people ask for first leading. */
export function KeyPicker({
  label,
  param,
  multiple = false,
  max = 8,
  only = () => true,
  fallback,
  clears = [],
}: {
  label: string;
  /** The parameter of the URL that holds the keys. */
  param: string;
  multiple?: boolean;
  max?: number;
  only?: (key: KeyInfo) => boolean;
  /** The API's default, shown as chosen if the URL has none. */
  fallback?: readonly string[];
  /** Parameters that mean nothing any more once other keys are chosen. */
  clears?: readonly string[];
}) {
  const id = useId();
  const [search, edit] = useSearch();
  const { data } = useTwin("/api/keys");
  const chosen = search.has(param) ? search.getAll(param) : [...(fallback ?? [])];
  const put = (keys: readonly string[]) =>
    edit((next) => {
      next.delete(param);
      for (const name of ["cursor", ...clears]) next.delete(name);
      for (const key of keys) next.append(param, key);
    });
  const known = (data?.keys ?? []).filter((key) => key.n > 0 && only(key));
  const free = known.filter(({ key }) => !multiple || !chosen.includes(key));
  const others = byInterest(free.filter((each) => !isAskedFirst(each)));
  const kinds = (
    [
      ["Most used", byInterest(free.filter(isAskedFirst))],
      ["Configuration", others.filter(({ kind }) => kind === "configuration")],
      ["Columns", others.filter(({ kind }) => kind === "column")],
    ] as const
  ).filter(([, keys]) => keys.length > 0);
  const picked = multiple ? "" : (chosen[0] ?? "");
  const stranger = picked !== "" && !known.some(({ key }) => key === picked);
  return (
    <div className="field keys">
      <label htmlFor={id}>{label}</label>
      {multiple && chosen.length > 0 && (
        <ul className="chips">
          {chosen.map((key) => (
            <li key={key}>
              <button
                type="button"
                className="chip"
                onClick={() => put(chosen.filter((each) => each !== key))}
                aria-label={`${keyName(key)}: remove from ${label.toLowerCase()}`}
              >
                {keyName(key)} <span aria-hidden="true">×</span>
              </button>
            </li>
          ))}
        </ul>
      )}
      {(!multiple || chosen.length < max) && (
        <select
          id={id}
          value={picked}
          onChange={({ target }) => put(multiple ? [...chosen, target.value] : [target.value])}
        >
          {(multiple || picked === "") && (
            <option value="" disabled>
              {multiple && chosen.length > 0 ? "add a key …" : "choose a key …"}
            </option>
          )}
          {stranger && <option value={picked}>{keyName(picked)}</option>}
          {kinds.map(([name, keys]) => (
            <optgroup key={name} label={name}>
              {keys.map(({ key, distinct }) => (
                <option key={key} value={key}>
                  {keyName(key)} ({distinct})
                </option>
              ))}
            </optgroup>
          ))}
        </select>
      )}
    </div>
  );
}
