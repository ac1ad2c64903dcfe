"""The memory cliff, where times show one."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from venturi.results.scaling.cliff import MISFIT, find_cliff

TABLE_21 = Path(__file__).parents[2] / "data/vmware2017/logreg_scaling.csv"
TB = 1e12


def table_21() -> tuple[list[float], list[float]]:
    with TABLE_21.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return [float(r["dataset_tb"]) * TB for r in rows], [float(r["elapsed_s"]) for r in rows]


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
