"""A numeric setting as a curve: its values in order, and the range that is statistically best."""

from __future__ import annotations

import re
from collections.abc import Sequence

from venturi.core.wording import joined
from venturi.record.query.columns import Column
from venturi.results.compare.groups import Key
from venturi.results.effects.effect import CurveValue, NumericCurve
from venturi.results.effects.strata import SucceededTrials
from venturi.results.ranking.matched_ranking import MatchedRank, MatchedRanking
from venturi.results.ranking.rank_trials import rank_trials
from venturi.results.ranking.ranking import Axis, GroupRank, Objective, Rank, Ranking

LEAST_VALUES = 3
"""Two values are a comparison."""
_NUMBER = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,3})?")
_TIED = (Rank.BEST, Rank.TIED)


def is_numeric(column: Column) -> bool:
    """Whether a column has at least `LEAST_VALUES` values, and all are numbers."""
    values = [each for each in column.values if each is not None]
    return len(values) >= LEAST_VALUES and None not in map(_number, values)


def numeric_curve(trials: SucceededTrials, key: str) -> NumericCurve | None:
    """The times at each value of a numeric key, matched in every other one, in order of the values.

    None if the key isn't numeric, or no two of its values share a setting.
    """
    if not is_numeric(trials.columns[key]):
        return None
    found = rank_trials(trials, (key,), Objective.TIME)
    values = _of_medians(found.ranking) if found.ranking else _of_matched(found.alike)
    if len(values) < LEAST_VALUES:
        return None
    values.sort(key=lambda each: each.value)
    return NumericCurve(key, tuple(values), _sentence(key, values))


def _of_matched(matched: MatchedRanking | None) -> list[CurveValue]:
    """The values of the largest set: those of others can't be compared with them."""
    if matched is None or not matched.sets:
        return []
    largest = max(matched.sets, key=lambda each: len(each.places))
    return [
        _curve_value(
            place.key,
            place.n,
            None if place.key == largest.reference else place.strata,
            1.0 if place.key == largest.reference else place.ratio,
            place,
        )
        for place in largest.places
        if place.key[0] is not None
    ]


def _of_medians(ranking: Ranking) -> list[CurveValue]:
    """The values by their medians, as ratios to the lowest one."""
    summaries = [(one, one.summaries.get(Axis.ELAPSED_S)) for one in ranking.groups]
    medians = [s.median for _, s in summaries if s is not None and s.median is not None]
    if not medians:
        return []
    least = min(medians)
    return [
        _curve_value(
            one.key,
            0 if summary is None else summary.n,
            None,
            None if summary is None or summary.median is None else summary.median / least,
            one,
        )
        for one, summary in summaries
        if one.key[0] is not None
    ]


def _number(value: object) -> float | None:
    """A value as a number; settings are kept as texts."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    return float(value) if _NUMBER.fullmatch(str(value)) else None


def _curve_value(
    key: Key, n: int, settings: int | None, ratio: float | None, place: MatchedRank | GroupRank
) -> CurveValue:
    value = _number(key[0])
    assert value is not None
    interval = place.interval if isinstance(place, MatchedRank) else None
    return CurveValue(value, n, settings, ratio, interval, str(place.standing))


def _sentence(key: str, values: Sequence[CurveValue]) -> str:
    best = [each for each in values if each.standing == Rank.BEST]
    tied = [each.value for each in values if each.standing in _TIED]
    unknown = [each for each in values if each.standing == Rank.CANNOT_TELL]
    if not best:
        return f"Can't tell which {key} is fastest: too few matched settings"
    fastest = min(best, key=lambda each: each.ratio or 1.0).value
    said = f"{key} {fastest:g} is fastest"
    if len(tied) > 1:
        said = f"No single best {key}"
        worse = [each.value for each in values if each.standing == Rank.WORSE]
        inside = [f"{each:g}" for each in worse if tied[0] < each < tied[-1]]
        said += f"; {tied[0]:g} to {tied[-1]:g} tie"
        said += f", except {joined(inside)}" if inside else ""
    if unknown:
        said += f"; {len(unknown)} of {len(values)} values have too little data"
    return said
