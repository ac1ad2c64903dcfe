"""Distribution functions that the models need and the standard library has not.

They are few and take no time to load, where SciPy is 140 MB to install; tests compare them with it.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[np.float64]
_HALVINGS = 60  # of an interval of order 1: to rounding
_TERMS = 10_000  # more than any fraction here needs

_NORMAL = statistics.NormalDist()


@lru_cache(maxsize=1024)
def student_quantile(freedom: int, p: float) -> float:
    """The `p` quantile (0 < p < 1) of Student's t with `freedom` >= 1 degrees of freedom.

    Inverts the distribution function, which for whole degrees of freedom is a finite sum of powers
    of cos(atan(t / sqrt(freedom))) (Abramowitz and Stegun 1964, 26.7.3 and 26.7.4).
    """
    if p < 0.5:
        return -student_quantile(freedom, 1 - p)
    odd = freedom % 2
    steps = np.arange(2 if odd else 1, freedom - 1, 2, dtype=np.float64)
    # Each term has the factor of the one before it: 2/3, 4/5, ... or 1/2, 3/4, ...
    factors = np.cumprod(np.concatenate([[1.0], steps / (steps + 1)]))[: freedom // 2]

    def inside(angle: float) -> float:
        """P(-t < T < t) minus its target."""
        powers = math.cos(angle) ** (2 * np.arange(len(factors)) + odd)
        total = math.sin(angle) * float(factors @ powers)
        return (2 / math.pi * (angle + total) if odd else total) - (2 * p - 1)

    return math.sqrt(freedom) * math.tan(root(inside, 0.0, math.pi / 2))


def student_tails(freedom: float, t: float) -> float:
    """P(|T| >= t) of Student's t with `freedom` > 0 degrees of freedom, not only whole ones.

    It is the incomplete beta function I_x(freedom / 2, 1/2) at x = freedom / (freedom + t^2)
    (Abramowitz and Stegun 1964, 26.7.1), by its continued fraction (26.5.8) on the side where that
    converges fast.
    """
    if math.isinf(t):
        return 0.0
    a, b, square = freedom / 2, 0.5, t * t
    x, rest = freedom / (freedom + square), square / (freedom + square)
    if rest == 0:
        return 1.0
    front = math.exp(
        math.lgamma(a + b)
        - math.lgamma(a)
        - math.lgamma(b)
        - a * math.log1p(square / freedom)
        + b * math.log(rest)
    )
    if x < (a + 1) / (a + b + 2):
        return front * _beta_fraction(a, b, x) / a
    return 1 - front * _beta_fraction(b, a, rest) / b


def _beta_fraction(a: float, b: float, x: float) -> float:
    """The continued fraction of I_x(a, b), by Lentz's method (Press et al. 2007, 6.4)."""
    tiny = 1e-300
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1) or tiny)
    value = d
    for k in range(1, _TERMS):
        for term in (
            k * (b - k) * x / ((a + 2 * k - 1) * (a + 2 * k)),
            -(a + k) * (a + b + k) * x / ((a + 2 * k) * (a + 2 * k + 1)),
        ):
            d = 1 / (1 + term * d or tiny)
            c = 1 + term / c or tiny
            value *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return value


def chi_squared_tail(freedom: int, x: float) -> float:
    """P(X >= x) of chi-squared with `freedom` >= 1 whole degrees of freedom.

    A finite sum (Abramowitz and Stegun 1964, 26.4.4 and 26.4.5).
    """
    half = x / 2
    if half <= 0:
        return 1.0
    odd = freedom % 2
    # Terms half^i / i! (even) or half^(i + 1/2) / gamma(i + 3/2) (odd), times exp(-half).
    total = math.erfc(math.sqrt(half)) if odd else 0.0
    for i in range(freedom // 2):
        power = i + odd / 2
        total += math.exp(power * math.log(half) - half - math.lgamma(power + 1))
    return min(1.0, total)


def root(function: Callable[[float], float], low: float, high: float) -> float:
    """The zero of `function`, which grows from below 0 at `low` to above 0 at `high`."""
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if function(middle) < 0:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def normal_quantiles(p: Array) -> Array:
    """The standard normal quantile of each value; minus and plus infinity at 0 and 1."""
    ends = {0.0: -math.inf, 1.0: math.inf}
    inverted = [ends[x] if x in ends else _NORMAL.inv_cdf(x) for x in p.ravel().tolist()]
    return np.array(inverted, dtype=np.float64).reshape(p.shape)
