"""Time against nodes, cores or the amount of data: a curve, its interval, and the cliff.

A curve is of one context: trials alike in everything that was chosen but x. It is the mean of a
formula's, of that with what the points depart from it, and of one whose shape is that of the job's
other contexts, each weighted by how well it foretold the points that it had not seen.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations

import numpy as np
import numpy.typing as npt

from venturi.errors import VenturiError
from venturi.model.statistics.quantiles import student_quantile
from venturi.model.statistics.stats import MEDIAN_LEVEL, Interval, Missing

MIN_POINTS = 3  # for a curve of its own
MIN_INTERVAL = 4  # two freedoms for what the curve missed
BEYOND = 2.0  # times what was measured; further nothing is said
AT_ENDS = 1.8  # the interval there is so much wider, as a ratio of logarithms
MIN_LIKE = 10  # curves whose misses stand for those of one with too few points of its own
LIKE_MAX = 60  # of them are asked
ENDS = 0.1  # the first and the last so much of the range of ln x
RIDGE = 1.0  # what draws a context's slope to the common one
_MOST = 50.0  # of a logarithm
LEAST_MISS = 1e-3  # a curve that misses by less is not told from one that misses nothing

Array = npt.NDArray[np.float64]


class Meaning(StrEnum):
    """What x is, which decides the formula; all coefficients but the exponent are at least 0."""

    RESOURCE = "a + b / x + c log2 x + d x"  # Ernest: what is shared, and what grows with the nodes
    AMOUNT = "a + b x"
    OTHER = "a x^b"  # nothing is known of it: half of the exponent that fits best


@dataclass(frozen=True, slots=True)
class Repeats:
    """How single trials lie about the medians: `variance` of ln t at one x, pooled over all x.

    `freedom` is that of the variance, 0 where no x was measured twice. `carried` is the share of
    the variance that a median has as well, 1 where each is of one trial; times are multiples of
    `unit_s`.
    """

    variance: float = 0.0
    freedom: int = 0
    carried: float = 1.0
    unit_s: float = 0.0

    @classmethod
    def of(cls, times: Sequence[Sequence[float]]) -> Repeats:
        """Of the seconds at each x, all above 0."""
        logs = [np.log(np.asarray(each, dtype=np.float64)) for each in times]
        freedom = sum(len(each) - 1 for each in logs)
        squares = sum(float(((each - each.mean()) ** 2).sum()) for each in logs)
        # The median of n normal values has pi / (2 n) of their variance where n is large, all at 1.
        carried = float(np.mean([math.pi / (2 * len(each) + math.pi - 2) for each in logs]))
        return cls(squares / freedom if freedom else 0.0, freedom, carried,
                   _unit_s(np.concatenate([np.asarray(each) for each in times])))  # fmt: skip

    @property
    def added(self) -> float:
        """The variance of ln t that one trial has more than a median."""
        return self.variance * (1 - self.carried)


def _unit_s(times: Array) -> float:
    """The largest of 1 s, 0.1 s, ... of which all are multiples; 0 where that is below 1 us."""
    for digits in range(7):
        scaled = times * 10.0**digits
        if np.all(np.abs(scaled - np.round(scaled)) < 1e-6):
            return float(10.0**-digits)
    return 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Points:
    """The medians of one context: seconds at each x, ascending, both above 0, each x once."""

    x: Array
    elapsed_s: Array
    repeats: Repeats = Repeats()

    @classmethod
    def of(cls, x: Sequence[float], elapsed_s: Sequence[float]) -> Points:
        """Sorted by x. VEN-MODEL-INPUT where one is not above 0 or an x comes twice."""
        order = np.argsort(np.asarray(x, dtype=np.float64))
        made = cls(np.asarray(x, dtype=np.float64)[order],
                   np.asarray(elapsed_s, dtype=np.float64)[order])  # fmt: skip
        above = made.x > 0, made.elapsed_s > 0
        if not all(map(np.all, above)) or len(np.unique(made.x)) != len(made.x):
            raise VenturiError(
                "VEN-MODEL-INPUT", "a curve needs values of x and times above 0, each x once",
                where={"field": "x"}, hint="leave out what is 0 or less",
            )  # fmt: skip
        return made

    def __len__(self) -> int:
        return len(self.x)


@dataclass(frozen=True, slots=True, eq=False)
class Shared:
    """The shape that the curves of one job have in common: ln t = level + slope z + curvature z^2.

    z is ln x. Levels are each curve's own, slopes are drawn to the common one by a ridge, the
    curvature is common. `matrix` and `vector` are the sum over `curves` curves of the normal
    equations for slope and curvature, from which levels and own slopes are eliminated.
    """

    matrix: Array
    vector: Array
    curves: int

    def without(self, points: Points) -> Shared:
        """Of the other curves only."""
        matrix, vector = _normal(np.log(points.x), np.log(points.elapsed_s))
        return Shared(self.matrix - matrix, self.vector - vector, self.curves - (len(points) > 1))

    def at(self, points: Points, wanted: Array) -> Array:
        """ln t at each `wanted`, of a curve with these points, which count as well."""
        z, y = np.log(points.x), np.log(points.elapsed_s)
        matrix, vector = _normal(z, y)
        whole, target = self.matrix + matrix, self.vector + vector
        # Singular where all curves have the same two x: the least slope and curvature then.
        slope, curvature = np.linalg.pinv(whole, rcond=1e-9) @ target
        z_c, q_c = z - z.mean(), z**2 - (z**2).mean()
        own = z_c @ (y - y.mean() - slope * z_c - curvature * q_c) / (z_c @ z_c + RIDGE)
        to = np.log(wanted)
        found = y.mean() + (slope + own) * (to - z.mean()) + curvature * (to**2 - (z**2).mean())
        return np.asarray(found, dtype=np.float64)


def shared_shape(curves: Sequence[Points]) -> Shared:
    """What the curves have in common; those of one point say nothing of it."""
    kept = [points for points in curves if len(points) > 1]
    if not kept:
        return Shared(np.zeros((2, 2)), np.zeros(2), 0)
    counts = np.array([len(points) for points in kept])
    of = np.repeat(np.arange(len(kept)), counts)
    z = np.log(np.concatenate([points.x for points in kept]))
    y = np.log(np.concatenate([points.elapsed_s for points in kept]))

    def apart(values: Array) -> Array:
        return np.asarray(values - (np.bincount(of, values) / counts)[of])

    z_c, q_c, y_c = apart(z), apart(z**2), apart(y)
    zz, zq, zy = (np.bincount(of, z_c * other) for other in (z_c, q_c, y_c))
    share = 1 / (zz + RIDGE)
    matrix = np.array(
        [
            [np.sum(zz - zz * zz * share), np.sum(zq - zz * zq * share)],
            [np.sum(zq - zz * zq * share), np.sum(q_c * q_c) - np.sum(zq * zq * share)],
        ]
    )
    vector = np.array([np.sum(zy - zz * zy * share), np.sum(q_c * y_c) - np.sum(zq * zy * share)])
    return Shared(matrix, vector, len(kept))


def _normal(z: Array, y: Array) -> tuple[Array, Array]:
    design = np.column_stack([z - z.mean(), z**2 - (z**2).mean()])
    along = design[:, 0] @ design / (design[:, 0] @ design[:, 0] + RIDGE)
    kept = design - np.outer(design[:, 0], along)
    return design.T @ kept, kept.T @ (y - y.mean())


@dataclass(frozen=True, slots=True, eq=False)
class CurveFit:
    """The curve of one context in seconds; `own` and `borrowed` are weights that add up to 1.

    `own` are those of the formula with `coefficients`, and of it with what the points depart from
    it; `borrowed` is the weight of the shape of `others`. `missed` is the root mean square of
    ln(predicted / measured) when each point is left out in turn, None of fewer than 3 points.
    `reach` is how far the interval of a median goes, of as many trials as those that were measured,
    as a ratio of logarithms, inside and at the ends, and `one` that of one trial, with what says so
    in `method`; None with the reason there.
    """

    meaning: Meaning
    points: Points
    coefficients: Array | None
    own: tuple[float, float]
    borrowed: float
    others: Shared | None
    missed: float | None
    reach: tuple[float, float] | None
    one: tuple[float, float] | None
    method: str

    def at(self, x: Sequence[float]) -> Array:
        """Seconds at each x. VEN-MODEL-RANGE beyond twice what was measured."""
        wanted = np.asarray(x, dtype=np.float64)
        if len(wanted):
            check_beyond(self.points, float(wanted.min()), float(wanted.max()))
        return np.asarray(np.exp(np.clip(self.logs(wanted), -700, 700)), dtype=np.float64)

    def logs(self, x: Array) -> Array:
        """ln t at each x, however far."""
        found = np.zeros(len(x))
        if self.coefficients is not None:
            formula, departs = _own(self.meaning, self.coefficients, self.points, x)
            found += self.own[0] * formula + self.own[1] * (formula + departs)
        if self.others is not None and self.borrowed:
            found += self.borrowed * self.others.at(self.points, x)
        return found

    def half(self, x: float) -> float | Missing:
        """How far one more trial at x may lie from the curve: ln, at 90 %."""
        return self._half(x, self.one)

    def half_of_median(self, x: float) -> float | Missing:
        """The same for the median of as many trials as were measured at each x."""
        return self._half(x, self.reach)

    def _half(self, x: float, reach: tuple[float, float] | None) -> float | Missing:
        low, high = float(self.points.x[0]), float(self.points.x[-1])
        if not low <= x <= high:
            return Missing("beyond what was measured there is no interval")
        if reach is None:
            return Missing(self.method)
        place = math.log(x / low) / math.log(high / low) if high > low else 0.0
        return reach[0] if ENDS < place < 1 - ENDS else reach[1]

    def interval(self, x: float) -> Interval | Missing:
        """Where one more trial at x lies (90 %); none beyond what was measured.

        curve * exp(+- half). `docs/method/scaling-fits.md` has how often it held.
        """
        half = self.half(x)
        if isinstance(half, Missing):
            return half
        middle = float(self.at([x])[0])
        return Interval(
            middle * math.exp(-half), middle * math.exp(half), MEDIAN_LEVEL, self.method
        )

    def formula(self, per: float = 1.0, unit: str = "") -> str | None:
        """The formula with its numbers, in seconds; x is counted in `per`, which `unit` names."""
        if self.coefficients is None:
            return None
        values = [float(value) for value in self.coefficients]
        x = f"x[{unit}]" if unit else "x"
        if self.meaning is Meaning.OTHER:
            return f"t = {math.exp(values[0]) * per ** values[1]:.4g} s * {x}^{values[1]:.3f}"
        names = ["", f" * {x}"]
        if self.meaning is Meaning.AMOUNT:
            values[1] *= per
        else:
            names = ["", f" / {x}", f" * log2 {x}", f" * {x}"]
        shown = [f"{value:.4g} s{name}" for value, name in zip(values, names, strict=True) if value]
        return "t = " + (" + ".join(shown) or "0 s")


def reaches(points: Points, *wanted: float) -> bool:
    """Whether all of these x lie within twice the measured range, on either side."""
    low, high = float(points.x[0]) / BEYOND, float(points.x[-1]) * BEYOND
    return all(low * (1 - 1e-9) <= x <= high * (1 + 1e-9) for x in wanted)


def check_beyond(points: Points, *wanted: float) -> None:
    """VEN-MODEL-RANGE for what `reaches` does not."""
    low, high = float(points.x[0]), float(points.x[-1])
    for x in wanted:
        if not reaches(points, x):
            raise VenturiError(
                "VEN-MODEL-RANGE",
                f"{x:g} is beyond {BEYOND:g} times what was measured ({low:g} to {high:g})",
                where={"field": "to", "value": x},
                hint=f"ask from {low / BEYOND:g} to {high * BEYOND:g}, or measure further out",
            )


def _design(meaning: Meaning, x: Array) -> Array:
    ones = np.ones_like(x)
    if meaning is Meaning.RESOURCE:
        return np.column_stack([ones, 1 / x, np.maximum(np.log2(x), 0), x])
    return np.column_stack([ones, x if meaning is Meaning.AMOUNT else np.log(x)])


def _logs(meaning: Meaning, coefficients: Array, x: Array) -> Array:
    """ln t of the formula."""
    value = _design(meaning, x) @ coefficients
    if meaning is Meaning.OTHER:
        return np.asarray(value, dtype=np.float64)
    return np.asarray(np.log(np.maximum(value, 1e-300)), dtype=np.float64)


def _own(
    meaning: Meaning, coefficients: Array, points: Points, wanted: Array
) -> tuple[Array, Array]:
    """ln t of the formula at each `wanted`, and what the points near it depart from it.

    Between two points the departure goes straight in ln x; beyond the last it stays.
    """
    departs = np.log(points.elapsed_s) - _logs(meaning, coefficients, points.x)
    found = np.interp(np.log(wanted), np.log(points.x), departs)
    return _logs(meaning, coefficients, wanted), found


def _solve(meaning: Meaning, x: Array, elapsed_s: Array, kept: Array) -> Array:
    """Coefficients for each row of `kept`, which has 1 for a point that counts and 0 for others.

    Least squares of relative errors with no coefficient below 0. OTHER has half of the exponent
    that least squares of ln t give: it is the mean of that curve and of a constant.
    """
    design = _design(meaning, x)
    if meaning is Meaning.OTHER:
        logs = np.log(elapsed_s)
        count = kept.sum(axis=1)
        middle, level = kept @ design[:, 1] / count, kept @ logs / count
        apart = (design[:, 1] - middle[:, None]) * kept
        squares = np.maximum((apart**2).sum(axis=1), 1e-300)
        slope = (apart * (logs - level[:, None])).sum(axis=1) / squares / 2
        return np.column_stack([level - slope * middle, slope])
    return _nonnegative((design / elapsed_s[:, None])[None] * kept[:, :, None], kept)


def _nonnegative(design: Array, target: Array) -> Array:
    """Least squares with no coefficient below 0, for each of a stack of designs and targets.

    The answer is the ordinary least squares on its own support (Lawson and Hanson 1974, 23), so
    with at most four coefficients all supports are tried, the smallest first.
    """
    scale = np.linalg.norm(design, axis=1)
    scaled = design / scale[:, None, :]
    count = design.shape[2]
    best = np.full(len(design), math.inf)
    found = np.zeros((len(design), count))
    rows = int((np.abs(design).sum(axis=2) > 0).sum(axis=1).min())
    for size in range(1, min(count, rows) + 1):
        for support in combinations(range(count), size):
            chosen = scaled[:, :, support]
            solved = (np.linalg.pinv(chosen) @ target[:, :, None])[:, :, 0]
            squares = ((target - (chosen @ solved[:, :, None])[:, :, 0]) ** 2).sum(axis=1)
            better = (solved >= 0).all(axis=1) & (squares < best * (1 - 1e-9) - 1e-18)
            best[better] = squares[better]
            found[better] = 0.0
            found[np.ix_(better, support)] = solved[better]
    return np.asarray(found / scale, dtype=np.float64)


def ernest(points: Points, x: Array) -> Array:
    """Seconds at each x by Ernest's formula alone, what curves are measured against."""
    kept = np.ones((1, len(points)))
    (coefficients,) = _solve(Meaning.RESOURCE, points.x, points.elapsed_s, kept)
    return np.asarray(np.exp(_logs(Meaning.RESOURCE, coefficients, x)), dtype=np.float64)


def fit_curve(
    points: Points,
    meaning: Meaning,
    others: Sequence[Points] = (),
    shared: Shared | None = None,
) -> CurveFit | Missing:
    """The curve of one context; `others` are those of the job's other contexts.

    With 4 points or more the mean of three curves, weighted by 1/(leave-one-out error)^2 (Stone
    1974): the formula, it with what the points depart from it, and the shape of the others with a
    level and a slope of its own. With fewer only the last; with 3 and no others the first two.
    `shared` is the shape of `others`, where it is known.
    """
    count = len(points)
    shape = shared if shared is not None else shared_shape(others)
    known = shape if shape.curves else None
    if count < MIN_POINTS and known is None:
        return Missing(f"{count} measured value{'s' * (count != 1)} of x; a curve needs at "
                       f"least {MIN_POINTS}")  # fmt: skip
    if count < MIN_INTERVAL and known is not None:
        missed = _rms(_missed_by_others(points, known)) if count == MIN_POINTS else None
        reach, one, method = _like(points, others, known)
        return CurveFit(meaning, points, None, (0.0, 0.0), 1.0, known, missed, reach, one, method)
    kept = np.vstack([1 - np.eye(count), np.ones(count)])
    solved = _solve(meaning, points.x, points.elapsed_s, kept)
    rows = list(_missed_by_own(points, meaning, solved))
    if known is not None:
        rows.append(_missed_by_others(points, known))
    weights = np.array([max(_rms(row), LEAST_MISS) ** -2 for row in rows])
    weights /= weights.sum()
    rms = _rms(weights @ np.array(rows))
    first, second, third = (*weights.tolist(), 0.0)[:3]
    reach, one, method = _of_misses(points, rms)
    return CurveFit(
        meaning, points, solved[-1], (first, second), third, known, rms, reach, one, method
    )  # fmt: skip


_Reach = tuple[float, float] | None


def _of_misses(points: Points, missed: float) -> tuple[_Reach, _Reach, str]:
    """t of the misses, of a median and of one trial; at the ends, which are foretold less well,
    the misses count AT_ENDS times.
    """
    count, repeats = len(points), points.repeats
    if count < MIN_INTERVAL:
        return None, None, _too_few(count)
    level, least = (1 + MEDIAN_LEVEL) / 2, _least(points)
    made = []
    for added in (0.0, repeats.added):
        ends = []
        for wide in (1.0, AT_ENDS):
            of_misses = (wide * missed) ** 2
            variance, freedom = of_misses + added, count - 2
            if added:
                # Of a sum of two variances (Satterthwaite 1946), never below the first one's.
                parts = of_misses**2 / freedom + added**2 / repeats.freedom
                freedom = max(freedom, int(variance**2 / parts))
            half = student_quantile(freedom, level) * math.sqrt(variance)
            ends.append(min(max(half, wide * least), _MOST))
        made.append((ends[0], ends[1]))
    return made[0], made[1], "t of leave-one-out misses" + " and of repeats" * (repeats.freedom > 0)


def _like(points: Points, others: Sequence[Points], shared: Shared) -> tuple[_Reach, _Reach, str]:
    """The 90 % quantiles of how the others are missed when as many points of each are kept.

    One trial lies as much further off as its repeats and theirs say.
    """
    count = len(points)
    like = [each for each in others if len(each) - 1 in (count, count + 1)][:LIKE_MAX]
    if count < 2 or len(like) < MIN_LIKE:
        return None, None, _too_few(count)
    rows = [np.abs(_missed_by_others(each, shared.without(each))) for each in like]
    inside = np.concatenate([row[1:-1] for row in rows])
    ends = np.concatenate([row[[0, -1]] for row in rows])
    found = [max(float(np.quantile(each, min(1.0, MEDIAN_LEVEL * (1 + 1 / len(each))))),
                 _least(points))
             for each in (inside, ends)]  # fmt: skip
    known = [each.repeats for each in (points, *like) if each.repeats.freedom]
    freedom = sum(each.freedom for each in known)
    added = sum(each.added * each.freedom for each in known) / max(freedom, 1)
    further = student_quantile(max(freedom, 1), (1 + MEDIAN_LEVEL) / 2) * math.sqrt(added)
    one = math.hypot(found[0], further), math.hypot(found[1], further)
    return (found[0], found[1]), one, f"misses of {len(like)} like curves, a point of each left out"


def _least(points: Points) -> float:
    """No interval is narrower than what times are told apart by."""
    return max(LEAST_MISS, points.repeats.unit_s / float(np.median(points.elapsed_s)))


def _too_few(count: int) -> str:
    return (
        f"an interval needs {MIN_INTERVAL} measured values of x, or {MIN_LIKE} other curves of the "
        f"job with one more than here: here are {count}"
    )


def _rms(values: Array) -> float:
    return math.sqrt(float(np.mean(np.clip(values, -10, 10) ** 2)))


def _left_out(points: Points) -> Iterator[tuple[Points, Array, float]]:
    """The points without each in turn, where that one is, and its ln t."""
    for place in range(len(points)):
        kept = np.arange(len(points)) != place
        rest = Points(points.x[kept], points.elapsed_s[kept])
        yield rest, points.x[place : place + 1], math.log(points.elapsed_s[place])


def _missed_by_own(points: Points, meaning: Meaning, solved: Array) -> tuple[Array, Array]:
    """ln(predicted / measured) of each point left out: by the formula, and with departures."""
    found = [
        (formula[0] - log, formula[0] + departs[0] - log)
        for (rest, out, log), coefficients in zip(_left_out(points), solved, strict=False)
        for formula, departs in [_own(meaning, coefficients, rest, out)]
    ]
    first, second = np.array(found).T
    return first, second


def _missed_by_others(points: Points, others: Shared) -> Array:
    """ln(predicted / measured) of each point left out, by the shape of the others."""
    return np.array([others.at(rest, out)[0] - log for rest, out, log in _left_out(points)])
