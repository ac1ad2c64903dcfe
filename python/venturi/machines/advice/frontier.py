"""Which options no other one beats, in time and in cost, when both are only known as ranges.

Between two types A beats B only if A's worst is no worse than B's best in both and better in one.
Between two counts of the same type the truth is the same for both, so that they are compared bound
by bound.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

SAME_COST = 0.005  # costs that differ by less are the same: billing rounds to whole seconds


def undominated_counts(seconds: Array, usd: Array) -> Mask:
    """Which node counts of one type no other of its counts beats; both of shape (3, counts).

    The rows are middle, low and high. Costs are rounded to steps of `SAME_COST` first.
    """
    rows = (*seconds, *np.round(np.log(usd) / SAME_COST))
    no_worse: Mask = rows[0][:, None] <= rows[0]  # [a, b]: a is no worse than b
    for row in rows[1:]:
        no_worse &= row[:, None] <= row
    # Equal counts don't dominate each other.
    beaten: Mask = np.any(no_worse & ~no_worse.T, axis=0)
    return ~beaten


def unbeaten(low_s: Array, high_s: Array, low_usd: Array, high_usd: Array) -> Mask:
    """Which options no other one beats wherever in the ranges the true values lie.

    A beats B if (A's high <= B's low) in seconds and dollars, and < in one of them. With low equal
    to high this is the plain Pareto frontier. In O(n log n).
    """
    order = np.argsort(high_s, kind="stable")
    slowest_s = high_s[order]
    # cheapest[k]: the least high cost of the k options that are surely the fastest
    cheapest = np.concatenate([[np.inf], np.minimum.accumulate(high_usd[order])])
    faster = cheapest[np.searchsorted(slowest_s, low_s, side="left")]
    no_slower = cheapest[np.searchsorted(slowest_s, low_s, side="right")]
    beaten: Mask = (faster <= low_usd) | (no_slower < low_usd)
    return ~beaten
