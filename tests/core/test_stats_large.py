"""Statistics of large groups, against scipy's."""

from __future__ import annotations

import pytest

from venturi.core.statistics.stats import Interval, median_interval


@pytest.mark.parametrize("n", [1_500, 2_001, 40_000])
def test_the_medians_interval_of_large_groups_covers_as_it_says(n: int) -> None:
    from scipy import stats

    interval = median_interval([float(i) for i in range(1, n + 1)])
    assert isinstance(interval, Interval)
    assert interval.low + interval.high == n + 1
    missed = 2 * stats.binom.cdf(interval.low - 1, n, 0.5)
    assert 0.90 <= 1 - missed < 0.915
