"""Where a series of times changes its level: found if it does, and rarely found if it doesn't."""

from __future__ import annotations

import random

import pytest

from venturi.core.statistics.change_point import LevelChange, change_p, located_change


def change_point(values: tuple[float, ...]) -> LevelChange | None:
    """The change that is proven at 5 %."""
    p = change_p(values)
    return None if p > 0.05 else located_change(values, p)


def noisy(n: int, seed: int, level: float = 100.0) -> tuple[float, ...]:
    rng = random.Random(seed)
    return tuple(level * rng.lognormvariate(0, 0.1) for _ in range(n))


@pytest.mark.parametrize("n", [8, 12, 30])
def test_an_unchanged_series_rarely_has_a_change(n: int) -> None:
    found = sum(change_point(noisy(n, seed)) is not None for seed in range(400))
    assert found <= 0.05 * 400 + 3 * (0.05 * 0.95 * 400) ** 0.5


def test_a_change_is_found_with_its_place_and_its_factor() -> None:
    found = change_point((*noisy(12, 1), *noisy(6, 2, 150.0)))
    assert found is not None
    assert found.index == 12
    assert found.interval.low < 1.5 < found.interval.high
    assert found.p_value < 0.01


def test_a_drop_has_a_factor_below_1() -> None:
    found = change_point((*noisy(10, 3), *noisy(10, 4, 60.0)))
    assert found is not None
    assert found.interval.high < 1


def test_too_few_values_prove_nothing() -> None:
    assert change_point((1.0, 1.0, 1.0, 9.0, 9.0, 9.0)) is None
    assert change_point((1.0, 9.0)) is None
    assert change_point(()) is None


def test_equal_values_have_no_change() -> None:
    assert change_point((5.0,) * 20) is None


def test_one_slow_run_is_no_change() -> None:
    assert change_point((*noisy(15, 5), 900.0)) is None
