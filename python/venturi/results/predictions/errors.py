"""Stored predictions against measured times: by workload, bottleneck and distance of the data."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from venturi.core.statistics.stats import MEDIAN_LEVEL, quantile
from venturi.core.wording import count_of
from venturi.record.prediction import prediction_check
from venturi.record.trial import Trial
from venturi.results.bottleneck import COMPUTES, COMPUTING, narrowest_points

_SAME = 1.02
_STEPS = ((_SAME, "same size"), (2.0, "up to 2x"), (4.0, "up to 4x"), (math.inf, "beyond 4x"))
UNKNOWN_DISTANCE = "unknown"
_HIGH = 0.9
GROUPED_BY = ("workload", "engine", "bottleneck", "data")
"""The usual keys of a group; `basis` is another one."""


@dataclass(frozen=True, slots=True)
class PredictedRun:
    """A run with a stored prediction and a measured time.

    `bottleneck` is None if it can't be determined. `distance` is the factor between its data and
    those that the prediction rests on, None if not stored. `log_ratio` is ln(measured / predicted).
    `inside` says whether the range holds the time, None without a range.
    """

    trial: str
    workload: str
    engine: str
    basis: str
    bottleneck: str | None
    distance: float | None
    predicted_s: float
    low_s: float | None
    high_s: float | None
    measured_s: float
    log_ratio: float
    inside: bool | None

    @property
    def error(self) -> float:
        """(predicted - measured) / measured."""
        return self.predicted_s / self.measured_s - 1


@dataclass(frozen=True, slots=True)
class ErrorSummary:
    """Errors of several runs, as shares of the measured time; None without runs.

    `p90_error` is their 90th percentile. `held` of `ranges` hold the time.
    """

    runs: int
    median_error: float | None
    p90_error: float | None
    ranges: int
    held: int


@dataclass(frozen=True, slots=True)
class ErrorGroup:
    """Runs with the same values of the keys that they are grouped by, None where unknown.

    `bias` is the median error with its sign: above 0, predictions are too long.
    """

    key: tuple[str | None, ...]
    errors: ErrorSummary
    bias: float


@dataclass(frozen=True, slots=True)
class PredictionErrors:
    """All runs with a prediction, newest first, and their groups `by` keys, the largest first.

    `not_compared` counts stored predictions without a value or a measured time, by reason.
    """

    runs: tuple[PredictedRun, ...]
    by: tuple[str, ...]
    groups: tuple[ErrorGroup, ...]
    not_compared: Mapping[str, int]
    errors: ErrorSummary

    @property
    def sentence(self) -> str:
        """The median error, and how many ranges held the measured time."""
        errors = self.errors
        if errors.median_error is None:
            if not self.not_compared:
                return "No run has a stored prediction yet."
            stored = count_of(sum(self.not_compared.values()), "stored prediction")
            return f"No error is known yet: {stored} can't be compared with a time."
        said = f"Median error {errors.median_error:.0%} over {count_of(errors.runs, 'run')}"
        if not errors.ranges:
            return f"{said}; no prediction had a range."
        ranges = "range" if errors.ranges == 1 else "ranges"
        return (
            f"{said}; {errors.held} of {errors.ranges} {ranges} held the time "
            f"({MEDIAN_LEVEL:.0%} should)."
        )


def prediction_errors(
    trials: Sequence[Trial],
    bottlenecks: Mapping[str, str] | None = None,
    by: Sequence[str] = GROUPED_BY,
) -> PredictionErrors:
    """The errors of the predictions in `trials`, newest first; warm-ups don't count.

    `bottlenecks` has those of jobs with an engine's account, by trial.
    """
    known = bottlenecks or {}
    runs: list[PredictedRun] = []
    not_compared: dict[str, int] = {}
    for trial in trials:
        if trial.warm_up or (check := prediction_check(trial)) is None:
            continue
        found = check.predicted
        if found.elapsed_s is None or check.measured_s is None or check.log_ratio is None:
            reason = found.missing_reason or check.unmeasured or "a time is 0"
            not_compared[reason] = not_compared.get(reason, 0) + 1
            continue
        runs.append(
            PredictedRun(
                trial.id,
                trial.workload.name,
                trial.engine.name,
                found.basis,
                known.get(trial.id) or bottleneck_of(trial),
                found.distance,
                found.elapsed_s,
                found.low_s,
                found.high_s,
                check.measured_s,
                check.log_ratio,
                check.inside,
            )
        )
    return PredictionErrors(tuple(runs), tuple(by), _groups(runs, by), not_compared, _summary(runs))


def bottleneck_of(trial: Trial) -> str | None:
    """The bottleneck of the longest phase, by its stages; None if it can't be determined."""
    took = {phase.name: phase.elapsed_s for phase in trial.phases}
    points = narrowest_points(trial)
    longest = max(points, key=lambda point: took.get(point.phase, 0.0), default=None)
    if longest is None or longest.stage is None:
        return None
    if longest.stage not in COMPUTING:
        return "disk"
    return "CPU" if longest.cause in {None, COMPUTES} else (longest.cause or "").split(":")[0]


def distance_class(distance: float | None) -> str:
    """`same size`, `up to 2x`, ...: the class of a factor between data."""
    if distance is None:
        return UNKNOWN_DISTANCE
    return next(name for most, name in _STEPS if distance <= most)


def _summary(runs: Sequence[PredictedRun]) -> ErrorSummary:
    ranged = [run.inside for run in runs if run.inside is not None]
    sizes = [abs(run.error) for run in runs]
    high = quantile(sizes, _HIGH)
    return ErrorSummary(
        len(runs),
        median(sizes) if sizes else None,
        high if isinstance(high, float) else None,
        len(ranged),
        sum(ranged),
    )


def _value(run: PredictedRun, key: str) -> str | None:
    if key == "data":
        return distance_class(run.distance)
    found: str | None = getattr(run, key)
    return found


def _groups(runs: Sequence[PredictedRun], by: Sequence[str]) -> tuple[ErrorGroup, ...]:
    found: dict[tuple[str | None, ...], list[PredictedRun]] = {}
    for run in runs:
        found.setdefault(tuple(_value(run, key) for key in by), []).append(run)
    made = [
        ErrorGroup(key, _summary(own), median(run.error for run in own))
        for key, own in found.items()
    ]
    return tuple(sorted(made, key=lambda group: -group.errors.runs))
