"""Statistics of one small group of trials, with their uncertainty.

Nothing here guesses: where the numbers do not suffice the answer is `Missing` with a reason. Two
groups are compared in `two_groups`. Formulas and sources stand in the docstrings; docs/method has
the list.
"""

from __future__ import annotations

import math
import statistics
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import filterfalse

from venturi.core.domain import invalid
from venturi.core.errors import VenturiError

MEDIAN_LEVEL = 0.90  # five kept trials, the protocol's default, can carry 90 % but not 95 %
ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class Missing:
    """No value, and why."""

    reason: str


@dataclass(frozen=True, slots=True)
class Interval:
    """Confidence interval [low, high] at `level` (0.90 = 90 %), in the unit of the values."""

    low: float
    high: float
    level: float
    method: str

    @property
    def percent(self) -> str:
        """The level for people: `95 %`."""
        return f"{100 * self.level:.3g} %"


def checked(values: Sequence[float]) -> list[float]:
    """The values as floats. VEN-MODEL-INPUT if one is no number."""
    if not all(map(math.isfinite, values)):
        for value in filterfalse(math.isfinite, values):
            raise VenturiError(
                "VEN-MODEL-INPUT",
                f"{value} among the values to summarize",
                where={"value": value},
                hint="leave out missing values",
            )
    return list(map(float, values))


def median(values: Sequence[float]) -> float | Missing:
    """The middle value, or the mean of the two middle ones."""
    return statistics.median(checked(values)) if values else Missing("no values")


def quantile(values: Sequence[float], fraction: float) -> float | Missing:
    """The quantile at `fraction` (0 to 1), linear between order statistics.

    Definition 7 of Hyndman and Fan (1996): position 1 + (n - 1) * fraction.
    """
    if not 0 <= fraction <= 1:
        raise invalid("fraction", fraction, "from 0 to 1")
    if not values:
        return Missing("no values")
    ordered = sorted(checked(values))
    position = (len(ordered) - 1) * fraction
    below = math.floor(position)
    above = min(below + 1, len(ordered) - 1)
    step = ordered[above] - ordered[below]
    return min(ordered[above], ordered[below] + step * (position - below))


def coefficient_of_variation(values: Sequence[float]) -> float | Missing:
    """Standard deviation (n - 1) over mean, as a fraction; needs two values and a mean above 0."""
    if len(values) < 2:
        return Missing(f"{len(values)} value{'s' * (len(values) != 1)}: spread needs two")
    mean = statistics.fmean(checked(values))
    if mean <= 0:
        return Missing("the mean is not above zero")
    import numpy as np  # noqa: PLC0415 - its types are used without it

    return float(np.std(values, ddof=1)) / mean


def median_interval(values: Sequence[float], level: float = MEDIAN_LEVEL) -> Interval | Missing:
    """Percentile bootstrap interval of the median, by its closed form instead of by chance.

    The k-th smallest of n values drawn with replacement is at most the j-th smallest value with
    P(Binomial(n, j/n) >= k) (Efron 1979, section 3): the limit of endless resampling, and the same
    every time. With n even the lower end is that of the lower, the upper end that of the upper
    middle value. Such intervals still cover too rarely for some n (82 % for 90 % at n = 9), so they
    are widened, rank by rank, until the sign test's exact coverage reaches the level:
    1 - 2 P(Binomial(n, 1/2) < j) for the j-th smallest and j-th largest value.

    Refused where n is too small: no interval between two observations covers the median with more
    than 1 - 2^(1-n), the chance that they do not all fall on one side of it (David and Nagaraja
    2003, section 7.1). BCa is not offered: its acceleration rests on the jackknife, which is
    inconsistent for a median (Efron and Tibshirani 1993, section 10.6).
    """
    if not 0 < level < 1:
        raise invalid("level", level, "between 0 and 1")
    ordered = sorted(checked(values))
    n = len(ordered)
    if n == 0 or 1 - 2.0 ** (1 - n) < level:
        return Missing(
            f"{n} kept trial{'s' * (n != 1)} {'is' if n == 1 else 'are'} too few for a "
            f"{100 * level:.3g} % interval: at least {math.ceil(1 - math.log2(1 - level))} "
            "are needed"
        )
    j = _median_rank(n, level)
    method = "percentile bootstrap of the median, widened to exact coverage"
    return Interval(ordered[j - 1], ordered[-j], level, method)


@lru_cache(maxsize=4096)
def _median_rank(n: int, level: float) -> int:
    """j of the j-th smallest and j-th largest of `n` values, the ends of `median_interval`."""
    if n > 2_000:  # the normal approximation is then within a rank of both
        z = statistics.NormalDist().inv_cdf((1 + level) / 2)
        return math.floor((n - z * math.sqrt(n)) / 2)
    k, missed_at_most = (n + 1) // 2, (1 - level) * (1 + 1e-9)  # equal but for rounding is enough

    def resampled_at_most(j: int) -> float:
        return 1.0 if j == n else _binomial_at_least(n, k, j / n)

    narrowest = 1 + bisect_left(range(1, n + 1), (1 - level) / 2, key=resampled_at_most)
    j, below = 1, _binomial(n, 0, 0.5)
    while j < narrowest and 2 * (below + _binomial(n, j, 0.5)) <= missed_at_most:
        below += _binomial(n, j, 0.5)
        j += 1
    return j


def _binomial(n: int, i: int, p: float) -> float:
    """P(Binomial(n, p) = i) for 0 < p < 1, of any size."""
    ways = math.lgamma(n + 1) - math.lgamma(i + 1) - math.lgamma(n - i + 1)
    return math.exp(ways + i * math.log(p) + (n - i) * math.log1p(-p))


def _binomial_at_least(n: int, k: int, p: float) -> float:
    """P(Binomial(n, p) >= k) for 0 < p < 1: each term from the one before."""
    odds = p / (1 - p)
    term = total = _binomial(n, k, p)
    for i in range(k, n):
        term *= odds * (n - i) / (i + 1)
        total += term
    return total


@dataclass(frozen=True, slots=True)
class Summary:
    """One group in numbers, in the unit of its values; `reasons` has the reason for each None."""

    n: int
    median: float | None
    interval: Interval | None
    coefficient_of_variation: float | None
    low: float | None
    high: float | None
    reasons: dict[str, str]


def summarise(values: Sequence[float], level: float = MEDIAN_LEVEL) -> Summary:
    """Median, interval, spread and range of the kept trials of a group."""
    middle, interval = median(values), median_interval(values, level)
    spread = coefficient_of_variation(values)
    found = {"median": middle, "interval": interval, "coefficient_of_variation": spread}
    reasons = {name: v.reason for name, v in found.items() if isinstance(v, Missing)}
    if not values:
        reasons |= {"low": "no values", "high": "no values"}
    return Summary(
        n=len(values),
        median=None if isinstance(middle, Missing) else middle,
        interval=None if isinstance(interval, Missing) else interval,
        coefficient_of_variation=None if isinstance(spread, Missing) else spread,
        low=min(values, default=None),
        high=max(values, default=None),
        reasons=reasons,
    )
