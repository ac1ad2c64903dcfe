"""The memory cliff: the size of data from which times jump, if the times show it beyond doubt."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from venturi.core.statistics.quantiles import student_quantile

MISFIT = 0.15  # no smooth curve comes nearer than this (relative, root mean square)
BETTER = 3.0  # two lines come so many times nearer
JUMP = 1.5  # and so many times lies the line beyond above the one before it
LEAST_WITHIN, LEAST_BEYOND = 3, 2

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class FoundCliff:
    """Between the sizes `below` and `above` the time jumps to `jump` times the predicted one.

    `misfit` is the relative error of the best smooth curve, `left` that of the two lines; `limit_s`
    is the upper limit at `above` by the line before the cliff (97.5 %, one more measurement).
    """

    below: float
    above: float
    jump: float
    measured_s: float
    predicted_s: float
    limit_s: float
    misfit: float
    left: float


def find_cliff(sizes: Sequence[float], elapsed_s: Sequence[float]) -> FoundCliff | None:
    """Where the data stop fitting in memory, if the times show it beyond doubt.

    Two lines of time against size with a jump between them, at the break that leaves the least
    relative error. All must hold: three sizes before and two beyond; the best line or power curve
    misses by over 15 % (so that data on a line with less noise than that never show a cliff); the
    two lines miss by under a third of it; from the last size before to the first beyond, the line
    beyond lies over 1.5 times above the one before, so that they do not meet there, as at a mere
    change of slope; and the first size beyond takes more than the 97.5 % prediction limit of the
    line before. The thresholds are ours.
    """
    points = sorted(zip(map(float, sizes), map(float, elapsed_s), strict=True))
    x, t = (np.array(each) for each in zip(*points, strict=True)) if points else (None, None)
    if x is None or t is None or len(x) < LEAST_WITHIN + LEAST_BEYOND or x[0] <= 0 or t.min() <= 0:
        return None
    misfit = min(_relative(t, _rising(x, t)), _relative(t, _power(x, t)))
    if misfit <= MISFIT:
        return None

    def missed(count: int) -> float:
        fitted = np.concatenate(
            [_line(x[:count], t[:count], x[:count]), _line(x[count:], t[count:], x[count:])]
        )
        return _relative(t, fitted)

    count = min(range(LEAST_WITHIN, len(x) - LEAST_BEYOND + 1), key=missed)
    gap = x[count - 1 : count + 1]
    before, beyond = _line(x[:count], t[:count], gap), _line(x[count:], t[count:], gap)
    predicted, left = float(before[1]), missed(count)
    apart = before.min() > 0 and bool(np.all(beyond >= JUMP * before))
    if not apart or t[count] < JUMP * predicted or left * BETTER > misfit:
        return None
    residuals = t[:count] - _line(x[:count], t[:count], x[:count])
    spread = math.sqrt(float(residuals @ residuals) / (count - 2))
    centred = x[:count] - x[:count].mean()
    lever = float((x[count] - x[:count].mean()) ** 2 / (centred @ centred))
    reach = student_quantile(count - 2, 0.975) * spread * math.sqrt(1 + 1 / count + lever)
    if t[count] <= predicted + reach:
        return None
    return FoundCliff(
        float(x[count - 1]),
        float(x[count]),
        float(t[count]) / predicted,
        float(t[count]),
        predicted,
        predicted + reach,
        misfit,
        left,
    )


def _relative(times: Array, fitted: Array) -> float:
    return math.sqrt(float(np.mean(((times - fitted) / times) ** 2)))


def _rising(x: Array, times: Array) -> Array:
    """The line through the points with start and slope at least 0; else the better of its terms."""
    free = _line(x, times, np.array([0.0, 1.0]))
    if free[0] >= 0 and free[1] >= free[0]:
        return _line(x, times, x)
    level = float(np.sum(1 / times) / np.sum(1 / times**2))
    slope = float(np.sum(x / times) / np.sum((x / times) ** 2))
    return min((np.full_like(x, level), slope * x), key=lambda each: _relative(times, each))


def _power(x: Array, times: Array) -> Array:
    slope, level = np.polyfit(np.log(x), np.log(times), 1)
    with np.errstate(over="ignore"):  # it may be infinite far from the points that decide it
        return np.asarray(np.exp(level + slope * np.log(x)), dtype=np.float64)


def _line(x: Array, times: Array, at: Array) -> Array:
    """The line of least relative error through the points, at `at`."""
    design = np.column_stack([np.ones_like(x), x]) / times[:, None]
    solved = np.linalg.lstsq(design, np.ones_like(times), rcond=None)[0]
    return np.asarray(solved[0] + solved[1] * at, dtype=np.float64)
