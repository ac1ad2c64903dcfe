"""Marking outliers: by hand-computed scores, by their false alarms, and never by deletion."""

from __future__ import annotations

import math
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from venturi.results.compare.outliers import LEAST_TRIALS, shared_spread

values = st.lists(st.floats(1, 1e6), min_size=LEAST_TRIALS, max_size=30)


def alone(group: list[float]) -> tuple[float, ...]:
    (found,) = shared_spread([group])
    return found


def test_the_limit_by_hand() -> None:
    # Logarithms: 0, .1, .2, .3, x; median .2, deviations .2, .1, 0, .1, x - .2, their median .1.
    own, shared = 1.4826 * 0.1, 1.4826 * 0.1 * math.sqrt(5 / 4)
    limit = 0.2 + 4 * math.sqrt((4 * shared**2 + 4 * own**2) / 8)
    for beyond in (False, True):
        last = limit * (1.0001 if beyond else 0.9999)
        group = [math.exp(log) for log in (0, 0.1, 0.2, 0.3, last)]
        assert alone(group) == ((group[-1],) if beyond else ())
        fast = [1 / value for value in group]
        assert alone(fast) == ((fast[-1],) if beyond else ()), "as far off as what is as slow"


def test_groups_share_their_spread() -> None:
    """Three values that happen to lie close do not make the fourth an outlier."""
    close = [100.0, 100.1, 100.2, 115.0]
    wide = [[100.0, 112.0, 90.0, 105.0, 95.0], [50.0, 57.0, 45.0, 53.0, 48.0]]
    assert alone(close) == (115.0,)
    assert not shared_spread([close, *wide])[0]


def test_what_is_off_by_less_than_a_tenth_is_never_marked() -> None:
    assert not alone([100.0, 100.001, 100.002, 100.003, 109.0])
    assert alone([100.0, 100.001, 100.002, 100.003, 111.0])


@given(groups=st.lists(values, min_size=1, max_size=4))
def test_what_is_marked_is_further_off_than_the_rest(groups: list[list[float]]) -> None:
    before = [list(group) for group in groups]
    for group, marked in zip(groups, shared_spread(groups), strict=True):
        middle = statistics.median(map(math.log, group))
        off = {value: abs(math.log(value) - middle) for value in group}
        rest = [value for value in group if value not in marked]
        assert len(marked) + len(rest) == len(group)
        if marked and rest:
            assert min(off[value] for value in marked) >= max(off[value] for value in rest)
    assert groups == before


@pytest.mark.parametrize("n", range(LEAST_TRIALS))
def test_small_groups_cannot_tell(n: int) -> None:
    assert alone([1.0] * (n - 1) + [1e9] * (n > 0)) == ()


def test_without_spread_nothing_can_be_told() -> None:
    assert alone([5.0] * 11 + [900.0]) == ()
    assert alone([0.0, 1.0, 2.0]) == ()


@pytest.mark.parametrize(("n", "most"), [(3, 0.12), (5, 0.09), (10, 0.07), (20, 0.05)])
def test_good_groups_are_seldom_marked_and_slow_trials_found(n: int, most: float) -> None:
    """200 sets of ten groups of three spreads, one trial in twenty 1.6 times slower."""
    rng = np.random.default_rng(12)
    good = alarms = slow = found = 0
    for _ in range(200):
        is_slow = rng.random((10, n)) < 0.05
        spreads = rng.choice([0.02, 0.045, 0.1], size=(10, 1))
        times = np.exp(5 + spreads * rng.normal(size=(10, n))) * np.where(is_slow, 1.6, 1.0)
        for row, own, found_s in zip(is_slow, times, shared_spread(times.tolist()), strict=True):
            marked = set(np.flatnonzero(np.isin(own, found_s)).tolist())
            good += not row.any()
            alarms += not row.any() and bool(marked)
            slow += int(row.sum())
            found += sum(index in marked for index in np.flatnonzero(row))
    assert alarms / good < most
    if n >= 5:
        assert found / slow > 0.7


def test_a_trial_of_ten_times_the_data_is_marked() -> None:
    rng = np.random.default_rng(2)
    assert alone([*rng.normal(320, 40, 19).tolist(), 2667.0]) == (2667.0,)
