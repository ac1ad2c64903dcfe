"""A recorded job on interruptible machines: lost executors are replaced, and their work is redone.

Unlike `machines.cost.spot`, a loss doesn't start the job again: Spark computes the lost tasks and
shuffle files again. docs/method/whatif.md has the equations.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from venturi.core.errors import UsageError, VenturiError
from venturi.core.quantity import Quantity, ValueKind
from venturi.core.units import SECONDS_PER_HOUR
from venturi.jobs.stages.path import StageSpan
from venturi.jobs.whatif.answer import RecordedJob, WhatIfAnswer, WhatIfPrediction, cost_of
from venturi.jobs.whatif.changes import JobChanges
from venturi.jobs.whatif.setup import Setup
from venturi.machines.catalog import InstanceType
from venturi.machines.cost.dataflow import Bounds
from venturi.machines.cost.operation import STARTUP_RANGE_S, STARTUP_S
from venturi.machines.cost.price import tariff_of

CATALOG = "catalog"
_MOST_PER_HOUR = 3600.0
ASSUMES = (
    "the driver runs on a machine that isn't interrupted",
    f"a replacement starts in {STARTUP_S / 60:g} min ({STARTUP_RANGE_S[0] / 60:g} to "
    f"{STARTUP_RANGE_S[1] / 60:g})",
    "shuffle files are lost with their machine, cached data aren't read again",
)


@dataclass(frozen=True, slots=True)
class SpotPrediction:
    """The expected time and cost of a target on interruptible machines.

    `losses` is the expected number of lost machines, at `rate` losses per machine and hour; each
    adds `loss_s` in the mean. `time_s` is None if `do_not_use` says why, `usd` if `unpriced` does.
    """

    name: str
    rate: Quantity
    time_s: Bounds | None
    usd: Bounds | None
    losses: float | None
    loss_s: float
    do_not_use: str
    unpriced: str
    assumes: tuple[str, ...] = ASSUMES


def spot_rate(text: str) -> float | None:
    """Losses per machine and hour from `0.05/h`; None for `catalog`."""
    if text.strip() == CATALOG:
        return None
    match = re.fullmatch(r"(\d*\.?\d+)\s*/\s*h", text.strip())
    rate = float(match[1]) if match else 0.0
    if not 0 < rate <= _MOST_PER_HOUR:
        raise UsageError(
            "VEN-UNIT-SYNTAX",
            f"--spot {text[:40]!r} is neither `catalog` nor a rate of losses above 0",
            where={"option": "--spot", "value": text[:40]},
            hint="write the losses to expect per machine and hour, such as --spot 0.05/h",
        )
    return rate


def no_ranking() -> UsageError:
    """The refusal to rank the types of a catalog as interruptible machines."""
    return UsageError(
        "VEN-MODEL-INPUT",
        "--spot isn't part of a ranking of all types",
        where={"option": "--spot"},
        hint="name the machines, such as --on i3.4xlarge:4",
    )


def all_on_spot(
    job: RecordedJob, changes: Sequence[JobChanges], found: WhatIfAnswer, per_hour: float | None
) -> tuple[SpotPrediction, ...]:
    """The targets of an answer about `changes`, on machines that are lost `per_hour`.

    Without a rate the catalog's counts; VEN-MODEL-INPUT if it has none.
    """
    both = zip(changes, found.targets, strict=True)
    return tuple(_on_spot(job, change, target, per_hour) for change, target in both)


def _on_spot(
    job: RecordedJob, changes: JobChanges, found: WhatIfPrediction, per_hour: float | None
) -> SpotPrediction:
    target = job.target(changes)
    rate = _catalog_rate(changes.setup.type) if per_hour is None else _given(per_hour)
    redone_s = _redone_s(job, changes, target)
    loss_s = redone_s + STARTUP_S / target.hosts
    ends = (
        (found.time_s.value, rate.value, STARTUP_S),
        (found.time_s.low, rate.low, STARTUP_RANGE_S[0]),
        (found.time_s.high, rate.high, STARTUP_RANGE_S[1]),
    )
    times_s = []
    for time_s, losses, startup_s in ends:
        each_s = redone_s * time_s / found.time_s.value + startup_s / target.hosts
        lost = target.hosts * losses / SECONDS_PER_HOUR * each_s
        times_s.append(time_s / (1 - lost) if lost < 1 else None)
    value, low, high = times_s
    if value is None or low is None or high is None:
        end = "" if value is None else "at the long end of its interval, "
        why = f"{end}machines are lost faster than their work is redone: do not use"
        return SpotPrediction(found.name, rate, None, None, None, loss_s, why, why)
    bounds = Bounds(value, low, high)
    usd, unpriced = cost_of(_at_spot_price(target, changes), bounds)
    expected = target.hosts * rate.value * value / SECONDS_PER_HOUR
    return SpotPrediction(found.name, rate, bounds, usd, expected, loss_s, "", unpriced)


def _given(per_hour: float) -> Quantity:
    return Quantity(per_hour, per_hour, per_hour, ValueKind.ASSUMED, "--spot")


def _catalog_rate(type_: InstanceType | None) -> Quantity:
    fact = None if type_ is None else type_.fact("spot_loss_rate")
    if fact is None or not isinstance(fact.value, float):
        name = "the recorded machine" if type_ is None else type_.name
        note = "its type is unknown" if fact is None else fact.note
        raise VenturiError(
            "VEN-MODEL-INPUT",
            f"--spot catalog: the loss rate of {name} is unknown: {note}",
            where={"option": "--spot", "instance_type": name},
            hint="write the losses to expect per machine and hour, such as --spot 0.05/h",
        )
    low, high = fact.low, fact.high
    return Quantity(
        fact.value,
        fact.value if low is None else low,
        fact.value if high is None else high,
        fact.kind or ValueKind.ASSUMED,
        fact.source,
    )


def _at_spot_price(target: Setup, changes: JobChanges) -> Setup:
    """`target` at the price of interruptible machines: the question's, else the catalog's."""
    type_ = changes.setup.type
    if changes.setup.usd_per_host_hour is not None:
        return target
    tariff = None if type_ is None else tariff_of(type_, price="spot_price")
    unpriced = "the spot price is unknown: add --usd-per-node-hour"
    return replace(target, tariff=tariff, unpriced="" if tariff else unpriced)


def _redone_s(job: RecordedJob, changes: JobChanges, target: Setup) -> float:
    """How long the work that a lost machine takes with it takes again, in the mean over stages."""
    model = job.model(changes, target)
    effects = model.effects(target)
    tasks = np.maximum(np.diff(model.plan.starts), 1)
    mean_s = effects.stretch * effects.task_s / tasks
    # A machine's share of a stage takes its share of the time, but at least a task's.
    again_s = np.maximum(effects.stage_s / target.hosts, np.minimum(mean_s, effects.stage_s))
    spans = [job.line.spans[key] for key in job.demand.keys]
    needed = _needed(spans)
    each_s = [
        mean_s[place] / 2 + sum(again_s[before] for before in needed[place])
        for place in range(len(spans))
    ]
    weights = effects.stage_s
    whole_s = float(weights.sum())
    return float(np.dot(weights, each_s)) / whole_s if whole_s else 0.0


def _needed(spans: Sequence[StageSpan]) -> list[set[int]]:
    """For each stage, the places of the stages that its input comes from, directly or not."""
    places: dict[int, int] = {}
    found: list[set[int]] = []
    for place, span in enumerate(spans):  # in order of submission
        parents = {places[parent] for parent in span.parent_ids if parent in places}
        found.append(parents.union(*(found[parent] for parent in parents)))
        places[span.key[0]] = place
    return found
