"""Time against nodes, cores or the amount of data: a fitted curve, its interval, and the cliff.

Curves are fitted to medians by least squares of relative errors and chosen by leave-one-out
error. Nothing is drawn beyond 8 times what was measured (`scaling.check_range`).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations

import numpy as np
import numpy.typing as npt

from venturi.model.statistics.bootstrap import SEED
from venturi.model.statistics.quantiles import student_quantile
from venturi.model.statistics.stats import MEDIAN_LEVEL, Missing

RESAMPLES = 1_000
MIN_POINTS = 3  # two coefficients and one degree of freedom

Array = npt.NDArray[np.float64]


class Shape(StrEnum):
    """How the time t depends on x; all coefficients but the exponent are at least 0."""

    CONSTANT = "a"
    AMDAHL = "a + b / x"  # a serial part, and work that is shared
    LINE = "a + b x"
    POWER = "a x^b"
    ERNEST = "a + b / x + c log2 x + d x"  # and what grows with the nodes: trees, all to one


RESOURCES = (Shape.CONSTANT, Shape.AMDAHL, Shape.POWER, Shape.ERNEST)
AMOUNTS = (Shape.CONSTANT, Shape.LINE, Shape.POWER)


@dataclass(frozen=True, slots=True, eq=False)
class CurveFit:
    """One curve through `points` medians: t in seconds.

    `left_out` is the root mean square of ln(predicted / measured) when each point is left out in
    turn. `resampled` has one column of coefficients a resample; None with the reason in `reason`.
    """

    shape: Shape
    coefficients: Array
    left_out: float
    freedom: int
    resampled: Array | None
    reason: str | None

    def at(self, x: Sequence[float]) -> Array:
        """Seconds at each x."""
        return _evaluate(self.shape, np.asarray(x, dtype=np.float64), self.coefficients)

    def interval(self, x: Sequence[float], level: float = MEDIAN_LEVEL) -> tuple[Array, Array]:
        """Bounds of the curve at each x; nan where there are none.

        Percentiles of the resampled curves; their distance from the curve, as a ratio, is widened
        by t(freedom) / z, as so few points say little of their own scatter.
        """
        middle = self.at(x)
        if self.resampled is None:
            nothing = np.full_like(middle, math.nan)
            return nothing, nothing
        drawn = _evaluate(self.shape, np.asarray(x, dtype=np.float64), self.resampled)
        ends = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2], axis=1)
        upper = (1 + level) / 2
        wider = student_quantile(self.freedom, upper) / statistics.NormalDist().inv_cdf(upper)
        logs = np.clip(wider * np.log(ends / middle), -50, 50)
        return middle * np.exp(np.minimum(logs[0], 0)), middle * np.exp(np.maximum(logs[1], 0))

    def formula(self, per: float = 1.0, unit: str = "") -> str:
        """The curve with its numbers, in seconds; x is counted in `per`, which `unit` names."""
        values = [float(value) for value in self.coefficients]
        x = f"x[{unit}]" if unit else "x"
        if self.shape is Shape.POWER:
            return f"t = {math.exp(values[0]) * per ** values[1]:.4g} s * {x}^{values[1]:.3f}"
        names = {
            Shape.CONSTANT: [""],
            Shape.AMDAHL: ["", f" / {x}"],
            Shape.LINE: ["", f" * {x}"],
            Shape.ERNEST: ["", f" / {x}", f" * log2 {x}", f" * {x}"],
        }[self.shape]
        if self.shape is Shape.LINE:
            values[1] *= per
        shown = [f"{value:.4g} s{name}" for value, name in zip(values, names, strict=True) if value]
        return "t = " + (" + ".join(shown) or "0 s")


def _design(shape: Shape, x: Array) -> Array:
    ones = np.ones_like(x)
    columns = {
        Shape.CONSTANT: (ones,),
        Shape.AMDAHL: (ones, 1 / x),
        Shape.LINE: (ones, x),
        Shape.POWER: (ones, np.log(x)),
        Shape.ERNEST: (ones, 1 / x, np.log2(x), x),
    }
    return np.column_stack(columns[shape])


def _evaluate(shape: Shape, x: Array, coefficients: Array) -> Array:
    value = _design(shape, x) @ coefficients
    with np.errstate(over="ignore"):  # far from where it was fitted a power may be infinite
        return np.asarray(np.exp(value) if shape is Shape.POWER else value, dtype=np.float64)


def _solve(shape: Shape, x: Array, times: Array, weights: Array) -> Array:
    """Coefficients for each column of `times`; residuals are relative to `weights` (seconds)."""
    design = _design(shape, x)
    if shape is Shape.POWER:
        return np.asarray(np.linalg.lstsq(design, np.log(times), rcond=None)[0])
    return _nonnegative(design / weights[:, None], times / weights[:, None])


def _nonnegative(design: Array, target: Array) -> Array:
    """Least squares with no coefficient below 0, for each column of `target`.

    The answer is the ordinary least squares on its own support (Lawson and Hanson 1974, 23), so
    with at most four coefficients all supports are tried, the smallest first.
    """
    scale = np.linalg.norm(design, axis=0)
    scaled = design / scale
    count = design.shape[1]
    best = np.full(target.shape[1], math.inf)
    found = np.zeros((count, target.shape[1]))
    for size in range(1, min(count, len(design)) + 1):
        for support in combinations(range(count), size):
            chosen = scaled[:, support]
            solved = np.linalg.pinv(chosen) @ target
            squares = np.sum((target - chosen @ solved) ** 2, axis=0)
            better = np.all(solved >= 0, axis=0) & (squares < best * (1 - 1e-9) - 1e-18)
            best[better] = squares[better]
            found[:, better] = 0.0
            for place, each in zip(support, solved, strict=True):
                found[place, better] = each[better]
    return np.asarray(found / scale[:, None])


def _left_out(shape: Shape, x: Array, times: Array) -> float:
    squares = []
    for place in range(len(x)):
        kept = np.arange(len(x)) != place
        solved = _solve(shape, x[kept], times[kept, None], times[kept])
        predicted = float(_evaluate(shape, x[place : place + 1], solved)[0, 0])
        if not 0 < predicted < math.inf:
            return math.inf
        squares.append(math.log(predicted / times[place]) ** 2)
    return math.sqrt(statistics.fmean(squares))


def fit_curve(
    x: Sequence[float], elapsed_s: Sequence[float], shapes: Sequence[Shape]
) -> CurveFit | Missing:
    """The curve of `shapes` with the least leave-one-out error (Stone 1974), the simpler if equal.

    One median for each distinct x above 0. ERNEST (Venkataraman et al. 2016) needs four. The
    resamples are of residuals ln(t / fitted), scaled by sqrt(n / freedom) (Efron and Tibshirani
    1993, 9.4), so that they hold the noise of the medians and what the curve misses.
    """
    order = np.argsort(np.asarray(x, dtype=np.float64))
    xs = np.asarray(x, dtype=np.float64)[order]
    times = np.asarray(elapsed_s, dtype=np.float64)[order]
    if len(np.unique(xs)) != len(xs):
        raise ValueError("one median for each x")
    if len(xs) < MIN_POINTS:
        return Missing(f"{len(xs)} measured value{'s' * (len(xs) != 1)} of x; a curve needs at "
                       f"least {MIN_POINTS}")  # fmt: skip
    if xs[0] <= 0 or times.min() <= 0:
        return Missing("a curve needs values of x and times above 0")
    tried = [s for s in shapes if s is not Shape.ERNEST or (len(xs) > MIN_POINTS and xs[0] >= 1)]
    errors = {shape: _left_out(shape, xs, times) for shape in tried}
    # Rounded, so that of equally good curves the simpler one, which comes first, is taken.
    shape = min(tried, key=lambda each: round(errors[each], 9))
    coefficients = _solve(shape, xs, times[:, None], times)[:, 0]
    used = 2 if shape is Shape.POWER else int(np.count_nonzero(coefficients))
    freedom = len(xs) - used
    if freedom < 1:
        reason = f"{len(xs)} points for {used} coefficients say nothing of how sure the curve is"
        return CurveFit(shape, coefficients, errors[shape], freedom, None, reason)
    fitted = _evaluate(shape, xs, coefficients)
    residuals = np.log(times / fitted) * math.sqrt(len(xs) / freedom)
    drawn = np.random.default_rng([SEED, len(xs)]).choice(residuals, (len(xs), RESAMPLES))
    resampled = _solve(shape, xs, fitted[:, None] * np.exp(drawn), times)
    return CurveFit(shape, coefficients, errors[shape], freedom, resampled, None)


# --- The memory cliff ----------------------------------------------------------------------------

MISFIT = 0.15  # no smooth curve comes nearer than this (relative, root mean square)
BETTER = 3.0  # two lines come so many times nearer
JUMP = 1.5  # and so many times lies the line beyond above the one before it
LEAST_WITHIN, LEAST_BEYOND = 3, 2


@dataclass(frozen=True, slots=True)
class FoundCliff:
    """Between the sizes `below` and `above` the time jumps to `jump` times what was to come.

    `misfit` is the relative error of the best smooth curve, `left` that of the two lines;
    `limit_s` is what the line before the cliff allows at `above` (97.5 %, one more measurement).
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
    misfit = min(
        _relative(t, _evaluate(shape, x, _solve(shape, x, t[:, None], t)[:, 0]))
        for shape in (Shape.LINE, Shape.POWER)
    )
    if misfit <= MISFIT:
        return None

    def missed(count: int) -> float:
        fitted = np.concatenate([_line(x[:count], t[:count], x[:count]),
                                 _line(x[count:], t[count:], x[count:])])  # fmt: skip
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
        float(x[count - 1]), float(x[count]), float(t[count]) / predicted, float(t[count]),
        predicted, predicted + reach, misfit, left,
    )  # fmt: skip


def _relative(times: Array, fitted: Array) -> float:
    return math.sqrt(float(np.mean(((times - fitted) / times) ** 2)))


def _line(x: Array, times: Array, at: Array) -> Array:
    """The line of least relative error through the points, at `at`."""
    design = np.column_stack([np.ones_like(x), x]) / times[:, None]
    solved = np.linalg.lstsq(design, np.ones_like(times), rcond=None)[0]
    return np.asarray(solved[0] + solved[1] * at, dtype=np.float64)
