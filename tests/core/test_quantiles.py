"""Quantiles and logarithms of distributions against SciPy's."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from venturi.core.statistics.quantiles import (
    normal_quantiles,
    root,
    student_quantile,
)


@given(freedom=st.integers(1, 20_000), p=st.floats(1e-4, 1 - 1e-4))
def test_students_t(freedom: int, p: float) -> None:
    from scipy.special import stdtrit

    expected = float(stdtrit(freedom, p))
    assert student_quantile(freedom, p) == pytest.approx(expected, rel=1e-8, abs=1e-10)


def test_students_t_of_one_and_two_in_closed_form() -> None:
    assert student_quantile(1, 0.975) == pytest.approx(math.tan(0.475 * math.pi), rel=1e-12)
    assert student_quantile(2, 0.975) == pytest.approx(0.95 * math.sqrt(2 / (1 - 0.95**2)))


@given(p=st.lists(st.floats(0, 1), min_size=1))
def test_normal_quantiles(p: list[float]) -> None:
    from scipy.special import ndtri

    values = np.array(p)
    np.testing.assert_allclose(normal_quantiles(values), ndtri(values), rtol=1e-12, atol=1e-14)


def test_normal_quantiles_keep_their_shape() -> None:
    assert normal_quantiles(np.full((3, 2), 0.5)).tolist() == [[0.0, 0.0]] * 3


def test_root() -> None:
    assert root(lambda x: x**2 - 2, 0.0, 2.0) == pytest.approx(math.sqrt(2), rel=1e-15)
