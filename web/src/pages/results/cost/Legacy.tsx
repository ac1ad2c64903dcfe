// What ALOJA's own query shows of the same trials.
import { groupName, valueName } from "../../../charts/common";
import { dollars, keyName, seconds } from "../../../format";
import type { RankedGroup, Ranking } from "../../../generated/types";
import { type Cell, type Column, DataTable } from "../../../parts/Table";
import { useSearch } from "../../../state";

/** The cluster of ALOJA's Table 2. */
export const CLUSTER = "minerva100-10-18-21";

interface Shown extends RankedGroup {
  legacy_elapsed_s: number;
  legacy_cost_usd: number | null;
}

const isShown = (group: RankedGroup): group is Shown => group.legacy_elapsed_s != null;

function LegacyRow({ name, group }: { name: string; group: Shown }) {
  const { legacy_elapsed_s: shown, best_elapsed_s: fastest } = group;
  return (
    <li>
      <strong>{name}</strong> is shown with {seconds(shown)}
      {group.legacy_cost_usd === null ? "" : ` (${dollars(group.legacy_cost_usd)})`}, but its
      fastest trial took {fastest === null ? "another time" : seconds(fastest)}
      {group.best_cost_usd === null ? "" : ` (${dollars(group.best_cost_usd)})`}.
    </li>
  );
}

/** What ALOJA's own query shows of the same trials, and which of its rows are wrong. */
export function Legacy({ data }: { data: Ranking }) {
  const [search] = useSearch();
  const shown = data.groups
    .filter(isShown)
    .sort((a, b) => (a.legacy_cost_usd ?? 0) - (b.legacy_cost_usd ?? 0));
  const wrong = shown.filter((group) => group.legacy_wrong);
  if (shown.length === 0) return null;
  const published = search.getAll("where").includes(`cluster=${CLUSTER}`);
  const columns: Column[] = [
    { name: "shown rank", number: true },
    ...data.by.map((key) => ({ name: keyName(key) })),
    { name: "shown time", number: true },
    { name: "fastest time", number: true },
    { name: "shown cost", number: true },
    { name: "its cost", number: true },
    { name: "row" },
  ];
  const cell = (value: number | null | undefined, tell: (value: number) => string): Cell =>
    value == null ? null : { value, show: tell(value) };
  const rows = shown.map((group): Cell[] => [
    group.legacy_rank ?? null,
    ...group.key.map((value, place) => valueName(data.by[place] ?? "", value)),
    cell(group.legacy_elapsed_s, seconds),
    cell(group.best_elapsed_s, seconds),
    cell(group.legacy_cost_usd, dollars),
    cell(group.best_cost_usd, dollars),
    group.legacy_wrong
      ? { value: "wrong", show: <strong className="throat">wrong</strong> }
      : "right",
  ]);
  return (
    <section>
      <h2>What ALOJA's own query shows</h2>
      <p>
        ALOJA's query finds the least time of each group and then takes the trials whose time equals{" "}
        <em>any</em> of these minima, so that a slower trial of one group passes for its best where
        it took as long as the fastest trial of another. {wrong.length} of {shown.length} rows are
        wrong:
      </p>
      <ul className="evidence">
        {wrong.map((group) => (
          <LegacyRow
            key={JSON.stringify(group.key)}
            name={groupName(data.by, group.key)}
            group={group}
          />
        ))}
      </ul>
      <div className="panel ranked">
        <DataTable columns={columns} rows={rows} caption="Groups as ALOJA's query shows them" />
      </div>
      <p className="aside">
        In order of the cost that is shown; the shown rank is the place by cost × time.
        {published &&
          " Eight of these rows are ALOJA's Table 2 of 2015, three of the wrong ones among them: InfiniBand with one SSD, InfiniBand with five SATA disks and an SSD, Ethernet with one SSD. By the fastest trials the cheapest ran on one SSD and plain Ethernet; by medians it ties with four others, see the ranking above."}
      </p>
    </section>
  );
}
