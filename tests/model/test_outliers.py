"""Marking outliers: by hand-computed scores, by their false alarms, and never by deletion."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from venturi.errors import VenturiError
from venturi.model.compare.outliers import LEAST_TRIALS, tukey_log

values = st.lists(st.floats(1, 1e6), min_size=LEAST_TRIALS, max_size=30)


def test_tukey_log_by_hand() -> None:
    # Logarithms to base 2: 0, 1, ..., 9, and 40; quartiles 2.5 and 7.5.
    group = [2.0**i for i in (*range(10), 40)]
    found = tukey_log(group)
    assert [mark.index for mark in found.marks] == [10]
    assert found.marks[0].score == pytest.approx((40 - 7.5) / 5)
    assert found.low == pytest.approx(2 ** (2.5 - 15))
    assert found.high == pytest.approx(2 ** (7.5 + 15))
    slow = [mark.index for mark in tukey_log([1 / value for value in group]).marks]
    assert slow == [10]  # twice as fast is as far off as twice as slow


@given(group=values)
def test_marks_are_positions_beyond_the_limits(group: list[float]) -> None:
    before = list(group)
    found = tukey_log(group)
    assert group == before
    assert found.n == len(group)
    if found.reason is not None:
        assert found.marks == ()
        return
    assert found.low is not None
    assert found.high is not None
    marked = {mark.index for mark in found.marks}
    for index, value in enumerate(group):
        if index in marked:
            assert value < found.low * (1 + 1e-9) or value > found.high * (1 - 1e-9)
        else:
            assert found.low * (1 - 1e-9) - 1e-9 <= value <= found.high * (1 + 1e-9)


@pytest.mark.parametrize("n", range(LEAST_TRIALS))
def test_small_groups_cannot_tell(n: int) -> None:
    found = tukey_log([1.0] * (n - 1) + [1e9] * (n > 0))
    assert found.marks == ()
    assert found.reason is not None
    assert "at least 10" in found.reason


def test_without_spread_nothing_can_be_told() -> None:
    found = tukey_log([5.0] * 11 + [900.0])
    assert found.marks == ()
    assert found.reason == "at least half of the values are equal"


@pytest.mark.parametrize("n", [10, 20, 40])
def test_good_groups_are_seldom_marked(n: int) -> None:
    rng = np.random.default_rng(12)
    alarms = sum(
        bool(tukey_log(np.exp(rng.normal(5, 0.05, n)).tolist()).marks) for _ in range(1_000)
    )
    assert 0 < alarms / 1_000 < 0.08


def test_a_trial_of_ten_times_the_data_is_marked() -> None:
    rng = np.random.default_rng(2)
    found = tukey_log([*rng.normal(320, 40, 19).tolist(), 2667.0])
    assert [mark.value for mark in found.marks] == [2667.0]


def test_bad_parameters_and_values() -> None:
    for bad in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(VenturiError):
            tukey_log([1.0] * 10, bad)
    assert tukey_log([0.0, *range(1, 12)]).reason == "a value is not above zero"
