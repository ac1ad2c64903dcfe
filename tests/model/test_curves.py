"""Fitted curves of time against nodes and data, and the memory cliff where there is one."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from venturi.model.scaling.curves import (
    AMOUNTS,
    MISFIT,
    RESOURCES,
    CurveFit,
    Shape,
    find_cliff,
    fit_curve,
)
from venturi.model.statistics.stats import Missing

TABLE_21 = Path(__file__).parents[1] / "data/vmware2017/logreg_scaling.csv"
TB = 1e12


def table_21() -> tuple[list[float], list[float]]:
    with TABLE_21.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return [float(r["dataset_tb"]) * TB for r in rows], [float(r["elapsed_s"]) for r in rows]


def fitted(x: list[float], times: list[float], shapes: tuple[Shape, ...]) -> CurveFit:
    found = fit_curve(x, times, shapes)
    assert isinstance(found, CurveFit), found
    return found


# --- curves --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "coefficients"),
    [(Shape.CONSTANT, (50,)), (Shape.AMDAHL, (30, 400)), (Shape.POWER, (500, -0.6))],
)
def test_the_curve_that_made_the_times_is_found(
    shape: Shape, coefficients: tuple[float, ...]
) -> None:
    x = [2.0, 4, 8, 16, 32]
    a, b = (*coefficients, 0.0)[:2]
    made = {
        Shape.CONSTANT: [a for _ in x],
        Shape.AMDAHL: [a + b / n for n in x],
        Shape.POWER: [a * n**b for n in x],
    }[shape]
    found = fitted(x, made, RESOURCES)
    assert found.shape is shape
    assert found.at(x) == pytest.approx(made)
    assert found.left_out < 1e-6
    low, high = found.interval(x)
    assert low == pytest.approx(made)
    assert high == pytest.approx(made)


def test_more_nodes_may_take_longer_and_the_curve_says_so() -> None:
    """Ernest's terms: what is shared falls with the nodes, all-to-one grows with them."""
    x = [1.0, 2, 4, 8, 16, 32, 64]
    made = [10 + 600 / n + 2 * n for n in x]
    found = fitted(x, made, RESOURCES)
    assert found.shape is Shape.ERNEST
    assert found.at([1, 17, 64]) == pytest.approx([612, 10 + 600 / 17 + 34, 10 + 600 / 64 + 128])
    assert found.formula() == "t = 10 s + 600 s / x + 2 s * x"


def test_a_line_of_time_against_data_in_words() -> None:
    found = fitted([1e9, 2e9, 5e9, 9e9], [13.0, 16, 25, 37], AMOUNTS)
    assert found.shape is Shape.LINE
    assert found.formula(1e9, "GB") == "t = 10 s + 3 s * x[GB]"


def test_the_interval_covers_the_curve() -> None:
    rng = np.random.default_rng(3)
    x = [2.0, 3, 4, 6, 8, 12]
    truth = np.array([20 + 300 / n for n in x])
    covered = 0
    for _ in range(200):
        found = fitted(x, (truth * np.exp(rng.normal(0, 0.05, len(x)))).tolist(), (Shape.AMDAHL,))
        low, high = found.interval([5.0])
        covered += bool(low[0] <= 20 + 300 / 5 <= high[0])
    assert 0.84 <= covered / 200 <= 0.97  # 90 % is promised


def test_too_few_points_have_no_curve_and_say_why() -> None:
    found = fit_curve([2, 4], [10, 8], RESOURCES)
    assert isinstance(found, Missing)
    assert "2 measured values of x" in found.reason
    assert isinstance(fit_curve([0, 1, 2], [1, 2, 3], AMOUNTS), Missing)


def test_as_many_coefficients_as_points_have_no_interval() -> None:
    found = fit_curve([1, 2, 4, 8], [640, 336.0, 190.0, 147.0], (Shape.ERNEST,))
    assert isinstance(found, CurveFit)
    low, _ = found.interval([4.0])
    assert (found.reason is None) == math.isfinite(low[0])


@settings(max_examples=60, deadline=None)
@example([1, 199, 200], [1.0, 5e4, 1.0])  # a power through the last two is infinite at the first
@given(
    st.lists(st.integers(1, 200), min_size=3, max_size=12, unique=True),
    st.lists(st.floats(0.5, 5e4), min_size=12, max_size=12),
)
def test_whatever_is_measured_the_curve_is_positive_and_inside_its_interval(
    x: list[int], times: list[float]
) -> None:
    found = fitted([float(n) for n in x], times[: len(x)], RESOURCES)
    grid = np.linspace(min(x), max(x), 9).tolist()
    middle, (low, high) = found.at(grid), found.interval(grid)
    assert np.all(middle > 0)
    if found.reason is None:
        assert np.all((low <= middle) & (middle <= high))
    assert "t = " in found.formula()


# --- the cliff -----------------------------------------------------------------------------------


def test_the_cliff_of_vmware_2017_table_21_is_found() -> None:
    found = find_cliff(*table_21())
    assert found is not None
    assert (found.below, found.above) == (3 * TB, 4 * TB)
    assert found.jump == pytest.approx(157.4 / 65.8, rel=0.02)
    assert found.limit_s < 157.4
    assert found.misfit > MISFIT > 3 * found.left


def test_without_the_sizes_beyond_or_with_too_few_before_there_is_none() -> None:
    sizes, times = table_21()
    for part in (slice(0, 4), slice(1, 6), slice(0, 3), slice(3, 6), slice(0, 0)):
        assert find_cliff(sizes[part], times[part]) is None


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.floats(1, 1e4), min_size=5, max_size=15, unique=True),
    st.floats(0, 1e3),
    st.floats(0.01, 1e2),
    st.lists(st.floats(-0.12, 0.12), min_size=15, max_size=15),
)
def test_never_a_cliff_in_what_lies_on_a_line(
    x: list[float], start: float, slope: float, noise: list[float]
) -> None:
    times = [(start + slope * n) * (1 + e) for n, e in zip(x, noise, strict=False)]
    assert find_cliff(x, times) is None


@settings(deadline=None)
@given(st.lists(st.floats(1, 1e4), min_size=5, max_size=12, unique=True), st.floats(0.3, 3))
def test_never_a_cliff_in_a_smooth_power(x: list[float], power: float) -> None:
    assert find_cliff(x, [3 * n**power for n in x]) is None


def test_a_change_of_slope_without_a_jump_is_no_cliff() -> None:
    x = [1.0, 2, 3, 4, 5, 6]
    assert find_cliff(x, [10, 20, 30, 60, 90, 120]) is None
