"""Marking outliers: by hand-computed scores, by their false alarms, and never by deletion."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from venturi.errors import VenturiError
from venturi.model.compare.outliers import (
    LEAST_TRIALS,
    RULES,
    Marks,
    Suspicion,
    modified_z,
    neighbourhood,
    tukey_log,
)

values = st.lists(st.floats(1, 1e6), min_size=LEAST_TRIALS, max_size=30)
Rule = Callable[[Sequence[float]], Marks]
rules = pytest.mark.parametrize("rule", RULES.values(), ids=RULES)


def test_modified_z_by_hand() -> None:
    # Median 5.5, absolute deviations 0.5 0.5 1.5 1.5 2.5 2.5 3.5 3.5 4.5 94.5: their median is 2.5.
    found = modified_z([1.0, 2, 3, 4, 5, 6, 7, 8, 9, 100])
    assert [(mark.index, mark.value) for mark in found.marks] == [(9, 100)]
    assert found.marks[0].score == pytest.approx(0.6745 * 94.5 / 2.5)
    assert found.high == pytest.approx(5.5 + 3.5 * 2.5 / 0.6745)
    assert found.parameters == {"threshold": 3.5}
    assert found.reason is None


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


@rules
@given(group=values)
def test_marks_are_positions_beyond_the_limits(rule: Rule, group: list[float]) -> None:
    before = list(group)
    found = rule(group)
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


@rules
@pytest.mark.parametrize("n", range(LEAST_TRIALS))
def test_small_groups_cannot_tell(rule: Rule, n: int) -> None:
    found = rule([1.0] * (n - 1) + [1e9] * (n > 0))
    assert found.marks == ()
    assert found.reason is not None
    assert "at least 10" in found.reason


@rules
def test_without_spread_nothing_can_be_told(rule: Rule) -> None:
    found = rule([5.0] * 11 + [900.0])
    assert found.marks == ()
    assert found.reason == "at least half of the values are equal"


@rules
@pytest.mark.parametrize("n", [10, 20, 40])
def test_good_groups_are_seldom_marked(rule: Rule, n: int) -> None:
    rng = np.random.default_rng(12)
    alarms = sum(bool(rule(np.exp(rng.normal(5, 0.05, n)).tolist()).marks) for _ in range(1_000))
    assert 0 < alarms / 1_000 < {"modified_z": 0.17, "tukey_log": 0.08}[rule.__name__]


@rules
def test_a_trial_of_ten_times_the_data_is_marked(rule: Rule) -> None:
    rng = np.random.default_rng(2)
    found = rule([*rng.normal(320, 40, 19).tolist(), 2667.0])
    assert [mark.value for mark in found.marks] == [2667.0]


def test_bad_parameters_and_values() -> None:
    for bad in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(VenturiError):
            modified_z([1.0] * 10, bad)
        with pytest.raises(VenturiError):
            tukey_log([1.0] * 10, bad)
    assert tukey_log([0.0, *range(1, 12)]).reason == "a value is not above zero"
    with pytest.raises(VenturiError):
        neighbourhood([("a",)], [1.0, 2.0], [1.0])


def test_neighbourhood_tells_a_bad_trial_from_a_bad_model() -> None:
    """In `a` one trial is off, in `b` the model is; `c` has no neighbour."""
    configurations = [("a", 1)] * 6 + [("b", 1)] * 4 + [("c", 2)]
    predicted = [100.0] * 11
    observed = [101.0, 99, 100, 102, 98, 400, 390, 410, 400, 395, 420]
    found = neighbourhood(configurations, observed, predicted)
    marks = {mark.index: mark.suspicion for mark in found.marks}
    assert marks == {
        5: Suspicion.OUTLIER,
        **dict.fromkeys((6, 7, 8, 9, 10), Suspicion.WARNING),
    }
    sigma = float(np.std(np.array(observed) - 100))
    assert found.marks[0].score == pytest.approx(300 / sigma)
    assert found.parameters == {"distance": 0.0, "sigmas": 1.0}


def test_neighbourhood_reaches_as_far_as_it_is_told() -> None:
    configurations = [("a", n) for n in range(9)] + [("z", 50), ("a", 99)]
    predicted, observed = [100.0] * 11, [100.0] * 9 + [100.0, 900.0]
    alone = neighbourhood(configurations, observed, predicted)
    assert [mark.suspicion for mark in alone.marks] == [Suspicion.WARNING]
    wider = neighbourhood(configurations, observed, predicted, distance=1)
    assert [(mark.index, mark.suspicion) for mark in wider.marks] == [(10, Suspicion.OUTLIER)]


def test_neighbourhood_of_a_perfect_model_or_of_few_trials() -> None:
    key = ("a",)
    assert neighbourhood([key] * 10, [1.0] * 10, [1.0] * 10).marks == ()
    assert neighbourhood([key] * 3, [1.0] * 3, [9.0] * 3).reason is not None
