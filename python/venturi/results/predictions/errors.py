"""Stored predictions against measured times: by workload, bottleneck and distance of the data."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from venturi.core.statistics.stats import MEDIAN_LEVEL
from venturi.core.wording import count_of
from venturi.record.prediction import prediction_check
from venturi.record.trial import Trial
from venturi.results.bottleneck import COMPUTES, COMPUTING, narrowest_points

_SAME = 1.02
_STEPS = ((_SAME, "same size"), (2.0, "up to 2x"), (4.0, "up to 4x"), (math.inf, "beyond 4x"))
UNKNOWN_DISTANCE = "unknown"


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
class ErrorGroup:
    """Runs of one workload, bottleneck and class of distance; errors are shares of the time.

    `bias` is the median with its sign: above 0, predictions are too long. `held` of `ranges` hold.
    """

    workload: str
    engine: str
    bottleneck: str | None
    distance: str
    runs: int
    median_error: float
    bias: float
    ranges: int
    held: int


@dataclass(frozen=True, slots=True)
class PredictionErrors:
    """All runs with a prediction, newest first, and their groups, the largest first.

    `not_compared` counts stored predictions without a value or a measured time, by reason.
    `median_error` is None without runs.
    """

    runs: tuple[PredictedRun, ...]
    groups: tuple[ErrorGroup, ...]
    not_compared: Mapping[str, int]
    median_error: float | None
    ranges: int
    held: int

    @property
    def sentence(self) -> str:
        """The median error, and how many ranges held the measured time."""
        if self.median_error is None:
            if not self.not_compared:
                return "No run has a stored prediction yet."
            stored = count_of(sum(self.not_compared.values()), "stored prediction")
            return f"No error is known yet: {stored} can't be compared with a time."
        said = f"Median error {self.median_error:.0%} over {count_of(len(self.runs), 'run')}"
        if not self.ranges:
            return f"{said}; no prediction had a range."
        ranges = "range" if self.ranges == 1 else "ranges"
        return (
            f"{said}; {self.held} of {self.ranges} {ranges} held the time "
            f"({MEDIAN_LEVEL:.0%} should)."
        )


def prediction_errors(
    trials: Sequence[Trial], bottlenecks: Mapping[str, str] | None = None
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
    error, ranges, held = _summary(runs)
    return PredictionErrors(tuple(runs), _groups(runs), not_compared, error, ranges, held)


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


def _summary(runs: Sequence[PredictedRun]) -> tuple[float | None, int, int]:
    ranged = [run.inside for run in runs if run.inside is not None]
    error = median(abs(run.error) for run in runs) if runs else None
    return error, len(ranged), sum(ranged)


def _groups(runs: Sequence[PredictedRun]) -> tuple[ErrorGroup, ...]:
    found: dict[tuple[str, str, str | None, str], list[PredictedRun]] = {}
    for run in runs:
        key = (run.workload, run.engine, run.bottleneck, distance_class(run.distance))
        found.setdefault(key, []).append(run)
    made = []
    for key, own in found.items():
        error, ranges, held = _summary(own)
        assert error is not None
        bias = median(run.error for run in own)
        made.append(ErrorGroup(*key, len(own), error, bias, ranges, held))
    return tuple(sorted(made, key=lambda group: -group.runs))
