"""Statistics: checked against enumeration, known tables and their own promises."""

from __future__ import annotations

import math
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from venturi.core.errors import VenturiError
from venturi.core.statistics.stats import (
    Interval,
    Missing,
    coefficient_of_variation,
    median,
    median_interval,
    quantile,
    summarise,
)

values = st.floats(0.1, 1e6)
groups = st.lists(values, min_size=5, max_size=12)


@given(groups, st.floats(0, 1))
def test_quantile_is_numpys_default(group: list[float], fraction: float) -> None:
    assert quantile(group, fraction) == pytest.approx(np.quantile(group, fraction))


@given(groups)
def test_interval_holds_the_median_and_lies_within_the_values(group: list[float]) -> None:
    interval = median_interval(group)
    assert isinstance(interval, Interval)
    assert min(group) <= interval.low <= statistics.median(group) <= interval.high <= max(group)
    assert interval == median_interval(sorted(group, reverse=True))


@given(groups, st.integers(-3, 3))
def test_interval_moves_with_the_unit(group: list[float], power: int) -> None:
    scale = 2.0**power  # exact in floating point
    one, other = median_interval(group), median_interval([v * scale for v in group])
    assert isinstance(one, Interval)
    assert isinstance(other, Interval)
    assert (other.low, other.high) == (one.low * scale, one.high * scale)


def test_interval_is_refused_where_n_is_too_small() -> None:
    for n in range(5):
        refused = median_interval([1.0, 2.0, 3.0, 4.0][:n])
        assert isinstance(refused, Missing)
        assert "at least 5 are needed" in refused.reason
    assert isinstance(median_interval([1.0, 2, 3, 4, 5], level=0.95), Missing)
    assert isinstance(median_interval([1.0, 2, 3, 4, 5, 6], level=0.95), Interval)


@pytest.mark.parametrize("n", range(5, 41))
def test_interval_covers_the_median_as_often_as_it_says(n: int) -> None:
    interval = median_interval([float(i) for i in range(1, n + 1)])
    assert isinstance(interval, Interval)
    # Of n values, Binomial(n, 1/2) lie below the true median, whatever the distribution.
    missed = 2 * sum(math.comb(n, i) for i in range(int(interval.low))) / 2**n
    assert interval.low + interval.high == n + 1
    assert 0.90 <= 1 - missed < 0.99


@pytest.mark.parametrize(("n", "widened_by"), [(5, 0), (7, 1), (9, 1), (11, 0)])
def test_interval_is_what_resampling_gives(n: int, widened_by: int) -> None:
    rng = np.random.default_rng(11)
    sample = np.sort(rng.lognormal(0.0, 0.5, n))
    medians = np.median(sample[rng.integers(0, n, size=(200_000, n))], axis=1)
    low, high = np.quantile(medians, [0.05, 0.95], method="inverted_cdf")
    interval = median_interval(list(sample))
    assert isinstance(interval, Interval)
    ranks = [int(np.searchsorted(sample, end)) for end in (interval.low, low, high, interval.high)]
    assert np.diff(ranks)[[0, 2]].tolist() == [widened_by, widened_by]


def test_spread_and_middle_have_reasons_when_missing() -> None:
    assert coefficient_of_variation([2.0, 4.0]) == pytest.approx(math.sqrt(2) / 3)
    assert isinstance(coefficient_of_variation([2.0]), Missing)
    assert isinstance(coefficient_of_variation([-1.0, 1.0]), Missing)
    assert isinstance(median([]), Missing)
    assert isinstance(quantile([], 0.5), Missing)
    empty = summarise([])
    assert empty.n == 0
    for name in ("median", "interval", "coefficient_of_variation", "low", "high"):
        assert getattr(empty, name) is None
        assert empty.reasons[name]


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_values_that_are_no_numbers_are_refused(bad: float) -> None:
    for call in (median, median_interval, summarise):
        with pytest.raises(VenturiError) as caught:
            call([1.0, bad])
        assert caught.value.code == "VEN-MODEL-INPUT"
    for fraction in (-0.1, 1.1):
        with pytest.raises(VenturiError):
            quantile([1.0], fraction)
