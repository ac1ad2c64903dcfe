"""Ranks groups all else being equal: each against one of them in the settings that both have.

A ranking of all trials shows which group happened to be measured in easy settings. So trials are
divided into strata (`strata`), and a group is compared with the *reference* over the strata that
have both. The reference is the group that seems best among those that share strata with most
others. Groups that share none with it form another *set* with another reference. Sets can't be
compared; only the keys by which they differ are shown.

The promise is that of `ranking`: in each set of k groups, the truly best one is called worse with a
chance of at most alpha, because each of k - 1 one-sided comparisons has alpha/(k - 1). The
reference may be any of the groups.

Not being called worse means little if there is little data: a group with no interval, or with one
that spans more than a factor of `WIDEST`, has no place (`Rank.CANNOT_TELL`) unless it is found
worse.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from venturi.core.statistics.stats import ALPHA, Interval
from venturi.core.statistics.two_groups import ComparisonOutcome, compare_samples
from venturi.core.wording import count_of
from venturi.record.query.columns import combined
from venturi.record.query.trial_columns import DISK_FOLDERS, HOST_NAMES
from venturi.results.compare.groups import Key
from venturi.results.effects.linked_keys import linked_keys, other_names
from venturi.results.effects.strata import (
    WIDEST,
    MatchedStrata,
    SucceededTrials,
    equivalent_keys,
    match,
    pooled,
    strata_of,
)
from venturi.results.ranking.ranking import AXES, Axis, Objective, Rank

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

APART_LEAST, APART_SHOWN = 0.5, 3
ONCE = "one matched setting only"


@dataclass(frozen=True, slots=True)
class MatchedRank:
    """One group's place in its set.

    `ratio` is of its values to those of the set's `base`, with `interval` at the level of the
    comparison; None of a group alone in its set. `strata` is the number of settings that it shares
    with the set's reference. `rank` is None where the standing is "cannot tell", and such groups
    are last.
    """

    key: Key
    rank: int | None
    standing: Rank
    reason: str | None
    n: int
    strata: int
    ratio: float | None
    interval: Interval | None


@dataclass(frozen=True, slots=True)
class MatchedSet:
    """Groups that share settings with the `reference`; `places` in order, the best first.

    Ratios are to the `base`: the reference, or the best group if the reference is worse.
    """

    reference: Key
    each_alpha: float
    places: tuple[MatchedRank, ...]
    base: Key

    def only_once(self, place: MatchedRank) -> bool:
        """Whether a group shares only one setting with the reference."""
        return place.strata == 1 and place.key != self.reference


@dataclass(frozen=True, slots=True)
class MatchedRanking:
    """Groups ranked all else being equal, in sets that can't be compared with each other.

    `equal` are the keys that were held equal, `apart` those by which the first set differs most
    from the others.
    """

    objective: Objective
    alpha: float
    sets: tuple[MatchedSet, ...]
    equal: tuple[str, ...]
    apart: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _GroupedTrials:
    """Trials by their `stratum` and the number of their group (`target`), an index of `values`;
    `axes` have the logarithms of the ranked quantities.
    """

    stratum: Integers
    target: Integers
    axes: Mapping[Axis, Floats]
    values: Sequence[Key]

    def within(self, members: Sequence[int]) -> _GroupedTrials:
        """The trials of some groups."""
        inside = np.isin(self.target, members)
        axes = {axis: logs[inside] for axis, logs in self.axes.items()}
        return _GroupedTrials(self.stratum[inside], self.target[inside], axes, self.values)


@dataclass(frozen=True, slots=True)
class _MatchedPair:
    """A group against another over the strata of both; `worse`: the one-sided test says so.
    `evidence` describes the data in words.
    """

    strata: int
    ratio: float
    interval: Interval | None
    evidence: str
    worse: bool

    @property
    def known(self) -> bool:
        """Whether the interval is narrow enough to say that the group may be the best."""
        return self.interval is not None and self.interval.high <= WIDEST * self.interval.low


def other_and_linked_keys(
    trials: SucceededTrials, keys: Sequence[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The keys in which trials differ besides `keys` and their synonyms: those to hold equal, and
    those that change only together with `keys`.
    """
    target, _ = combined([trials.columns[key] for key in keys], len(trials.logs))
    same = {*keys, *other_names(keys, trials.columns)}
    others = {key: column for key, column in trials.columns.items() if key not in same}
    along = linked_keys(keys, target, others)
    varies = [key for key, c in others.items() if len(c.codes) and (c.codes != c.codes[0]).any()]
    told = along - {HOST_NAMES, DISK_FOLDERS}
    return tuple(k for k in varies if k not in along), tuple(k for k in varies if k in told)


def rank_matched(
    trials: SucceededTrials,
    keys: Sequence[str],
    equal: tuple[str, ...],
    objective: Objective,
    rates: Floats | None = None,
    *,
    alpha: float = ALPHA,
) -> MatchedRanking:
    """Rank the groups of `trials` by `keys` over settings with equal values of the keys `equal`.

    `equal` is the first of `other_and_linked_keys`. `rates` is each trial's price per hour, of the
    whole cluster: all objectives but time need it.
    """
    columns = [trials.columns[key] for key in keys]
    target, first = combined(columns, len(trials.logs))
    values: list[Key] = [
        tuple(column.values[int(column.codes[place])] for column in columns) for place in first
    ]
    stratum = strata_of([trials.columns[key] for key in equal], len(target))
    table = _GroupedTrials(stratum, target, _axes(trials.logs, objective, rates), values)
    sets = _sets(table, alpha)
    apart: tuple[str, ...] = ()
    if len(sets) > 1:
        largest = {place.key for place in sets[0].places}
        apart = _apart(trials, equal, np.array([key in largest for key in values])[target])
    return MatchedRanking(objective, alpha, tuple(sets), equal, apart)


def _axes(logs: Floats, objective: Objective, rates: Floats | None) -> dict[Axis, Floats]:
    price = np.zeros(len(logs)) if rates is None else np.log(rates)
    every = {Axis.ELAPSED_S: logs, Axis.COST: logs + price, Axis.COST_TIME: 2 * logs + price}
    return {axis: every[axis] for axis in AXES[objective]}


def _connected(table: _GroupedTrials) -> list[list[int]]:
    """Groups joined by strata that hold several of them, directly or by way of others."""
    shared = _strata_shared(table)
    found: list[list[int]] = []
    left = set(shared)
    while left:
        members, new = set[int](), {min(left)}
        while new:
            members |= new
            new = set[int]().union(*(shared[group] for group in new)) - members
        left -= members
        found.append(sorted(members))
    return found


def _sets(table: _GroupedTrials, alpha: float) -> list[MatchedSet]:
    """All groups, in sets of those that share strata with one of them, the reference."""
    made, left = [], _connected(table)
    while left:
        members = left.pop(0)
        within = table.within(members)
        one = _set_of(within, members, alpha)
        made.append(one)
        told = {place.key for place in one.places}
        rest = [group for group in members if table.values[group] not in told]
        if rest:
            left += _connected(table.within(rest))
    return sorted(made, key=lambda each: (-len(each.places), -sum(p.n for p in each.places)))


def _set_of(table: _GroupedTrials, members: Sequence[int], alpha: float) -> MatchedSet:
    """The reference among connected groups, with the groups that share strata with it.

    Candidates share strata with most others. The best-looking one with known comparisons to half of
    its groups is chosen; else the one with the most known comparisons.
    """
    if len(members) == 1:
        return _ranked(table, members, members[0], alpha)
    estimate = _estimated(table, next(iter(table.axes.values())), members)
    shared = _strata_shared(table)
    able = [g for g in members if len(shared[g]) * 2 >= max(map(len, shared.values()))]
    most, chosen = -1, None
    for reference in sorted(able, key=lambda group: estimate[group]):
        inside = sorted({reference, *shared[reference]})
        one = _ranked(table.within(inside), inside, reference, alpha)
        known = sum(place.standing is not Rank.CANNOT_TELL for place in one.places)
        if known > most:
            most, chosen = known, one
        if known * 2 >= len(one.places):
            break
    assert chosen is not None
    return chosen


def _strata_shared(table: _GroupedTrials) -> dict[int, set[int]]:
    """For each group the others that share a stratum with it."""
    stratum, target = np.divmod(
        np.unique(table.stratum * len(table.values) + table.target), len(table.values)
    )
    groups, ends = target.tolist(), (np.flatnonzero(np.diff(stratum)) + 1).tolist()
    held: dict[int, set[int]] = {}
    for members in {tuple(groups[a:b]) for a, b in pairwise([0, *ends, len(groups)])}:
        for group in members:
            held.setdefault(group, set()).update(members)
    return {group: others - {group} for group, others in held.items()}


def _ranked(
    table: _GroupedTrials, members: Sequence[int], reference: int, alpha: float
) -> MatchedSet:
    """The places of groups each of which shares strata with the `reference`."""
    counts = np.bincount(table.target, minlength=len(table.values))
    name = table.values[reference]
    if len(members) == 1:
        reason = "no other group was measured in the same settings"
        n = int(counts[reference])
        alone = MatchedRank(name, None, Rank.CANNOT_TELL, reason, n, 0, None, None)
        return MatchedSet(name, alpha, (alone,), name)
    each_alpha = alpha / (len(members) - 1)
    axis = next(iter(table.axes.values()))
    found = _against(table, axis, reference, each_alpha)
    places = [MatchedRank(name, None, Rank.TIED, None, int(counts[reference]), 0, 1.0, None)]
    groups = [reference, *(group for group in members if group != reference)]
    places += [_place(table.values[g], int(counts[g]), found[g]) for g in groups[1:]]
    if all(place.standing is Rank.CANNOT_TELL for place in places[1:]):
        reason = "too few settings with any other group"
        places[0] = replace(places[0], standing=Rank.CANNOT_TELL, reason=reason)
    if len(table.axes) > 1:
        told = _on_frontier(table, members, dict(zip(groups, places, strict=True)), each_alpha)
    else:
        told = _in_order(places)
    told.sort(key=lambda place: (place.rank is None, place.rank or place.ratio, repr(place.key)))
    told = _once_noted(told)
    of_reference = next(place.standing for place in told if place.key == name)
    if of_reference is not Rank.WORSE or len(table.axes) > 1:
        return MatchedSet(name, each_alpha, tuple(told), name)
    based = tuple(_based_on(told[0], place) for place in told)
    return MatchedSet(name, each_alpha, based, told[0].key)


def _once_noted(places: Sequence[MatchedRank]) -> list[MatchedRank]:
    """`places` with a reason where a tie rests on one setting, and others on more."""
    if not any(place.standing is Rank.TIED and place.strata > 1 for place in places):
        return list(places)
    return [
        replace(place, reason=ONCE) if place.standing is Rank.TIED and place.strata == 1 else place
        for place in places
    ]


def _based_on(best: MatchedRank, place: MatchedRank) -> MatchedRank:
    """`place` with its ratio to `best` by way of the reference of both.

    The interval adds the distances from the estimates to their limits as squares of logarithms
    (MOVER, Zou and Donner 2008). The reference has no distance of its own.
    """
    assert best.ratio is not None
    assert place.ratio is not None
    if place.key == best.key:
        return replace(place, ratio=1.0, interval=None)
    ratio, known = place.ratio / best.ratio, place.interval or place.strata == 0
    if best.interval is None or not known:
        return replace(place, ratio=ratio, interval=None)
    own = place.interval or replace(best.interval, low=place.ratio, high=place.ratio)
    if min(own.low, best.interval.low) <= 0:
        return replace(place, ratio=ratio, interval=None)
    down = math.hypot(math.log(place.ratio / own.low), math.log(best.interval.high / best.ratio))
    up = math.hypot(math.log(own.high / place.ratio), math.log(best.ratio / best.interval.low))
    ends = (math.exp(math.log(ratio) + move) for move in (-min(down, 600), min(up, 600)))
    within = replace(own, low=next(ends), high=next(ends))
    return replace(place, ratio=ratio, interval=within)


def _in_order(places: Sequence[MatchedRank]) -> list[MatchedRank]:
    """Ranks by the ratio, the reference first in `places`; without one where too little is known.
    The reference is worse if one of those with a rank is found better."""
    placed = [place for place in places if place.standing is not Rank.CANNOT_TELL]
    if any(place.interval is not None and place.interval.high < 1 for place in placed):
        places = [replace(places[0], standing=Rank.WORSE), *places[1:]]
    ratios = [p.ratio or math.inf for p in places if p.standing is not Rank.CANNOT_TELL]
    told = []
    for place in places:
        rank = 1 + sum(ratio < (place.ratio or math.inf) for ratio in ratios)
        if place.standing is Rank.CANNOT_TELL:
            told.append(place)
        else:
            told.append(
                replace(place, rank=rank, standing=Rank.BEST if rank == 1 else place.standing)
            )
    return told


def _estimated(table: _GroupedTrials, logs: Floats, members: Sequence[int]) -> dict[int, float]:
    """Each group's logarithm against the others', by least squares of stratum + group over the
    medians of all cells: it says which group may be the best, by way of others too."""
    cell = table.stratum * len(table.values) + table.target
    order = np.lexsort((logs, cell))
    cells, start, size = np.unique(cell[order], return_index=True, return_counts=True)
    x = logs[order]
    middle = (x[start + (size - 1) // 2] + x[start + size // 2]) / 2
    place = np.full(len(table.values), -1)
    place[list(members)] = np.arange(len(members))
    _, stratum = np.unique(cells // len(table.values), return_inverse=True)
    group = place[cells % len(table.values)]
    held = np.bincount(stratum)
    mean = np.bincount(stratum, middle) / held
    # The normal equations with the strata taken out: a Laplacian, of which one level is free.
    incidence = np.zeros((len(held), len(members)))
    incidence[stratum, group] = 1
    matrix = np.diag(incidence.sum(axis=0)) - incidence.T @ (incidence / held[:, np.newaxis])
    right = np.bincount(group, middle - mean[stratum], minlength=len(members))
    solved = np.linalg.lstsq(matrix, right, rcond=None)[0]
    return dict(zip(members, solved.tolist(), strict=True))


def _against(
    table: _GroupedTrials, logs: Floats, best: int, each_alpha: float
) -> dict[int, _MatchedPair]:
    """Every group that shares strata with `best`, against it."""
    found = match(table.stratum, table.target, logs, best)
    return {
        int(group): _direct(table, logs, found.of(int(group)), best, each_alpha)
        for group in np.unique(found.value)
    }


def _direct(
    table: _GroupedTrials, logs: Floats, found: MatchedStrata, best: int, each_alpha: float
) -> _MatchedPair:
    """Over several strata the mean of their effects with its t interval; of one the test of two
    groups. One-sided at `each_alpha` is two-sided at twice that, if the difference is upwards."""
    alpha = min(2 * each_alpha, 0.999)
    if len(found.logs) > 1:
        mean = pooled(found.logs, 1 - alpha)
        worse = mean.interval is not None and mean.interval.low > 1
        evidence = count_of(mean.n, "setting")
        return _MatchedPair(mean.n, mean.ratio, mean.interval, evidence, worse)
    here = table.stratum == table.stratum[found.row[0]]
    base, own = (
        np.exp(logs[here & (table.target == group)]).tolist()
        for group in (best, int(found.value[0]))
    )
    verdict = compare_samples(base, own, alpha)
    ratio = math.exp(float(found.logs[0])) if verdict.ratio is None else verdict.ratio
    evidence = f"1 setting, {count_of(len(own), 'trial')} against {len(base)}"
    return _MatchedPair(
        1, ratio, verdict.interval, evidence, verdict.outcome is ComparisonOutcome.HIGHER
    )


def _place(key: Key, n: int, direct: _MatchedPair) -> MatchedRank:
    standing, reason = (Rank.WORSE, None) if direct.worse else (Rank.TIED, None)
    if not direct.worse and not direct.known:
        standing, reason = Rank.CANNOT_TELL, f"{direct.evidence}: too few to tell"
    return MatchedRank(key, None, standing, reason, n, direct.strata, direct.ratio, direct.interval)


def _on_frontier(
    table: _GroupedTrials,
    members: Sequence[int],
    places: Mapping[int, MatchedRank],
    each_alpha: float,
) -> list[MatchedRank]:
    """Standings by time and cost. Best: no other group is estimated to beat it in both. Worse: one
    of the best beats it in both by the test. A group with too little data beats none.
    """
    estimates = [_estimated(table, logs, members) for logs in table.axes.values()]

    def beats(one: int, other: int) -> bool:
        pairs = [(each[one], each[other]) for each in estimates]
        return all(a <= b for a, b in pairs) and any(a < b for a, b in pairs)

    able = [g for g in members if places[g].standing is not Rank.CANNOT_TELL]
    front = [g for g in able if not any(beats(other, g) for other in able)]
    against = {
        best: [_against(table, logs, best, each_alpha) for logs in table.axes.values()]
        for best in front
    }
    made = []
    for group, place in places.items():
        above = [best for best in front if beats(best, group)]
        shared = [best for best in above if all(group in one for one in against[best])]
        standing, reason = Rank.TIED, None
        if group in front:
            standing = Rank.BEST
        elif any(all(one[group].worse for one in against[best]) for best in shared):
            standing = Rank.WORSE
        elif group not in able or not any(
            one[group].known for best in shared for one in against[best]
        ):
            standing, reason = Rank.CANNOT_TELL, place.reason or "too few settings with the best"
        rank = None
        if standing is not Rank.CANNOT_TELL:
            rank = 1 + sum(beats(other, group) for other in able)
        made.append(replace(place, rank=rank, standing=standing, reason=reason))
    return made


def _apart(
    trials: SucceededTrials, equal: Sequence[str], inside: npt.NDArray[np.bool_]
) -> tuple[str, ...]:
    """The keys by which the trials of the first set differ most from the others: half the summed
    |share inside - share outside| over their values, at least a half. Among keys that split the
    trials in the same way, one.
    """
    found = []
    for names, codes in equivalent_keys({key: trials.columns[key] for key in equal}):
        size = int(codes.max()) + 1
        shares = [
            np.bincount(codes[side], minlength=size) / max(1, int(side.sum()))
            for side in (inside, ~inside)
        ]
        apart = float(np.abs(shares[0] - shares[1]).sum()) / 2
        asked = [name for name in names if name not in {HOST_NAMES, DISK_FOLDERS}]
        if apart >= APART_LEAST and asked:
            found.append((-apart, asked[0]))
    return tuple(name for _, name in sorted(found)[:APART_SHOWN])
