"""Ranges from earlier errors: coverage, order and refusals."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from venturi.core.errors import VenturiError
from venturi.core.statistics.conformal import conformal_error
from venturi.core.statistics.stats import Missing

ERRORS = st.lists(st.floats(-100, 100), max_size=60)


@given(ERRORS, st.sampled_from([0.5, 0.8, 0.9]))
def test_the_error_is_one_of_those_seen_and_exceeds_its_share(
    errors: list[float], level: float
) -> None:
    found = conformal_error(errors, level)
    if isinstance(found, Missing):
        assert len(errors) + 1 < 1 / (1 - level) + 1e-9
        assert str(len(errors)) in found.reason
        return
    assert found in {abs(each) for each in errors}
    assert sum(abs(each) <= found for each in errors) >= level * len(errors)


@given(ERRORS, st.randoms(use_true_random=False))
def test_order_and_sign_of_errors_do_not_matter(errors: list[float], by: random.Random) -> None:
    other = [each * by.choice((-1, 1)) for each in errors]
    by.shuffle(other)
    assert conformal_error(other, 0.9) == conformal_error(errors, 0.9)


@given(ERRORS, st.floats(0, 100))
def test_a_larger_error_never_narrows_the_range(errors: list[float], more: float) -> None:
    before = conformal_error([*errors, 0.0], 0.9)
    after = conformal_error([*errors, more], 0.9)
    if isinstance(before, Missing) or isinstance(after, Missing):
        assert isinstance(before, Missing)
        assert isinstance(after, Missing)
    else:
        assert after >= before


def test_nine_errors_are_the_fewest_for_90_percent() -> None:
    assert isinstance(conformal_error([0.1] * 8, 0.9), Missing)
    assert conformal_error([0.1 * n for n in range(9)], 0.9) == pytest.approx(0.8)
    assert conformal_error([0.1 * n for n in range(19)], 0.9) == pytest.approx(1.7)


def test_it_holds_as_often_as_promised() -> None:
    drawn = random.Random(7)
    held = 0
    for _ in range(4_000):
        *seen, next_ = (drawn.gauss(0.1, 0.3) for _ in range(16))
        found = conformal_error(seen, 0.9)
        held += not isinstance(found, Missing) and abs(next_) <= found
    assert 0.89 <= held / 4_000 <= 0.96


def test_a_level_is_a_share_and_errors_are_numbers() -> None:
    with pytest.raises(VenturiError, match="level"):
        conformal_error([0.1], 1.0)
    with pytest.raises(VenturiError):
        conformal_error([float("nan")], 0.9)
