"""Statistics: checked against enumeration, known tables and their own promises."""

from __future__ import annotations

import itertools
import math
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from venturi.errors import VenturiError
from venturi.model.statistics.stats import (
    Interval,
    Missing,
    Outcome,
    coefficient_of_variation,
    compare_samples,
    median,
    median_interval,
    quantile,
    shift_interval,
    summarise,
    u_distribution,
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


@pytest.mark.parametrize(("n", "m"), [(1, 1), (2, 3), (3, 3), (4, 2), (4, 4)])
def test_u_distribution_is_that_of_all_orders(n: int, m: int) -> None:
    expected = [0] * (n * m + 1)
    for chosen in itertools.combinations(range(n + m), n):
        others = set(range(n + m)) - set(chosen)
        expected[sum(a > b for a in chosen for b in others)] += 1
    assert u_distribution(n, m) == expected


@pytest.mark.parametrize(
    # Critical values of the two-sided Mann-Whitney test at 5 % (any table): k = U_crit + 1.
    ("n", "m", "critical"),
    [(4, 4, 0), (5, 5, 2), (6, 6, 5), (8, 8, 13), (5, 10, 8)],
)
def test_shift_interval_uses_the_tables_ranks(n: int, m: int, critical: int) -> None:
    first = [float(i) for i in range(n)]
    second = [100 * (i + 1.0) for i in range(m)]
    differences = sorted(b - a for a in first for b in second)
    interval = shift_interval(first, second)
    assert isinstance(interval, Interval)
    assert (interval.low, interval.high) == (differences[critical], differences[-critical - 1])


def test_shift_interval_of_large_groups_joins_the_exact_one() -> None:
    rng = np.random.default_rng(1)
    a, b = list(rng.normal(0, 1, 50)), list(rng.normal(1, 1, 50))
    exact, approximate = shift_interval(a, b), shift_interval([*a, a[25]], b)
    assert isinstance(exact, Interval)
    assert isinstance(approximate, Interval)
    assert approximate.low == pytest.approx(exact.low, abs=0.05)
    assert approximate.high == pytest.approx(exact.high, abs=0.05)


def test_a_clear_difference_is_told_with_its_size() -> None:
    verdict = compare_samples([10.0, 10.2, 9.9, 10.1, 10.3], [8.0, 8.1, 7.9, 8.2, 8.05])
    assert verdict.outcome is Outcome.LOWER
    assert verdict.reason is None
    assert verdict.cliffs_delta == -1
    assert verdict.shift == pytest.approx(-2.05, abs=0.1)
    assert verdict.relative == pytest.approx(-0.2, abs=0.01)
    assert verdict.shift_interval is not None
    assert verdict.shift_interval.high < 0
    assert verdict.p_value == pytest.approx(2 / math.comb(10, 5))


def test_three_against_three_cannot_tell_however_far_apart() -> None:
    verdict = compare_samples([1.0, 1.1, 1.2], [100.0, 101.0, 102.0])
    assert verdict.outcome is Outcome.CANNOT_TELL
    assert verdict.reason is not None
    assert "too few trials" in verdict.reason
    assert "0.1" in verdict.reason
    assert verdict.shift_interval is None


def test_no_trials_and_no_difference_cannot_tell() -> None:
    assert compare_samples([], [1.0]).outcome is Outcome.CANNOT_TELL
    same = compare_samples([1.0] * 6, [1.0] * 6)
    assert same.outcome is Outcome.CANNOT_TELL
    assert same.p_value == 1.0
    assert same.cliffs_delta == 0


@given(groups, groups)
def test_comparing_the_other_way_round_mirrors(a: list[float], b: list[float]) -> None:
    one, other = compare_samples(a, b), compare_samples(b, a)
    mirrored = {Outcome.LOWER: Outcome.HIGHER, Outcome.HIGHER: Outcome.LOWER}
    assert other.outcome == mirrored.get(one.outcome, one.outcome)
    assert one.cliffs_delta is not None
    assert other.cliffs_delta == pytest.approx(-one.cliffs_delta)
    assert one.shift is not None
    assert other.shift == pytest.approx(-one.shift)
    assert one.shift_interval is not None
    assert one.shift_interval.low <= one.shift <= one.shift_interval.high


def test_false_verdicts_stay_below_alpha() -> None:
    rng = np.random.default_rng(3)
    told = sum(
        compare_samples(list(rng.lognormal(0, 0.3, 6)), list(rng.lognormal(0, 0.3, 6))).outcome
        is not Outcome.CANNOT_TELL
        for _ in range(400)
    )
    assert told / 400 < 0.05 + 3 * math.sqrt(0.05 * 0.95 / 400)


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
