"""A rehearsal: the same sort of the first part of its input, in the same shape.

Memory and number of partitions shrink with the data, so partitions, their blocks, and the share
that fits in memory are those of the sort itself.
"""

from __future__ import annotations

from collections.abc import Sequence

from venturi.measure.hosts.agent_results import SortPlan, SortResult
from venturi.record.trial import Sample

# Enough that a phase takes a good part of a second on the fastest disk.
_ENOUGH_BYTES = 10**9
# With less, partitions and requests are much smaller than the sort's own.
_LEAST_MEMORY_BYTES = 512 * 2**20
_MOST = 0.5  # of the input


def share_of(plan: SortPlan) -> float:
    """The share of the input that is sorted to rehearse the sort planned."""
    enough = max(_ENOUGH_BYTES / plan.input_bytes, _LEAST_MEMORY_BYTES / plan.memory_bytes)
    return min(_MOST, enough)


def times(plan: SortPlan) -> int:
    """How often the sort is rehearsed: a large rehearsal averages by itself."""
    return 1 if plan.input_bytes * share_of(plan) >= 1.5 * _ENOUGH_BYTES else 2


def memory_bytes(plan: SortPlan, share: float) -> int:
    """The budget of a rehearsal of a `share` of the input."""
    return int(plan.memory_bytes * share)


def arguments(plan: SortPlan, share: float) -> list[object]:
    """Return the agent's extra `sort` arguments for rehearsing the planned sort on a `share` of its
    input.
    """
    return [
        "--first-bytes",
        int(plan.input_bytes * share),
        "--partition-bytes",
        max(1, plan.input_bytes // plan.partitions),
    ]


def samples(rehearsed: Sequence[SortResult]) -> tuple[Sample, ...]:
    """Return the samples of rehearsals: the bytes sorted, and the time of each phase."""
    kept = []
    for iteration, data in enumerate(rehearsed):
        labels = {"iteration": iteration}
        kept.append(Sample("rehearsed_bytes", data.input.bytes, "B", labels=labels))
        kept += [
            Sample("rehearsed_phase_s", phase.elapsed_s, "s", phase=phase.name, labels=labels)
            for phase in data.phases
        ]
    return tuple(kept)
