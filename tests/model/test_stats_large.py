"""Statistics of large groups, and against scipy's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from venturi.model.statistics.stats import (
    Interval,
    compare_samples,
    median_interval,
    shift_interval,
)


@pytest.mark.parametrize(("n", "m"), [(5, 5), (6, 11), (50, 50), (51, 50), (300, 200)])
@pytest.mark.parametrize("digits", [9, 1, 0])
def test_p_is_scipys(n: int, m: int, digits: int) -> None:
    rng = np.random.default_rng(n)
    for shift in (0.0, 0.3, 2.0):
        a = np.round(rng.normal(10, 1, n), digits)
        b = np.round(rng.normal(10 + shift, 2, m), digits)
        tied = len(np.unique([*a, *b])) < n + m
        method = "asymptotic" if tied or n * m > 2_500 else "exact"
        expected = stats.mannwhitneyu(b, a, alternative="two-sided", method=method).pvalue
        found = compare_samples(a.tolist(), b.tolist()).p_value
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-300)


@pytest.mark.parametrize("n", [1_500, 2_001, 40_000])
def test_the_medians_interval_of_large_groups_covers_as_it_says(n: int) -> None:
    interval = median_interval([float(i) for i in range(1, n + 1)])
    assert isinstance(interval, Interval)
    assert interval.low + interval.high == n + 1
    missed = 2 * stats.binom.cdf(interval.low - 1, n, 0.5)
    assert 0.90 <= 1 - missed < 0.915


def test_large_groups_are_compared_without_holding_all_differences() -> None:
    rng = np.random.default_rng(6)
    a, b = rng.normal(10, 1, 1_100).tolist(), rng.normal(10.5, 1, 1_000).tolist()
    verdict = compare_samples(a, b)
    everything = np.sort(np.subtract.outer(b, a), axis=None)
    assert verdict.shift == pytest.approx(np.median(everything), rel=1e-12)
    assert verdict.cliffs_delta == pytest.approx(np.sign(everything).mean(), rel=1e-12)
    interval = shift_interval(a, b)
    assert isinstance(interval, Interval)
    assert np.abs(everything - interval.low).min() < 1e-12
    assert np.abs(everything - interval.high).min() < 1e-12
