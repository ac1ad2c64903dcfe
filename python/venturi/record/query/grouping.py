"""Trials grouped by the values of keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from venturi.core.errors import UsageError
from venturi.record.query.columns import Column, combined, read
from venturi.record.query.conditions import COLUMNS, Value, at_most
from venturi.record.query.selection import Query, publisher, rules_for, where
from venturi.record.store.repository import TrialRepository
from venturi.record.trial import State

GROUP_KEYS_MAX = 8
GROUPS_MAX = 10_000


@dataclass(frozen=True, slots=True)
class GroupRow:
    """The trials with the same `values` of the requested keys (None: missing).

    `n` counts them all, `by_state` by their state; `elapsed_s` are the sorted times of those that
    succeeded and are no warm-ups.
    """

    values: tuple[Value | None, ...]
    n: int
    by_state: Mapping[str, int]
    elapsed_s: tuple[float, ...]


class TooManyGroupsError(UsageError):
    """More groups than the limit; `count` of them, or more."""

    def __init__(self, count: int) -> None:
        super().__init__(
            "VEN-QUERY-VALUE",
            f"{count:,} groups or more; at most {GROUPS_MAX:,} are possible",
            where={"field": "groups"},
            hint="group by fewer keys, or narrow the selection",
        )


def group_by(repository: TrialRepository, query: Query, keys: Sequence[str]) -> list[GroupRow]:
    """The trials of `query`, grouped by `keys` (at most 8); the biggest groups come first.

    More than 10,000 groups are an error (`TooManyGroupsError`, VEN-QUERY-VALUE).
    """
    at_most("keys to group by", len(keys), GROUP_KEYS_MAX)

    def check(key: str, column: Column) -> None:
        if key in keys:
            _check(len(column.values))

    with repository.reading() as connection:
        chosen = where(query.conditions, rules_for(connection, query))
        columns = read(connection, chosen, (*keys, "elapsed_s", "state", "warm_up"), check)
    return group_rows(columns, keys)


def _check(count: int) -> None:
    if count > GROUPS_MAX:
        raise TooManyGroupsError(count)


def group_rows(columns: Mapping[str, Column], keys: Sequence[str]) -> list[GroupRow]:
    """Group the trials in `columns` by `keys`, with their outcomes; the biggest group comes first.

    More than 10,000 are an error (`TooManyGroupsError`, VEN-QUERY-VALUE).
    """
    if not len(columns["state"].codes):
        return []
    chosen = [columns[key] for key in keys]
    elapsed, state, warm_up = (columns[key] for key in ("elapsed_s", "state", "warm_up"))
    times = np.array(elapsed.values, dtype=np.float64)[elapsed.codes]  # None: nan
    group, first = combined(chosen, len(times))
    _check(len(first))
    kept = np.array([value == State.SUCCEEDED for value in state.values])[state.codes]
    kept &= ~np.array(warm_up.values, dtype=bool)[warm_up.codes] & ~np.isnan(times)
    times, of = times[kept], group[kept]
    ordered = times[np.lexsort((times, of))].tolist()
    ends = np.cumsum(np.bincount(of, minlength=len(first))).tolist()
    # How many trials of each group have which state.
    size = len(first), len(state.values)
    counts = np.bincount(group * size[1] + state.codes, minlength=size[0] * size[1])
    shown = [
        [show(column.values[code]) for code in column.codes[first].tolist()]
        for show, column in zip(map(publisher, map(COLUMNS.get, keys)), chosen, strict=True)
    ]
    values = list(zip(*shown, strict=True)) if shown else [()]
    groups = [
        GroupRow(
            key,
            sum(of_state),
            {name: n for name, n in zip(state.values, of_state, strict=True) if n},
            tuple(ordered[begin:end]),
        )
        for key, of_state, begin, end in zip(
            values, counts.reshape(size).tolist(), [0, *ends[:-1]], ends, strict=True
        )
    ]
    return sorted(groups, key=lambda group: (-group.n, str(group.values)))
