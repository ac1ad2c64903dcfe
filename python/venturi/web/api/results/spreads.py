"""Values in numbers, as the interface gives them."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from venturi.core.statistics import stats
from venturi.core.statistics.stats import Interval
from venturi.web.api.shapes import SpreadData

_QUANTILES = np.array([0.25, 0.75, 0.9])
NOTHING = "no trial succeeded"


def interval(found: Interval | stats.Missing | None) -> Interval | None:
    """The interval, or None."""
    return found if isinstance(found, Interval) else None


def no_spread(n: int, reason: str) -> SpreadData:
    """Nothing but how many values there are, and why."""
    return SpreadData(n, None, None, None, None, None, None, None, None, None, reason)


def spread_of(values: Sequence[float], reason: str = NOTHING) -> SpreadData:
    """Quantiles (Hyndman and Fan, definition 7), mean and variation; without values `reason`."""
    if not values:
        return no_spread(0, reason)
    array = np.sort(np.asarray(values, dtype=np.float64))
    # As `numpy.quantile` does it, which is made for more than a few hundred values at a time.
    at = (len(array) - 1) * _QUANTILES
    below = at.astype(np.intp)
    steps = array[np.minimum(below + 1, len(array) - 1)] - array[below]
    p25, p75, p90 = (array[below] + steps * (at - below)).tolist()
    low, high, mean = float(array[0]), float(array[-1]), float(array.mean())
    middle = stats.median_interval(array.tolist())
    return SpreadData(
        n=len(values),
        median=statistics.median(values),
        interval=interval(middle),
        minimum=low,
        p25=p25,
        p75=p75,
        p90=p90,
        maximum=high,
        mean=mean,
        variation=float(array.std(ddof=1)) / mean if len(values) > 1 and mean > 0 else None,
        reason=middle.reason if isinstance(middle, stats.Missing) else None,
    )


def scaled(spread: SpreadData, factor: float) -> SpreadData:
    """The spread of all values times `factor`."""

    def of(value: float | None) -> float | None:
        return None if value is None else value * factor

    within = spread.interval
    return replace(
        spread,
        median=of(spread.median),
        interval=within and replace(within, low=within.low * factor, high=within.high * factor),
        minimum=of(spread.minimum),
        p25=of(spread.p25),
        p75=of(spread.p75),
        p90=of(spread.p90),
        maximum=of(spread.maximum),
        mean=of(spread.mean),
    )


def times(value: float) -> str:
    """A ratio for people: `1.34`, `12`, `0.052`."""
    return f"{value:.2f}" if 0.1 <= value < 10 else f"{value:.3g}"
