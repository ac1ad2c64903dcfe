"""Trials in columns, their repeat groups, what each trial cost, and the fastest of each group.

These work on plain columns, so that what a repository's query returns, a CSV file or a list of
trials can all be fed in. A value belongs to its group by the group's full key and to its trial by
the trial's id; nothing is ever looked up by its value.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import repeat
from typing import Protocol

import numpy as np

from venturi.core.errors import VenturiError
from venturi.core.statistics.stats import Missing
from venturi.machines.cost.price import Tariff, metered

KeyValue = str | int | float | bool | datetime | None
Key = tuple[KeyValue, ...]


@dataclass(frozen=True, slots=True)
class Columns:
    """Succeeded trials, one entry each in all columns, in the order in which they were stored.

    `keys` holds what was chosen for each trial, by which it is grouped: all of it, in one order.
    """

    ids: tuple[str, ...]
    keys: tuple[Key, ...]
    elapsed_s: tuple[float, ...]

    def __post_init__(self) -> None:
        if not len(self.ids) == len(self.keys) == len(self.elapsed_s):
            raise VenturiError(
                "VEN-MODEL-INPUT",
                f"columns of {len(self.ids)} ids, {len(self.keys)} keys and "
                f"{len(self.elapsed_s)} times",
                hint="give one of each for every trial",
            )
        if len({len(key) for key in self.keys}) > 1:
            raise VenturiError(
                "VEN-MODEL-INPUT",
                "group keys with different numbers of parts",
                hint="give every trial a value, or None, for everything that is grouped by",
            )
        _check_times(self.ids, self.elapsed_s)


@dataclass(frozen=True, slots=True)
class Group:
    """A repeat group: its full key, and of each kept trial id, time and, once priced, cost.

    `ids` is empty where they are not known; then nothing is known of the trials' order. `cost` is
    an amount of `currency` for each trial. `warm_ups_s` are the times of the trials that were
    discarded as warm-ups: they count for nothing, but stay visible.
    """

    key: Key
    ids: tuple[str, ...]
    elapsed_s: tuple[float, ...]
    cost: tuple[float, ...] | None = None
    currency: str | None = None
    warm_ups_s: tuple[float, ...] = ()

    @property
    def label(self) -> str:
        """The key for people."""
        return " ".join("-" if part is None else str(part) for part in self.key)


def _check_times(ids: Iterable[str], elapsed_s: Sequence[float]) -> None:
    if all(map(math.isfinite, elapsed_s)) and min(elapsed_s, default=1) > 0:
        return
    for trial, seconds in zip(ids, elapsed_s, strict=True):
        if not (math.isfinite(seconds) and seconds > 0):
            raise VenturiError(
                "VEN-MODEL-INPUT",
                f"trial {trial} took {seconds} s",
                where={"trial": trial, "field": "elapsed_s", "value": seconds},
                hint="leave out trials without a time",
            )


def group_columns(columns: Columns) -> tuple[Group, ...]:
    """The groups of `columns`, in the order in which they first appear; trials keep their order."""
    rows: dict[Key, list[int]] = {}
    for index, key in enumerate(columns.keys):
        rows.setdefault(key, []).append(index)
    return tuple(
        Group(
            key,
            tuple(columns.ids[index] for index in indices),
            tuple(columns.elapsed_s[index] for index in indices),
        )
        for key, indices in rows.items()
    )


class Grouped(Protocol):
    """What a query answers for one group: the values of its keys, and the kept trials' times."""

    @property
    def values(self) -> Key: ...
    @property
    def elapsed_s(self) -> Sequence[float]: ...


def groups_from(found: Iterable[Grouped]) -> tuple[Group, ...]:
    """Groups from what a query has grouped already, such as `record.query.group_by`: without ids.

    A key that comes twice is refused: its trials would be split over two groups.
    """
    groups: dict[Key, Group] = {}
    for one in found:
        if one.values in groups:
            raise VenturiError(
                "VEN-COMPARE-GROUPS",
                f"the group {one.values} comes twice",
                where={"value": one.values},
                hint="group by the same keys that are passed on",
            )
        _check_times(repeat(f"of group {one.values}", len(one.elapsed_s)), one.elapsed_s)
        groups[one.values] = Group(one.values, (), tuple(one.elapsed_s))
    return tuple(groups.values())


def with_cost(group: Group, tariff: Tariff, nodes: float = 1) -> Group:
    """`group` with the metered cost of each trial on `nodes` nodes: N T/3600 x price per hour."""
    cost = metered(tariff, np.asarray(group.elapsed_s, dtype=np.float64), nodes)
    return replace(group, cost=tuple(cost.tolist()), currency=tariff.currency)


@dataclass(frozen=True, slots=True)
class Best:
    """The fastest trial of a group of `n`: its id (None: not known), time and cost, if priced."""

    key: Key
    id: str | None
    elapsed_s: float
    cost: float | None
    currency: str | None
    n: int


def best_of(group: Group) -> Best | Missing:
    """The fastest trial of `group` (of several equal ones the first), or why there is none.

    The minimum of n is no estimate of what one can expect: it falls as n grows, so that whoever
    measures oftener looks faster. It is for finding a trial; medians are for comparing.
    """
    if not group.elapsed_s:
        return Missing("the group has no kept trial")
    index = min(range(len(group.elapsed_s)), key=group.elapsed_s.__getitem__)
    return Best(
        group.key,
        group.ids[index] if group.ids else None,
        group.elapsed_s[index],
        None if group.cost is None else group.cost[index],
        group.currency,
        len(group.elapsed_s),
    )
