"""The errors that intervals of what-if predictions rest on."""

from __future__ import annotations

import random

import pytest

from benchmarks.whatif import conformal


def test_few_residuals_never_narrow_the_judged_error() -> None:
    assert conformal([], 0.2) == 0.2
    assert conformal([0.01] * 8, 0.2) == 0.2
    assert conformal([0.01, 0.5], 0.2) == 0.5


def test_nine_of_ten_new_residuals_stay_within_the_error() -> None:
    rng = random.Random(1)
    held = []
    for _ in range(2_000):
        seen = [abs(rng.gauss(0, 1)) for _ in range(19)]
        held.append(abs(rng.gauss(0, 1)) <= conformal(seen, 0.2))
    assert sum(held) / len(held) == pytest.approx(0.9, abs=0.03)


def test_the_largest_of_nine_is_their_error() -> None:
    assert conformal([n / 10 for n in range(9)], 0.0) == 0.8
