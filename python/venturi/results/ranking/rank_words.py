"""The findings of a ranking in sentences: the same on the terminal, in JSON and on the pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from venturi.core.units import format_duration
from venturi.core.wording import count_of, joined
from venturi.record.query.conditions import OF_RECORDS
from venturi.results.compare.groups import Key
from venturi.results.effects.effect_words import linked_text
from venturi.results.ranking.matched_ranking import ONCE, MatchedRank, MatchedSet
from venturi.results.ranking.rank_trials import TrialRanking
from venturi.results.ranking.ranking import Objective, Rank, Ranking

NAMED_MAX = 4
_FILTERED_FIRST = ("source", "workload", "scale", "input_bytes")
SETS_MAX = 3  # the others than the largest
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
_TIMES = {
    Objective.TIME: "takes {} times as long",
    Objective.COST: "costs {} times as much",
    Objective.COST_TIME: "has {} times the cost x time",
}
_PLURALS = {"cluster": "clusters", "engine": "engines", "provider": "providers"}
_ALONG_FIRST = ("instance_type", "hosts")
ALONG_MAX = 2
FEW_SETTINGS = "too few matched settings to tell"


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
    first, kind = sets[0], _kind(ranked)
    if len(sets) == 1:
        leading = _leader(first, ranked.names, objective)
        leading += _how_much(first, ranked.names, objective)
        said = [*_of_suites(ranked, objective), leading, *_linked_key_lines(ranked)]
        alone = len(ranked.alike.sets) - 1
    else:
        said = [*_no_winner(ranked, sets, objective), *_linked_key_lines(ranked)]
        alone = 0
    said.append(f"Of {len(first.places)} {kind} in matched settings, {_counted(first)}")
    if alone:
        said.append(
            f"{count_of(alone, kind.removesuffix('s'))} can't be compared: no other was measured "
            "in the same settings"
        )
    if len(ranked.alike.sets) > 1 and ranked.alike.apart:
        said.append(f"The sets differ most in {_some(_fixable_first(ranked.alike.apart))}")
    return said


def _of_suites(ranked: TrialRanking, objective: Objective) -> list[str]:
    """Return which group is best in each suite, if that differs from the answer over all."""
    if not ranked.suites:
        return []
    first, *others = [
        (each.suite.removeprefix("published: "), ranked.names[each.key], each.median_s)
        for each in ranked.suites[:NAMED_MAX]
    ]
    said = f"{first[1]} is {_SUPERLATIVE[objective]} in {first[0]} ({format_duration(first[2])})"
    said += "".join(f"; {name} in {suite} ({format_duration(s)})" for suite, name, s in others)
    return [said]


def best_groups(ranked: TrialRanking) -> str:
    """Return which groups are the best or tie in the largest set, in a sentence."""
    if ranked.alike is None:
        assert ranked.ranking is not None
        return _of_medians(ranked.ranking, ranked.names, crude=False)[0]
    said = _leader(ranked.alike.sets[0], ranked.names, ranked.alike.objective)
    return f"{said[0].upper()}{said[1:]}"


def _kind(ranked: TrialRanking) -> str:
    """Return the plural noun for the groups."""
    return _PLURALS.get(ranked.keys[0], "groups") if len(ranked.keys) == 1 else "groups"


def _no_winner(ranked: TrialRanking, sets: Sequence[MatchedSet], objective: Objective) -> list[str]:
    """Return the headline for several sets, and the leaders of the smaller ones."""
    assert ranked.alike is not None
    every, kind = ranked.alike.sets, _kind(ranked)
    total = sum(len(each.places) for each in every)
    first, *others = sets
    leads = []
    for each in others[:SETS_MAX]:
        top = _top(each)
        tied = f" (tied with {len(top) - 1})" if len(top) > 1 else ""
        leads.append(f"{ranked.names[top[0].key]}{tied}" if top else "can't tell")
    if len(others) > len(leads):
        leads.append(f"{len(others) - len(leads)} more")
    alone = len(every) - len(sets)
    others_said = f"Other set{'s' * (len(others) > 1)}: {joined(leads)}"
    if alone:
        others_said += f"; {count_of(alone, kind.removesuffix('s'))} without any to compare with"
    return [
        f"No overall winner: {total} {kind} in {len(every)} sets without common settings. In the "
        f"largest set ({len(first.places)}), {_leader(first, ranked.names, objective)}",
        others_said,
    ]


def _top(each: MatchedSet) -> list[MatchedRank]:
    """The groups that are the best or tie with it: the base first, then by ratio; those that were
    compared in one setting only are last."""
    top = [p for p in each.places if p.standing in {Rank.BEST, Rank.TIED}]
    return sorted(top, key=lambda p: (each.only_once(p), p.key != each.base))


def _leader(each: MatchedSet, names: Mapping[Key, str], objective: Objective) -> str:
    """Return the best groups, or those that tie."""
    top = _top(each)
    if not top:
        return f"cannot tell which is {_SUPERLATIVE[objective]} (too few settings)"
    sure = [names[p.key] for p in top if not each.only_once(p)]
    once = [names[p.key] for p in top if each.only_once(p)]
    if len(top) == 1 or objective is Objective.PARETO:
        said = f"{_some([*sure, *once])} {'is' if len(top) == 1 else 'are'} "
        said += _SUPERLATIVE[objective] + ("" if sure else f" ({ONCE})")
    elif len(sure) > 1 and once:
        said = f"{_some(sure)} tie {_TIED[objective]}; {_some(once)} may tie ({ONCE})"
    else:
        said = f"{_some([*sure, *once])} tie {_TIED[objective]}" + (f" ({ONCE})" if once else "")
    return said


def _how_much(each: MatchedSet, names: Mapping[Key, str], objective: Objective) -> str:
    """Return how much worse than the base the most measured of the worse groups is."""
    worse = [place for place in each.places if place.standing is Rank.WORSE and place.ratio]
    if not worse or objective not in _TIMES:
        return ""
    most = max(worse, key=lambda place: (place.n, place.ratio or 0))
    assert most.ratio is not None
    ratio = f"{most.ratio:#.2g}" if most.ratio < 10 else f"{most.ratio:,.0f}"
    return f"; {names[most.key]} {_TIMES[objective].format(ratio)}"


def _counted(each: MatchedSet) -> str:
    """Return how many groups have each standing: numbers that add up to all."""
    few = FEW_SETTINGS
    words = {
        "at the top": _top(each),
        "worse": [p for p in each.places if p.standing is Rank.WORSE],
        few: [p for p in each.places if p.standing is Rank.CANNOT_TELL],
    }
    said = []
    for word, places in words.items():
        if not places:
            continue
        once = sum(map(each.only_once, places))
        verb = (
            ("has" if len(places) == 1 else "have")
            if word is few
            else ("is" if len(places) == 1 else "are")
        )
        note = f" ({once} by {ONCE})" if once and word is not few else ""
        said.append(f"{len(places)} {verb} {word}{note}")
    return joined(said)


def narrowing_key(ranked: TrialRanking) -> str | None:
    """Return the key to filter by so that fewer sets are left; None if no filter accepts any."""
    keys = () if ranked.alike is None else _fixable_first(ranked.alike.apart)
    return next((key for key in keys if key not in {*OF_RECORDS, *ranked.keys}), None)


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
    first = {key: place for place, key in enumerate(_ALONG_FIRST)}
    keys = sorted(ranked.along, key=lambda key: first.get(key, len(first)))
    shown = []
    for key in keys[:ALONG_MAX]:
        low, high = ranked.sizes.get(key, (0, 0))
        shown.append(f"{key} ({low} to {high})" if low < high else key)
    if len(keys) > ALONG_MAX:
        shown.append(f"{len(keys) - ALONG_MAX} more")
    if (said := linked_text(keys, ranked.keys)) is not None:
        return [said]
    kind = _kind(ranked)
    return [
        f"{joined(shown)} {'changes' if len(keys) == 1 else 'change'} only together with the "
        f"{kind}, so the ranking includes their effect"
    ]


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
        said = f"{_some(top)} tie {_TIED[objective]}"
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
