"""Trials that look unlike the rest of their group: marked by a named rule, never taken away.

A mark is an invitation to look at a trial. Whether it counts is for a person to decide, by an
exclusion with a reason; no summary here leaves a marked trial out. A cause that is known, such as
others on the host (`Trial.disturbed`), outranks any score.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

LEAST_TRIALS = 3
SCORE, LEAST_OFF = 4.0, 0.10
SHARED_WEIGHT = 4  # the spread of all groups counts as much as so many values of the group's own
TO_SIGMA = 1.4826  # the median absolute deviation of a normal distribution to its sigma
RULE = (
    f"shared-spread: {SCORE:g} standard deviations and {LEAST_OFF:.0%} from the group's "
    "median in log time, with a spread shared by all groups; marked, not left out"
)


@dataclass(frozen=True, slots=True)
class OutlierMark:
    """One marked value, by its position in its group. `score` is in standard deviations."""

    index: int
    value: float
    score: float


@dataclass(frozen=True, slots=True)
class OutlierMarks:
    """The outliers among the `n` values of one group.

    Values below `low` or above `high` are marked. `reason` says why outliers can't be determined;
    then there are no marks, which doesn't mean that there are no outliers.
    """

    n: int
    marks: tuple[OutlierMark, ...]
    low: float | None = None
    high: float | None = None
    reason: str | None = None


def shared_spread(groups: Sequence[Sequence[float]]) -> tuple[OutlierMarks, ...]:
    """Mark the outliers in each of `groups`; the groups are of the same kind and so share a spread.

    The score is (ln t - median) / s with s^2 = (4 s0^2 + (n - 1) s_own^2) / (n + 3): s_own is the
    group's median absolute deviation as a sigma, s0 that of all groups together, each value times
    sqrt(n / (n - 1)). A value is marked from a score of 4 on if it also differs by 10 % or more.

    Simulation: ten groups with log sd of .02, .045 or .1, and one trial in twenty 1.6 times slower.
    Of groups without a slow trial, 9 % (n = 3), 6 (5), 5 (10) and 3 % (20) get a mark; of slow
    trials, 73, 82, 88 and 89 % are found. Modified z-scores of the group alone mark 30, 20, 13 and
    10 % of good groups. Tukey's fences in log time mark 12, 6 and 1 % (n = 5, 10, 20) and find 64,
    75, 81 %.
    """
    logs = [[math.log(t) for t in group] if min(group, default=0) > 0 else [] for group in groups]
    deviations = [
        [value - middle for value in each]
        for each, middle in zip(logs, map(_median, logs), strict=True)
    ]
    shared = TO_SIGMA * _median(
        [
            abs(value) * math.sqrt(len(each) / (len(each) - 1))
            for each in deviations
            if len(each) >= LEAST_TRIALS
            for value in each
        ]
    )
    return tuple(
        _marks(group, each, shared) for group, each in zip(groups, deviations, strict=True)
    )


def _marks(group: Sequence[float], deviations: Sequence[float], shared: float) -> OutlierMarks:
    n = len(group)
    if n < LEAST_TRIALS:
        values = f"{n} value{'s' * (n != 1)}"
        return OutlierMarks(n, (), reason=f"{values}; marking needs at least {LEAST_TRIALS}")
    if not deviations:
        return OutlierMarks(n, (), reason="a value is not above zero")
    own = TO_SIGMA * _median([abs(value) for value in deviations])
    spread = math.sqrt((SHARED_WEIGHT * shared**2 + (n - 1) * own**2) / (n + SHARED_WEIGHT - 1))
    if spread == 0:
        return OutlierMarks(n, (), reason="at least half of the values are equal")
    marks = tuple(
        OutlierMark(index, value, deviation / spread)
        for index, (value, deviation) in enumerate(zip(group, deviations, strict=True))
        if abs(deviation) > max(SCORE * spread, math.log1p(LEAST_OFF))
    )
    median = math.exp(statistics.median(map(math.log, group)))
    reach = math.exp(max(SCORE * spread, math.log1p(LEAST_OFF)))
    return OutlierMarks(n, marks, median / reach, median * reach)


def _median(values: Sequence[float]) -> float:
    return statistics.median(values) if values else 0.0
