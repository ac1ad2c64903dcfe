"""Write ALOJA's Table 2, as its query shows it and as it should be, into docs/studies/aloja.md.

Usage: python scripts/study_table2.py TRIALS, where TRIALS is ALOJA's public data set 4 (a CSV).

ALOJA's query takes the minimum time of every group and joins the trials to those minima on the time
alone. A trial that took as long as the minimum of *another* group matches as well. If several
trials match in a group, MySQL keeps the first that it comes across. Venturi never answers this way:
see `groups.best_of`, and docs/method/comparing-costs.md.

The one assumption: MySQL comes across the minima in the order in which their groups first appear in
the table. It builds the groups in a temporary table as their rows arrive. The query orders by the
cluster's name, which is the same in all rows, so MySQL does not sort the rows by group. SQL
promises no order: another version or plan may answer differently.
"""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

from venturi.record.importing.items import ImportSource
from venturi.record.trial import Trial
from venturi.results.compare.groups import Group, Key
from venturi.results.importers import aloja

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/studies/aloja.md"
PRINTED = ROOT / "python/venturi/record/starter/poggi-2015.csv"
CLUSTER = "minerva100-10-18-21"
# US dollars an hour: the whole cluster by its network, and the surcharge for the workers' disks.
NETWORK_USD = {"ETH": 3.5, "IB": 4.3}
DISKS_USD = {
    "HDD": 0.2,
    "HD2": 0.4,
    "HD3": 0.6,
    "HD4": 0.8,
    "HD5": 1.0,
    "SSD": 0.7,
    "SS2": 1.4,
    "HS4": 1.5,
    "HS5": 1.7,
}
_BETWEEN = re.compile(r"(<!-- table 2 -->\n).*?(<!-- end of table 2 -->)", re.DOTALL)
_HEAD = (
    "rank",
    "layout",
    "trials",
    "printed (s)",
    "query (s)",
    "fastest (s)",
    "printed (USD)",
    "query (USD)",
    "fastest (USD)",
    "row",
)


@dataclass(frozen=True, slots=True)
class TimedTrial:
    """A succeeded trial: the key of its group, and its time."""

    id: str
    key: Key
    elapsed_s: float


@dataclass(frozen=True, slots=True)
class QueriedBest:
    """The trial that the query shows as the best of a group.

    `matched` is the key of the group with the minimum that let the trial in, `minimum_s` the true
    minimum of the trial's own group, `candidates` the ids of all trials of the group that matched.
    """

    key: Key
    id: str
    elapsed_s: float
    minimum_s: float
    matched: Key
    candidates: tuple[str, ...]

    @property
    def wrong(self) -> bool:
        """Whether the trial is not the fastest of its group."""
        return self.elapsed_s != self.minimum_s


def terasorts(path: Path, cluster: str = CLUSTER) -> list[TimedTrial]:
    """Return the sorts of 100 GB of a cluster in the order of the table, by network and disks."""
    with path.open("rb") as file:
        items = list(aloja.read(file, ImportSource(str(path), "")))
    return [
        TimedTrial(
            each.id, (each.configuration["net"], each.configuration["disk"]), each.elapsed_s or 0
        )
        for each in items
        if isinstance(each, Trial)
        and each.workload.name == "terasort"
        and each.configuration["cluster"] == cluster
        and each.workload.scale is None  # the sorts of 1 TB have one
    ]


def grouped(trials: Sequence[TimedTrial]) -> tuple[Group, ...]:
    """Return the groups in the order in which they first appear; trials keep their order."""
    found: dict[Key, list[TimedTrial]] = {}
    for each in trials:
        found.setdefault(each.key, []).append(each)
    return tuple(
        Group(key, tuple(each.id for each in group), tuple(each.elapsed_s for each in group))
        for key, group in found.items()
    )


def joined_on_time_alone(trials: Sequence[TimedTrial]) -> tuple[QueriedBest, ...]:
    """Return the query's row for each group of `trials`, which are in the table's order."""
    groups = grouped(trials)
    with_time: dict[float, list[TimedTrial]] = {}
    for each in trials:
        with_time.setdefault(each.elapsed_s, []).append(each)
    matches: dict[Key, dict[str, tuple[TimedTrial, Key]]] = {group.key: {} for group in groups}
    for group in groups:
        for each in with_time[min(group.elapsed_s)]:
            matches[each.key].setdefault(each.id, (each, group.key))
    shown = []
    for group in groups:
        found = matches[group.key]
        first, matched = next(iter(found.values()))
        minimum_s = min(group.elapsed_s)
        shown.append(
            QueriedBest(group.key, first.id, first.elapsed_s, minimum_s, matched, tuple(found))
        )
    return tuple(shown)


def cost_usd(key: Key, elapsed_s: float) -> float:
    """Return the cost of a trial with this network and these disks, by ALOJA's prices."""
    network, disks = map(str, key)
    return (NETWORK_USD[network] + DISKS_USD[disks]) * elapsed_s / 3600


def ranks(shown: Sequence[QueriedBest]) -> dict[Key, int]:
    """Return ALOJA's rank of each group: by cost x time of the trial that the query shows."""
    order = sorted(shown, key=lambda one: cost_usd(one.key, one.elapsed_s) * one.elapsed_s)
    return {one.key: rank for rank, one in enumerate(order, start=1)}


def cents(usd: float) -> str:
    """Return an amount as the table prints it."""
    return str(Decimal(f"{usd:.9f}").quantize(Decimal("0.01"), rounding=ROUND_HALF_UP))


def printed() -> dict[Key, dict[str, str]]:
    """Return the rows of Table 2 as it was printed, by network and disks."""
    with PRINTED.open(encoding="utf-8", newline="") as file:
        return {
            (row["configuration.net"], row["configuration.disk"]): row
            for row in csv.DictReader(file)
            if row["place"] == "Table 2"
        }


def section(path: Path) -> str:
    """Return the comparison of Table 2 with its query and with the fastest trials, in Markdown."""
    trials = terasorts(path)
    table, sizes = printed(), {group.key: len(group.ids) for group in grouped(trials)}
    shown = joined_on_time_alone(trials)
    rank_of = ranks(shown)
    lines = [_HEAD, ["---"] * len(_HEAD)]
    for one in sorted(shown, key=lambda one: cost_usd(one.key, one.elapsed_s)):
        row = table.get(one.key)
        lines.append(
            (
                str(rank_of[one.key]),
                " ".join(map(str, one.key)),
                str(sizes[one.key]),
                row["elapsed_s"] if row else "-",
                f"{one.elapsed_s:g}",
                f"{one.minimum_s:g}",
                cents(float(row["cost_usd"])) if row else "-",
                cents(cost_usd(one.key, one.elapsed_s)),
                f"{cost_usd(one.key, one.minimum_s):.3f}",
                "**wrong**" if one.wrong else "right",
            )
        )
    wrong = sum(one.wrong for one in shown)
    return (
        f"{len(trials)} trials in {len(shown)} groups, in the order of the query's cost. "
        f"{wrong} rows are wrong.\n\n" + "".join(f"| {' | '.join(line)} |\n" for line in lines)
    )


def main(arguments: Sequence[str]) -> int:
    """Write the section; exit status 0."""
    (path,) = map(Path, arguments)
    text, count = _BETWEEN.subn(
        lambda found: f"{found[1]}\n{section(path)}\n{found[2]}", PAGE.read_text(encoding="utf-8")
    )
    if count != 1:
        raise SystemExit(f"{PAGE} does not have both comments for Table 2 exactly once")
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
