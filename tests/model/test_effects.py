"""Speedups, ALOJA's definition beside ours, and effects over matched strata."""

from __future__ import annotations

import math
import statistics

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from venturi.model.compare.effects import (
    LEAST_STRATA,
    going_along,
    matched_effect,
    over_selection,
    pairs_of,
    speedup,
)
from venturi.model.statistics.stats import Missing

TIMES = st.lists(st.floats(1.0, 1e4), min_size=5, max_size=40)


@settings(deadline=None)
@given(TIMES, TIMES)
def test_a_speedup_is_baseline_over_own_and_its_inverse_the_other_way(
    own: list[float], base: list[float]
) -> None:
    found = speedup([(own, base)])
    assert found.value == pytest.approx(statistics.median(base) / statistics.median(own))
    inverse = speedup([(base, own)])
    assert inverse.value == pytest.approx(1 / (found.value or math.nan))
    assert found.interval is not None
    low, high = found.interval.low, found.interval.high
    assert min(base) / max(own) * (1 - 1e-9) <= low <= high <= max(base) / min(own) * (1 + 1e-9)
    assert speedup([(own, base)]) == found  # seeded


def test_the_interval_is_that_of_plain_resampling() -> None:
    own = np.array([100.0, 104, 99, 120, 101, 97, 110, 103])
    base = np.array([200.0, 190, 230, 205, 199, 210, 250, 195])
    mine = speedup([(own.tolist(), base.tolist())]).interval
    rng = np.random.default_rng(1979)
    first, second = (
        np.median(values[rng.integers(0, 8, (20_000, 8))], axis=1) for values in (own, base)
    )
    assert mine is not None
    expected = np.quantile(second / first, [0.05, 0.95])
    assert (mine.low, mine.high) == pytest.approx(expected, rel=0.03)


def test_few_trials_give_a_ratio_without_an_interval_and_none_give_nothing() -> None:
    found = speedup([([10.0] * 4, [20.0] * 9)])
    assert (found.value, found.interval) == (2.0, None)
    assert "4 kept trials" in (found.reason or "")
    assert speedup([([], [1.0])]).value is None
    assert speedup([]).reason == "no kept trials to compare"


def test_of_several_kinds_of_work_each_counts_once_however_long_it_is() -> None:
    short, long = ([10.0] * 5, [20.0] * 5), ([8_000.0] * 5, [4_000.0] * 5)
    assert speedup([short, long]).value == pytest.approx(1.0)
    assert speedup([short, short, long]).value == pytest.approx(2 ** (1 / 3))


def test_alojas_definition_moves_with_the_selection_and_ours_does_not() -> None:
    own, base, third = [10.0] * 5, [20.0] * 5, [400.0] * 5
    assert over_selection(own, own + base) == pytest.approx(1.5)
    assert over_selection(own, own + base + third) == pytest.approx(43 / 3)
    assert isinstance(over_selection([], base), Missing)


def test_matched_strata_find_the_effect_that_pooling_turns_round() -> None:
    """Simpson: B is 20 % slower everywhere, but was measured on the small input mostly."""
    strata = {
        "small": {"A": [100.0] * 2, "B": [120.0] * 20},
        "large": {"A": [1_000.0] * 20, "B": [1_200.0] * 2},
        "unmatched": {"A": [5.0]},
    }
    pooled = {
        value: statistics.median([t for times in strata.values() for t in times.get(value, [])])
        for value in "AB"
    }
    assert pooled["B"] < pooled["A"]
    found = matched_effect(pairs_of(strata, "B", "A"))
    assert (found.strata, found.trials) == (2, 44)
    assert found.ratio.value == pytest.approx(1.2)
    assert found.ratio.interval is None
    assert f"an interval needs {LEAST_STRATA}" in (found.ratio.reason or "")
    assert matched_effect([]).ratio.reason == "no trials that differ in nothing else"


def test_the_interval_over_strata_covers_the_truth() -> None:
    rng = np.random.default_rng(7)
    covered = 0
    for _ in range(300):
        pairs = []
        for factor in np.exp(rng.normal(math.log(0.8), 0.1, 8)):
            level = float(rng.uniform(10, 1_000))
            own = (level * factor * np.exp(rng.normal(0, 0.05, 3))).tolist()
            base = (level * np.exp(rng.normal(0, 0.05, 3))).tolist()
            pairs.append((own, base))
        interval = matched_effect(pairs).ratio.interval
        assert interval is not None
        covered += interval.low <= 0.8 <= interval.high
    assert 0.86 <= covered / 300 <= 0.97  # 90 % is promised


def test_what_goes_along_is_found_and_what_varies_by_itself_is_not() -> None:
    values = ["HDD", "HDD", "SSD"]
    settings_ = {"disks": [1, 1, 2], "net": ["IB", "ETH", "IB"], "version": [2, 2, 2]}
    assert going_along(values, settings_) == {"disks"}
    assert going_along([], {"disks": []}) == frozenset()


@settings(deadline=None)
@given(st.integers(1, 60), st.floats(0.2, 5))
def test_equal_ratios_in_all_strata_leave_no_doubt(count: int, factor: float) -> None:
    pairs = [([factor * (10.0 + i)], [10.0 + i]) for i in range(count)]
    found = matched_effect(pairs)
    assert found.ratio.value == pytest.approx(factor)
    if found.ratio.interval is not None:
        ends = found.ratio.interval.low, found.ratio.interval.high
        assert ends == pytest.approx((factor, factor))
    assert (found.ratio.interval is None) == (count < LEAST_STRATA)
