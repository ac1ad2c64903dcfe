"""How many times faster, and what one setting does where everything else is equal.

A speedup is a ratio of medians within one group of like trials; over several groups it is the
geometric mean of such ratios, so that no workload counts more for being long. The mean over
whatever is selected, ALOJA's definition, is `over_selection`: it moves with the selection.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from venturi.model.compare.ranking import LEAST_TRIALS
from venturi.model.statistics.bootstrap import SEED, Places, middle_places
from venturi.model.statistics.quantiles import student_quantile
from venturi.model.statistics.stats import MEDIAN_LEVEL, Interval, Missing

RESAMPLES = 2_000
LEAST_STRATA = 5  # as many as a group needs trials
MOST_DRAWS = 2_000_000  # of strata: beyond, there are fewer resamples, which then differ little

Array = npt.NDArray[np.float64]
Pair = tuple[Sequence[float], Sequence[float]]
"""The times of one setting, and those of the baseline under the same other settings."""


@dataclass(frozen=True, slots=True)
class Ratio:
    """A ratio of times with its interval; `reason` says why one of them is None."""

    value: float | None
    interval: Interval | None
    reason: str | None = None


@lru_cache(maxsize=512)
def _places(n: int, stream: int) -> tuple[Places, Places]:
    # By the number of values alone: the same for all groups of one size, so drawn once.
    return middle_places(n, RESAMPLES, np.random.default_rng([SEED, stream, n]))


def _log_medians(values: Sequence[float], stream: int) -> Array:
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    low, high = _places(len(ordered), stream)
    return np.asarray(np.log((ordered[low] + ordered[high]) / 2), dtype=np.float64)


def _interval(logs: Array, tail: float, level: float, method: str) -> Interval:
    low, high = np.quantile(logs, [tail, 1 - tail])
    return Interval(math.exp(low), math.exp(high), level, method)


def speedup(pairs: Sequence[Pair], level: float = MEDIAN_LEVEL) -> Ratio:
    """How many times faster than the baseline: median of the baseline over median, above 1 faster.

    Of several pairs the geometric mean. Percentile bootstrap interval, seeded (Efron and
    Tibshirani 1993, 13.3): the trials of each group are resampled, the groups are taken as they
    are, so that it says nothing of other groups. Refused where a group has under five trials.
    """
    if not pairs or any(not group for pair in pairs for group in pair):
        return Ratio(None, None, "no kept trials to compare")
    logs = [math.log(statistics.median(base) / statistics.median(own)) for own, base in pairs]
    value = math.exp(statistics.fmean(logs))
    least = min(len(group) for pair in pairs for group in pair)
    if least < LEAST_TRIALS:
        reason = f"{least} kept trial{'s' * (least != 1)} in a group; an interval needs at least "
        return Ratio(value, None, f"{reason}{LEAST_TRIALS}")
    drawn = np.zeros(RESAMPLES)
    for number, (own, base) in enumerate(pairs):
        drawn += _log_medians(base, 2 * number + 1) - _log_medians(own, 2 * number)
    method = f"percentile bootstrap, {RESAMPLES} resamples"
    return Ratio(value, _interval(drawn / len(pairs), (1 - level) / 2, level, method))


def over_selection(values: Sequence[float], selected: Sequence[float]) -> float | Missing:
    """ALOJA's speedup: mean time of all that is selected over the mean of one group in it.

    It changes with what else is selected, and a few long trials move it: shown only on request.
    """
    if not values or not selected:
        return Missing("no kept trials")
    return statistics.fmean(selected) / statistics.fmean(values)


@dataclass(frozen=True, slots=True)
class Effect:
    """The effect of a setting over `strata` in which all else is equal, with `trials` in all.

    `ratio.value` below 1: it takes less time than the baseline.
    """

    strata: int
    trials: int
    ratio: Ratio


def matched_effect(pairs: Sequence[Pair], level: float = MEDIAN_LEVEL) -> Effect:
    """Geometric mean over strata of median time over the baseline's median time.

    Each stratum counts once. The interval resamples whole strata (cluster bootstrap, Field and
    Welsh 2007) and is expanded for few of them: tails at Phi(-sqrt(S/(S-1)) t(S-1)) (Hesterberg
    2015, 5.4). So it holds for further strata like these. Refused with under five strata.
    """
    kept = [(own, base) for own, base in pairs if own and base]
    n, trials = len(kept), sum(len(own) + len(base) for own, base in kept)
    if n == 0:
        return Effect(0, 0, Ratio(None, None, "no trials that differ in nothing else"))
    logs = np.log([statistics.median(own) / statistics.median(base) for own, base in kept])
    value = math.exp(float(logs.mean()))
    if n < LEAST_STRATA:
        reason = f"{n} matched strat{'um' if n == 1 else 'a'}; an interval needs {LEAST_STRATA}"
        return Effect(n, trials, Ratio(value, None, reason))
    resamples = max(400, min(RESAMPLES, MOST_DRAWS // n))
    places = np.random.default_rng([SEED, n]).integers(0, n, (resamples, n), dtype=np.int32)
    method = f"cluster bootstrap over {n} strata, {resamples} resamples"
    interval = _interval(logs[places].mean(axis=1), _expanded_tail(n, level), level, method)
    return Effect(n, trials, Ratio(value, interval))


@lru_cache(maxsize=1024)
def _expanded_tail(n: int, level: float) -> float:
    t = math.sqrt(n / (n - 1)) * student_quantile(n - 1, (1 + level) / 2)
    return statistics.NormalDist().cdf(-t)


Stratum = Hashable
Strata = Mapping[Stratum, Mapping[Hashable, Sequence[float]]]
"""For each stratum, the kept times by the value of the setting that is looked at."""


def pairs_of(strata: Strata, value: Hashable, baseline: Hashable) -> list[Pair]:
    """The times of `value` and of `baseline` in every stratum that has both."""
    return [
        (times[value], times[baseline])
        for times in strata.values()
        if times.get(value) and times.get(baseline)
    ]


def going_along(
    values: Sequence[Hashable], settings: Mapping[str, Sequence[Hashable]]
) -> frozenset[str]:
    """The settings that change only together with the one looked at, so cannot be told from it.

    `values` has that one for each trial or group of trials, `settings` a column of each other one.
    A setting goes along if each value has just one value of it, and these differ: such as the
    number of disks with the name of a layout.
    """
    count = len(set(values))
    return frozenset(
        name
        for name, column in settings.items()
        if len(set(column)) > 1 and len(set(zip(values, column, strict=True))) == count
    )
