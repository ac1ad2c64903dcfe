"""Matches trials that are equal except for one key, and pools the ratios of such pairs.

A *stratum* is all trials with the same value of every recorded key except the examined one (the
target). Within one, only the target is known to differ. Its effect is the median of all ratios of a
time of the value to a time of the baseline, as a logarithm: the Hodges-Lehmann shift, the estimate
of `statistics.two_groups`. Each stratum counts once, however many trials it has.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from venturi.core.statistics.quantiles import root, student_quantile, student_tails
from venturi.core.statistics.stats import Interval
from venturi.core.statistics.two_groups import median_log_ratio
from venturi.record.query.columns import Column, combined, select_trials

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

PAIRS_MAX = 1_000  # of a cell, beyond which its median is bisected instead
_AT_ONCE = 2_000_000  # pairs
_MOST_T = 1e12
_MOST_LOG = 700.0  # of a ratio that is still a number
UNEVEN = 4  # times as many strata has the middle machine as one of which little is known
WIDEST = 4.0
"""The upper end of an interval over the lower one, at most, of a value that may be called best: its
ratio is then known within a factor of 2 either way."""
SAME = 1e-9  # logarithms that differ by rounding only


@dataclass(frozen=True, slots=True)
class SucceededTrials:
    """Trials that succeeded, an entry each: their settings by key, and the logarithms of times;
    `serials`, where known, are those of the repository. The keys `identifying` are left out: their
    values are unique per trial.
    """

    columns: Mapping[str, Column]
    logs: Floats
    serials: Integers | None = None
    identifying: tuple[str, ...] = ()

    def taken(self, places: npt.NDArray[np.intp] | npt.NDArray[np.bool_]) -> SucceededTrials:
        """The trials at `places`."""
        serials = None if self.serials is None else self.serials[places]
        columns = select_trials(self.columns, places)
        return SucceededTrials(columns, self.logs[places], serials, self.identifying)


@dataclass(frozen=True, slots=True)
class MatchedStrata:
    """Every stratum that has both a value and the baseline, an entry each.

    `value` is the code of the value, `row` one of its trials, `logs` the logarithm of its median
    pair ratio; `n` and `n_baseline` are trials.
    """

    value: Integers
    row: Integers
    logs: Floats
    n: Integers
    n_baseline: Integers

    def of(self, value: int) -> MatchedStrata:
        """The strata of one value."""
        at = self.value == value
        return MatchedStrata(
            self.value[at], self.row[at], self.logs[at], self.n[at], self.n_baseline[at]
        )


def strata_of(columns: Sequence[Column], count: int) -> Integers:
    """For each of `count` trials the number of its stratum: equal in all `columns`."""
    return combined(_distinct(columns), count)[0]


def match(stratum: Integers, target: Integers, logs: Floats, baseline: int) -> MatchedStrata:
    """Match the trials of each value of `target` with those of the baseline in the same stratum."""
    order = np.lexsort((logs, target, stratum))
    s, t, x = stratum[order], target[order], logs[order]
    starts = (
        np.flatnonzero(np.r_[True, (np.diff(s) != 0) | (np.diff(t) != 0)])
        if len(s)
        else (np.zeros(0, dtype=np.int64))
    )
    sizes = np.diff(np.r_[starts, len(s)])
    of_stratum, of_value = s[starts], t[starts]
    base_of = np.full(int(s[-1]) + 1 if len(s) else 0, -1, dtype=np.int64)
    base_cells = np.flatnonzero(of_value == baseline)
    base_of[of_stratum[base_cells]] = base_cells
    cells = np.flatnonzero((of_value != baseline) & (base_of[of_stratum] >= 0))
    bases = base_of[of_stratum[cells]]
    middles = _median_differences(x, (starts[cells], sizes[cells]), (starts[bases], sizes[bases]))
    return MatchedStrata(of_value[cells], order[starts[cells]], middles, sizes[cells], sizes[bases])


def _median_differences(
    x: Floats, own: tuple[Integers, Integers], base: tuple[Integers, Integers]
) -> Floats:
    """For each pair of cells (start and size in `x`) the median of all differences."""
    found = np.empty(len(own[0]))
    pairs = own[1] * base[1]
    small = np.flatnonzero(pairs <= PAIRS_MAX)
    done = np.cumsum(pairs[small]) // _AT_ONCE
    for chunk in np.split(small, np.flatnonzero(np.diff(done)) + 1):
        if not len(chunk):
            continue
        count, offset = pairs[chunk], np.cumsum(pairs[chunk]) - pairs[chunk]
        of = np.repeat(np.arange(len(chunk)), count)
        within = np.arange(len(of)) - offset[of]
        width = base[1][chunk][of]
        apart = x[own[0][chunk][of] + within // width] - x[base[0][chunk][of] + within % width]
        apart = apart[np.lexsort((apart, of))]
        found[chunk] = (apart[offset + (count - 1) // 2] + apart[offset + count // 2]) / 2
    for place in np.flatnonzero(pairs > PAIRS_MAX).tolist():
        (a, n), (b, m) = ((int(side[0][place]), int(side[1][place])) for side in (base, own))
        found[place] = median_log_ratio(x[a : a + n], x[b : b + m])
    return found


@dataclass(frozen=True, slots=True)
class PooledRatio:
    """A ratio over `n` equal parts with its interval; `reason` says why there is no interval."""

    ratio: float
    interval: Interval | None
    n: int
    reason: str | None = None


def pooled(logs: Floats, level: float, parts: str = "strata") -> PooledRatio:
    """exp of the mean, with Student's t interval of the mean: each part once, from two on.

    It holds for further parts like these. Weights by variance would let the parts with most trials
    decide and gain nothing at a few trials a part; this interval holds its level from two parts on
    (docs/method/effects.md has the simulations).
    """
    n = len(logs)
    middle = float(logs.mean())
    if n < 2:
        return PooledRatio(math.exp(middle), None, n, f"one of {parts}: an interval needs two")
    spread = float(logs.std(ddof=1))
    if spread < SAME:
        # Not certainty: times that were rounded make equal ratios.
        why = f"all {n} {parts} have the same ratio: an interval needs a spread"
        return PooledRatio(math.exp(middle), None, n, why)
    half = student_quantile(n - 1, (1 + level) / 2) * spread / math.sqrt(n)
    if abs(middle) + half > _MOST_LOG:
        return PooledRatio(math.exp(middle), None, n, f"{n} {parts} are too few for an interval")
    method = f"t interval of the mean of {n} {parts}, each once"
    return PooledRatio(math.exp(middle), _interval(middle, half, level, method), n)


def means_of(logs: Floats, part: Integers) -> Floats:
    """The mean of each part's logarithms, in the order of the parts' numbers."""
    parts, place = np.unique(part, return_inverse=True)
    return np.asarray(np.bincount(place, logs) / np.bincount(place, minlength=len(parts)))


def for_these_only(cells: Sequence[tuple[Floats, Floats]], level: float) -> Interval | None:
    """An interval that speaks of these strata only: Welch's, summed over their cells.

    `cells` have the logarithms of the value and of the baseline. It needs at least 3 of each, and
    is for up to 4 strata: simulated, 90 % intervals hold in 90 to 93 % (82 to 89 % of skewed
    times). The mean of cell means, with Satterthwaite's degrees of freedom.
    """
    if not 1 <= len(cells) <= 4 or min(min(map(len, pair)) for pair in cells) < 3:
        return None
    parts = [(float(side.var(ddof=1)) / len(side), len(side) - 1) for p in cells for side in p]
    middle = sum(float(own.mean() - base.mean()) for own, base in cells) / len(cells)
    method = "Welch's t summed over cells, for these settings only"
    return _welch(middle, parts, len(cells), level, method)


def over_works(logs: Floats, work: Integers, level: float) -> PooledRatio:
    """The mean of the means of each kind of work, so that none counts for being measured often.

    From three kinds on its interval holds for further kinds of work, of two for these two: their
    strata's variances are added (Welch, Satterthwaite's degrees of freedom). One kind: `pooled`.
    """
    sizes = np.bincount(work)
    sizes = sizes[sizes > 0]
    if len(sizes) == 1:
        return pooled(logs, level, "settings")
    means = means_of(logs, work)
    if len(means) > 2 or sizes.min() < 2:
        return pooled(means, level, "kinds of work")
    of_each = [logs[work == kind] for kind in np.unique(work)]
    parts = [(float(each.var(ddof=1)) / len(each), len(each) - 1) for each in of_each]
    middle = float(means.mean())
    interval = _welch(middle, parts, 2, level, "Welch's t, for these two kinds of work")
    why = None if interval else "all settings have the same ratio: an interval needs a spread"
    return PooledRatio(math.exp(middle), interval, 2, why)


def over_machines(logs: Floats, machine: Integers, level: float) -> PooledRatio:
    """The mean of machines' means, with an interval that covers other machines.

    Each machine counts once, unless the smallest has far fewer strata than the median one. Then a
    random-effects model gives it less weight: 1/(s2/strata + between) with Paule and Mandel's
    between, strata capped at twice the median, and Hartung and Knapp's t interval, never narrower
    than without their factor.
    """
    means = means_of(logs, machine)
    strata = np.unique(machine, return_counts=True)[1]
    middle = float(np.median(strata))
    apart = logs - means[np.unique(machine, return_inverse=True)[1]]
    within = float((apart**2).sum()) / max(1, len(logs) - len(means))
    if len(means) < 3 or UNEVEN * strata.min() > middle or within < SAME**2:
        return pooled(means, level, "machines")
    of_each = within / np.minimum(strata, 2 * middle)
    freedom = len(means) - 1

    def fitted(between: float) -> tuple[float, float, float]:
        weights = 1 / (of_each + between)
        mean = float(weights @ means / weights.sum())
        return mean, float(weights.sum()), float(weights @ (means - mean) ** 2) / freedom

    between = 0.0
    if fitted(0.0)[2] > 1:
        between = root(lambda each: 1 - fitted(each)[2], 0.0, float(means.var(ddof=1)))
    mean, weight, factor = fitted(between)
    half = student_quantile(freedom, (1 + level) / 2) * math.sqrt(max(1.0, factor) / weight)
    if abs(mean) + half > _MOST_LOG:
        return PooledRatio(math.exp(mean), None, len(means), "too few machines for an interval")
    method = f"random effects of {len(means)} machines, Hartung and Knapp's interval"
    return PooledRatio(math.exp(mean), _interval(mean, half, level, method), len(means))


def _welch(
    middle: float, parts: Sequence[tuple[float, int]], count: int, level: float, method: str
) -> Interval | None:
    """The t interval of a sum of means (variance, degrees of freedom) over `count`, about it."""
    variance = sum(part for part, _ in parts)
    if variance < SAME**2:
        return None
    freedom = variance**2 / sum(part**2 / n for part, n in parts)
    t = root(lambda t: (1 - level) - student_tails(freedom, t), 0.0, _bound(freedom, level))
    half = t * math.sqrt(variance) / count
    return None if abs(middle) + half > _MOST_LOG else _interval(middle, half, level, method)


def _bound(freedom: float, level: float) -> float:
    t = 1.0
    while student_tails(freedom, t) > 1 - level and t < _MOST_T:
        t *= 2
    return t


def _interval(middle: float, half: float, level: float, method: str) -> Interval:
    return Interval(math.exp(middle - half), math.exp(middle + half), level, method)


def partition(codes: Integers) -> Integers:
    """`codes` renumbered by appearance: equal for keys that split trials in the same way."""
    first = np.full(int(codes.max()) + 1 if len(codes) else 0, -1, dtype=np.int64)
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)  # of equal places the last one stays
    present = np.flatnonzero(first >= 0)
    rank = np.empty(len(first), dtype=np.int64)
    rank[present[np.argsort(first[present])]] = np.arange(len(present))
    return np.asarray(rank[codes])


def equivalent_keys(columns: Mapping[str, Column]) -> list[tuple[tuple[str, ...], Integers]]:
    """Groups of keys that split the trials in the same way, with the split.

    Keys that split nothing are left out.
    """
    found: dict[bytes, tuple[list[str], Integers]] = {}
    for key, column in columns.items():
        if not len(column.codes) or (column.codes == column.codes[0]).all():
            continue
        split = partition(column.codes)
        found.setdefault(split.tobytes(), ([], split))[0].append(key)
    return [(tuple(sorted(keys, key=_well_known)), split) for keys, split in found.values()]


def _well_known(key: str) -> tuple[bool, int, str]:
    """Sort key: the clearest key first, such as a cluster's name before its number of hosts."""
    return key not in {"cluster", "workload"}, len(key), key


def _distinct(columns: Sequence[Column]) -> list[Column]:
    """The columns with different values."""
    return [c for c in columns if len(c.codes) and not (c.codes == c.codes[0]).all()]


def dependent_keys(target: Integers, columns: Mapping[str, Column]) -> frozenset[str]:
    """The keys that change only together with the target, so that their effects can't be separated.

    Each value of the target has just one value of such a key, and these differ: such as the number
    of disks with the name of a layout.
    """
    count = len(np.unique(target))
    return frozenset(
        key
        for key, column in columns.items()
        if len(target)
        and (column.codes != column.codes[0]).any()
        and len(np.unique(target * len(column.values) + column.codes)) == count
    )
