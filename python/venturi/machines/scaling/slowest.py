"""The slowest of N nodes, from the distribution of single nodes: order statistics.

A phase ends when its slowest node does, and the more nodes, the slower the slowest. Its rate is
expected where F_min = 1 - (1 - F)^N says so, F being the distribution of single nodes.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import numpy.typing as npt

from venturi.core.domain import invalid
from venturi.core.statistics.quantiles import log_normal_cdf

Array = npt.NDArray[np.float64]


def expected_lowest(nodes: int) -> float:
    """Expected minimum of N independent standard normal values (David and Nagaraja 2003, ch. 3).

    By the minimum's density N phi(z) (1 - Phi(z))^(N-1): the trapezoid rule on a smooth density
    that vanishes at both ends is exact to rounding.
    """
    _need_nodes(nodes)
    z, above = _points()
    weights = np.exp(-(z**2) / 2 + (nodes - 1) * above)
    return float(z @ weights / weights.sum())


def implied_deviation(mean_bytes_per_s: float, slowest_bytes_per_s: float, nodes: int) -> float:
    """Standard deviation of single nodes (bytes/s) that lets one expect this slowest of `nodes`.

    For a published mean and slowest of N without the sample behind them; nodes taken as normal.
    """
    _need_nodes(nodes, 2)
    if not 0 < slowest_bytes_per_s <= mean_bytes_per_s < math.inf:
        raise invalid("slowest_bytes_per_s", slowest_bytes_per_s, "above 0, at most the mean")
    return (mean_bytes_per_s - slowest_bytes_per_s) / -expected_lowest(nodes)


def _need_nodes(nodes: int, least: int = 1) -> None:
    if nodes < least:
        raise invalid("nodes", nodes, f"at least {least}")


@cache
def _points() -> tuple[Array, Array]:
    """Points z of the normal distribution and log(1 - Phi(z)), the same for all N."""
    z = np.linspace(-14.0, 14.0, 28_001)
    return z, log_normal_cdf(-z)
