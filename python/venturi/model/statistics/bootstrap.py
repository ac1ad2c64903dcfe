"""Bootstrap intervals of statistics that have no closed form; always seeded, so repeatable.

The median's own interval needs no resampling: `stats.median_interval`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from venturi.errors import VenturiError
from venturi.model.statistics.stats import MEDIAN_LEVEL, Interval, Missing, median, median_interval

RESAMPLES = 4_000
SEED = 1979
LEAST_SUCCESSES = 5

Array = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]


def resampled_medians(values: Sequence[float], resamples: int, rng: np.random.Generator) -> Array:
    """Medians of `resamples` bootstrap samples of `values` (Efron 1979), two draws each.

    n values drawn with replacement are the values at floor(n U) for n uniform U. Their k-th
    smallest is the value at floor(n U_(k)), and U_(k) is Beta(k, n - k + 1); given it, the next
    one up is 1 - (1 - U_(k)) W^(1/(n-k)) with W uniform (David and Nagaraja 2003, 2.5). So the
    middle is drawn, exactly, without drawing the sample: 200 groups of 250 in milliseconds.
    """
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    low, high = middle_places(len(ordered), resamples, rng)
    return (ordered[low] + ordered[high]) / 2


def middle_places(n: int, resamples: int, rng: np.random.Generator) -> tuple[Places, Places]:
    """Where among `n` sorted values the two middle ones of each resample lie (the same if odd)."""
    k = (n + 1) // 2
    lower = rng.beta(k, n - k + 1, resamples)
    low = np.minimum((n * lower).astype(np.intp), n - 1)
    if n % 2:
        return low, low
    upper = 1 - (1 - lower) * rng.random(resamples) ** (1 / (n - k))
    return low, np.minimum((n * upper).astype(np.intp), n - 1)


def _percentiles(replicates: Array, level: float, method: str) -> Interval:
    ends = [(1 - level) / 2, (1 + level) / 2]
    low, high = np.quantile(replicates, ends, method="inverted_cdf")
    return Interval(float(low), float(high), level, method)


def ratio_of_medians(first: Sequence[float], second: Sequence[float]) -> float | Missing:
    """Median of `second` over that of `first`: below 1, `second` is the lower one."""
    base, other = median(first), median(second)
    for middle in (base, other):
        if isinstance(middle, Missing):
            return middle
    if base <= 0:  # type: ignore[operator]
        return Missing("the median of the first group is not above zero")
    return other / base  # type: ignore[operator]


def ratio_of_medians_interval(
    first: Sequence[float],
    second: Sequence[float],
    level: float = MEDIAN_LEVEL,
    *,
    seed: int = SEED,
    resamples: int = RESAMPLES,
) -> Interval | Missing:
    """Percentile bootstrap interval of `ratio_of_medians` (Efron and Tibshirani 1993, 13.3).

    Both groups are resampled independently. Refused where a group is too small for an interval of
    its own median at this level.
    """
    for values in (first, second):
        own = median_interval(values, level)
        if isinstance(own, Missing):
            return own
    if min(first) <= 0:
        return Missing("a value of the first group is not above zero")
    rng = np.random.default_rng(seed)
    replicates = resampled_medians(second, resamples, rng) / resampled_medians(
        first, resamples, rng
    )
    return _percentiles(replicates, level, f"percentile bootstrap, {resamples} resamples")


def cost_per_success(cost: Sequence[float], succeeded: Sequence[bool]) -> float | Missing:
    """What one successful trial costs when the failed ones must be paid too: sum / successes.

    `cost` in any one currency, for every trial; the answer is in the same currency.
    """
    if len(cost) != len(succeeded):
        raise VenturiError(
            "VEN-MODEL-INPUT", f"{len(cost)} costs and {len(succeeded)} outcomes",
            hint="give one of each for every trial",
        )  # fmt: skip
    successes = sum(succeeded)
    return sum(cost) / successes if successes else Missing("no trial succeeded")


def cost_per_success_interval(
    cost: Sequence[float],
    succeeded: Sequence[bool],
    level: float = MEDIAN_LEVEL,
    *,
    seed: int = SEED,
    resamples: int = RESAMPLES,
) -> Interval | Missing:
    """Percentile bootstrap interval of `cost_per_success`: whole trials are resampled.

    It covers somewhat too rarely where failures are few: 87 % for 90 % with 4 of 40. Refused with
    fewer than five successes, or if resamples without any are not rare.
    """
    middle = cost_per_success(cost, succeeded)
    if isinstance(middle, Missing):
        return middle
    if sum(succeeded) < LEAST_SUCCESSES:
        return Missing(f"{sum(succeeded)} successes; at least {LEAST_SUCCESSES} are needed")
    paid, won = np.asarray(cost, dtype=np.float64), np.asarray(succeeded, dtype=np.float64)
    rng = np.random.default_rng(seed)
    # How often each trial is drawn: all that sums need to know of a resample.
    times = rng.multinomial(len(paid), np.full(len(paid), 1 / len(paid)), resamples)
    with np.errstate(divide="ignore", invalid="ignore"):
        replicates = (times @ paid) / (times @ won)
    found = _percentiles(replicates, level, f"percentile bootstrap, {resamples} resamples")
    if not np.isfinite(found.high):
        return Missing("so few trials succeeded that resamples without any are not rare")
    return found
