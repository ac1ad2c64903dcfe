"""Bootstrap intervals: against plain resampling, their coverage, and how fast they are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from venturi.errors import VenturiError
from venturi.model.statistics.bootstrap import (
    cost_per_success,
    cost_per_success_interval,
    ratio_of_medians,
    ratio_of_medians_interval,
    resampled_medians,
)
from venturi.model.statistics.stats import Interval, Missing, summarise


@pytest.mark.parametrize("n", [1, 2, 5, 8, 21, 250])
def test_medians_without_the_samples_are_those_of_the_samples(n: int) -> None:
    rng = np.random.default_rng(5)
    values = rng.lognormal(0, 0.5, n)
    plain = np.median(values[rng.integers(0, n, size=(40_000, n))], axis=1)
    drawn = resampled_medians(values.tolist(), 40_000, rng)
    points = np.unique(np.quantile(plain, np.linspace(0.02, 0.98, 25)))
    one, other = (np.searchsorted(np.sort(x), points, side="right") for x in (plain, drawn))
    assert np.abs(one - other).max() / 40_000 < 0.0136  # two-sample Kolmogorov-Smirnov at 0.1 %


def test_ratio_is_repeatable_and_moves_with_the_unit() -> None:
    rng = np.random.default_rng(2)
    a, b = rng.lognormal(5, 0.2, 12).tolist(), rng.lognormal(5.5, 0.2, 9).tolist()
    found = ratio_of_medians_interval(a, b)
    assert isinstance(found, Interval)
    assert found == ratio_of_medians_interval(a, b)
    middle = ratio_of_medians(a, b)
    assert isinstance(middle, float)
    assert found.low <= middle <= found.high
    halved = ratio_of_medians_interval([2 * v for v in a], b)
    assert isinstance(halved, Interval)
    assert (halved.low, halved.high) == (found.low / 2, found.high / 2)


def test_ratio_covers_what_it_should() -> None:
    rng = np.random.default_rng(8)
    covered = 0
    for _ in range(500):
        a, b = rng.lognormal(0, 0.4, 12), rng.lognormal(np.log(1.5), 0.4, 15)
        found = ratio_of_medians_interval(a.tolist(), b.tolist(), resamples=1_000)
        assert isinstance(found, Interval)
        covered += found.low <= 1.5 <= found.high
    assert 0.90 <= covered / 500 <= 0.97


def test_what_cannot_be_told_has_a_reason() -> None:
    five = [1.0, 2, 3, 4, 5]
    few = ratio_of_medians_interval(five, five[:4])
    assert isinstance(few, Missing)
    assert "at least 5" in few.reason
    assert isinstance(ratio_of_medians_interval([0.0, 1, 1, 1, 1], five), Missing)
    assert isinstance(ratio_of_medians([], five), Missing)
    assert isinstance(ratio_of_medians([0.0], five), Missing)
    assert isinstance(cost_per_success([1.0], [False]), Missing)
    assert isinstance(cost_per_success_interval([1.0], [False]), Missing)
    assert isinstance(cost_per_success_interval([1.0] * 4, [True] * 4), Missing)
    rare = cost_per_success_interval([1.0] * 200, [True] * 5 + [False] * 195, level=0.99)
    assert isinstance(rare, Missing)
    with pytest.raises(VenturiError):
        cost_per_success([1.0], [True, False])


@given(st.lists(st.tuples(st.floats(0.1, 9), st.booleans()), min_size=1, max_size=30))
def test_failures_make_a_success_dearer(trials: list[tuple[float, bool]]) -> None:
    cost, succeeded = [c for c, _ in trials], [s for _, s in trials]
    found = cost_per_success(cost, succeeded)
    if any(succeeded):
        assert isinstance(found, float)
        more = cost_per_success([*cost, 1.0], [*succeeded, False])
        assert isinstance(more, float)
        assert more > found
    else:
        assert isinstance(found, Missing)


def test_cost_per_success_covers_what_it_should() -> None:
    rng = np.random.default_rng(4)
    covered = 0
    for _ in range(300):
        cost, succeeded = rng.gamma(20, 0.05, 40), rng.random(40) < 0.9  # mean cost 1
        found = cost_per_success_interval(cost.tolist(), succeeded.tolist(), resamples=1_000)
        assert isinstance(found, Interval)
        covered += found.low <= 1 / 0.9 <= found.high
    assert 0.82 <= covered / 300 <= 0.93  # below the 0.90 that it says, as documented


def test_two_hundred_groups_of_fifty_thousand_trials_have_intervals() -> None:
    rng = np.random.default_rng(1)
    groups = [rng.lognormal(5, 0.3, size).tolist() for size in rng.integers(150, 350, 200)]
    assert 45_000 < sum(map(len, groups)) < 55_000
    summaries = [summarise(group) for group in groups]
    ratios = [ratio_of_medians_interval(groups[0], group) for group in groups]
    assert all(summary.interval for summary in summaries)
    assert all(isinstance(ratio, Interval) for ratio in ratios)
