"""Statistics of small groups of trials: what they are, how sure one can be, who is better.

Nothing here guesses: where the numbers do not suffice the answer is `Missing` with a reason, or a
verdict "cannot tell". Formulas and sources stand in the docstrings; docs/method has the list.
"""

from __future__ import annotations

import math
import statistics
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from itertools import filterfalse
from typing import TYPE_CHECKING, Any

from venturi.errors import VenturiError

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

MEDIAN_LEVEL = 0.90  # five kept trials, the protocol's default, can carry 90 % but not 95 %
ALPHA = 0.05
MOST_EXACT_PAIRS = 2_500
_HALVINGS = 30  # of a range of differences: to a thousand millionth of it
_SAMPLE = 250  # values of a group that tell where its differences lie,
_MARGIN = 0.006  # to this share of them
MOST_DIFFERENCES = 100_000  # held at once; beyond, it is faster to find them by bisection


@dataclass(frozen=True, slots=True)
class Missing:
    """No value, and why."""

    reason: str


@dataclass(frozen=True, slots=True)
class Interval:
    """Confidence interval [low, high] at `level` (0.90 = 90 %), in the unit of the values."""

    low: float
    high: float
    level: float
    method: str

    @property
    def percent(self) -> str:
        """The level for people: `95 %`."""
        return f"{100 * self.level:.3g} %"


def _checked(values: Sequence[float]) -> list[float]:
    if not all(map(math.isfinite, values)):
        for value in filterfalse(math.isfinite, values):
            raise VenturiError(
                "VEN-MODEL-INPUT",
                f"{value} among the values to be summarised",
                where={"value": value},
                hint="leave out what was not measured",
            )
    return list(map(float, values))


def median(values: Sequence[float]) -> float | Missing:
    """The middle value, or the mean of the two middle ones."""
    return statistics.median(_checked(values)) if values else Missing("no values")


def quantile(values: Sequence[float], fraction: float) -> float | Missing:
    """The quantile at `fraction` (0 to 1), linear between order statistics.

    Definition 7 of Hyndman and Fan (1996): position 1 + (n - 1) * fraction.
    """
    if not 0 <= fraction <= 1:
        raise VenturiError(
            "VEN-MODEL-INPUT", f"a quantile at {fraction}", where={"fraction": fraction},
            hint="give a fraction from 0 to 1",
        )  # fmt: skip
    if not values:
        return Missing("no values")
    ordered = sorted(_checked(values))
    position = (len(ordered) - 1) * fraction
    below = math.floor(position)
    above = min(below + 1, len(ordered) - 1)
    step = ordered[above] - ordered[below]
    return min(ordered[above], ordered[below] + step * (position - below))


def coefficient_of_variation(values: Sequence[float]) -> float | Missing:
    """Standard deviation (n - 1) over mean, as a fraction; needs two values and a mean above 0."""
    if len(values) < 2:
        return Missing(f"{len(values)} value{'s' * (len(values) != 1)}: spread needs two")
    mean = statistics.fmean(_checked(values))
    if mean <= 0:
        return Missing("the mean is not above zero")
    import numpy as np

    return float(np.std(values, ddof=1)) / mean


def median_interval(values: Sequence[float], level: float = MEDIAN_LEVEL) -> Interval | Missing:
    """Percentile bootstrap interval of the median, by its closed form instead of by chance.

    The k-th smallest of n values drawn with replacement is at most the j-th smallest value with
    P(Binomial(n, j/n) >= k) (Efron 1979, section 3): what resampling without end would give, the
    same every time. With n even the lower end is that of the lower, the upper end that of the
    upper middle value. Such intervals still cover too rarely for some n (82 % for 90 % at n = 9),
    so they are widened, rank by rank, until the sign test's exact coverage reaches the level:
    1 - 2 P(Binomial(n, 1/2) < j) for the j-th smallest and j-th largest value.

    Refused where n is too small: no interval between two observations covers the median with more
    than 1 - 2^(1-n), the chance that they do not all fall on one side of it (David and Nagaraja
    2003, section 7.1). BCa is not offered: its acceleration rests on the jackknife, which is
    inconsistent for a median (Efron and Tibshirani 1993, section 10.6).
    """
    if not 0 < level < 1:
        raise VenturiError(
            "VEN-MODEL-INPUT", f"a confidence level of {level}", where={"level": level},
            hint="give a level between 0 and 1",
        )  # fmt: skip
    ordered = sorted(_checked(values))
    n = len(ordered)
    if n == 0 or 1 - 2.0 ** (1 - n) < level:
        return Missing(
            f"{n} kept trial{'s' * (n != 1)} cannot carry a {100 * level:.3g} % interval; "
            f"at least {math.ceil(1 - math.log2(1 - level))} are needed"
        )
    j = _median_rank(n, level)
    method = "percentile bootstrap of the median, widened to exact coverage"
    return Interval(ordered[j - 1], ordered[-j], level, method)


@lru_cache(maxsize=4096)
def _median_rank(n: int, level: float) -> int:
    """j of the j-th smallest and j-th largest of `n` values, the ends of `median_interval`."""
    if n > 2_000:  # the normal approximation is then within a rank of both
        z = statistics.NormalDist().inv_cdf((1 + level) / 2)
        return math.floor((n - z * math.sqrt(n)) / 2)
    k, missed_at_most = (n + 1) // 2, (1 - level) * (1 + 1e-9)  # equal but for rounding is enough

    def resampled_at_most(j: int) -> float:
        return 1.0 if j == n else _binomial_at_least(n, k, j / n)

    narrowest = 1 + bisect_left(range(1, n + 1), (1 - level) / 2, key=resampled_at_most)
    j, below = 1, _binomial(n, 0, 0.5)
    while j < narrowest and 2 * (below + _binomial(n, j, 0.5)) <= missed_at_most:
        below += _binomial(n, j, 0.5)
        j += 1
    return j


def _binomial(n: int, i: int, p: float) -> float:
    """P(Binomial(n, p) = i) for 0 < p < 1, of any size."""
    ways = math.lgamma(n + 1) - math.lgamma(i + 1) - math.lgamma(n - i + 1)
    return math.exp(ways + i * math.log(p) + (n - i) * math.log1p(-p))


def _binomial_at_least(n: int, k: int, p: float) -> float:
    """P(Binomial(n, p) >= k) for 0 < p < 1: each term from the one before."""
    odds = p / (1 - p)
    term = total = _binomial(n, k, p)
    for i in range(k, n):
        term *= odds * (n - i) / (i + 1)
        total += term
    return total


def u_distribution(n: int, m: int) -> list[int]:
    """How many of the C(n+m, n) orders of two groups give U = 0, 1, ..., n*m when none differs.

    Coefficients of the Gaussian binomial (Mann and Whitney 1947): prod (1-q^(m+i)) / (1-q^i).
    """
    import numpy as np

    n, m = min(n, m), max(n, m)
    # Numbers of the machine where all of them fit, Python's own elsewhere.
    exact = np.int64 if math.comb(n + m, n) < 2**62 else object
    counts = np.zeros(n * m + 1, dtype=exact)
    counts[0] = 1
    for i in range(1, n + 1):
        counts[m + i :] -= counts[: max(0, n * m + 1 - m - i)].copy()
        padded = np.zeros(-(-len(counts) // i) * i, dtype=exact)
        padded[: len(counts)] = counts
        counts = padded.reshape(-1, i).cumsum(axis=0).reshape(-1)[: len(counts)]
    return [int(count) for count in counts]


@lru_cache(maxsize=256)
def _u_counts(n: int, m: int) -> tuple[int, ...]:
    return tuple(u_distribution(n, m))


def _shift_rank(n: int, m: int, alpha: float) -> int:
    """Largest k with 2 P(U <= k-1) <= alpha: the k-th difference bounds the interval. 0 if none."""
    if (
        n * m > MOST_EXACT_PAIRS
    ):  # the normal approximation is then exact to far below a rank's worth
        z = statistics.NormalDist().inv_cdf(1 - alpha / 2)
        return max(0, math.floor(n * m / 2 - z * math.sqrt(n * m * (n + m + 1) / 12)))
    total, below, k = math.comb(n + m, n), 0, 0
    for count in _u_counts(n, m):
        below += count
        if 2 * below > alpha * total:
            break
        k += 1
    return k


def shift_interval(
    first: Sequence[float], second: Sequence[float], alpha: float = ALPHA
) -> Interval | Missing:
    """Interval of how far `second` lies above `first` (Moses; Hollander and Wolfe 1999, 4.3).

    Bounds are the k-th smallest and k-th largest of all n*m differences, with k from the
    distribution of U; it fits the Mann-Whitney test and assumes groups of like shape.
    """
    a, b = _checked(first), _checked(second)
    return _shift(a, b, alpha)[1]


def _shift(a: list[float], b: list[float], alpha: float) -> tuple[float, Interval | Missing]:
    """The Hodges-Lehmann estimate (nan of no pairs) and its interval."""
    pairs = len(a) * len(b)
    k = _shift_rank(len(a), len(b), alpha) if pairs else 0
    ranks = ((pairs + 1) // 2, pairs // 2 + 1, *((k, pairs + 1 - k) if k else ()))
    lower, upper, *ends = _differences_at(a, b, ranks) if pairs else (math.nan, math.nan)
    middle = (lower + upper) / 2
    if k == 0:
        return middle, Missing(
            f"{len(a)} and {len(b)} kept trials cannot carry a {100 * (1 - alpha):.3g} % interval"
        )
    return middle, Interval(ends[0], ends[1], 1 - alpha, "Hodges-Lehmann, exact order statistics")


def _differences_at(
    first: Sequence[float], second: Sequence[float], ranks: Sequence[int]
) -> list[float]:
    """The differences second - first at `ranks` (1 is the smallest) among all n*m of them."""
    import numpy as np

    a, b = np.sort(first), np.sort(second)
    if len(a) * len(b) <= MOST_DIFFERENCES:
        indices = [rank - 1 for rank in ranks]
        found = np.partition(np.subtract.outer(b, a), indices, axis=None)
        return [float(found[index]) for index in indices]
    # Too many to hold: those around the wanted one, between bounds that a sample suggests.
    places = {rank: place for place, rank in enumerate(dict.fromkeys(ranks))}
    wanted = np.array(list(places))
    thin_a, thin_b = (each[_evenly(len(each))] for each in (a, b))
    sample = np.sort(np.subtract.outer(thin_b, thin_a), axis=None)
    low, high = (np.empty(len(wanted)) for _ in range(2))
    for rank, place in places.items():
        at = rank / (len(a) * len(b)) * len(sample)
        low[place] = sample[max(0, math.floor(at - _MARGIN * len(sample)))]
        high[place] = sample[min(len(sample) - 1, math.ceil(at + _MARGIN * len(sample)))]
    # Else beyond all differences, by more than rounding.
    apart = max(abs(a[0]), abs(a[-1]), abs(b[0]), abs(b[-1]))
    low = np.where(_not_above(a, b, low) < wanted, low, b[0] - a[-1] - apart)
    high = np.where(_not_above(a, b, high) >= wanted, high, b[-1] - a[0] + apart)
    values = [_between(a, b, rank, low[place], high[place]) for rank, place in places.items()]
    return [values[places[rank]] for rank in ranks]


def _evenly(count: int) -> Array:
    """Places of at most `_SAMPLE` values, evenly apart, both ends among them."""
    import numpy as np

    return np.linspace(0, count - 1, min(count, _SAMPLE)).round().astype(np.intp)


def _between(a: Array, b: Array, rank: int, low: float, high: float) -> float:
    """The difference b - a at `rank`, which is above `low` and not above `high`."""
    import numpy as np

    for _ in range(_HALVINGS):
        begin = np.searchsorted(b, a + low, side="right")
        lengths = np.maximum(np.searchsorted(b, a + high, side="right") - begin, 0)
        count = int(lengths.sum())
        if count <= MOST_DIFFERENCES:
            break
        middle = (low + high) / 2
        if int(_not_above(a, b, np.array([middle]))[0]) >= rank:
            high = middle
        else:
            low = middle
    else:
        # So many within a thousand millionth of the range: take the smallest of them.
        inside = begin < len(b)
        return float(np.min(b[begin[inside]] - a[inside]))
    ends = np.cumsum(lengths)
    places = np.arange(count) - np.repeat(ends - lengths - begin, lengths)
    found = b[places] - np.repeat(a, lengths)
    index = min(max(rank - 1 - int(begin.sum()), 0), count - 1)
    return float(np.partition(found, index)[index])


def _not_above(a: Array, b: Array, bounds: Array) -> Array:
    """How many differences b - a are not above each of `bounds`; `a` and `b` are sorted."""
    import numpy as np

    # Rounded in one way everywhere: many equal differences are all below a bound, or none.
    return np.asarray(np.searchsorted(b, a + bounds[:, None], side="right").sum(axis=1))


class Outcome(StrEnum):
    """What a comparison found."""

    LOWER = "lower"
    HIGHER = "higher"
    CANNOT_TELL = "cannot tell"


@dataclass(frozen=True, slots=True)
class Verdict:
    """How `second` stands to `first`.

    `shift` is the Hodges-Lehmann estimate (median of all differences second - first) in the unit
    of the values, `relative` that shift over the median of `first`, `cliffs_delta` in [-1, 1] the
    chance that a value of `second` is the larger one minus the chance that it is the smaller.
    None has its reason in `reason`, which also says why a verdict is "cannot tell".
    """

    outcome: Outcome
    reason: str | None
    alpha: float
    p_value: float | None = None
    cliffs_delta: float | None = None
    shift: float | None = None
    shift_interval: Interval | None = None
    relative: float | None = None


def compare_samples(
    first: Sequence[float], second: Sequence[float], alpha: float = ALPHA, unit: str = ""
) -> Verdict:
    """Whether `second` tends to be lower or higher than `first`: Mann-Whitney U, two-sided.

    Exact for small groups without ties, else the normal approximation with tie correction (Mann
    and Whitney 1947). A verdict needs p <= alpha and an interval of the shift that leaves out zero.
    Cliff's delta = 2U/(nm) - 1 (Cliff 1993). `unit` is that of the values, for the reason.
    """
    if not 0 < alpha < 1:
        raise VenturiError(
            "VEN-MODEL-INPUT", f"an alpha of {alpha}", where={"alpha": alpha},
            hint="give a chance between 0 and 1",
        )  # fmt: skip
    a, b = _checked(first), _checked(second)
    if not a or not b:
        return Verdict(Outcome.CANNOT_TELL, "a group has no kept trials", alpha)
    pairs = len(a) * len(b)
    base = statistics.median(a)
    shift, interval = _shift(a, b, alpha)
    reason: str | None
    wins = _wins(a, b)
    p_value, least = _mann_whitney(a, b, wins), least_p(len(a), len(b))
    outcome = Outcome.CANNOT_TELL
    if least > alpha:
        reason = (
            f"too few trials: with {len(a)} and {len(b)} even a complete separation has "
            f"p = {least:.2g}, and {alpha:.2g} is asked for"
        )
    elif isinstance(interval, Missing):
        reason = interval.reason
    elif interval.low <= 0 <= interval.high:
        reason = (
            f"no difference can be seen at these group sizes (p = {p_value:.2g}): the "
            f"{interval.percent} interval of the difference reaches from {interval.low:.4g} to "
            f"{interval.high:.4g} {unit}".rstrip()
        )
    elif p_value > alpha:
        reason = (
            f"no difference is shown: p = {p_value:.2g} misses the {alpha:.2g} that is asked for "
            "here"
        )
    else:
        reason, outcome = None, Outcome.LOWER if shift < 0 else Outcome.HIGHER
    return Verdict(
        outcome=outcome,
        reason=reason,
        alpha=alpha,
        p_value=p_value,
        cliffs_delta=wins / pairs,
        shift=shift,
        shift_interval=None if isinstance(interval, Missing) else interval,
        relative=shift / base if base > 0 else None,
    )


def _wins(a: list[float], b: list[float]) -> int:
    """Of all pairs, how many more have the larger value in `b` than in `a`."""
    import numpy as np

    ordered = np.sort(a)
    below, not_above = (np.searchsorted(ordered, b, side) for side in ("left", "right"))
    return int(below.sum() + not_above.sum()) - len(a) * len(b)


def least_p(n: int, m: int) -> float:
    """The smallest two-sided p that groups of `n` and `m` can reach: 2 / C(n+m, n)."""
    if n * m > MOST_EXACT_PAIRS:  # where the number itself takes long
        ways = math.lgamma(n + m + 1) - math.lgamma(n + 1) - math.lgamma(m + 1)
        return 2 * math.exp(-ways)
    return min(1.0, 2 / math.comb(n + m, n))


def _mann_whitney(a: list[float], b: list[float], wins: int) -> float:
    """The two-sided p: exact for small groups without ties, else the normal approximation.

    With t equal values at a place, Var U = nm/12 ((n+m+1) - sum(t^3 - t)/((n+m)(n+m-1))), and 1/2
    is taken off for continuity (Lehmann 1975, 1.4). Not scipy's, which takes seconds to load.
    """
    import numpy as np

    n, m = len(a), len(b)
    equal = np.unique(np.concatenate([a, b]), return_counts=True)[1].astype(np.float64)
    if len(equal) == 1:
        return 1.0  # all equal: U has no variance, and nothing speaks for a difference
    above_middle = abs(wins) / 2  # of the larger one of U and nm - U
    if len(equal) == n + m and n * m <= MOST_EXACT_PAIRS:
        as_far = sum(_u_counts(n, m)[round(n * m / 2 + above_middle) :])
        return min(1.0, 2 * as_far / math.comb(n + m, n))
    ties = float(np.sum(equal**3 - equal)) / ((n + m) * (n + m - 1))
    z = (above_middle - 0.5) / math.sqrt(n * m / 12 * (n + m + 1 - ties))
    return min(1.0, math.erfc(z / math.sqrt(2)))


@dataclass(frozen=True, slots=True)
class Summary:
    """One group in numbers, in the unit of its values; what is None has its reason in `reasons`."""

    n: int
    median: float | None
    interval: Interval | None
    coefficient_of_variation: float | None
    low: float | None
    high: float | None
    reasons: dict[str, str]


def summarise(values: Sequence[float], level: float = MEDIAN_LEVEL) -> Summary:
    """Median, interval, spread and range of the kept trials of a group."""
    middle, interval = median(values), median_interval(values, level)
    spread = coefficient_of_variation(values)
    found = {"median": middle, "interval": interval, "coefficient_of_variation": spread}
    reasons = {name: v.reason for name, v in found.items() if isinstance(v, Missing)}
    if not values:
        reasons |= {"low": "no values", "high": "no values"}
    return Summary(
        n=len(values),
        median=None if isinstance(middle, Missing) else middle,
        interval=None if isinstance(interval, Missing) else interval,
        coefficient_of_variation=None if isinstance(spread, Missing) else spread,
        low=min(values, default=None),
        high=max(values, default=None),
        reasons=reasons,
    )
