"""A numeric setting as a curve: its values in order, and the range that is statistically best.

Each value has its ratio to the same baseline, over the settings that both have. A value is worse
if the lower end of its interval lies above the upper end of another one's. With k values besides
the baseline, each end has an error of at most alpha/k. So the truly best value is called worse
with a chance of at most alpha: that takes its own lower end to be wrong, or the upper end of
another value. The best of those that tie is the one with the lowest upper end.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from venturi.core.statistics.stats import Interval
from venturi.core.wording import count_of, joined
from venturi.results.effects.effect import CurveValue, NumericCurve, Standing, Value
from venturi.results.effects.effect_words import shown
from venturi.results.effects.strata import WIDEST

LEAST_VALUES = 3
"""Two values are a comparison."""
EXCEPTIONS_MAX = 3
_NUMBER = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,3})?")


def number_of(value: Value) -> float | None:
    """A value as a number; settings are kept as texts."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    return float(value) if _NUMBER.fullmatch(str(value)) else None


def is_numeric(values: Sequence[Value]) -> bool:
    """Whether these are at least `LEAST_VALUES` values, and all are numbers."""
    return len(values) >= LEAST_VALUES and None not in map(number_of, values)


def level_of(alpha: float, others: int) -> float:
    """The level of the intervals of so many values besides the baseline."""
    return 1 - min(2 * alpha / max(1, others), 0.999)


def numeric_curve(key: str, values: Iterable[CurveValue], reference: float) -> NumericCurve | None:
    """The curve of `values`, with their standings; None if too few have a ratio.

    The value `reference` is the baseline: its ratio is 1, without an interval.
    """
    found = sorted(values, key=lambda each: each.value)
    if sum(each.ratio is not None for each in found) < LEAST_VALUES:
        return None
    placed = [each for each in found if _is_known(each, reference)]
    limit = min(_ends(each)[1] for each in placed)
    known = {each.value for each in placed} if len(placed) > 1 else set()
    judged = [replace(each, standing=_standing(each, limit, known)) for each in found]
    tied = [each for each in judged if each.standing == "tied"]
    if tied:
        best = min(tied, key=lambda each: _ends(each)[1])
        judged[judged.index(best)] = replace(best, standing="best")
    ends = (tied[0].value, tied[-1].value) if tied else None
    return NumericCurve(key, tuple(judged), _sentence(key, judged), reference, ends)


def _ends(each: CurveValue) -> tuple[float, float]:
    """The interval; of the baseline, the ratio."""
    at = each.ratio or 1.0
    return (at, at) if each.interval is None else (each.interval.low, each.interval.high)


def _is_known(each: CurveValue, reference: float) -> bool:
    """Whether the interval is narrow enough to say that the value may be the best."""
    return each.value == reference or _is_narrow(each.interval)


def _is_narrow(interval: Interval | None) -> bool:
    return interval is not None and interval.high <= WIDEST * interval.low


def _standing(each: CurveValue, limit: float, known: set[float]) -> Standing:
    if each.value not in known and each.interval is None:
        return "cannot tell"
    if _ends(each)[0] > limit:
        return "worse"
    return "tied" if each.value in known else "cannot tell"


def _sentence(key: str, values: Sequence[CurveValue]) -> str:
    name = key.removeprefix("configuration.")
    best = [each for each in values if each.standing in {"best", "tied"}]
    unknown = sum(each.standing == "cannot tell" for each in values)
    if not best:
        return f"Can't tell which {name} is fastest: too few matched settings"
    texts = [_text(key, each.value) for each in best]
    said = f"{name} {texts[0]} is fastest"
    if len(best) > 1:
        worse = [each.value for each in values if each.standing == "worse"]
        inside = [_text(key, each) for each in worse if best[0].value < each < best[-1].value]
        said = f"No single best {name}; {texts[0]} to {texts[-1]} tie"
        if len(inside) > EXCEPTIONS_MAX:
            said += f", except {count_of(len(inside), 'value')}"
        elif inside:
            said += f", except {joined(inside)}"
    if unknown:
        said += f"; {unknown} of {len(values)} values have too little data"
    return said


def _text(key: str, value: float) -> str:
    return shown(key, int(value)) if value.is_integer() else f"{value:g}"
