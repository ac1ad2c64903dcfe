"""Predictions of recorded jobs from one another, against their measured times."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

from venturi.core.errors import VenturiError
from venturi.core.wording import count_of
from venturi.jobs.whatif.answer import BASELINES, RecordedJob, WhatIfPrediction
from venturi.jobs.whatif.changes import MODELED, JobChanges
from venturi.jobs.whatif.setup import SetupChange

_SAME_DATA = 0.02
OWN_SETTINGS = (
    "spark.app.",
    "spark.driver.port",
    "spark.driver.host",
    "spark.eventLog.",
    "spark.local.dir",
    "spark.master",
    "spark.sql.warehouse.dir",
)
"""Settings that differ between any two executions."""


@dataclass(frozen=True, slots=True)
class ValidationPair:
    """A prediction for the setup of `trial`, and its measured time. Errors are shares of it."""

    trial: str
    measured_s: float
    predicted: WhatIfPrediction
    baseline_errors: Mapping[str, float]
    not_modeled: tuple[str, ...]
    changed: tuple[str, ...]

    @property
    def error(self) -> float:
        """(predicted - measured) / measured."""
        return self.predicted.time_s.value / self.measured_s - 1

    @property
    def held(self) -> bool:
        """Whether the interval has the measured time."""
        return self.predicted.time_s.low <= self.measured_s <= self.predicted.time_s.high


@dataclass(frozen=True, slots=True)
class Validation:
    """Predictions from `trial` for other trials."""

    trial: str
    pairs: tuple[ValidationPair, ...]

    @property
    def sentence(self) -> str:
        """The median error next to the best baseline's, and how many intervals hold."""
        own = median(abs(pair.error) for pair in self.pairs)
        names = {n: median(abs(p.baseline_errors[n]) for p in self.pairs) for n in BASELINES}
        best = min(names, key=lambda name: names[name])
        held = sum(pair.held for pair in self.pairs)
        return (
            f"Median error {own:.0%} over {count_of(len(self.pairs), 'trial')}; best baseline "
            f"{names[best]:.0%} ({best}); {held} of {len(self.pairs)} intervals hold"
        )


def validate(job: RecordedJob, others: Sequence[RecordedJob]) -> Validation:
    """Predicts each of `others` from `job`; only their setup, settings and input size are used."""
    return Validation(job.trial.id, tuple(_pair(job, other) for other in others))


def _pair(job: RecordedJob, other: RecordedJob) -> ValidationPair:
    measured_s = other.line.elapsed_s
    assert measured_s is not None
    differ = dict(_differing(job.settings, other.settings))
    target = replace(
        other.setup,
        name=other.trial.id[:12],
        # Both ran on the same machines, so the same capacities are unknown.
        disk=job.setup.disk,
        network=job.setup.network,
        cpu=job.setup.cpu,
    )
    change = SetupChange(
        executors=target.executors,
        heap_bytes=target.heap_bytes if target.heap_bytes != job.setup.heap_bytes else None,
    )
    changes = JobChanges(
        change,
        _data(job, other),
        {key: value for key, value in differ.items() if key in MODELED},
    )
    predicted = job.predict(changes, target)
    changed = [
        name
        for name, is_it in (
            ("slots", target.slots != job.setup.slots),
            ("data", changes.data != 1),
            ("settings", bool(changes.settings) or change.heap_bytes is not None),
        )
        if is_it
    ]
    return ValidationPair(
        other.trial.id,
        measured_s,
        predicted,
        {name: time_s / measured_s - 1 for name, time_s in predicted.baselines_s.items()},
        tuple(key for key in differ if key not in MODELED),
        tuple(changed),
    )


def _differing(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for key in sorted(before.keys() | after.keys()):
        if before.get(key) != after.get(key) and not key.startswith(OWN_SETTINGS):
            yield key, after.get(key, "")


def _data(job: RecordedJob, other: RecordedJob) -> float:
    """Size of the other job's input, relative to this one's."""
    jobs = job, other
    sizes = [float(each.trial.workload.input_bytes or 0) for each in jobs]
    if not all(sizes):
        sizes = [float(each.demand.input_bytes.sum()) for each in jobs]
    if not all(sizes):
        sizes = [float(each.demand.fetched.sum()) for each in jobs]
    if not all(sizes):
        raise VenturiError(
            "VEN-MODEL-INPUT",
            f"the data of trials {job.trial.id} and {other.trial.id} can't be compared: no input "
            "is recorded",
            where={"trial": other.trial.id},
            hint="compare trials with input or shuffle bytes in their logs",
        )
    ratio = sizes[1] / sizes[0]
    return 1.0 if abs(ratio - 1) <= _SAME_DATA else ratio
