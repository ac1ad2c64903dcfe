"""A what-if target with fewer and more executors or machines: its time and cost by size."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import ceil

from venturi.core.units import SECONDS_PER_HOUR
from venturi.jobs.whatif.answer import RecordedJob, WhatIfPrediction, cost_of, distances_of
from venturi.jobs.whatif.changes import JobChanges
from venturi.jobs.whatif.model import JobModel
from venturi.jobs.whatif.setup import SetupChange
from venturi.jobs.whatif.uncertainty import interval
from venturi.machines.cost.choices import MOST_NODES
from venturi.machines.cost.dataflow import Bounds

REPLAYED_TASKS = 2_000
"""With more tasks, only the target is replayed: sizes would take longer than a slider may."""
_WIDTH = 8
_STEPS = 12


@dataclass(frozen=True, slots=True)
class SizePoint:
    """A target with other `executors` on other `hosts`; bounds are 90 % intervals."""

    executors: int
    hosts: int
    slots: int
    time_s: Bounds
    usd: Bounds | None
    core_hours: float
    baselines_s: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class SizeCurve:
    """Points in order of their size; `by` says which number varies.

    Without `replayed`, points have the rough model's time, in proportion to the target's replayed
    one, and no recorded replay among their baselines. Capacities widen their intervals as they
    widen the target's.
    """

    by: str
    points: tuple[SizePoint, ...]
    replayed: bool


def size_curve(job: RecordedJob, changes: JobChanges, target: WhatIfPrediction) -> SizeCurve:
    """The curve through `target`, the prediction of `changes`."""
    by_hosts = changes.setup.type is not None
    setup = job.target(changes)
    model = job.model(changes, setup)
    replayed = int(model.plan.starts[-1]) <= REPLAYED_TASKS
    here = setup.hosts if by_hosts else setup.executors
    also = here if by_hosts else job.setup.executors
    rough = _RoughTarget(target, model, model.rough_s(setup))
    points = []
    for size in _sizes(here, also):
        changed = replace(changes, setup=_sized(changes.setup, size))
        if size == here:
            points.append(_point_of(target))
        elif replayed:
            points.append(_point_of(job.predict(changed)))
        else:
            points.append(_rough_point(job, changed, rough))
    return SizeCurve("machines" if by_hosts else "executors", tuple(points), replayed)


def _sized(change: SetupChange, size: int) -> SetupChange:
    """The change to so many machines of its type, or else so many executors.

    A number of executors limits those on given machines; without any, it chose their number.
    """
    if change.type is None:
        return replace(change, executors=size)
    most = None if change.nodes is None else change.executors
    return replace(change, nodes=size, executors=most)


def _sizes(here: int, also: int) -> list[int]:
    """From an eighth to eight times of both sizes, in equal steps of the logarithm."""
    low, high = max(ceil(min(here, also) / _WIDTH), 1), min(max(here, also) * _WIDTH, MOST_NODES)
    return sorted({here, also, *_steps(low, max(high, here))})


def _steps(low: int, high: int) -> Iterator[int]:
    for step in range(_STEPS):
        yield round(low * (high / low) ** (step / (_STEPS - 1)))


def _point_of(found: WhatIfPrediction) -> SizePoint:
    return SizePoint(
        found.executors,
        found.hosts,
        found.slots,
        found.time_s,
        found.usd,
        found.core_hours,
        found.baselines_s,
    )


@dataclass(frozen=True, slots=True)
class _RoughTarget:
    """A target, its model, and its time by the rough model."""

    found: WhatIfPrediction
    model: JobModel
    rough_s: float


def _rough_point(job: RecordedJob, changes: JobChanges, target: _RoughTarget) -> SizePoint:
    setup = job.target(changes)
    share = target.model.rough_s(setup) / target.rough_s
    bounds = interval(
        share * target.found.time_s.value,
        distances_of(job.setup, setup, changes),
        target.found.rests_on,
        target.rough_s,
    )
    usd, _ = cost_of(setup, bounds)
    core_hours = setup.slots * setup.task_cpus * bounds.value / SECONDS_PER_HOUR
    laws = job.laws_s(setup.slots)
    return SizePoint(setup.executors, setup.hosts, setup.slots, bounds, usd, core_hours, laws)
