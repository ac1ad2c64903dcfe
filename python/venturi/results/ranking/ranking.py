"""Ranks many groups by a named objective, and finds those that are statistically tied with the
best.

The promise: whichever group is truly best, the chance that it is called worse is at most `alpha`.
So the groups that are not called worse hold the best one with a chance of at least 1 - alpha. That
is a subset selection (Gupta 1965) by comparisons with the best (Hsu 1984), made with the test of
two groups (`two_groups`) instead of normal means, as times are skewed and differ in spread.

Why it holds. A group is called worse only if a one-sided test at alpha/(k-1) finds it higher than
the group with the lowest median. For the truly best group each of the k-1 others passes that test
with a chance of at most alpha/(k-1), so that any does, the one with the lowest median too, with at
most alpha (Bonferroni). It needs no common shape or spread; "best" means that in pairs with any
other group its value is the lower one at least as often as not.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

import numpy as np

from venturi.core.domain import invalid
from venturi.core.errors import VenturiError
from venturi.core.statistics.stats import (
    ALPHA,
    MEDIAN_LEVEL,
    Missing,
    Summary,
    summarise,
)
from venturi.core.statistics.two_groups import (
    ComparisonOutcome,
    Verdict,
    compare_samples,
    least_p,
    p_value,
)
from venturi.core.wording import count_of
from venturi.machines.cost.price import one_currency
from venturi.results.compare.groups import Group, Key

LEAST_TRIALS = 5  # the default protocol keeps 5 of 6; the fewest that bound a median at 90 %


class Objective(StrEnum):
    """The meaning of "best"; low is good in all."""

    TIME = "time"
    COST = "cost"
    COST_TIME = "cost x time"
    PARETO = "time and cost"


class Axis(StrEnum):
    """A quantity of a trial that an objective looks at."""

    ELAPSED_S = "elapsed_s"
    COST = "cost"
    COST_TIME = "cost x elapsed_s"


AXES: Mapping[Objective, tuple[Axis, ...]] = MappingProxyType(
    {
        Objective.TIME: (Axis.ELAPSED_S,),
        Objective.COST: (Axis.COST,),
        Objective.COST_TIME: (Axis.COST_TIME,),
        Objective.PARETO: (Axis.ELAPSED_S, Axis.COST),
    }
)


class Rank(StrEnum):
    """How a group stands to the best."""

    BEST = "best"
    TIED = "tied"
    WORSE = "worse"
    CANNOT_TELL = "cannot tell"


@dataclass(frozen=True, slots=True)
class GroupRank:
    """One group's place.

    `rank` is 1 + how many ranked groups have a lower median (Pareto: lower or equal in both, lower
    in one); equal medians share a rank. None where the group is not ranked, as `reason` says.
    `summaries` has the objective's axes in their units. `against` is the best group that it was
    compared with, `verdicts` the comparison on each axis; both empty without a comparison.
    """

    key: Key
    rank: int | None
    standing: Rank
    reason: str | None
    summaries: Mapping[Axis, Summary]
    against: Key | None = None
    verdicts: Mapping[Axis, Verdict] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Ranking:
    """Groups in order of rank; those that are not ranked come last.

    `alpha` is the chance of calling the truly best group worse, `each_alpha` that of each
    comparison. `currency` is None where no cost is looked at.
    """

    objective: Objective
    alpha: float
    each_alpha: float
    currency: str | None
    groups: tuple[GroupRank, ...]

    @property
    def tie(self) -> tuple[GroupRank, ...]:
        """The best by its median, and those that are statistically tied with it."""
        named = (Rank.BEST, Rank.TIED)
        return tuple(one for one in self.groups if one.standing in named)


@dataclass(frozen=True, slots=True)
class _GroupEntry:
    group: Group
    values: Mapping[Axis, tuple[float, ...]]
    summaries: Mapping[Axis, Summary]
    medians: tuple[float, ...]


def values_of(group: Group, axis: Axis) -> tuple[float, ...] | Missing:
    """The kept trials' values of `axis`: seconds, an amount of the currency, or their product."""
    if axis is Axis.ELAPSED_S:
        return group.elapsed_s
    if group.cost is None:
        return Missing("the group has no price")
    if axis is Axis.COST:
        return group.cost
    return tuple((np.asarray(group.cost) * np.asarray(group.elapsed_s)).tolist())


def rank_groups(
    groups: Sequence[Group],
    objective: Objective,
    alpha: float = ALPHA,
    level: float = MEDIAN_LEVEL,
) -> Ranking:
    """`groups` by `objective`, with the tie at the top; `level` is that of the medians' intervals.

    Groups with fewer than five kept trials or without a price, where one is needed, are not ranked
    and take no part. For Pareto, "best" is the frontier of the medians, and a group is worse only
    if one and the same group of the frontier is lower than it in time and in cost, each by the
    test; the promise then holds for every group that is truly on the frontier.
    """
    if not 0 < alpha < 1:
        raise invalid("alpha", alpha, "between 0 and 1")
    if len({group.key for group in groups}) < len(groups):
        raise VenturiError(
            "VEN-COMPARE-GROUPS",
            "the same group is given twice",
            hint="give each group once, with its full key",
        )
    entries: list[_GroupEntry] = []
    unranked: list[GroupRank] = []
    for group in groups:
        found = _entry(group, objective, level)
        if isinstance(found, _GroupEntry):
            entries.append(found)
        else:
            unranked.append(found)
    entries.sort(key=lambda entry: (entry.medians, repr(entry.group.key)))
    each_alpha = alpha / max(1, len(entries) - 1)
    # lower[i, j]: by its medians, group j is nowhere above group i and somewhere below it.
    medians = np.array([entry.medians for entry in entries])
    medians = medians.reshape(len(entries), len(AXES[objective]))
    here, there = medians[:, np.newaxis], medians[np.newaxis]
    lower = np.all(there <= here, axis=2) & np.any(there < here, axis=2)
    front = ~np.any(lower, axis=1)
    ranked = [
        _standing(
            entry,
            1 + int(lower[index].sum()),
            [entries[best] for best in np.flatnonzero(lower[index] & front)],
            each_alpha,
        )
        for index, entry in enumerate(entries)
    ]
    ranked.sort(key=lambda one: one.rank or 0)  # stable: by median within a rank
    unranked.sort(key=lambda one: (_medians(one), repr(one.key)))
    needs_cost = objective is not Objective.TIME and bool(entries)
    currency = one_currency(e.group.currency or "" for e in entries) if needs_cost else None
    return Ranking(objective, alpha, each_alpha, currency, (*ranked, *unranked))


def _medians(one: GroupRank) -> tuple[float, ...]:
    """Sort key for unranked groups; unknown medians come last."""
    medians = (summary.median for summary in one.summaries.values())
    return tuple(math.inf if median is None else median for median in medians)


def _entry(group: Group, objective: Objective, level: float) -> _GroupEntry | GroupRank:
    """The values of `group` to rank, or why it can't be ranked."""
    values: dict[Axis, tuple[float, ...]] = {}
    summaries: dict[Axis, Summary] = {}
    reason = None
    for axis in AXES[objective]:
        found = values_of(group, axis)
        if isinstance(found, Missing):
            reason = found.reason
            continue
        values[axis] = found
        summaries[axis] = summarise(found, level)
    n = len(group.elapsed_s)
    if n < LEAST_TRIALS:
        reason = f"{count_of(n, 'kept trial')}; a place needs at least {LEAST_TRIALS}"
    if reason:
        return GroupRank(group.key, None, Rank.CANNOT_TELL, reason, summaries)
    medians = tuple(s.median for s in summaries.values() if s.median is not None)
    return _GroupEntry(group, values, summaries, medians)


def _standing(
    entry: _GroupEntry, rank: int, above: Sequence[_GroupEntry], each_alpha: float
) -> GroupRank:
    """How `entry` stands to the best groups `above` it."""
    if not above:
        return GroupRank(entry.group.key, rank, Rank.BEST, None, entry.summaries)
    n = len(entry.group.elapsed_s)
    told = [best for best in above if least_p(n, len(best.group.elapsed_s)) / 2 <= each_alpha]
    if not told:
        reason = (
            f"too few trials: {n} against {len(above[-1].group.elapsed_s)} cannot reach "
            f"p = {each_alpha:.2g}, however large the difference"
        )
        return GroupRank(
            entry.group.key, rank, Rank.CANNOT_TELL, reason, entry.summaries, above[-1].group.key
        )
    # One-sided at each_alpha is two-sided at twice that, if the difference is upwards.
    alpha = min(2 * each_alpha, 0.999)
    standing, best = Rank.TIED, told[0]
    for one in told:
        near = any(p_value(one.values[axis], of) > alpha for axis, of in entry.values.items())
        if not near and _all_higher(verdicts := _verdicts(entry, one, alpha)):
            standing, best = Rank.WORSE, one
            break
    else:
        verdicts = _verdicts(entry, best, alpha)
    why = next(
        (
            verdict.reason or "it has the higher median, but more low values"
            for verdict in verdicts.values()
            if verdict.outcome is not ComparisonOutcome.HIGHER
        ),
        None if standing is Rank.WORSE else "the difference is at the limit of significance",
    )
    return GroupRank(
        entry.group.key, rank, standing, why, entry.summaries, best.group.key, verdicts
    )


def _verdicts(entry: _GroupEntry, best: _GroupEntry, alpha: float) -> dict[Axis, Verdict]:
    return {
        axis: compare_samples(best.values[axis], values, alpha)
        for axis, values in entry.values.items()
    }


def _all_higher(verdicts: Mapping[Axis, Verdict]) -> bool:
    return all(verdict.outcome is ComparisonOutcome.HIGHER for verdict in verdicts.values())
