"""The findings of a ranking in sentences: the same on the terminal, in JSON and on the pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from venturi.core.wording import count_of
from venturi.record.query.conditions import OF_RECORDS
from venturi.results.compare.groups import Key
from venturi.results.ranking.matched_ranking import MatchedSet
from venturi.results.ranking.rank_trials import TrialRanking
from venturi.results.ranking.ranking import Objective, Rank, Ranking

NAMED_MAX = 4
_FILTERED_FIRST = ("source", "workload", "scale", "input_bytes")
SETS_MAX = 3
_SUPERLATIVE = {
    Objective.TIME: "fastest",
    Objective.COST: "cheapest",
    Objective.COST_TIME: "lowest in cost x time",
    Objective.PARETO: "on the frontier of time and cost",
}
_TIED = {
    Objective.TIME: "for fastest",
    Objective.COST: "for cheapest",
    Objective.COST_TIME: "for lowest in cost x time",
    Objective.PARETO: "on the frontier of time and cost",
}


def sentences(ranked: TrialRanking) -> list[str]:
    """Return sentences: the best groups, ties, groups that cannot be compared, and the origin of
    prices."""
    return [*_found(ranked), *filter(None, [ranked.prices])]


def _found(ranked: TrialRanking) -> list[str]:
    if ranked.alike is None:
        assert ranked.ranking is not None
        told = _of_medians(ranked.ranking, ranked.names, crude=ranked.basis == "crude")
        return told + _linked_key_lines(ranked)
    sets = [each for each in ranked.alike.sets if len(each.places) > 1]
    if not sets:
        return [
            f"cannot tell: no two groups share a setting, because "
            f"{_some(_fixable_first(ranked.besides))} also vary"
            f"{_fix(ranked.besides)}"
        ]
    objective = ranked.alike.objective
    first, *others = (_of_set(each, ranked.names, objective) for each in sets[:SETS_MAX])
    told = [first]
    if len(ranked.alike.sets) > 1:
        apart = ranked.alike.apart or ranked.besides
        told.append(
            f"The groups form {count_of(len(ranked.alike.sets), 'set')} that can't be compared, "
            f"because {_some(_fixable_first(apart))} also {'vary' if len(apart) > 1 else 'varies'}"
            f"{_fix(apart)}"
        )
    told += [f"Another set: {each[0].lower()}{each[1:]}" for each in others]
    return told + _linked_key_lines(ranked)


def _fixable_first(keys: Sequence[str]) -> list[str]:
    """Sort `keys` by how well a filter separates the trials; those no filter accepts come last."""
    first = {key: place for place, key in enumerate(_FILTERED_FIRST)}
    return sorted(keys, key=lambda key: (key in OF_RECORDS, first.get(key, len(first))))


def _fix(keys: Sequence[str]) -> str:
    """Return the advice to fix one of `keys` by a filter, "" if no filter accepts any."""
    key = _fixable_first(keys)[0]
    return "" if key in OF_RECORDS else f"; add --where {key}=VALUE"


def _linked_key_lines(ranked: TrialRanking) -> list[str]:
    if not ranked.along:
        return []
    change = "changes" if len(ranked.along) == 1 else "change"
    return [
        f"{_some(ranked.along)} {change} only together with the groups, so the ranking "
        "includes their effect"
    ]


def _of_set(each: MatchedSet, names: Mapping[Key, str], objective: Objective) -> str:
    best = [names[p.key] for p in each.places if p.standing is Rank.BEST]
    tied = [names[p.key] for p in each.places if p.standing is Rank.TIED]
    worse = sum(place.standing is Rank.WORSE for place in each.places)
    unknown = sum(place.standing is Rank.CANNOT_TELL for place in each.places)
    where = f"Of {len(each.places)} groups in matched settings"
    if not best:
        return f"{where}: cannot tell which is {_SUPERLATIVE[objective]} (too few settings)"
    few = "too few matched settings to tell"
    said = f"{where}, {_result_sentence(best, tied, (worse, unknown), objective, few)}"
    once = sum(place.strata == 1 and place.key != each.reference for place in each.places)
    if once and len(each.places) > 2:
        said += f"; {once} {'was' if once == 1 else 'were'} compared in only one setting"
    return said


def _of_medians(ranking: Ranking, names: Mapping[Key, str], *, crude: bool) -> list[str]:
    def count(standing: Rank) -> int:
        return sum(one.standing is standing for one in ranking.groups)

    best = [names[one.key] for one in ranking.tie if one.standing is Rank.BEST]
    tied = [names[one.key] for one in ranking.tie if one.standing is Rank.TIED]
    if not best:
        return [
            "cannot tell: no group has enough kept trials"
            + ("" if ranking.objective is Objective.TIME else " and a price")
        ]
    counts = count(Rank.WORSE), count(Rank.CANNOT_TELL)
    if len(best) == 1 and not tied and not counts[0] and counts[1]:
        return [
            f"cannot tell which is {_SUPERLATIVE[ranking.objective]}: only {best[0]} has "
            f"enough kept trials, of {len(ranking.groups)} groups"
        ]
    few = "too few trials to tell"
    told = _result_sentence(best, tied, counts, ranking.objective, few)
    return [
        f"crude (confounded): by medians over all trials, {told}"
        if crude
        else f"By medians, {told}"
    ]


def _result_sentence(
    best: Sequence[str],
    tied: Sequence[str],
    counts: tuple[int, int],
    objective: Objective,
    few: str,
) -> str:
    """`counts` are of groups that are worse, and of those of which too little is known (`few`)."""
    top, (worse, unknown) = [*best, *tied], counts
    if tied:
        said = f"{len(top)} are statistically tied {_TIED[objective]}: {_some(top)}"
    else:
        said = f"{_some(top)} {'is' if len(top) == 1 else 'are'} {_SUPERLATIVE[objective]}"
    if worse:
        said += f"; {worse} {'is' if worse == 1 else 'are'} worse"
    if unknown:
        said += f"; {unknown} {'has' if unknown == 1 else 'have'} {few}"
    return said


def _some(names: Sequence[str]) -> str:
    rest = len(names) - NAMED_MAX
    shown = [f"({name})" if ", " in name else name for name in names[:NAMED_MAX]]
    if rest > 0:
        return f"{', '.join(shown)} and {rest} more"
    return " and ".join(filter(None, (", ".join(shown[:-1]), shown[-1])))
