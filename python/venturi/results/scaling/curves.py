"""Time against nodes, cores or the amount of data: a curve, its interval, and the cliff.

A curve is of one context: trials with equal settings except for x. It is a weighted mean of three
curves: a formula; the formula plus the points' residuals; and the shape of the job's other
contexts. The weights depend on how well each predicted left-out points. With three points, the
weights are those that best predict points of the other contexts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import product
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from venturi.core.errors import VenturiError
from venturi.core.statistics.quantiles import student_quantile
from venturi.core.statistics.stats import MEDIAN_LEVEL, Interval, Missing
from venturi.results.scaling.formulas import Meaning, logs, solve

MIN_POINTS = 3  # for a curve of its own
MIN_INTERVAL = 4  # two degrees of freedom for the curve's error
BEYOND = 2.0  # times what was measured; further nothing is said
AT_ENDS = 1.8  # the interval there is so much wider, as a ratio of logarithms
MIN_LIKE = 10  # curves that together give the error of one with too few points of its own
LIKE_MAX = 60  # of them are asked
ENDS = 0.1  # the first and the last so much of the range of ln x
RIDGE = 1.0  # pulls a context's slope toward the common one
_MOST = 50.0  # of a logarithm
LEAST_MISS = 1e-3  # smaller errors of a curve count as this

Array = npt.NDArray[np.float64]


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
        """From the seconds at each x, all above 0."""
        logs = [np.log(np.asarray(each, dtype=np.float64)) for each in times]
        freedom = sum(len(each) - 1 for each in logs)
        squares = sum(float(((each - each.mean()) ** 2).sum()) for each in logs)
        # The median of n normal values has pi / (2 n) of their variance where n is large, all at 1.
        carried = float(np.mean([math.pi / (2 * len(each) + math.pi - 2) for each in logs]))
        return cls(
            squares / freedom if freedom else 0.0,
            freedom,
            carried,
            _unit_s(np.concatenate([np.asarray(each) for each in times])),
        )

    @property
    def added(self) -> float:
        """The variance of ln t that one trial has more than a median."""
        return self.variance * (1 - self.carried)


def _unit_s(times: Array) -> float:
    """The largest of 1 s, 0.1 s, ... that divides all times; 0 if below 1 us."""
    for digits in range(7):
        scaled = times * 10.0**digits
        if np.all(np.abs(scaled - np.round(scaled)) < 1e-6):
            return float(10.0**-digits)
    return 0.0


@dataclass(frozen=True, eq=False)
class Points:
    """The medians of one context: seconds at each x, ascending, both above 0, each x once.

    `times` are those of single trials at each x, where they are known.
    """

    x: Array
    elapsed_s: Array
    times: Sequence[Sequence[float]] = ()

    @cached_property
    def _missed(self) -> dict[Meaning, Array]:
        """Results of `_missed_by_formula`: a job's curves ask for those of each other."""
        return {}

    @cached_property
    def repeats(self) -> Repeats:
        """The spread of single trials about the medians."""
        return Repeats.of(self.times) if self.times else Repeats()

    @classmethod
    def of(cls, x: Sequence[float], elapsed_s: Sequence[float]) -> Points:
        """Sorted by x. VEN-MODEL-INPUT where one is not above 0 or an x comes twice."""
        order = np.argsort(np.asarray(x, dtype=np.float64))
        made = cls(
            np.asarray(x, dtype=np.float64)[order], np.asarray(elapsed_s, dtype=np.float64)[order]
        )
        above = made.x > 0, made.elapsed_s > 0
        if not all(map(np.all, above)) or len(np.unique(made.x)) != len(made.x):
            raise VenturiError(
                "VEN-MODEL-INPUT",
                "a curve needs values of x and times above 0, with each x only once",
                where={"field": "x"},
                hint="leave out values of 0 or less",
            )
        return made

    def __len__(self) -> int:
        return len(self.x)


@dataclass(frozen=True, slots=True, eq=False)
class SharedShape:
    """The shape that the curves of one job have in common: ln t = level + slope z + curvature z^2.

    z is ln x. Levels are each curve's own, slopes are drawn to the common one by a ridge, the
    curvature is common. `matrix` and `vector` are the sum over `curves` curves of the normal
    equations for slope and curvature, from which levels and own slopes are eliminated.
    """

    matrix: Array
    vector: Array
    curves: int

    def without(self, points: Points) -> SharedShape:
        """The shape of the other curves only."""
        matrix, vector = _normal(np.log(points.x), np.log(points.elapsed_s), np.ones(len(points)))
        return SharedShape(
            self.matrix - matrix, self.vector - vector, self.curves - (len(points) > 1)
        )

    def at(self, points: Points, wanted: Array) -> Array:
        """ln t at each `wanted`, of a curve with these points, which count as well."""
        return self.logs(
            np.log(points.x), np.log(points.elapsed_s), np.ones(len(points)), np.log(wanted)
        )

    def logs(self, z: Array, y: Array, kept: Array, to: Array) -> Array:
        """ln t at each z of `to`, of a stack of curves; `kept` is 1 for each point that counts."""
        matrix, vector = _normal(z, y, kept)
        whole, target = self.matrix + matrix, self.vector + vector
        # Singular where all curves have the same two x: the least slope and curvature then.
        solved = (np.linalg.pinv(whole, rcond=1e-9) @ target[..., None])[..., 0]
        slope, curvature = solved[..., :1], solved[..., 1:]
        of_z, of_q, of_y = (_mean(values, kept) for values in (z, z**2, y))
        z_c = (z - of_z) * kept
        left = y - of_y - slope * z_c - curvature * (z**2 - of_q)
        own = (z_c * left).sum(-1, keepdims=True) / ((z_c**2).sum(-1, keepdims=True) + RIDGE)
        found = of_y + (slope + own) * (to - of_z) + curvature * (to**2 - of_q)
        return np.asarray(found, dtype=np.float64)


def shared_shape(curves: Sequence[Points]) -> SharedShape:
    """The common shape of the curves; those of one point don't contribute."""
    kept = [points for points in curves if len(points) > 1]
    if not kept:
        return SharedShape(np.zeros((2, 2)), np.zeros(2), 0)
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
    return SharedShape(matrix, vector, len(kept))


def _mean(values: Array, kept: Array) -> Array:
    return np.asarray((values * kept).sum(-1, keepdims=True) / kept.sum(-1, keepdims=True))


def _normal(z: Array, y: Array, kept: Array) -> tuple[Array, Array]:
    """The contribution of each curve of a stack to `matrix` and `vector`."""
    z_c, q_c, y_c = ((values - _mean(values, kept)) * kept for values in (z, z**2, y))
    zz, zq, qq, zy, qy = (
        (a * b).sum(-1) for a, b in ((z_c, z_c), (z_c, q_c), (q_c, q_c), (z_c, y_c), (q_c, y_c))
    )
    left = RIDGE / (zz + RIDGE)  # the part along z, once each has a slope of its own
    rest = qq - zq * zq / (zz + RIDGE)
    matrix = np.stack([zz * left, zq * left, zq * left, rest], axis=-1)
    vector = np.stack([zy * left, qy - zq * zy / (zz + RIDGE)], axis=-1)
    return matrix.reshape(*zz.shape, 2, 2), vector


class Weights(NamedTuple):
    """Each curve's weight in the mean; they add up to 1."""

    formula: float = 0.0
    departing: float = 0.0  # the formula plus the points' residuals
    nodes: float = 0.0  # Ernest's terms, where they are not the formula
    borrowed: float = 0.0  # the shape of the job's other contexts


@dataclass(frozen=True, slots=True, eq=False)
class CurveFit:
    """The curve of one context in seconds: a mean, weighted as `inside` and `ends` say.

    `coefficients` are those of the formula, `nodes` those of Ernest's terms, `others` has the shape
    that is borrowed; None where they do not count. `missed` is the root mean square of ln(predicted
    / measured) when each point is left out in turn; None with fewer than 3 points.

    `reach` is the half-width of the interval as a ratio of logarithms, inside and at the ends, for
    a median of as many trials as were measured; `one` is that for a single trial. Both are None
    without an interval. `method` says how it was derived, or why it is missing.
    """

    meaning: Meaning
    points: Points
    coefficients: Array | None
    nodes: Array | None
    inside: Weights
    ends: Weights
    others: SharedShape | None
    missed: float | None
    reach: tuple[float, float] | None
    one: tuple[float, float] | None
    method: str

    def at(self, x: Sequence[float]) -> Array:
        """Seconds at each x. VEN-MODEL-RANGE beyond twice the measured range."""
        wanted = np.asarray(x, dtype=np.float64)
        if len(wanted):
            check_beyond(self.points, float(wanted.min()), float(wanted.max()))
        return np.asarray(np.exp(np.clip(self.logs(wanted), -700, 700)), dtype=np.float64)

    def logs(self, x: Array) -> Array:
        """ln t at each x, however far."""
        rows = np.zeros((len(Weights()), len(x)))
        if self.coefficients is not None:
            formula, departs = _own(self.meaning, self.coefficients, self.points, x)
            rows[0], rows[1] = formula, formula + departs
        if self.nodes is not None:
            rows[2] = logs(Meaning.RESOURCE, self.nodes, x)
        if self.others is not None:
            rows[3] = self.others.at(self.points, x)
        if self.inside == self.ends:
            return np.asarray(self.inside @ rows, dtype=np.float64)
        low, high = np.log(self.points.x[[0, -1]])
        place = (np.log(x) - low) / (high - low)
        end = np.clip(1 - np.minimum(place, 1 - place) / ENDS, 0, 1)  # 1 at the first and beyond
        return np.asarray((1 - end) * (self.inside @ rows) + end * (self.ends @ rows))

    def half(self, x: float) -> float | Missing:
        """The half-width of the 90 % interval for one more trial at x, as a logarithm."""
        return self._half(x, self.one)

    def half_of_median(self, x: float) -> float | Missing:
        """The same for the median of as many trials as were measured at each x."""
        return self._half(x, self.reach)

    def _half(self, x: float, reach: tuple[float, float] | None) -> float | Missing:
        low, high = float(self.points.x[0]), float(self.points.x[-1])
        if not low <= x <= high:
            return Missing("beyond the measured range there is no interval")
        if reach is None:
            return Missing(self.method)
        place = math.log(x / low) / math.log(high / low) if high > low else 0.0
        return reach[0] if ENDS < place < 1 - ENDS else reach[1]

    def interval(self, x: float) -> Interval | Missing:
        """The 90 % interval for one more trial at x; none beyond the measured range.

        curve * exp(+- half). `docs/method/scaling-fits.md` reports its coverage.
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
    """Raise VEN-MODEL-RANGE for the first x outside the range of `reaches`."""
    low, high = float(points.x[0]), float(points.x[-1])
    for x in wanted:
        if not reaches(points, x):
            raise VenturiError(
                "VEN-MODEL-RANGE",
                f"{x:g} is more than {BEYOND:g} times beyond the measured range ({low:g} to "
                f"{high:g})",
                where={"field": "to", "value": x},
                hint=f"use a value from {low / BEYOND:g} to {high * BEYOND:g}, or measure over a "
                "wider range",
            )


def _own(
    meaning: Meaning, coefficients: Array, points: Points, wanted: Array
) -> tuple[Array, Array]:
    """ln t of the formula at each `wanted`, and the residuals of the points near it.

    Residuals are interpolated linearly in ln x, and constant beyond the last point.
    """
    departs = np.log(points.elapsed_s) - logs(meaning, coefficients, points.x)
    found = np.interp(np.log(wanted), np.log(points.x), departs)
    return logs(meaning, coefficients, wanted), found


def ernest(points: Points, x: Array) -> Array:
    """Seconds at each x by Ernest's formula alone, the baseline for curves."""
    kept = np.ones((1, len(points)))
    (coefficients,) = solve(Meaning.RESOURCE, points.x, points.elapsed_s, kept)
    return np.asarray(np.exp(logs(Meaning.RESOURCE, coefficients, x)), dtype=np.float64)


def fit_curve(
    points: Points,
    meaning: Meaning,
    others: Sequence[Points] = (),
    shared: SharedShape | None = None,
) -> CurveFit | Missing:
    """Fit the curve of one context; `others` are those of the job's other contexts.

    With 4 points or more it is the mean of three curves, weighted by 1/(leave-one-out error)^2
    (Stone 1974): the formula, the formula plus the points' residuals, and the shape of the others
    with its own level and slope. With 3 points: the first two if there are no others, else as in
    `_by_like`. With fewer: only the shape. `shared` is the shape of `others`, where it is known.
    """
    count = len(points)
    shape = shared if shared is not None else shared_shape(others)
    known = shape if shape.curves else None
    if count < MIN_POINTS and known is None:
        return Missing(
            f"{count} measured value{'s' * (count != 1)} of x; a curve needs at least {MIN_POINTS}"
        )
    if count < MIN_INTERVAL and known is not None:
        return _by_like(points, meaning, others, known)
    kept = np.vstack([1 - np.eye(count), np.ones(count)])
    solved = solve(meaning, points.x, points.elapsed_s, kept)
    rows = list(_missed_by_own(points, meaning, solved))
    if known is not None:
        rows.append(_missed_by_shape(known, points.x[None], points.elapsed_s[None])[0])
    shares = np.array([max(_rms(row), LEAST_MISS) ** -2 for row in rows])
    shares /= shares.sum()
    rms = _rms(shares @ np.array(rows))
    first, second, third = (*shares.tolist(), 0.0)[:3]
    weights = Weights(first, second, borrowed=third)
    reach, one, method = _of_misses(points, rms)
    return CurveFit(
        meaning, points, solved[-1], None, weights, weights, known, rms, reach, one, method
    )


_Reach = tuple[float, float] | None


def _of_misses(points: Points, missed: float) -> tuple[_Reach, _Reach, str]:
    """t of the errors, for a median and for one trial. At the ends, where predictions are worse,
    errors count AT_ENDS times.
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
                # A sum of two variances (Satterthwaite 1946), never below the first one's.
                parts = of_misses**2 / freedom + added**2 / repeats.freedom
                freedom = max(freedom, int(variance**2 / parts))
            half = student_quantile(freedom, level) * math.sqrt(variance)
            ends.append(min(max(half, wide * least), _MOST))
        made.append((ends[0], ends[1]))
    return made[0], made[1], "t of leave-one-out misses" + " and of repeats" * (repeats.freedom > 0)


def _by_like(
    points: Points, meaning: Meaning, others: Sequence[Points], shared: SharedShape
) -> CurveFit:
    """Fit a curve with too few points to estimate its error, by curves of the job with one or two
    more.

    In these, each point is left out in turn. With 3 points, the weights of the formula, Ernest's
    terms and the borrowed shape are those with the smallest error at these points, inside and at
    the ends, if there are MIN_LIKE such curves; else only the shape counts. The interval covers 90
    % of these errors.
    """
    count = len(points)
    like = [each for each in others if len(each) - 1 in (count, count + 1)]
    like = sorted(like, key=len)[:LIKE_MAX] if count > 1 else []
    enough = len(like) >= MIN_LIKE
    own = list(dict.fromkeys((meaning, Meaning.RESOURCE))) if count == MIN_POINTS and enough else []
    shares = [np.array([0.0] * len(own) + [1.0])] * 2
    reach, one, method = None, None, _too_few(count)
    if enough:
        places = _missed_of(like, own, shared)
        shares = [_least_missed(rows) for rows in places]
        missed = [np.abs(share @ rows) for share, rows in zip(shares, places, strict=True)]
        reach, one = _of_like(points, like, missed)
        method = f"errors of {len(like)} similar curves, with one point of each left out"
    x, elapsed_s = points.x[None], points.elapsed_s[None]
    rms = None
    if count == MIN_POINTS:
        rms = _rms(shares[0] @ _missed_by_each(own, shared, [points])[:, 0])
    solved = [
        solve(each, x, elapsed_s, np.ones((1, count)))[0] if inside or end else None
        for each, inside, end in zip(own, *shares, strict=False)
    ]
    formula, nodes = (*solved, None, None)[:2]
    inside, ends = map(_weights, shares)
    return CurveFit(meaning, points, formula, nodes, inside, ends, shared, rms, reach, one, method)


def _weights(share: Array) -> Weights:
    *own, borrowed = share.tolist()
    formula, nodes = (*own, 0.0, 0.0)[:2]
    return Weights(formula, 0.0, nodes, borrowed)


def _missed_of(
    like: Sequence[Points], own: Sequence[Meaning], shared: SharedShape
) -> tuple[Array, Array]:
    """ln(predicted / measured) of points of other curves, left out: inside, and at the ends.

    A row for each of `own` and one for the shape that the rest share.
    """
    inside, ends = [], []
    for count in sorted({len(each) for each in like}):
        same = [each for each in like if len(each) == count]
        rows = _missed_by_each(own, shared, same, counted=True)
        inside.append(rows[:, :, 1:-1].reshape(len(rows), -1))
        ends.append(rows[:, :, [0, -1]].reshape(len(rows), -1))
    return np.concatenate(inside, axis=1), np.concatenate(ends, axis=1)


@cache
def _tenths(count: int) -> Array:
    """Every way to share out ten tenths, those first that give the last most."""
    every = [each for each in product(range(11), repeat=count) if sum(each) == 10]
    return np.array(every) / 10


def _least_missed(rows: Array) -> Array:
    """The share of each row, in tenths, by which the weighted mean of the rows is least."""
    ways = _tenths(len(rows))
    return np.asarray(ways[int(np.argmin(np.abs(ways @ rows).mean(axis=1)))])


def _of_like(
    points: Points, like: Sequence[Points], missed: Sequence[Array]
) -> tuple[tuple[float, float], tuple[float, float]]:
    """The 90 % quantiles of the errors, inside and at the ends, for a median and for one trial.

    The latter adds the spread of the repeats of this curve and of similar ones.
    """
    inside, end = (
        max(float(np.quantile(each, min(1.0, MEDIAN_LEVEL * (1 + 1 / len(each))))), _least(points))
        for each in missed
    )
    known = [each.repeats for each in (points, *like)]
    freedom = sum(each.freedom for each in known)
    added = sum(each.added * each.freedom for each in known) / max(freedom, 1)
    further = student_quantile(max(freedom, 1), (1 + MEDIAN_LEVEL) / 2) * math.sqrt(added)
    return (inside, end), (math.hypot(inside, further), math.hypot(end, further))


def _least(points: Points) -> float:
    """The minimum half-width of an interval: the resolution of times."""
    return max(LEAST_MISS, points.repeats.unit_s / float(np.median(points.elapsed_s)))


def _too_few(count: int) -> str:
    return (
        f"an interval needs {MIN_INTERVAL} measured values of x, or {MIN_LIKE} other curves "
        f"of the job with one more than here: there are {count}"
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


def _missed_by_each(
    own: Sequence[Meaning],
    shared: SharedShape,
    curves: Sequence[Points],
    *,
    counted: bool = False,
) -> Array:
    """ln(predicted / measured) of each point left out: a row of `curves` for each of `own`, and one
    for the shape, in which these curves are `counted` or not. All have as many points.
    """
    rows = [_missed_by_formula(each, curves) for each in own]
    x, elapsed_s = _stacked(curves)
    rows.append(_missed_by_shape(shared, x, elapsed_s, counted=counted))
    return np.clip(np.array(rows), -10, 10)


def _stacked(curves: Sequence[Points]) -> tuple[Array, Array]:
    return np.stack([each.x for each in curves]), np.stack([each.elapsed_s for each in curves])


def _missed_by_formula(meaning: Meaning, curves: Sequence[Points]) -> Array:
    if new := [each for each in curves if meaning not in each._missed]:
        x, elapsed_s = _stacked(new)
        count = x.shape[1]
        kept = np.tile(1 - np.eye(count), (len(new), 1))
        repeated = np.repeat(x, count, axis=0), np.repeat(elapsed_s, count, axis=0)
        solved = solve(meaning, *repeated, kept)
        found = logs(meaning, solved, x.reshape(-1, 1)).reshape(x.shape) - np.log(elapsed_s)
        for each, missed in zip(new, found, strict=True):
            each._missed[meaning] = missed
    return np.stack([each._missed[meaning] for each in curves])


def _missed_by_shape(
    shared: SharedShape, x: Array, elapsed_s: Array, *, counted: bool = False
) -> Array:
    z, y = np.log(x)[:, None], np.log(elapsed_s)[:, None]
    if counted:
        matrix, vector = _normal(z, y, np.ones(x.shape[1]))
        shared = SharedShape(shared.matrix - matrix, shared.vector - vector, shared.curves - 1)
    found = shared.logs(z, y, 1 - np.eye(x.shape[1]), np.log(x)[:, :, None])
    return np.asarray(found[:, :, 0] - np.log(elapsed_s))
