"""Measurements of a slowed-down lab, converted to the real machines that it stands for.

These are model results. They are shown next to the measurements and never replace them.
"""

from __future__ import annotations

from dataclasses import dataclass

from venturi.record.trial import Scalar, Trial

_RATES = frozenset({"B/s", "1/s"})
_PROBES = frozenset({"diskbench", "netbench", "hostfacts"})
"""Workloads with a chosen duration."""


@dataclass(frozen=True, slots=True)
class RealMachineRate:
    """A sample's rate times the lab's k (B/s or 1/s)."""

    metric: str
    labels: dict[str, Scalar]
    unit: str
    value: float


@dataclass(frozen=True, slots=True)
class RealMachineRates:
    """Rates multiplied by `dilation`, and the trial's time divided by it (None for a probe, which
    runs for a set time). Unless `dilate_cpu`, the time is a lower bound: CPUs were not slowed.
    """

    dilation: float
    dilate_cpu: bool | None
    elapsed_s: float | None
    rates: tuple[RealMachineRate, ...]


def real_rate(trial: Trial, value: float | None, unit: str = "B/s") -> float | None:
    """A rate that `trial` measured, times its lab's k; None if it has none, or it is no rate."""
    k = trial.cluster.dilation
    return None if k is None or value is None or unit not in _RATES else value * k


def real_time_s(trial: Trial) -> float | None:
    """The time of `trial` divided by its lab's k; None for a probe, which runs for a set time.

    It is a lower bound for real machines unless CPUs were slowed by k, too.
    """
    k, elapsed_s = trial.cluster.dilation, trial.elapsed_s
    if k is None or elapsed_s is None or trial.workload.name in _PROBES:
        return None
    return elapsed_s / k


def as_on_real_machines(trial: Trial) -> RealMachineRates | None:
    """All rates of the trial on real machines; None for a trial on real machines."""
    k = trial.cluster.dilation
    if k is None:
        return None
    rates = tuple(
        RealMachineRate(sample.metric, dict(sample.labels), sample.unit, value)
        for sample in trial.samples
        if (value := real_rate(trial, sample.value, sample.unit)) is not None
    )
    return RealMachineRates(k, trial.cluster.dilate_cpu, real_time_s(trial), rates)
