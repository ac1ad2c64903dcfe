"""`/api/cost`: groups by time, cost, both, or their product; with dated prices, and ties."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Annotated, Literal

from venturi.core.settings import load
from venturi.core.statistics.stats import Missing
from venturi.core.units import format_duration
from venturi.core.wording import joined
from venturi.machines.cost.price import Tariff
from venturi.machines.cost.prices_file import own_job_prices
from venturi.record.query.checks import require_keys
from venturi.record.query.conditions import refused
from venturi.record.query.grouping import GROUP_KEYS_MAX
from venturi.record.store.repository import TrialRepository
from venturi.record.store.tables import text_of
from venturi.record.vocabulary import meaning_of
from venturi.results.compare.groups import Group, best_of, groups_from, with_cost
from venturi.results.compare.groups import Key as GroupKey
from venturi.results.effects.strata import SucceededTrials
from venturi.results.ranking import ranking as model
from venturi.results.ranking.matched_ranking import MatchedRanking
from venturi.results.ranking.rank_trials import (
    USD_PER_HOUR_MAX,
    RecordedPrices,
    counted,
    frontier,
    no_prices,
    priced_groups,
    prices_recorded,
    rank_trials,
    recorded_prices,
    refusal,
    require_prices,
    usd_added,
)
from venturi.results.ranking.rank_trials import Prices as TrialPrices
from venturi.results.ranking.rank_words import sentences
from venturi.results.ranking.set_prices import prices_set
from venturi.web.api.context import SelectionDep, Services
from venturi.web.api.request_arguments import Parameter
from venturi.web.api.results.cells import (
    COMPARABLE,
    ORIGIN,
    ByDep,
    Cell,
    IgnoredKeys,
    KeepKeys,
    cells,
    keys_of,
    label,
    mixtures,
    scalar,
)
from venturi.web.api.results.spreads import interval, no_spread, scaled, spread_of
from venturi.web.api.shapes import PricesData, RankedGroup, RankingData

OBJECTIVES: Mapping[str, model.Objective] = {
    "time": model.Objective.TIME,
    "cost": model.Objective.COST,
    "cost-time": model.Objective.COST_TIME,
    "pareto": model.Objective.PARETO,
}
RANKED_MAX = 200  # groups that are compared; the biggest
NAMED_MAX = 6  # groups in a sentence
Charged = TrialPrices | RecordedPrices
Costs = Mapping[tuple[str | None, ...], Group]
_PLUS = re.compile(r"([^=]+)=(.*):([0-9]{1,9}(?:\.[0-9]{1,9})?)", re.DOTALL)
_SUPERLATIVE = {"time": "fastest", "cost": "cheapest", "cost-time": "lowest in cost x time"}


def cost(
    services: Services,
    selection: SelectionDep,
    *,
    by: ByDep = None,
    objective: Literal["time", "cost", "cost-time", "pareto"] = "time",
    usd_per_hour: Annotated[
        float | None,
        Parameter(
            ge=0,
            le=USD_PER_HOUR_MAX,
            allow_inf_nan=False,
            description="Price per hour; without one there is no cost.",
        ),
    ] = None,
    plus: Annotated[
        list[str] | None,
        Parameter(
            max_length=100,
            description="KEY=VALUE:USD, a surcharge for groups with this value of a key of `by`.",
            examples=[["net=IB:0.80", "disk=SSD:0.70"]],
        ),
    ] = None,
    per: Annotated[
        Literal["cluster", "node"], Parameter(description="Unit that the price is for.")
    ] = "cluster",
    price_as_of: Annotated[date | None, Parameter(description="Date of the price.")] = None,
    price_source: Annotated[
        str | None, Parameter(max_length=200, description="Source of the price.")
    ] = None,
    prices: Annotated[
        Literal["recorded"] | None,
        Parameter(
            description="Use costs recorded with the trials and skip trials without one. Default "
            "if no price is given and every trial has a cost."
        ),
    ] = None,
    ignore: IgnoredKeys = None,
    keep: KeepKeys = None,
    crude: Annotated[
        bool, Parameter(description="Rank by medians of all trials (confounded).")
    ] = False,
) -> RankingData:
    """Groups ranked by a named objective, with ties, costs and the Pareto frontier."""
    keys = keys_of(by)
    given = None
    if usd_per_hour is not None:
        if prices:
            raise refused("prices are given and recorded", "prices", "give one of them")
        day = None if price_as_of is None else price_as_of.isoformat()
        extra = recorded_prices(services.repository, added(plus or ()))
        if others := [key for key, _, _ in extra if key not in keys]:
            raise refused(
                f"{others[0]} is not one of the keys in by", "plus", f"add by={others[0]}"
            )
        require_prices(usd_per_hour, extra)
        given = PricesData(usd_per_hour, extra, per, day, price_source)
    elif plus:
        raise refused("this needs a price", "usd_per_hour", "give usd_per_hour=3.50")
    further = (*(("hosts",) if per == "node" else ()), *COMPARABLE, *ORIGIN)
    found = cells(services.repository, selection, keys, further[: GROUP_KEYS_MAX - len(keys)])
    ignored, kept = (require_keys(services.repository, each or ()) for each in (ignore, keep))
    trials = counted(services.repository, selection.query(), keys, ignored, kept)
    charged = _charged(services.repository, trials, given, asked=prices is not None)
    if charged is None and objective != "time":
        raise no_prices(services.repository, trials)
    if isinstance(charged, RecordedPrices):
        given = PricesData(None, (), "cluster", None, charged.said)
    if keys and len(trials.logs):
        return like_with_like(
            found, keys, objective, given, charged=charged, trials=trials, crude=crude
        )
    return ranked(found, keys, objective, given, costs=_costs(trials, keys, charged))


def _charged(
    repository: TrialRepository, trials: SucceededTrials, given: PricesData | None, *, asked: bool
) -> Charged | None:
    if given is None or given.usd_per_hour is None:
        found = prices_recorded(repository, trials, asked=asked)
        return found or prices_set(repository, trials, own_job_prices(load().job_prices))
    return TrialPrices(given.usd_per_hour, given.plus, given.per)


def _costs(trials: SucceededTrials, keys: Sequence[str], charged: Charged | None) -> Costs:
    """The groups of the trials that have a recorded cost; empty where a price is given."""
    if not isinstance(charged, RecordedPrices):
        return {}
    return {text(group.key): group for group in priced_groups(trials, keys, charged)}


def like_with_like(
    cells_: Sequence[Cell],
    keys: tuple[str, ...],
    objective: str,
    prices: PricesData | None,
    *,
    charged: Charged | None,
    trials: SucceededTrials,
    crude: bool,
) -> RankingData:
    """Rank the groups by medians of all trials if these are comparable, else over matched settings.
    The ranking may be refused.
    """
    costs = _costs(trials, keys, charged)
    refused_ = refusal(trials, keys, charged)
    if refused_ is not None:
        told = f"Not ranked: {refused_.message}. {refused_.hint}."
        answer = ranked(cells_, keys, objective, prices, costs=costs, tested=False)
        return replace(
            answer,
            basis="refused",
            verdict=told,
            warnings=(told, *answer.warnings),
            groups=tuple(_unranked(group, refused_.message) for group in answer.groups),
        )
    found = rank_trials(trials, keys, OBJECTIVES[objective], charged, crude=crude)
    answer = ranked(cells_, keys, objective, prices, costs=costs, tested=found.alike is None)
    names = {text(key): name for key, name in found.names.items()}
    named = [replace(g, name=names.get(text(g.key), label(g.key))) for g in answer.groups]
    answer = replace(
        answer,
        basis=found.basis,
        caption=found.naming.caption,
        explained=found.naming.explained,
        groups=tuple(named),
        warnings=(*found.warnings, *answer.warnings),
    )
    first, *others = sentences(found)
    if charged is not None and objective == "time":
        by_cost = rank_trials(trials, keys, model.Objective.COST, charged, crude=crude)
        others.insert(0, f"By cost: {sentences(by_cost)[0]}")
    if found.alike is None:
        told = answer.verdict + "".join(f" {each}." for each in others)
        if found.basis == "crude":
            told = f"Crude (confounded): {told}"
        return replace(answer, verdict=told)
    front = None if charged is None else frontier(trials, keys, charged, found)
    groups = _matched(answer.groups, found.alike, front)
    return replace(answer, groups=groups, verdict=". ".join([first, *others]) + ".")


def _unranked(group: RankedGroup, reason: str) -> RankedGroup:
    unknown = str(model.Rank.CANNOT_TELL)
    return replace(
        group,
        rank=None,
        standing=unknown,
        reason=reason,
        on_frontier=False,
        frontier=None,
        p_value=None,
        name=label(group.key),
    )


def _matched(
    groups: Sequence[RankedGroup], alike: MatchedRanking, front: MatchedRanking | None
) -> tuple[RankedGroup, ...]:
    """The groups in the order of their sets and places there."""
    of_key = {text(group.key): group for group in groups}
    standings = {
        text(place.key): place.standing
        for each in (() if front is None else front.sets)
        for place in each.places
    }
    made = []
    for number, each in enumerate(alike.sets, start=1):
        for place in each.places:
            group = of_key.pop(text(place.key))
            on: Literal["yes", "cannot tell", "no"] | None = None
            if text(place.key) in standings:
                on = _ON_FRONTIER.get(standings[text(place.key)], "cannot tell")
            unpriced = group.cost_usd.reason if group.cost_usd and not group.cost_usd.n else None
            made.append(
                replace(
                    group,
                    rank=place.rank,
                    standing=str(place.standing),
                    reason="; ".join(filter(None, (place.reason, unpriced))) or None,
                    on_frontier=on == "yes",
                    frontier=on,
                    p_value=None,
                    set=number,
                    against=tuple(map(scalar, each.base)),
                    settings=place.strata,
                    ratio=place.ratio,
                    ratio_interval=interval(place.interval),
                )
            )
    rest = (_unranked(group, "none of its trials counts") for group in of_key.values())
    return (*made, *rest)


def text(key: GroupKey) -> tuple[str | None, ...]:
    """A key however its values were typed."""
    return tuple(None if value is None else text_of(value) for value in map(scalar, key))


def added(texts: Sequence[str]) -> tuple[tuple[str, str, float], ...]:
    """(key, value, US dollars an hour) of each text, by the names that it gives."""
    made = []
    for text in texts:
        match = _PLUS.fullmatch(text)
        if match is None:
            raise refused(f"{text[:80]!r} is not KEY=VALUE:USD", "plus", "such as net=IB:0.80")
        made.append((match[1], match[2], float(match[3])))
    return tuple(made)


def ranked(
    found: Sequence[Cell],
    keys: tuple[str, ...],
    objective: str,
    prices: PricesData | None,
    *,
    costs: Costs,
    tested: bool = True,
) -> RankingData:
    """The groups of `found` by `objective`; without `tested`, they have no places yet.

    `costs` are the groups of the trials that have a counted recorded cost.
    """
    of_key: dict[GroupKey, Cell] = {cell.key: cell for cell in found}
    priced = {
        group.key: _priced(group, of_key[group.key], keys, prices, costs)
        for group in groups_from(found)
    }
    compared = [each.group for each in list(priced.values())[: RANKED_MAX if tested else 0]]
    ranking = model.rank_groups(compared, OBJECTIVES[objective])
    told = {one.key: one for one in ranking.groups}
    order = [*told, *(key for key in priced if key not in told)]
    groups = _with_frontier(
        [_answer(priced[key], of_key[key], told.get(key)) for key in order], compared, keys
    )
    warnings = mixtures(found, keys)
    if len(found) > RANKED_MAX:
        warnings += (f"only the {RANKED_MAX} largest of {len(found):,} groups are compared",)
    workloads = {
        cell.key[keys.index("workload")] if "workload" in keys else each
        for cell in found
        for each in cell.other.get("workload", (None,))
    } - {None}
    return RankingData(
        by=keys,
        objective=objective,
        alpha=ranking.alpha,
        prices=prices,
        groups=groups,
        verdict=_verdict(objective, groups),
        workloads=tuple(sorted(map(str, workloads))),
        warnings=warnings,
    )


@dataclass(frozen=True, slots=True)
class _PricedGroup:
    group: Group
    usd_per_hour: float | None
    reason: str | None


def _priced(
    group: Group, cell: Cell, keys: tuple[str, ...], prices: PricesData | None, costs: Costs
) -> _PricedGroup:
    """`group` with the cost of each trial, or why it has none."""
    if prices is None:
        return _PricedGroup(group, None, None)
    if prices.usd_per_hour is None:
        priced = costs.get(text(group.key))
        if priced is None:
            return _PricedGroup(group, None, "none of its trials has a recorded cost")
        return _PricedGroup(replace(priced, key=group.key), None, None)
    values = dict(zip(keys, cell.key, strict=True))
    extra = sum(usd_added(prices.plus, key, value) for key, value in values.items())
    per_hour = prices.usd_per_hour + extra
    if prices.per == "node":
        hosts = {cell.key[keys.index("hosts")]} if "hosts" in keys else cell.other.get("hosts")
        count = next(iter(hosts)) if hosts and len(hosts) == 1 else None
        if not isinstance(count, int) or count < 1:
            why = "differs in the group: group by hosts" if hosts and len(hosts) > 1 else "unknown"
            return _PricedGroup(group, None, f"the number of hosts is {why}")
        per_hour *= count
    return _PricedGroup(with_cost(group, Tariff(per_hour, "USD")), per_hour, None)


_ON_FRONTIER: Mapping[model.Rank, Literal["yes", "no"]] = {
    model.Rank.BEST: "yes",
    model.Rank.WORSE: "no",
}


def _with_frontier(
    groups: Sequence[RankedGroup], compared: Sequence[Group], keys: Sequence[str]
) -> tuple[RankedGroup, ...]:
    """The groups, each with its meaning, and whether it is on the frontier of time and cost.

    "yes": no other has a median as low in both and lower in one. "no": it is found worse than one
    of these in both. Else "cannot tell"; None without a cost.
    """
    ranking = model.rank_groups(compared, model.Objective.PARETO)
    standing = {one.key: one.standing for one in ranking.groups}
    made = []
    for group in groups:
        front: Literal["yes", "cannot tell", "no"] | None = None
        if group.cost_usd is not None and group.cost_usd.median is not None:
            found = standing.get(group.key, model.Rank.CANNOT_TELL)
            front = _ON_FRONTIER.get(found, "cannot tell")
        words = tuple(meaning_of(*each) for each in zip(keys, group.key, strict=True))
        made.append(replace(group, on_frontier=front == "yes", frontier=front, meanings=words))
    return tuple(made)


def _answer(priced: _PricedGroup, cell: Cell, one: model.GroupRank | None) -> RankedGroup:
    group = priced.group
    best = best_of(group)
    products = model.values_of(group, model.Axis.COST_TIME)
    p_values = [v.p_value for v in one.verdicts.values() if v.p_value is not None] if one else []
    reason = one.reason if one else "too many groups: only the largest are compared"
    if priced.reason and group.cost is None and one and one.rank is None:
        reason = priced.reason
    elapsed, costs = spread_of(group.elapsed_s), None
    if group.cost is not None and priced.usd_per_hour is None:
        costs = spread_of(sorted(group.cost))
    elif group.cost is not None:
        costs = scaled(elapsed, (priced.usd_per_hour or 0.0) / 3600)
    elif priced.reason:
        costs = no_spread(0, priced.reason)
    return RankedGroup(
        key=cell.key,
        rank=one.rank if one else None,
        standing=str(one.standing if one else model.Rank.CANNOT_TELL),
        reason=reason,
        n=len(group.elapsed_s),
        elapsed_s=elapsed,
        cost_usd=costs,
        cost_time=None if isinstance(products, Missing) else spread_of(products),
        usd_per_hour=priced.usd_per_hour,
        best_elapsed_s=None if isinstance(best, Missing) else best.elapsed_s,
        best_cost_usd=None if isinstance(best, Missing) else best.cost,
        on_frontier=False,
        p_value=max(p_values, default=None),
    )


def _value(objective: str, group: RankedGroup) -> str:
    spread = {"time": group.elapsed_s, "cost": group.cost_usd}.get(objective, group.cost_time)
    if spread is None or spread.median is None:
        return "no value"

    def formatted(value: float) -> str:
        if objective == "time":
            return format_duration(value)
        return f"${value:,.3f}" if objective == "cost" else f"{value:,.0f} $ s"

    within = spread.interval
    ends = (
        f", {within.level:.0%} interval {formatted(within.low)} to {formatted(within.high)}"
        if within
        else ""
    )
    return f"median {formatted(spread.median)}{ends}, n = {spread.n}"


def _verdict(objective: str, groups: Sequence[RankedGroup]) -> str:
    """The best group, its ties, and how many can't be placed."""
    placed = [group for group in groups if group.rank is not None]
    if not placed:
        few = f"at least {model.LEAST_TRIALS} succeeded trials"
        return f"Cannot tell: no group has {few}" + (
            " and a price." if objective != "time" else "."
        )
    if len(placed) == 1:
        alone = f"{label(placed[0].key)}: {_value(objective, placed[0])}"
        if len(groups) == 1:
            return f"Only one group, so there is no ranking: {alone}."
        return (
            f"Cannot tell which is {_SUPERLATIVE.get(objective, 'on the frontier')}: of "
            f"{len(groups):,} groups only one has enough trials; {alone}."
        )
    best = [group for group in placed if group.standing == model.Rank.BEST]
    tied = [label(group.key) for group in placed if group.standing == model.Rank.TIED]
    if objective == "pareto":
        said = (
            f"On the frontier of time and cost by medians: {_some([label(b.key) for b in best])}."
        )
    else:
        said = f"{label(best[0].key)} is {_SUPERLATIVE[objective]}: {_value(objective, best[0])}."
    if tied:
        said += f" Tied with the best: {_some(tied)}."
    worse = sum(group.standing == model.Rank.WORSE for group in placed)
    if worse:
        said += f" {worse} other{'s are' if worse != 1 else ' is'} worse."
    rest = len(groups) - len(best) - len(tied) - worse
    if rest:
        said += f" {rest} can't be placed: too few trials, or no price."
    return said


def _some(names: Sequence[str]) -> str:
    rest = len(names) - NAMED_MAX
    return joined(names if rest < 2 else (*names[:NAMED_MAX], f"{rest} more"))
