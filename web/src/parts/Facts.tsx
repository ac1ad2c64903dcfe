// Names with their values; machines with their facts.
import { bytes, fullStop, plain, type Scalar } from "../format";
import type { Host } from "../generated/record";
import { onPage } from "../here";

/** A card of facts; unknown ones aren't shown. */
export function Facts({
  title,
  facts,
}: {
  title: string;
  facts: readonly (readonly [string, Scalar | undefined])[];
}) {
  const known = facts.filter(([, value]) => value != null && value !== "");
  return (
    <div className="card">
      <h3>{title}</h3>
      {known.length === 0 ? (
        <p className="nothing">Nothing was recorded.</p>
      ) : (
        <dl className="facts">
          {known.map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>
                <Value text={shown(name, value ?? null)} />
              </dd>
            </div>
          ))}
        </dl>
      )}
    </div>
  );
}

const LONG = 140; // characters

/** A text; the whole of a very long one is folded away. */
function Value({ text }: { text: string }) {
  if (text.length <= LONG) return text;
  return (
    <details>
      <summary>{text.slice(0, LONG / 2)} …</summary>
      {text}
    </details>
  );
}

function shown(name: string, value: Scalar): string {
  if (typeof value !== "number") return String(value);
  return /bytes$/.test(name) ? bytes(value) : plain(value);
}

const isScalar = (value: unknown): value is Scalar =>
  value === null || ["string", "number", "boolean"].includes(typeof value);

/** Nested facts as one list: `disks 0 model`. */
function flat(value: unknown, name: string): [string, Scalar][] {
  if (isScalar(value)) return [[name, value]];
  if (Array.isArray(value) && value.every(isScalar)) return [[name, value.join(", ")]];
  const entries = Object.entries(value as object);
  return entries.flatMap(([key, of]) => flat(of, name ? `${name} ${key}` : key));
}

/** Machines with the same facts, by the text of these. */
function alike(hosts: readonly Host[]): { names: string[]; facts: Host["facts"] }[] {
  const found = new Map<string, { names: string[]; facts: Host["facts"] }>();
  for (const { name, facts } of hosts) {
    if (Object.keys(facts).length === 0) continue;
    const text = JSON.stringify(facts);
    const group = found.get(text) ?? { names: [], facts };
    found.set(text, { ...group, names: [...group.names, name] });
  }
  return [...found.values()];
}

const namesOf = (names: readonly string[]) =>
  names.length <= 3 ? names.join(", ") : `${names[0]} and ${names.length - 1} identical machines`;

/** Every host, folded; machines with the same facts are shown once. */
export function HostFacts({ hosts }: { hosts: readonly Host[] }) {
  return alike(hosts).map(({ names, facts }) => (
    <details className="more" key={names[0]}>
      <summary>Machine facts: {namesOf(names)}</summary>
      <div className="cards">
        {groups(facts).map(([title, list]) => (
          <Facts key={title} title={title} facts={list} />
        ))}
      </div>
    </details>
  ));
}

/** Facts that are objects get a card each; the others share one. */
function groups(facts: Readonly<Record<string, unknown>>): [string, [string, Scalar][]][] {
  const entries = Object.entries(facts);
  const single = entries
    .filter(([, value]) => isScalar(value))
    .flatMap(([key, of]) => flat(of, key));
  const nested = entries
    .filter(([, value]) => !isScalar(value))
    .map(([key, value]): [string, [string, Scalar][]] => [
      key,
      flat(value, Array.isArray(value) ? key : ""),
    ]);
  return [
    ...(single.length ? [["machine", single] as [string, [string, Scalar][]]] : []),
    ...nested,
  ];
}

/** The answer of a page: its first sentence stands out, those after the second are smaller. */
export function Verdict({ text }: { text: string }) {
  const [first, second, ...others] = fullStop(onPage(text)).split(/(?<=[^.]\.) (?=[A-Z])/);
  return (
    <>
      <p className="verdict">
        <strong>{first}</strong> {second}
      </p>
      {others.length > 0 && <p className="verdict more">{others.join(" ")}</p>}
    </>
  );
}
