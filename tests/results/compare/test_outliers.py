"""Marking outliers: by hand-computed scores, by their false alarms, and never by deletion."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from venturi.results.compare.outliers import LEAST_TRIALS, OutlierMarks, shared_spread

values = st.lists(st.floats(1, 1e6), min_size=LEAST_TRIALS, max_size=30)


def alone(group: list[float]) -> OutlierMarks:
    (found,) = shared_spread([group])
    return found


def test_the_score_by_hand() -> None:
    # Logarithms: 0, .1, .2, .3, 5; median .2, deviations .2, .1, 0, .1, 4.8, their median .1.
    group = [math.exp(log) for log in (0, 0.1, 0.2, 0.3, 5)]
    found = alone(group)
    own, shared = 1.4826 * 0.1, 1.4826 * 0.1 * math.sqrt(5 / 4)
    spread = math.sqrt((4 * shared**2 + 4 * own**2) / 8)
    assert [mark.index for mark in found.marks] == [4]
    assert found.marks[0].score == pytest.approx(4.8 / spread)
    assert found.low == pytest.approx(math.exp(0.2 - 4 * spread))
    assert found.high == pytest.approx(math.exp(0.2 + 4 * spread))
    fast = alone([1 / value for value in group])
    assert [mark.index for mark in fast.marks] == [4], "twice as fast is as far off as as slow"


def test_groups_share_their_spread() -> None:
    """Three values that happen to lie close do not make the fourth an outlier."""
    close = [100.0, 100.1, 100.2, 115.0]
    wide = [[100.0, 112.0, 90.0, 105.0, 95.0], [50.0, 57.0, 45.0, 53.0, 48.0]]
    assert [mark.value for mark in alone(close).marks] == [115.0]
    assert not shared_spread([close, *wide])[0].marks


def test_what_is_off_by_less_than_a_tenth_is_never_marked() -> None:
    assert not alone([100.0, 100.001, 100.002, 100.003, 109.0]).marks
    assert alone([100.0, 100.001, 100.002, 100.003, 111.0]).marks


@given(groups=st.lists(values, min_size=1, max_size=4))
def test_marks_are_positions_beyond_the_limits(groups: list[list[float]]) -> None:
    before = [list(group) for group in groups]
    for group, found in zip(groups, shared_spread(groups), strict=True):
        assert found.n == len(group)
        if found.reason is not None:
            assert found.marks == ()
            continue
        assert found.low is not None
        assert found.high is not None
        marked = {mark.index for mark in found.marks}
        for index, value in enumerate(group):
            if index in marked:
                assert value < found.low * (1 + 1e-9) or value > found.high * (1 - 1e-9)
            else:
                assert found.low * (1 - 1e-9) - 1e-9 <= value <= found.high * (1 + 1e-9)
    assert groups == before


@pytest.mark.parametrize("n", range(LEAST_TRIALS))
def test_small_groups_cannot_tell(n: int) -> None:
    found = alone([1.0] * (n - 1) + [1e9] * (n > 0))
    assert found.marks == ()
    assert "at least 3" in (found.reason or "")


def test_without_spread_nothing_can_be_told() -> None:
    found = alone([5.0] * 11 + [900.0])
    assert found.marks == ()
    assert found.reason == "at least half of the values are equal"
    assert alone([0.0, 1.0, 2.0]).reason == "a value is not above zero"


@pytest.mark.parametrize(("n", "most"), [(3, 0.12), (5, 0.09), (10, 0.07), (20, 0.05)])
def test_good_groups_are_seldom_marked_and_slow_trials_found(n: int, most: float) -> None:
    """200 sets of ten groups of three spreads, one trial in twenty 1.6 times slower."""
    rng = np.random.default_rng(12)
    good = alarms = slow = found = 0
    for _ in range(200):
        is_slow = rng.random((10, n)) < 0.05
        spreads = rng.choice([0.02, 0.045, 0.1], size=(10, 1))
        times = np.exp(5 + spreads * rng.normal(size=(10, n))) * np.where(is_slow, 1.6, 1.0)
        for row, marks in zip(is_slow, shared_spread(times.tolist()), strict=True):
            marked = {mark.index for mark in marks.marks}
            good += not row.any()
            alarms += not row.any() and bool(marked)
            slow += int(row.sum())
            found += sum(index in marked for index in np.flatnonzero(row))
    assert alarms / good < most
    if n >= 5:
        assert found / slow > 0.7


def test_a_trial_of_ten_times_the_data_is_marked() -> None:
    rng = np.random.default_rng(2)
    found = alone([*rng.normal(320, 40, 19).tolist(), 2667.0])
    assert [mark.value for mark in found.marks] == [2667.0]
