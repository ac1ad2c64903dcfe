"""How ALOJA found "the best run of each configuration": wrong, and kept to show that it is.

Its query takes the minimum time of every group and joins the trials to those minima on the time
alone. A trial whose time happens to equal the minimum of *another* group matches as well; of the
several trials that then match in a group, MySQL keeps the first that it comes across. Venturi never
answers a question this way: see `groups.best_of`, and docs/method/comparing-costs.md.

The one assumption: MySQL comes across the minima in the order in which their groups first appear
in the table. It builds the groups in a temporary table as their rows arrive and, as the query has
an ORDER BY of its own (the cluster's name, here always the same), does not sort them by group. SQL
promises no order, so that another version or plan may answer differently.
"""

from __future__ import annotations

from dataclasses import dataclass

from venturi.results.compare.groups import Columns, Key, group_columns


@dataclass(frozen=True, slots=True)
class LegacyBest:
    """The trial that the query shows as the best of a group.

    `matched` is the key of the group whose minimum let the trial in, `minimum_s` the true minimum
    of the trial's own group, `candidates` the ids of all trials of the group that matched.
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


def joined_on_time_alone(columns: Columns) -> tuple[LegacyBest, ...]:
    """What the query shows for each group of `columns`, whose order is that of the table."""
    groups = group_columns(columns)
    rows_with: dict[float, list[int]] = {}
    for index, seconds in enumerate(columns.elapsed_s):
        rows_with.setdefault(seconds, []).append(index)
    matches: dict[Key, dict[int, Key]] = {group.key: {} for group in groups}
    for group in groups:
        for index in rows_with[min(group.elapsed_s)]:
            matches[columns.keys[index]].setdefault(index, group.key)
    shown = []
    for group in groups:
        found = matches[group.key]
        first = next(iter(found))
        shown.append(
            LegacyBest(
                key=group.key,
                id=columns.ids[first],
                elapsed_s=columns.elapsed_s[first],
                minimum_s=min(group.elapsed_s),
                matched=found[first],
                candidates=tuple(columns.ids[index] for index in found),
            )
        )
    return tuple(shown)
