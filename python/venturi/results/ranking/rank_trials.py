"""Answers which group is best, with equal work compared, or says why it can't.

Different work is never ranked together. Where trials differ only in the keys that group them,
groups are ranked by their medians (`ranking`); otherwise over settings that match
(`matched_ranking`). Medians over all trials are given only on request, as *crude*.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal

import numpy as np
import numpy.typing as npt

from venturi.core.errors import UsageError, VenturiError
from venturi.core.wording import count_of
from venturi.record.query.checks import conditions_for, require_keys
from venturi.record.query.columns import Column, combined
from venturi.record.query.conditions import refused
from venturi.record.query.grouping import GROUPS_MAX
from venturi.record.query.identifying_keys import note_of
from venturi.record.query.recorded_costs import origins, recorded_costs
from venturi.record.query.selection import Query
from venturi.record.query.trial_columns import TrialColumns, column_for, trial_columns
from venturi.record.store.repository import TrialRepository
from venturi.record.vocabulary import DISK_LAYOUTS, disks_of
from venturi.results.compare.groups import Group, Key
from venturi.results.compare.names import Names, name_groups
from venturi.results.compare.printed import KEY as PRINTED
from venturi.results.compare.printed import no_repeats
from venturi.results.effects.strata import SucceededTrials
from venturi.results.ranking.matched_ranking import (
    MatchedRanking,
    other_and_linked_keys,
    rank_matched,
)
from venturi.results.ranking.ranking import LEAST_TRIALS, Objective, Rank, Ranking, rank_groups

Floats = npt.NDArray[np.float64]
Basis = Literal["pooled", "matched", "crude"]
NAMED_MAX = 5
USD_PER_HOUR_MAX = 1e6
SUITE = "workload_version"


@dataclass(frozen=True, slots=True)
class Prices:
    """US dollars for an hour of the whole cluster, or of each of its nodes (`per`).

    `plus` is (key, value, dollars): added where a trial has the value. A kind of disk (HDD, SSD)
    reaches every layout that has such disks, for each of them, unless the layout is named itself.
    """

    usd_per_hour: float
    plus: tuple[tuple[str, str, float], ...] = ()
    per: Literal["cluster", "node"] = "cluster"

    def __post_init__(self) -> None:
        require_prices(self.usd_per_hour, self.plus)


@dataclass(frozen=True, slots=True)
class RecordedPrices:
    """The recorded cost of each trial, as US dollars per hour; nan where it has none.

    `said` says how many trials have one, from which source and of which dates.
    """

    usd_per_hour: Floats
    said: str

    @property
    def without(self) -> int:
        """How many trials have none."""
        return int(np.isnan(self.usd_per_hour).sum())


def require_prices(usd_per_hour: float, plus: Sequence[tuple[str, str, float]] = ()) -> None:
    """VEN-QUERY-VALUE unless all are finite numbers from 0, and not all of them 0."""
    for usd in (usd_per_hour, *(usd for _, _, usd in plus)):
        number = isinstance(usd, int | float) and not isinstance(usd, bool)
        if not number or not 0 <= usd <= USD_PER_HOUR_MAX or (usd == 0 and not plus):
            raise UsageError(
                "VEN-QUERY-VALUE",
                f"{str(usd)[:40]} is not a price per hour",
                where={"field": "usd_per_hour", "value": str(usd)[:40]},
                hint=f"give US dollars above 0, at most {USD_PER_HOUR_MAX:,.0f}, such as 0.5",
            )


def recorded_prices(
    repository: TrialRepository, plus: Sequence[tuple[str, str, float]]
) -> tuple[tuple[str, str, float], ...]:
    """`plus` of `Prices` by the recorded names of its keys.

    VEN-QUERY-VALUE for a value that no trial has and that isn't a kind of disk.
    """
    made = []
    for key, value, usd in plus:
        (name,) = require_keys(repository, (key,))
        if value not in DISK_LAYOUTS:
            conditions_for(repository, (f"{name}={value}",))
        made.append((name, value, usd))
    return tuple(made)


@dataclass(frozen=True, slots=True)
class RankingRefusal:
    """Why groups are not ranked, and a hint for the user."""

    message: str
    hint: str


@dataclass(frozen=True, slots=True)
class Medians:
    """Medians over all trials of a group, whatever their other keys; `cost_usd` if priced."""

    elapsed_s: float
    cost_usd: float | None


@dataclass(frozen=True, slots=True)
class SuiteLeader:
    """The only best group among the trials of one `suite`, and the median of its times there."""

    suite: str
    key: Key
    median_s: float


@dataclass(frozen=True, slots=True)
class TrialRanking:
    """The result: `ranking` (pooled or crude) or the matched one.

    `besides` are the keys by which the trials differ in addition to the grouping keys, `along`
    those that change only together with these: part of the ranked thing. `sizes` has the lowest and
    highest value of those of them that are counts. `prices` names the source of recorded prices,
    where these count. `suites` has the leaders of single suites, if they aren't all the same.
    """

    basis: Basis
    ranking: Ranking | None
    alike: MatchedRanking | None
    besides: tuple[str, ...]
    along: tuple[str, ...]
    medians: Mapping[Key, Medians]
    names: Mapping[Key, str]
    naming: Names
    warnings: tuple[str, ...]
    prices: str | None = None
    keys: tuple[str, ...] = ()
    sizes: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    suites: tuple[SuiteLeader, ...] = ()

    @property
    def best_known(self) -> bool:
        """Whether some group is the best or tied with it."""
        if self.alike is None:
            return self.ranking is not None and bool(self.ranking.tie)
        return any(
            place.standing is Rank.BEST
            for each in self.alike.sets
            if len(each.places) > 1
            for place in each.places
        )


def counted(
    repository: TrialRepository,
    query: Query,
    keys: Sequence[str],
    ignored: Collection[str] = (),
    keep: Collection[str] = (),
) -> SucceededTrials:
    """The trials of `query` that count, with `keys` and every key by which any differ, except for
    those that are `ignored`. Keys that are unique per trial are left out unless in `keep`.
    """
    return counted_of(repository, trial_columns(repository, query, keep), keys, ignored)


def counted_of(
    repository: TrialRepository,
    found: TrialColumns,
    keys: Sequence[str],
    ignored: Collection[str] = (),
) -> SucceededTrials:
    """As `counted`, of the trials in `found`."""
    columns = {key: column for key, column in found.columns.items() if key not in ignored}
    for key in (*keys, "hosts", "workload"):
        columns[key] = column_for(repository, found, key)
    if found.constant.get(PRINTED) is not None:
        columns[PRINTED] = found.column(PRINTED)
    times = np.where(found.counted, found.elapsed_s, 1.0)
    identifying = tuple(sorted(found.identifying.keys() - {*keys, *ignored}))
    every = SucceededTrials(columns, np.log(times), found.serials, identifying)
    return every.taken(found.counted)


def prices_recorded(
    repository: TrialRepository, trials: SucceededTrials, *, asked: bool = False
) -> RecordedPrices | None:
    """The recorded costs of `trials` (of `counted`), if all have one.

    `asked`: also if only some have one. VEN-QUERY-VALUE if none has.
    """
    costs = _costs(repository, trials)
    priced = np.isfinite(costs)
    if asked and not priced.any():
        raise no_prices(repository, trials)
    if not len(costs) or not (asked or priced.all()):
        return None
    assert trials.serials is not None
    said = _cost_sources(repository, trials.serials[priced])
    return RecordedPrices(costs * 3600 / np.exp(trials.logs), said)


def has_recorded(repository: TrialRepository, trials: SucceededTrials) -> bool:
    """Whether some of `trials` (of `counted`) have a recorded cost."""
    return bool(np.isfinite(_costs(repository, trials)).any())


def no_prices(repository: TrialRepository, trials: SucceededTrials) -> VenturiError:
    """VEN-QUERY-VALUE: how many of `trials` have no recorded price, with a hint."""
    costs = _costs(repository, trials)
    without, every = int(np.isnan(costs).sum()), len(costs)
    some = 0 < without < every
    told = f"none of {count_of(every, 'trial')} has one recorded"
    if some:
        have = "has" if without == 1 else "have"
        told = f"{without:,} of {count_of(every, 'trial')} {have} none recorded"
    return refused(
        f"a cost needs a price: {told}" if every else "a cost needs a price",
        "usd_per_hour",
        ("skip these with --prices recorded, or " if some else "")
        + "give a price: --usd-per-node-hour USD, or --usd-per-hour USD for the whole cluster; or "
        "set that of each node type: venturi prices set node TYPE USD; or, with recorded cores of "
        "hosts: venturi prices set core-hour USD",
    )


def _costs(repository: TrialRepository, trials: SucceededTrials) -> Floats:
    if trials.serials is None:
        return np.full(len(trials.logs), np.nan)
    return recorded_costs(repository, trials.serials)


def _cost_sources(repository: TrialRepository, serials: npt.NDArray[np.int64]) -> str:
    """The sources and dates of the costs of the trials with these serial numbers."""
    sources, first, last = origins(repository, serials)
    more = len(sources) - NAMED_MAX
    told = ", ".join(sources[:NAMED_MAX]) + (f" and {more} more" if more > 0 else "")
    when = (
        "their dates are not recorded"
        if first is None
        else f"of {first}"
        if first == last
        else f"of {first} to {last}"
    )
    return (
        f"costs are those recorded with {count_of(len(serials), 'trial')} by {told}; {when}; "
        "a given price replaces them"
    )


def require_rankable(
    trials: SucceededTrials, keys: Sequence[str], prices: Prices | RecordedPrices | None
) -> None:
    """VEN-COMPARE-GROUPS where the groups of `trials` cannot be ranked together."""
    error = refusal(trials, keys, prices)
    if error is not None:
        raise UsageError(
            "VEN-COMPARE-GROUPS",
            error.message,
            where={"by": ", ".join(keys)},
            hint=error.hint,
        )


def refusal(
    trials: SucceededTrials, keys: Sequence[str], prices: Prices | RecordedPrices | None
) -> RankingRefusal | None:
    """Why the groups of `trials` cannot be ranked together; None if they can."""
    works = _counts(trials.columns["workload"])
    if len(works) > 1:
        names = sorted(works, key=lambda name: (-works[name], name))
        return RankingRefusal(
            f"{len(works)} workloads: times of different work cannot be ranked together",
            f"add --where workload={names[0]} ({count_of(works[names[0]], 'trial')}) or another of "
            f"{', '.join(names[1 : NAMED_MAX + 1])}",
        )
    for key in ("scale", "input_bytes", "workload_version"):
        if key in keys and len(_counts(trials.columns[key])) > 1:
            return RankingRefusal(
                f"groups by {key} did different work, so their times cannot be ranked together",
                "group by another key; `venturi scaling` shows how time grows with the work",
            )
    if isinstance(prices, Prices) and (free := int((rates_of(trials, prices) <= 0).sum())):
        return RankingRefusal(
            f"{count_of(free, 'trial')} would cost nothing per hour, and ratios to 0 don't exist",
            "give a price above 0, or one for each of the other values",
        )
    sizes = _counts(trials.columns["hosts"])
    if (
        isinstance(prices, Prices)
        and prices.per == "cluster"
        and len(sizes) > 1
        and not {key for key, _, _ in prices.plus} & {"hosts", "cluster"}
    ):
        shown = sorted(sizes, key=lambda n: int(n) if n.isdigit() else 0)
        return RankingRefusal(
            f"one price for clusters of {', '.join(shown[:NAMED_MAX])} hosts",
            "--usd-per-node-hour prices every node; or choose one with --where hosts="
            f"{max(sizes, key=lambda n: sizes[n])}, or price them with --plus cluster=NAME:USD",
        )
    why = _why_not_repeats(trials, keys)
    hint = f"leave them out with --where {PRINTED}=, or group by the key that distinguishes them"
    return RankingRefusal(why, hint) if why else None


def _why_not_repeats(trials: SucceededTrials, keys: Sequence[str]) -> str | None:
    """Why some values with equal recorded keys are no repeats; None if they are."""
    column = trials.columns.get(PRINTED)
    if column is None:
        return None
    equal, _ = other_and_linked_keys(trials, keys)
    every = [trials.columns[key] for key in dict.fromkeys((*keys, *equal))]
    cell, _ = combined(every, len(trials.logs))
    several = np.bincount(cell)[cell] > 1
    return no_repeats([column.values[code] for code in column.codes[several].tolist()])


def _counts(column: Column) -> dict[str, int]:
    counts = np.bincount(column.codes, minlength=len(column.values)).tolist()
    pairs = zip(column.values, counts, strict=True)
    return {"not stated" if value is None else str(value): n for value, n in pairs if n}


def rates_of(trials: SucceededTrials, prices: Prices | RecordedPrices) -> Floats:
    """US dollars for an hour of each trial's cluster, as recorded or by its own number of hosts.

    nan where none is recorded, and where the hosts are not known and the price is of a node.
    """
    if isinstance(prices, RecordedPrices):
        return prices.usd_per_hour
    rates = np.full(len(trials.logs), prices.usd_per_hour)
    for key in dict.fromkeys(key for key, _, _ in prices.plus):
        column = trials.columns[key]
        extra = np.array([usd_added(prices.plus, key, value) for value in column.values])
        rates = rates + extra[column.codes]
    if prices.per == "node":
        hosts = trials.columns["hosts"]
        known = [float(n) if isinstance(n, int) and n > 0 else np.nan for n in hosts.values]
        rates = rates * np.array(known)[hosts.codes]
    return rates


def usd_added(plus: Sequence[tuple[str, str, float]], key: str, value: object) -> float:
    """US dollars an hour that `plus` adds where `key` is `value`."""
    own: dict[str, float] = {}
    for name, of, usd in plus:
        if name == key:
            own[of] = own.get(of, 0.0) + usd
    if value is None or str(value) in own:
        return own.get(str(value), 0.0)
    return sum(own.get(kind, 0.0) * count for kind, count in disks_of(str(value)).items())


def rank_trials(
    trials: SucceededTrials,
    keys: Sequence[str],
    objective: Objective,
    prices: Prices | RecordedPrices | None = None,
    *,
    crude: bool = False,
) -> TrialRanking:
    """The groups of `trials` by `keys`; `refusal` has to allow it."""
    every = len(trials.logs)
    trials, rates = _priced(trials, prices)
    warnings = []
    recorded = isinstance(prices, RecordedPrices)
    if without := every - len(trials.logs):
        lacking = "recorded cost" if recorded else "known number of hosts"
        warnings.append(
            f"{count_of(without, 'trial')} without a {lacking} left out"
            + ("" if recorded else ": they have no cost")
        )
    besides, along = other_and_linked_keys(trials, keys)
    basis: Basis = "pooled" if not besides else "crude" if crude else "matched"
    ranking = alike = None
    suites: tuple[SuiteLeader, ...] = ()
    of_group = _groups(trials, keys, rates)
    if basis == "matched":
        alike = rank_matched(trials, keys, besides, objective, rates)
        suites = _suite_leaders(trials, keys, alike, rates)
        groups = [place.key for each in alike.sets for place in each.places]
    else:
        ranking = rank_groups(of_group, objective)
        groups = [one.key for one in ranking.groups]
        warnings += _feasible(ranking)
    if basis == "crude":
        warnings.append(
            "crude: medians over all trials (confounded); the trials also differ in "
            f"{', '.join(besides)}"
        )
    warnings += _printed(trials)
    if trials.identifying:
        warnings.append(note_of(trials.identifying))
    naming = _named(trials, keys, groups)
    named = dict(zip(groups, naming.names, strict=True))
    medians = {one.key: _medians(one) for one in of_group}
    said = prices.said if isinstance(prices, RecordedPrices) else None
    return TrialRanking(
        basis,
        ranking,
        alike,
        besides,
        along,
        medians,
        named,
        naming,
        tuple(warnings),
        said,
        tuple(keys),
        _sizes(trials, along),
        suites,
    )


def _suite_leaders(
    trials: SucceededTrials, keys: Sequence[str], alike: MatchedRanking, rates: Floats | None
) -> tuple[SuiteLeader, ...]:
    """The group that alone is best, suite by suite; none if all trials together have the same."""
    if SUITE not in alike.equal or alike.objective is Objective.PARETO:
        return ()
    column, found = trials.columns[SUITE], []
    for code in np.unique(column.codes).tolist():
        own = column.codes == code
        of_suite, own_rates = trials.taken(own), None if rates is None else rates[own]
        within = rank_matched(of_suite, keys, alike.equal, alike.objective, own_rates)
        if (best := only_best(within)) is not None:
            times = {group.key: group.elapsed_s for group in _groups(of_suite, keys, None)}
            median = statistics.median(times[best])
            found.append(SuiteLeader(str(column.values[code]), best, median))
    leaders = {each.key for each in found}
    return tuple(found) if leaders - {only_best(alike)} else ()


def only_best(alike: MatchedRanking) -> Key | None:
    """The group that alone is the best in the only set of several; no other looks better."""
    sets = [each for each in alike.sets if len(each.places) > 1]
    if len(sets) != 1:
        return None
    top = [p for p in sets[0].places if p.standing in {Rank.BEST, Rank.TIED}]
    unknown = [p for p in sets[0].places if p.standing is Rank.CANNOT_TELL]
    if len(top) != 1 or any((p.ratio or 0) < (top[0].ratio or 0) for p in unknown):
        return None
    return top[0].key


def _sizes(trials: SucceededTrials, along: Sequence[str]) -> dict[str, tuple[int, int]]:
    """The lowest and highest value of each key of `along` that counts something."""
    found = {}
    for key in along:
        column = trials.columns[key]
        values = {column.values[code] for code in np.unique(column.codes).tolist()} - {None}
        counts = [value for value in values if isinstance(value, int)]
        if counts and len(counts) == len(values):
            found[key] = (min(counts), max(counts))
    return found


def frontier(
    trials: SucceededTrials,
    keys: Sequence[str],
    prices: Prices | RecordedPrices,
    found: TrialRanking,
) -> MatchedRanking | None:
    """The groups that `found` has of these trials, by time and cost over like settings."""
    if found.alike is None or found.alike.objective is Objective.PARETO:
        return found.alike
    trials, rates = _priced(trials, prices)
    return rank_matched(trials, keys, found.besides, Objective.PARETO, rates)


def priced_groups(
    trials: SucceededTrials, keys: Sequence[str], prices: Prices | RecordedPrices
) -> list[Group]:
    """The groups of the trials that have a price, with the cost of each."""
    trials, rates = _priced(trials, prices)
    return _groups(trials, keys, rates)


def _priced(
    trials: SucceededTrials, prices: Prices | RecordedPrices | None
) -> tuple[SucceededTrials, Floats | None]:
    """The trials that have a price, with each one's; without `prices`, all of them."""
    if prices is None:
        return trials, None
    rates = rates_of(trials, prices)
    known = np.isfinite(rates)
    return (trials, rates) if known.all() else (trials.taken(known), rates[known])


def _medians(group: Group) -> Medians:
    cost = None if group.cost is None else statistics.median(group.cost)
    return Medians(statistics.median(group.elapsed_s), cost)


def _named(trials: SucceededTrials, keys: Sequence[str], groups: Sequence[Key]) -> Names:
    """The names of the groups by their keys; the caption has the keys that all trials share."""
    alike = {
        key: column.values[int(column.codes[0])]
        for key, column in trials.columns.items()
        if len(column.codes) and (column.codes == column.codes[0]).all()
    }
    own = [
        {
            name: value
            for name, value in zip(keys, key, strict=True)
            if not isinstance(value, datetime)
        }
        for key in groups
    ]
    return name_groups([{**alike, **each} for each in own])


def _groups(trials: SucceededTrials, keys: Sequence[str], rates: Floats | None) -> list[Group]:
    columns = [trials.columns[key] for key in keys]
    group, first = combined(columns, len(trials.logs))
    times = np.round(np.exp(trials.logs), 9)  # as they were before the logarithm
    order = np.lexsort((times, group))
    made = []
    for part in np.split(order, np.flatnonzero(np.diff(group[order])) + 1):
        if not len(part):
            continue
        place = int(first[group[part[0]]])
        key = tuple(column.values[int(column.codes[place])] for column in columns)
        one = Group(key, (), tuple(times[part].tolist()))
        if rates is not None:
            cost = times[part] * rates[part] / 3600
            one = replace(one, cost=tuple(cost.tolist()), currency="USD")
        made.append(one)
    return made[:GROUPS_MAX]


def _feasible(ranking: Ranking) -> list[str]:
    """The number of trials per group that the ranking needs, if some have fewer."""
    needed = LEAST_TRIALS
    while 1 / math.comb(2 * needed, needed) > ranking.each_alpha:
        needed += 1
    few = [
        one
        for one in ranking.groups
        if max((s.n for s in one.summaries.values()), default=0) < needed
    ]
    if not few or len(ranking.groups) < 2:
        return []
    have = "has" if len(few) == 1 else "have"
    return [
        f"to rank {len(ranking.groups)} groups takes {needed} trials each; "
        f"{count_of(len(few), 'group')} {have} fewer"
    ]


def _printed(trials: SucceededTrials) -> list[str]:
    column = trials.columns.get(PRINTED)
    if column is None:
        return []
    kinds = {column.values[code] for code in np.unique(column.codes).tolist()}
    listed = ", ".join(sorted("measured" if kind is None else str(kind) for kind in kinds))
    if len(kinds) > 1:
        return [f"printed figures of several kinds ({listed}) are not repeats of each other"]
    return [f"each value is a printed figure: {listed}"] if kinds - {None, "single"} else []
