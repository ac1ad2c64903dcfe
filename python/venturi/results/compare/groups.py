"""Repeat groups, the cost of each trial, and the fastest trial of each group.

A value belongs to its group by the group's full key and to its trial by the trial's id; nothing is
ever looked up by its value.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol

import numpy as np

from venturi.core.errors import VenturiError
from venturi.core.statistics.stats import Missing
from venturi.machines.cost.price import Tariff, metered

KeyValue = str | int | float | bool | datetime | None
Key = tuple[KeyValue, ...]


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


class GroupTimes(Protocol):
    """A query's answer for one group: the values of its keys, and the kept trials' times."""

    @property
    def values(self) -> Key: ...
    @property
    def elapsed_s(self) -> Sequence[float]: ...


def groups_from(found: Iterable[GroupTimes]) -> tuple[Group, ...]:
    """Convert groups of a query, such as `record.query.group_by`; these have no ids.

    A duplicate key is rejected: its trials would be split over two groups.
    """
    groups: dict[Key, Group] = {}
    for one in found:
        if one.values in groups:
            raise VenturiError(
                "VEN-COMPARE-GROUPS",
                f"the group {one.values} is given twice",
                where={"value": one.values},
                hint="group by the same keys that you pass on",
            )
        for seconds in one.elapsed_s:
            if not (math.isfinite(seconds) and seconds > 0):
                raise VenturiError(
                    "VEN-MODEL-INPUT",
                    f"a trial of group {one.values} took {seconds} s",
                    where={"field": "elapsed_s", "value": seconds},
                    hint="leave out trials without a time",
                )
        groups[one.values] = Group(one.values, (), tuple(one.elapsed_s))
    return tuple(groups.values())


def with_cost(group: Group, tariff: Tariff, nodes: float = 1) -> Group:
    """`group` with the metered cost of each trial on `nodes` nodes: N T/3600 x price per hour."""
    cost = metered(tariff, np.asarray(group.elapsed_s, dtype=np.float64), nodes)
    return replace(group, cost=tuple(cost.tolist()), currency=tariff.currency)


@dataclass(frozen=True, slots=True)
class BestTrial:
    """The fastest trial of a group of `n`: its id (None: not known), time and cost, if priced."""

    key: Key
    id: str | None
    elapsed_s: float
    cost: float | None
    currency: str | None
    n: int


def best_of(group: Group) -> BestTrial | Missing:
    """The fastest trial of `group` (among equal ones the first), or the reason for its absence.

    The minimum of n is not an estimate: it falls as n grows, so the group with more measurements
    looks faster. Use it to find a trial, and medians to compare groups.
    """
    if not group.elapsed_s:
        return Missing("the group has no kept trial")
    index = min(range(len(group.elapsed_s)), key=group.elapsed_s.__getitem__)
    return BestTrial(
        group.key,
        group.ids[index] if group.ids else None,
        group.elapsed_s[index],
        None if group.cost is None else group.cost[index],
        group.currency,
        len(group.elapsed_s),
    )
