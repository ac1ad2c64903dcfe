"""Trials that look unlike the rest of their group: marked by a named rule, never taken away.

A mark is an invitation to look at a trial. Whether it counts is for a person to decide, by an
exclusion with a reason; no summary here leaves a marked trial out.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

import numpy as np

from venturi.errors import VenturiError
from venturi.model.compare.groups import Key
from venturi.model.statistics.stats import Missing, median, quantile

LEAST_TRIALS = 10  # below, modified z-scores mark up to every fifth good group
Z_THRESHOLD = 3.5
NORMAL_MAD = 0.6745  # the median absolute deviation of a normal distribution, in its sigmas
FENCE = 3.0


class Suspicion(StrEnum):
    """How sure a rule is."""

    OUTLIER = "outlier"
    WARNING = "to be checked"


@dataclass(frozen=True, slots=True)
class Mark:
    """One marked value, by its position in what was given. `score` is in the rule's own measure."""

    index: int
    value: float
    score: float
    suspicion: Suspicion = Suspicion.OUTLIER


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


def modified_z(values: Sequence[float], threshold: float = Z_THRESHOLD) -> Marks:
    """Modified z-scores 0.6745 (x - median) / MAD beyond `threshold` (Iglewicz and Hoaglin 1993).

    MAD is the median absolute deviation from the median. Made for symmetric values: it marks a
    value in 13 % of good normal groups of 10 and 10 % of 40, but in 20 % and 36 % of log-normal
    ones with a sigma of 0.3, where `tukey_log` is the better rule. Cannot tell with fewer than ten
    values, or if half of them are equal, as there is no spread to measure by.
    """
    _positive("threshold", threshold)
    rule, parameters, n = "modified-z", {"threshold": threshold}, len(values)
    middle = median(values)
    if n < LEAST_TRIALS or isinstance(middle, Missing):
        return Marks(rule, parameters, n, (), reason=_too_few(n))
    deviation = statistics.median(abs(value - middle) for value in values)
    if deviation == 0:
        return Marks(rule, parameters, n, (), reason="at least half of the values are equal")
    scale = deviation / NORMAL_MAD
    marks = tuple(
        Mark(index, value, (value - middle) / scale)
        for index, value in enumerate(values)
        if abs(value - middle) / scale > threshold
    )
    reach = threshold * scale
    return Marks(rule, parameters, n, marks, middle - reach, middle + reach)


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


RULES: Mapping[str, Callable[[Sequence[float]], Marks]] = MappingProxyType(
    {"modified-z": modified_z, "tukey-log": tukey_log}
)


def neighbourhood(
    configurations: Sequence[Key],
    observed: Sequence[float],
    predicted: Sequence[float],
    *,
    distance: int = 0,
    sigmas: float = 1.0,
) -> Marks:
    """Trials that a model misses although it is right about their neighbours (ALOJA-ML).

    A trial is missed if its error, observed - predicted, is more than `sigmas` standard deviations
    of all errors. Neighbours are the other trials whose configuration differs in at most `distance`
    settings. A missed trial is an outlier if more than half of its neighbours are not missed;
    otherwise, or without neighbours, it is to be checked: then it may be the model that is wrong
    (Berral et al. 2015). Works across groups, where the other rules look at one.
    The score is the error in standard deviations.
    """
    _positive("sigmas", sigmas)
    n = len(observed)
    if not n == len(configurations) == len(predicted):
        raise VenturiError(
            "VEN-MODEL-INPUT",
            f"{len(configurations)} configurations, {n} observed and {len(predicted)} predicted",
            hint="give one of each for every trial",
        )
    rule, parameters = "aloja-ml-neighbourhood", {"distance": float(distance), "sigmas": sigmas}
    if n < LEAST_TRIALS:
        return Marks(rule, parameters, n, (), reason=_too_few(n))
    errors = np.asarray(observed, dtype=np.float64) - np.asarray(predicted, dtype=np.float64)
    sigma = float(np.std(errors))
    if sigma == 0:
        return Marks(rule, parameters, n, ())
    missed = np.abs(errors) > sigmas * sigma
    # Each setting as small integers, so that one trial is compared with all others at once.
    settings = np.stack(
        [np.unique([repr(v) for v in column], return_inverse=True)[1]
         for column in zip(*configurations, strict=True)],
        axis=1,
    )  # fmt: skip
    marks = []
    for index in np.flatnonzero(missed).tolist():
        near = (settings != settings[index]).sum(axis=1) <= distance
        near[index] = False
        right, many = int((near & ~missed).sum()), int(near.sum())
        suspicion = Suspicion.OUTLIER if 2 * right > many else Suspicion.WARNING
        marks.append(Mark(index, float(observed[index]), float(errors[index]) / sigma, suspicion))
    return Marks(rule, parameters, n, tuple(marks))


def _positive(name: str, value: float) -> None:
    if not (math.isfinite(value) and value > 0):
        raise VenturiError(
            "VEN-MODEL-INPUT", f"a {name} of {value}", where={"field": name, "value": value},
            hint="give a number above zero",
        )  # fmt: skip


def _too_few(n: int) -> str:
    return f"{n} value{'s' * (n != 1)}; marking needs at least {LEAST_TRIALS}"
