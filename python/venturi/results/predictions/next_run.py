"""The time of a planned run, from earlier trials of the same workload.

With the same settings, it is their median. With other input sizes, it is the scaling curve through
them; with fewer than three sizes, the nearest size's time in proportion to the data.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean, median, stdev

from venturi.core.statistics.quantiles import student_quantile
from venturi.core.statistics.stats import MEDIAN_LEVEL, Missing
from venturi.record.prediction import StoredPrediction
from venturi.record.trial import Scalar, State, Trial

REPEATS, CURVE, PROPORTIONAL = "same settings", "data curve", "proportional to data"
NOTHING = "no evidence"
_SAME_SIZE = 1.02
_MOST = 30  # of the newest repeats
_OF_SIZE = frozenset({"input_bytes", "regime_expected"})
"""Configuration that follows the size of the input, or that a run adds to it."""


def predict_run(planned: Trial, past: Sequence[Trial]) -> StoredPrediction:
    """The prediction for `planned` from the trials of `past`, newest first."""
    like = [trial for trial in past if _comparable(trial, planned)]
    if not like:
        return _nothing(
            f"no counted run of {planned.workload.name} on {planned.engine.name} with these "
            "settings, folders and hosts is recorded"
        )
    wanted = planned.workload.input_bytes
    if not wanted:
        same = [trial for trial in like if not trial.workload.input_bytes]
        reason = "the size of the input is unknown, so runs of other sizes don't count"
        return _of_repeats(same) if same else _nothing(reason)
    sizes: dict[int, list[float]] = {}
    for trial in like:
        if (size := trial.workload.input_bytes) and trial.elapsed_s:
            sizes.setdefault(size, []).append(trial.elapsed_s)
    same = [trial for trial in like if _factor(trial.workload.input_bytes, wanted) <= _SAME_SIZE]
    if same:
        return _of_repeats(same)
    if not sizes:
        return _nothing("the sizes of the earlier inputs are unknown")
    return _of_sizes(sizes, wanted)


def _comparable(trial: Trial, planned: Trial) -> bool:
    """Whether `trial` counts and differs from `planned` at most in the size of its data."""
    return (
        trial.state is State.SUCCEEDED
        and not trial.warm_up
        and bool(trial.elapsed_s)
        and _settings(trial) == _settings(planned)
    )


def _settings(trial: Trial) -> tuple[object, ...]:
    cluster = trial.cluster
    return (
        (trial.workload.name, trial.workload.version),
        trial.engine,
        _chosen(trial.configuration),
        {role: tuple(dirs) for role, dirs in cluster.disks_by_role.items()},
        [host.name for host in cluster.hosts],
        cluster.layout,
    )


def _chosen(configuration: Mapping[str, Scalar]) -> dict[str, Scalar]:
    return {key: value for key, value in configuration.items() if key not in _OF_SIZE}


def _factor(size: int | None, wanted: int) -> float:
    """By how much the sizes differ, from 1 on."""
    return math.inf if not size else max(size / wanted, wanted / size)


def _nothing(reason: str) -> StoredPrediction:
    return StoredPrediction(None, None, None, NOTHING, missing_reason=reason, trials=0)


def _of_repeats(trials: Sequence[Trial]) -> StoredPrediction:
    """The median, with Student's prediction range of one more run on the logarithm."""
    times_s = [trial.elapsed_s for trial in trials[:_MOST] if trial.elapsed_s]
    n = len(times_s)
    middle_s = median(times_s)
    if n < 2:
        reason = "one earlier run shows no spread"
        return StoredPrediction(
            middle_s, None, None, REPEATS, range_reason=reason, trials=n, distance=1.0
        )
    logs = [math.log(each) for each in times_s]
    half = student_quantile(n - 1, (1 + MEDIAN_LEVEL) / 2) * stdev(logs) * math.sqrt(1 + 1 / n)
    low_s, high_s = (math.exp(fmean(logs) + side * half) for side in (-1, 1))
    return StoredPrediction(
        middle_s,
        min(low_s, middle_s),
        max(high_s, middle_s),
        REPEATS,
        trials=n,
        distance=1.0,
    )


def _of_sizes(sizes: Mapping[int, Sequence[float]], wanted: int) -> StoredPrediction:
    from venturi.results.scaling.curves import (  # noqa: PLC0415 - slow to load
        MIN_POINTS,
        Points,
        fit_curve,
        reaches,
    )
    from venturi.results.scaling.formulas import Meaning  # noqa: PLC0415

    ordered = sorted(sizes)
    nearest = min(ordered, key=lambda size: _factor(size, wanted))
    distance = _factor(nearest, wanted)
    medians = [median(sizes[size]) for size in ordered]
    trials = sum(map(len, sizes.values()))
    if len(ordered) >= MIN_POINTS:
        points = Points.of([float(size) for size in ordered], medians)
        points = Points(points.x, points.elapsed_s, [sizes[size] for size in ordered])
        curve = fit_curve(points, Meaning.AMOUNT)
        if not isinstance(curve, Missing) and reaches(points, wanted):
            within = curve.interval(float(wanted))
            low_s, high_s, reason = (
                (None, None, within.reason)
                if isinstance(within, Missing)
                else (within.low, within.high, None)
            )
            return StoredPrediction(
                float(curve.at([float(wanted)])[0]),
                low_s,
                high_s,
                CURVE,
                range_reason=reason,
                trials=trials,
                distance=distance,
            )
    return StoredPrediction(
        median(sizes[nearest]) * wanted / nearest,
        None,
        None,
        PROPORTIONAL,
        range_reason="a time in proportion to the data has no measured error yet",
        trials=len(sizes[nearest]),
        distance=distance,
    )
