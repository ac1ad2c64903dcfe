"""Predicted time of a native sort, from a rehearsal: the same sort of the first part of its input.

A rehearsal has the shape of the sort: the same share of the data fits in memory, partitions,
blocks and requests are of the same size, so files are made, cut and made durable as often for each
byte, and the same cores distribute and sort. Disk, memory and processor then bound each phase as
they will bound the sort's, and a phase moves bytes at the rate r at which it did in the rehearsal.
With D bytes of input, S of them spilled, and f the time of sampling, which does not grow:

    sample        f
    map+shuffle   (D + S)/r_map       every byte is read, the spilled ones are written as well
    sort+reduce   (D + S)/r_sort      every byte is written, the spilled ones are read again

docs/method/native-sort.md has how well that holds.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from venturi.core.domain import invalid, need_rate, need_size
from venturi.core.errors import VenturiError
from venturi.machines.cost.predict import NativeSortPlan, PhasePrediction, Prediction

# Largest error of any of 56 sorts, and of 28 of 32 with background load:
# docs/method/native-sort.md. A virtual machine's disk varies as much from second to second.
USUAL_ERROR = 0.20

# A phase with workers that compute for this share of its time is CPU-bound.
_COMPUTING_SHARE = 0.9


@dataclass(frozen=True, slots=True)
class RehearsedPhase:
    """Seconds of a phase, and the share of them for which its cores were computing."""

    elapsed_s: float
    computing_share: float

    def __post_init__(self) -> None:
        need_size("elapsed_s", self.elapsed_s)
        need_size("computing_share", self.computing_share)


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """One rehearsal: its bytes, and the measurements of its phases."""

    input_bytes: int
    spilled_bytes: int
    sample: RehearsedPhase
    map_shuffle: RehearsedPhase
    sort_reduce: RehearsedPhase

    def __post_init__(self) -> None:
        need_rate("input_bytes", self.input_bytes)
        if not 0 <= self.spilled_bytes <= self.input_bytes:
            raise invalid("spilled_bytes", self.spilled_bytes, "from 0 to input_bytes")

    @property
    def moved_bytes(self) -> int:
        """Bytes that each of the two phases moves."""
        return self.input_bytes + self.spilled_bytes


def predict_from_rehearsals(plan: NativeSortPlan, rehearsals: Sequence[Rehearsal]) -> Prediction:
    """Predicted seconds of the sort, by the median of its rehearsals.

    The range is that of the rehearsals, and at least USUAL_ERROR to either side.
    """
    if not rehearsals:
        raise VenturiError(
            "VEN-MODEL-INPUT",
            "a prediction needs at least one rehearsal",
            where={"field": "rehearsals"},
            hint="rehearse the sort first",
        )
    moved = plan.input_bytes + plan.spilled_bytes
    shares = [rehearsal.moved_bytes / moved for rehearsal in rehearsals] if moved else [1.0]
    first = rehearsals[0]
    phases = (
        _phase("sample", "f", [r.sample for r in rehearsals], [1.0] * len(rehearsals)),
        _phase("map+shuffle", "(D+S)/r_map", [r.map_shuffle for r in rehearsals], shares),
        _phase("sort+reduce", "(D+S)/r_sort", [r.sort_reduce for r in rehearsals], shares),
    )
    assumptions = (
        f"rates of a rehearsal on {first.input_bytes} bytes ({first.spilled_bytes} spilled); "
        f"median of {len(rehearsals)}",
        "disk, memory and CPU limit the sort as they limited its rehearsal",
        f"low and high: the fastest and the slowest rehearsal, and {USUAL_ERROR:.0%} at least",
    )
    return Prediction(phases, assumptions)


def _phase(
    name: str, formula: str, rehearsed: Sequence[RehearsedPhase], shares: Sequence[float]
) -> PhasePrediction:
    times_s = [each.elapsed_s / share for each, share in zip(rehearsed, shares, strict=True)]
    elapsed_s = statistics.median(times_s)
    computing = statistics.median(each.computing_share for each in rehearsed)
    return PhasePrediction(
        phase=name,
        formula=formula,
        binding="cpu" if computing >= _COMPUTING_SHARE else "storage",
        elapsed_s=elapsed_s,
        low_s=min(elapsed_s * (1 - USUAL_ERROR), *times_s),
        high_s=max(elapsed_s * (1 + USUAL_ERROR), *times_s),
    )
