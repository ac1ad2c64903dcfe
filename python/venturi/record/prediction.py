"""The prediction that a trial stores before its workload runs, and its comparison with the time.

It is kept as samples of the trial: the time and the ends of its range, with labels for its basis.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from venturi.record.trial import Sample, Scalar, State, Trial

ELAPSED, LOW, HIGH = "predicted_elapsed_s", "predicted_low_s", "predicted_high_s"
NOT_STORED = "no range is stored"


@dataclass(frozen=True, slots=True)
class StoredPrediction:
    """Seconds predicted for a trial, and the range that should hold its time.

    `elapsed_s` is None if `missing_reason` says why, the range if `range_reason` does. `basis`
    names the method. The prediction rests on `trials` earlier ones; `distance` is the factor
    between their data and this trial's. `own_runs` earlier predictions set the range, if any.
    """

    elapsed_s: float | None
    low_s: float | None
    high_s: float | None
    basis: str
    missing_reason: str | None = None
    range_reason: str | None = None
    trials: int | None = None
    distance: float | None = None
    own_runs: int | None = None

    def samples(self) -> tuple[Sample, ...]:
        """The samples that store it."""
        labels: dict[str, Scalar] = {
            name: value
            for name, value in (
                ("basis", self.basis),
                ("trials", self.trials),
                ("distance", self.distance),
                ("own_runs", self.own_runs),
            )
            if value is not None
        }
        reason = self.missing_reason
        return tuple(
            Sample(metric, value, "s", labels=labels, missing_reason=why)
            for metric, value, why in (
                (ELAPSED, self.elapsed_s, reason),
                (LOW, self.low_s, reason or self.range_reason),
                (HIGH, self.high_s, reason or self.range_reason),
            )
        )


@dataclass(frozen=True, slots=True)
class PredictionCheck:
    """A stored prediction next to the measured time.

    `measured_s` is None if `unmeasured` says why. `inside` says whether the range holds it, None
    if either is missing. `log_ratio` is ln(measured / predicted).
    """

    predicted: StoredPrediction
    measured_s: float | None
    unmeasured: str | None
    inside: bool | None
    log_ratio: float | None


def stored_prediction(trial: Trial) -> StoredPrediction | None:
    """The prediction in the record of `trial`; None if none was stored."""
    found = {s.metric: s for s in trial.samples if s.metric in {ELAPSED, LOW, HIGH}}
    if (whole := found.get(ELAPSED)) is None:
        return None
    ends = [None if (end := found.get(name)) is None else end.value for name in (LOW, HIGH)]
    low, high = ends if None not in ends else (None, None)
    reasons = [end.missing_reason for name in (LOW, HIGH) if (end := found.get(name)) is not None]
    return StoredPrediction(
        whole.value,
        low,
        high,
        str(whole.labels.get("basis", "unknown")),
        whole.missing_reason,
        next(filter(None, reasons), NOT_STORED)
        if low is None and not whole.missing_reason
        else None,
        _count(whole.labels.get("trials")),
        _number(whole.labels.get("distance")),
        _count(whole.labels.get("own_runs")),
    )


def prediction_check(trial: Trial) -> PredictionCheck | None:
    """The prediction of `trial` against its time; None if none was stored."""
    if (predicted := stored_prediction(trial)) is None:
        return None
    measured_s = trial.elapsed_s if trial.state is State.SUCCEEDED else None
    unmeasured = None
    if trial.state is not State.SUCCEEDED:
        unmeasured = f"the trial is {trial.state}"
    elif measured_s is None:
        unmeasured = "no time is recorded"
    inside = log_ratio = None
    if measured_s is not None and predicted.low_s is not None and predicted.high_s is not None:
        inside = predicted.low_s <= measured_s <= predicted.high_s
    if measured_s and predicted.elapsed_s:
        log_ratio = math.log(measured_s / predicted.elapsed_s)
    return PredictionCheck(predicted, measured_s, unmeasured, inside, log_ratio)


def _number(value: Scalar) -> float | None:
    known = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if known else None  # type: ignore[arg-type]  # checked above


def _count(value: Scalar) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
