"""90 % intervals of predictions, and which assumption widens them the most.

Two causes add up in quadrature, as logarithms: how far predictions were from measurements
(calibration.toml), and the ranges of capacities that no one measured.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources

from venturi.core.quantity import Quantity
from venturi.core.wording import joined
from venturi.jobs.whatif.model import JobModel
from venturi.jobs.whatif.setup import MEASURE, Setup
from venturi.machines.cost.dataflow import Bounds

CAPACITIES = ("cpu", "cores", "disk", "network")
EXTRAPOLATED = 4.0
"""Beyond this factor from the recorded job, intervals grow with the distance."""
LEAST_PAIRS = 9
"""With fewer measured pairs than this, 90 % of them is all of them."""
_LITTLE = 0.01


@dataclass(frozen=True, slots=True)
class CapacityEffect:
    """A capacity that the prediction rests on: the time at the ends of its range, and its origin.

    `machines` are "recorded", "target" or "both". `measure` is the command that measures it.
    """

    capacity: str
    machines: str
    rate: Quantity
    fast_s: float
    slow_s: float
    measure: str


@dataclass(frozen=True, slots=True)
class GroupError:
    """How far predictions of a kind were off: `error` in ln units, from so many `pairs`."""

    pairs: int
    error: float


@cache
def calibration() -> Mapping[str, GroupError]:
    """The committed table of errors."""
    text = (resources.files(__package__) / "calibration.toml").read_text("utf-8")
    return {name: GroupError(**each) for name, each in tomllib.loads(text).items()}


def interval_origin(kinds: Iterable[str]) -> str:
    """Where the errors of these kinds of change come from, in words."""
    judged = [kind for kind in kinds if calibration()[kind].pairs < LEAST_PAIRS]
    measured = sum(calibration()[kind].pairs for kind in kinds)
    if not judged:
        return f"intervals: errors of {measured} measured pairs, and the ranges of capacities"
    return (
        f"intervals: the ranges of capacities, and our judgment of the error for other "
        f"{joined(judged)} ({measured} measured pairs)"
    )


def interval(
    time_s: float,
    distances: Mapping[str, float],
    effects: tuple[CapacityEffect, ...],
    rough_s: float,
) -> Bounds:
    """The 90 % interval of `time_s`; `distances` has the factor of each kind of change."""
    own = 0.0
    for name, factor in distances.items():
        far = max(abs(math.log(factor)) / math.log(EXTRAPOLATED), 1.0) if factor > 0 else 1.0
        own += (far * calibration()[name].error) ** 2
    less = own + sum(math.log(each.fast_s / rough_s) ** 2 for each in effects)
    more = own + sum(math.log(each.slow_s / rough_s) ** 2 for each in effects)
    return Bounds(time_s, time_s * math.exp(-math.sqrt(less)), time_s * math.exp(math.sqrt(more)))


def capacity_effects(model: JobModel, target: Setup) -> tuple[CapacityEffect, ...]:
    """The capacities that matter, the most important first."""
    middle_s = model.rough_s(target)
    found = []
    for name in CAPACITIES:
        there, here = getattr(target, name), getattr(model.source, name)
        cases = [("both", there)] if there is here else [("target", there), ("recorded", here)]
        for machines, rate in cases:
            if rate.low == rate.high:
                continue
            times = [middle_s]
            for end in (rate.low, rate.high):
                changed = {name: replace(rate, value=end, low=end, high=end)}
                there_ = target if machines == "recorded" else replace(target, **changed)
                here_ = model.source if machines == "target" else replace(model.source, **changed)
                times.append(model.rough_s(there_, here_))
            if max(times) > (1 + _LITTLE) * min(times):
                found.append(
                    CapacityEffect(name, machines, rate, min(times), max(times), MEASURE[name])
                )
    return tuple(sorted(found, key=lambda each: math.log(each.fast_s / each.slow_s)))
