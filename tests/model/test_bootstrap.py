"""Bootstrap intervals: against plain resampling, their coverage, and how fast they are."""

from __future__ import annotations

import numpy as np
import pytest

from venturi.model.compare.effects import speedup
from venturi.model.statistics.bootstrap import middle_places
from venturi.model.statistics.stats import summarise


@pytest.mark.parametrize("n", [1, 2, 5, 8, 21, 250])
def test_medians_without_the_samples_are_those_of_the_samples(n: int) -> None:
    rng = np.random.default_rng(5)
    values = rng.lognormal(0, 0.5, n)
    plain = np.median(values[rng.integers(0, n, size=(40_000, n))], axis=1)
    ordered = np.sort(values)
    low, high = middle_places(n, 40_000, rng)
    drawn = (ordered[low] + ordered[high]) / 2
    points = np.unique(np.quantile(plain, np.linspace(0.02, 0.98, 25)))
    one, other = (np.searchsorted(np.sort(x), points, side="right") for x in (plain, drawn))
    assert np.abs(one - other).max() / 40_000 < 0.0136  # two-sample Kolmogorov-Smirnov at 0.1 %


def test_ratio_covers_what_it_should() -> None:
    rng = np.random.default_rng(8)
    covered = 0
    for _ in range(500):
        a, b = rng.lognormal(0, 0.4, 12), rng.lognormal(np.log(1.5), 0.4, 15)
        found = speedup([(a.tolist(), b.tolist())]).interval
        assert found is not None
        covered += found.low <= 1.5 <= found.high
    assert 0.90 <= covered / 500 <= 0.97


def test_two_hundred_groups_of_fifty_thousand_trials_have_intervals() -> None:
    rng = np.random.default_rng(1)
    groups = [rng.lognormal(5, 0.3, size).tolist() for size in rng.integers(150, 350, 200)]
    assert 45_000 < sum(map(len, groups)) < 55_000
    summaries = [summarise(group) for group in groups]
    ratios = [speedup([(groups[0], group)]) for group in groups]
    assert all(summary.interval for summary in summaries)
    assert all(ratio.interval for ratio in ratios)
