"""Where a series of values changes its level, if it does.

Each split of the series is compared by the ranks of its values (Pettitt 1979), standardized by the
variance of its rank sum, and the largest difference is tested by permutation. So the chance to find
a change in an unchanged series is at most alpha, however many splits are compared. The change is
placed where the values are closest to the medians of both parts, in logarithms. Its factor and the
interval are those of `two_groups`. Its test must confirm the change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from venturi.core.statistics.stats import ALPHA, Interval
from venturi.core.statistics.two_groups import ComparisonOutcome, compare_samples

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

LEAST_PART = 3
"""Values on each side of a split."""
LEAST_VALUES = 8
"""Fewer can't reach a p of 0.05, whatever their order."""
_ORDERS = 10_000
_SEED = 1979
_SAME = 1e-9


@dataclass(frozen=True, slots=True)
class LevelChange:
    """From the value `index` on, values are `ratio` times the earlier ones; p is of the change."""

    index: int
    ratio: float
    interval: Interval
    p_value: float


@lru_cache(4096)
def change_p(values: tuple[float, ...]) -> float:
    """The p of the largest change in the level of `values`.

    It is 1 for fewer than `LEAST_VALUES`, and for values that aren't above 0: they have no factor.
    """
    n = len(values)
    if n < LEAST_VALUES or min(values) <= 0:
        return 1.0
    size = float(_standardized(_ranks(values)[np.newaxis]).max())
    maxima = _maxima(n)
    as_far = len(maxima) - int(np.searchsorted(maxima, size - _SAME))
    return (as_far + 1) / (len(maxima) + 1)


@lru_cache(4096)
def located_change(values: tuple[float, ...], p: float) -> LevelChange | None:
    """The place and the factor of a change with this `p`; None if its two parts are tied."""
    place = _place(np.log(values))
    verdict = compare_samples(values[:place], values[place:], ALPHA)
    if verdict.outcome is ComparisonOutcome.CANNOT_TELL:
        return None
    assert verdict.ratio is not None
    assert verdict.interval is not None
    return LevelChange(place, verdict.ratio, verdict.interval, p)


def _ranks(values: Sequence[float]) -> Array:
    """Ranks from 1; equal values share a mean rank."""
    _, where, counts = np.unique(np.asarray(values), return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[where])


def _place(logs: Array) -> int:
    """The split with the smallest distances of the values from the medians of its parts."""

    def distance(split: int) -> float:
        parts = logs[:split], logs[split:]
        return sum(float(np.abs(part - np.median(part)).sum()) for part in parts)

    return min(range(LEAST_PART, len(logs) - LEAST_PART + 1), key=distance)


def _standardized(ranks: Array) -> Array:
    """For each row of `ranks` the standardized rank sum before each split, without its sign."""
    n = ranks.shape[1]
    before = np.arange(LEAST_PART, n - LEAST_PART + 1)
    sums = ranks.cumsum(axis=1)[:, before - 1] - before * (n + 1) / 2
    return np.asarray(np.abs(sums) / np.sqrt(before * (n - before) * (n + 1) / 12))


@lru_cache(64)
def _maxima(n: int) -> Array:
    """The largest differences of a seeded sample of orders of `n` different values, sorted."""
    rng = np.random.default_rng([_SEED, n])
    orders = rng.permuted(np.tile(np.arange(1.0, n + 1), (_ORDERS, 1)), axis=1)
    return np.sort(_standardized(orders).max(axis=1))
