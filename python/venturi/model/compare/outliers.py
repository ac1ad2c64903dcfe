"""Trials that look unlike the rest of their group: marked by a named rule, never taken away.

A mark is an invitation to look at a trial. Whether it counts is for a person to decide, by an
exclusion with a reason; no summary here leaves a marked trial out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from venturi.errors import VenturiError
from venturi.model.statistics.stats import Missing, quantile

LEAST_TRIALS = 10  # below, modified z-scores mark up to every fifth good group
FENCE = 3.0


@dataclass(frozen=True, slots=True)
class Mark:
    """One marked value, by its position in what was given. `score` is in the rule's own measure."""

    index: int
    value: float
    score: float


@dataclass(frozen=True, slots=True)
class Marks:
    """What `rule` with these `parameters` marks among `n` values.

    `low` and `high` are the limits beyond which values are marked, None where the rule has none.
    `reason` says why nothing can be told; then there are no marks, which is not "no outliers".
    """

    rule: str
    parameters: Mapping[str, float]
    n: int
    marks: tuple[Mark, ...]
    low: float | None = None
    high: float | None = None
    reason: str | None = None


def tukey_log(values: Sequence[float], fence: float = FENCE) -> Marks:
    """Values beyond `fence` interquartile ranges outside the quartiles of their logarithms.

    Tukey's fences (1977, 2D), taken in log time because times are skewed: a trial twice as slow is
    as far off as one twice as fast. 3 is what Tukey calls far out: it marks a value in 5 % of good
    log-normal groups of 10 and 1 % of 40, his 1.5 in 28 % and 38 %. The score is the distance to
    the nearer quartile in interquartile ranges, negative below.
    """
    _positive("fence", fence)
    rule, parameters, n = "tukey-log", {"fence": fence}, len(values)
    if n < LEAST_TRIALS:
        return Marks(rule, parameters, n, (), reason=_too_few(n))
    if min(values) <= 0:
        return Marks(rule, parameters, n, (), reason="a value is not above zero")
    logs = [math.log(value) for value in values]
    lower, upper = quantile(logs, 0.25), quantile(logs, 0.75)
    if isinstance(lower, Missing) or isinstance(upper, Missing) or upper == lower:
        return Marks(rule, parameters, n, (), reason="at least half of the values are equal")
    reach = upper - lower
    scores = [max(log - upper, 0) / reach + min(log - lower, 0) / reach for log in logs]
    marks = tuple(
        Mark(index, value, score)
        for index, (value, score) in enumerate(zip(values, scores, strict=True))
        if abs(score) > fence
    )
    low, high = math.exp(lower - fence * reach), math.exp(upper + fence * reach)
    return Marks(rule, parameters, n, marks, low, high)


def _positive(name: str, value: float) -> None:
    if not (math.isfinite(value) and value > 0):
        raise VenturiError(
            "VEN-MODEL-INPUT", f"a {name} of {value}", where={"field": name, "value": value},
            hint="give a number above zero",
        )  # fmt: skip


def _too_few(n: int) -> str:
    return f"{n} value{'s' * (n != 1)}; marking needs at least {LEAST_TRIALS}"
