"""Whether one group of values differs from another, and by which factor.

One test gives all results about two groups: p, the interval of the ratio, the verdict. It is the
studentized rank test of Brunner and Munzel (2000) on the logarithms, which, unlike Mann-Whitney's,
does not mistake a difference of spread or shape for one of location. Its t approximation finds too
much in small groups, so p is never less than that of its permutation form (Neubert and Brunner
2007). The interval holds the ratios that the test does not reject.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from itertools import combinations
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from venturi.core.domain import invalid
from venturi.core.statistics.quantiles import student_quantile, student_tails
from venturi.core.statistics.stats import ALPHA, Interval, checked

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

MOST_ORDERS = 50_000  # enumerated: 60 values and 3 have 39,711
DRAWN_ORDERS = 20_000  # of more orders
ENOUGH = 20  # values in the smaller group from which the t approximation needs no correction
MOST_RATIOS = 1_600  # each of which is tested; beyond, the interval's ends are bisected
_SEED = 2000
_EQUAL = 1e-12  # logarithms that differ by rounding only
_SAME_T = 1e-9
_MOST_LOG_RATIO = 700.0  # its exponential is still a number
_NEAR = 1e-9  # how well the ends of an interval of many values are found
_FIRST_STEP = 1_024  # share of the way to where all is rejected
METHOD = "Brunner-Munzel test inverted"


class ComparisonOutcome(StrEnum):
    """The result of a comparison."""

    LOWER = "lower"
    HIGHER = "higher"
    CANNOT_TELL = "cannot tell"


@dataclass(frozen=True, slots=True)
class Verdict:
    """How `second` stands to `first`.

    `ratio` is the median of all ratios second / first (the Hodges-Lehmann estimate on logarithms),
    `interval` that of the ratio at 1 - alpha, `chance_lower` the share of all pairs in which the
    value of `second` is the lower one, equal ones counted half: the test's own measure, 1/2 where
    the ratio is 1. `reason` explains a missing value (None) and the verdict "cannot tell".
    """

    outcome: ComparisonOutcome
    reason: str | None
    alpha: float
    ratio: float | None = None
    interval: Interval | None = None
    p_value: float | None = None
    chance_lower: float | None = None


def compare_samples(
    first: Sequence[float], second: Sequence[float], alpha: float = ALPHA
) -> Verdict:
    """Whether `second` tends to be lower or higher than `first`, two-sided, and by which factor.

    The interval decides: "lower" or "higher" if it leaves out 1, which it does if p <= alpha (an
    end that is exactly 1, as for equal values, is inside). Groups so small that no order of their
    values has a p of alpha get the ratio without an interval; a single value has no p either.
    VEN-MODEL-INPUT for an alpha outside 0 to 1 and for values that aren't numbers.
    """
    if not 0 < alpha < 1:
        raise invalid("alpha", alpha, "between 0 and 1")
    values = checked(first), checked(second)
    if not all(values):
        return Verdict(ComparisonOutcome.CANNOT_TELL, "a group has no kept trials", alpha)
    if (least := min(map(min, values))) <= 0:
        return Verdict(
            ComparisonOutcome.CANNOT_TELL,
            f"a value of {least:g} has no ratio: it is not above 0",
            alpha,
        )
    a, b = map(_logs, values)
    if max(b[-1] - a[0], a[-1] - b[0]) > _MOST_LOG_RATIO:
        return Verdict(
            ComparisonOutcome.CANNOT_TELL, "the values differ too much for a ratio", alpha
        )
    pair = _SmallPair(a, b) if len(a) * len(b) <= MOST_RATIOS else _LargePair(a, b)
    ratio, lower = math.exp(pair.estimate()), 1 - pair.chance_above()
    if min(len(a), len(b)) < 2 or least_p(len(a), len(b)) > alpha:
        return Verdict(
            ComparisonOutcome.CANNOT_TELL,
            _too_few(a, b, alpha),
            alpha,
            ratio,
            None,
            pair.p_value(),
            lower,
        )
    p = pair.p_value()
    low, high = map(math.exp, pair.ends(alpha))
    interval = Interval(low, high, 1 - alpha, METHOD)
    reason, outcome = None, ComparisonOutcome.LOWER if high < 1 else ComparisonOutcome.HIGHER
    if low <= 1 <= high:
        outcome = ComparisonOutcome.CANNOT_TELL
        reason = (
            f"the ratio is between {low:.3g} and {high:.3g} ({interval.percent} interval, "
            f"p = {p:.2g})"
        )
    return Verdict(outcome, reason, alpha, ratio, interval, p, lower)


def median_log_ratio(first: Array, second: Array) -> float:
    """The logarithm of `compare_samples`' ratio, of two sorted arrays of logarithms."""
    pair = _SmallPair if len(first) * len(second) <= MOST_RATIOS else _LargePair
    return pair(first, second).estimate()


def p_value(first: Sequence[float], second: Sequence[float]) -> float:
    """The p of `compare_samples` alone; 1 where it has none."""
    values = checked(first), checked(second)
    if not all(values) or min(map(min, values)) <= 0:
        return 1.0
    found = _Pair(*map(_logs, values)).p_value()
    return 1.0 if found is None else found


def least_p(n: int, m: int) -> float:
    """The smallest two-sided p that groups of `n` and `m` can reach: 2 / C(n+m, n) or more."""
    if min(n, m) >= ENOUGH:
        ways = math.lgamma(n + m + 1) - math.lgamma(n + 1) - math.lgamma(m + 1)
        return 2 * math.exp(-ways)
    if min(n, m) < 2:
        return min(1.0, 2 / (n + m)) if min(n, m) else 1.0
    if (orders := math.comb(n + m, n)) > MOST_ORDERS:  # of a sample, without drawing it
        return max(2 / orders, 1 / (DRAWN_ORDERS + 1))
    return _share_as_far(n, m, math.inf)


def surely_within(alpha: float, n: int, m: int) -> float:
    """The level for groups of `n` and `m` so that errors are hardly more frequent than `alpha`.

    Drawn orders give p with a standard error, which is the same at each use of a seed.
    """
    if min(n, m) < 2 or min(n, m) >= ENOUGH or math.comb(n + m, n) <= MOST_ORDERS:
        return alpha
    return max(alpha - math.sqrt(alpha / DRAWN_ORDERS), alpha / 2)


def _too_few(a: Array, b: Array, alpha: float) -> str:
    n, m = len(a), len(b)
    if n == m == 1:
        return "too few trials to tell (1 and 1): their ratio has no error estimate"
    least, most = math.exp(b[0] - a[-1]), math.exp(b[-1] - a[0])
    said = f"{n} and {m} trials are too few to tell"
    if least_p(n, m) > alpha:
        said += f": even without overlap they reach p = {least_p(n, m):.2g} instead of {alpha:.2g}"
    return f"{said}; the ratios of single trials are {least:.3g} to {most:.3g}"


def _logs(values: Sequence[float]) -> Array:
    return np.sort(np.log(np.asarray(values, dtype=np.float64)))


def _statistic(not_below: Array, below: Array) -> tuple[Array, Array]:
    """Brunner and Munzel's T and its degrees of freedom along the last axis, for many orders
    together.

    `not_below` has for each value of the first group how many of the second are above it, `below`
    for each of the second how many of the first are below it; equal ones count half. The spread of
    these counts is taken before they become shares, so that equal ones give exactly 0.
    """
    n, m = not_below.shape[-1], below.shape[-1]
    share = not_below.mean(axis=-1) / m
    parts = not_below.var(axis=-1, ddof=1) / (m * m * n), below.var(axis=-1, ddof=1) / (n * n * m)
    return _studentised(np.asarray(share), parts, n, m)


def _studentised(share: Array, parts: tuple[Array, Array], n: int, m: int) -> tuple[Array, Array]:
    variance = parts[0] + parts[1]
    with np.errstate(divide="ignore", invalid="ignore"):
        t = (share - 0.5) / np.sqrt(variance)
        freedom = variance**2 / (parts[0] ** 2 / (n - 1) + parts[1] ** 2 / (m - 1))
    # Without any spread the groups don't overlap, or all values are equal.
    return np.where(np.isnan(t), 0.0, t), np.where(variance > 0, freedom, min(n, m) - 1)


@lru_cache(maxsize=256)
def _orders(n: int, m: int) -> Array:
    """|T| of the orders of `n` and `m` different values, sorted: of all, or of a seeded sample."""
    if n > m:
        return _orders(m, n)
    if math.comb(n + m, n) <= MOST_ORDERS:
        places = np.array(list(combinations(range(n + m), n)))
    else:
        places = _drawn(n, n + m)
    # Where the first group lies says all: i values of it are below each of the others between
    # its i-th and its next.
    ends = np.full((len(places), 1), n + m)
    gaps = np.diff(np.hstack([np.full_like(ends, -1), places, ends]), axis=1) - 1
    below = np.arange(n + 1)
    not_below = m - (places - np.arange(n))
    mean = (gaps * below).sum(axis=1, keepdims=True) / m
    spread = (gaps * (below - mean) ** 2).sum(axis=1) / (m - 1)
    parts = not_below.var(axis=1, ddof=1) / (m * m * n), spread / (n * n * m)
    t, _ = _studentised(not_below.mean(axis=1) / m, parts, n, m)
    return np.sort(np.abs(t))


def _drawn(n: int, among: int) -> Array:
    """`DRAWN_ORDERS` subsets of `n` of the places 0 to `among` - 1, sorted (Floyd's algorithm)."""
    rng = np.random.default_rng([_SEED, n, among])
    places = np.full((DRAWN_ORDERS, n), -1)
    for column, last in enumerate(range(among - n, among)):
        drawn = rng.integers(0, last + 1, DRAWN_ORDERS)
        taken = (places == drawn[:, np.newaxis]).any(axis=1)
        places[:, column] = np.where(taken, last, drawn)
    return np.sort(places, axis=1)


def _share_as_far(n: int, m: int, t: float) -> float:
    """The permutation p: the share of orders that have |T| of at least `t`.

    For a sample of orders, the observed one counts as one more.
    """
    orders = _orders(n, m)
    as_far = len(orders) - int(np.searchsorted(orders, t - _SAME_T))
    if math.comb(n + m, n) <= MOST_ORDERS:
        return as_far / len(orders)
    return (as_far + 1) / (len(orders) + 1)


def _p(t: float, freedom: float, n: int, m: int) -> float:
    p = student_tails(freedom, abs(t))
    return p if min(n, m) >= ENOUGH else max(p, _share_as_far(n, m, abs(t)))


class _Pair:
    """Two groups of sorted logarithms, of which the second can be moved down by `shift`."""

    def __init__(self, a: Array, b: Array) -> None:
        self.a, self.b = a, b

    def counts(self, shift: float, *, ties: bool = True) -> tuple[Array, Array]:
        """For each value of `a` how many of `b` are above, of `b` how many of `a` are below.

        Without `ties`, for shifts at which no two are equal, it takes half the time.
        """

        def at_most(values: Array, bounds: Array) -> Array:
            """How many of `values` are below each bound; those equal to it count half."""
            if not ties:
                return np.searchsorted(values, bounds)
            below = np.searchsorted(values, bounds - _EQUAL, "left")
            return np.asarray((below + np.searchsorted(values, bounds + _EQUAL, "right")) / 2)

        return len(self.b) - at_most(self.b, self.a + shift), at_most(self.a, self.b - shift)

    def p_at(self, shift: float, *, ties: bool = True) -> float:
        t, freedom = _statistic(*self.counts(shift, ties=ties))
        return _p(float(t), float(freedom), len(self.a), len(self.b))

    def p_value(self) -> float | None:
        """None where a group has no spread to speak of: a single value."""
        return self.p_at(0.0) if min(len(self.a), len(self.b)) > 1 else None

    def chance_above(self) -> float:
        """The chance that a value of `b` is above one of `a`, plus half of that it is equal."""
        return float(self.counts(0.0)[0].mean()) / len(self.b)


class _SmallPair(_Pair):
    """Groups of which every difference, and every gap between two, can be tested."""

    def __init__(self, a: Array, b: Array) -> None:
        super().__init__(a, b)
        apart = np.subtract.outer(b, a).ravel()
        self.order = np.argsort(apart, kind="stable")
        self.apart = apart[self.order]

    def estimate(self) -> float:
        pairs = len(self.apart)
        return float(self.apart[(pairs - 1) // 2] + self.apart[pairs // 2]) / 2

    def ends(self, alpha: float) -> tuple[float, float]:
        """The least and the greatest shift that is not rejected; a gap brings both its ends."""
        n, m = len(self.a), len(self.b)
        starts = np.flatnonzero(np.append(True, np.diff(self.apart) > _EQUAL))
        bounds = np.append(starts, len(self.apart))  # before and after each different value

        def so_far(members: Array, size: int) -> Array:
            """How many pairs of each member have differences up to each bound."""
            hot = np.zeros((len(members) + 1, size))
            hot[np.arange(1, len(members) + 1), members] = 1
            return np.asarray(hot.cumsum(axis=0)[bounds])

        def tested(counts: Array) -> Array:
            """At each value, where it counts half, and in the gap after it, in turn."""
            rows = np.empty((2 * len(starts) - 1, counts.shape[1]))
            rows[::2] = (counts[:-1] + counts[1:]) / 2
            rows[1::2] = counts[1:-1]
            return rows

        above = m - tested(so_far(self.order % n, n))
        below = n - tested(so_far(self.order // n, m))
        kept = np.flatnonzero(_not_rejected(*_statistic(above, below), n, m, alpha))
        values = self.apart[starts]
        return float(values[kept[0] // 2]), float(values[(kept[-1] + 1) // 2])


def _not_rejected(t: Array, freedom: Array, n: int, m: int, alpha: float) -> Array:
    """Whether each T has a p above alpha."""
    far = np.abs(t)
    kept = np.zeros(len(far), dtype=np.bool_)
    if min(n, m) < ENOUGH:
        orders = _orders(n, m)
        as_far = len(orders) - np.searchsorted(orders, far - _SAME_T)
        drawn = math.comb(n + m, n) > MOST_ORDERS
        kept = (as_far + drawn) / (len(orders) + drawn) > alpha
    # The degrees of freedom are at least those of the smaller group and less than the normal
    # distribution's: only between the bounds of the two is the other p worth its time.
    kept |= far < NormalDist().inv_cdf(1 - alpha / 2) - _SAME_T
    bound = student_quantile(min(n, m) - 1, 1 - alpha / 2) + _SAME_T
    for place in np.flatnonzero(~kept & (far <= bound)).tolist():
        kept[place] = student_tails(float(freedom[place]), float(far[place])) > alpha
    return kept


class _LargePair(_Pair):
    """Groups with too many differences to test each: values are found by bisection."""

    def estimate(self) -> float:
        pairs = len(self.a) * len(self.b)
        low = self._difference((pairs + 1) // 2)
        if pairs % 2 or self._up_to(low + _EQUAL) > pairs // 2:
            return low
        return (low + self._difference(pairs // 2 + 1)) / 2

    def _up_to(self, bound: float) -> int:
        """How many differences are not above `bound`."""
        return int(np.searchsorted(self.b, self.a + bound, "right").sum())

    def _difference(self, rank: int) -> float:
        low, high = self._range()
        while high - low > _EQUAL:
            middle = (low + high) / 2
            if self._up_to(middle) >= rank:
                high = middle
            else:
                low = middle
        return high

    def _range(self) -> tuple[float, float]:
        """Shifts beyond all differences."""
        return float(self.b[0] - self.a[-1]) - _EQUAL, float(self.b[-1] - self.a[0]) + _EQUAL

    def ends(self, alpha: float) -> tuple[float, float]:
        """The shifts, on both sides of the estimate, from which on the test rejects."""
        middle = self.estimate()
        found = []
        for end in self._range():
            kept, rejected = middle, middle + (end - middle) / _FIRST_STEP
            while rejected != end and self.p_at(rejected, ties=False) > alpha:
                kept, rejected = rejected, middle + 2 * (rejected - middle)
                rejected = min(rejected, end) if end > middle else max(rejected, end)
            while abs(rejected - kept) > _NEAR:
                between = (kept + rejected) / 2
                if self.p_at(between, ties=False) > alpha:
                    kept = between
                else:
                    rejected = between
            found.append(kept)
        if self.p_at(0.0) > alpha:  # which two ends found by halves might just miss
            return min(found[0], 0.0), max(found[1], 0.0)
        return found[0], found[1]
