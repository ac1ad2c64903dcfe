"""Stages of a single task, one after another, that could run in parallel."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from venturi.core.units import format_duration
from venturi.jobs.diagnosis.case import SHOWN, Case, Confidence, FindingScope, Hit
from venturi.jobs.diagnosis.registry import rule
from venturi.jobs.diagnosis.rules.partitions import shared_slot_s, takes_some
from venturi.jobs.stages.stage import Stage

_ITERATOR = re.compile(r"\btoLocalIterator at |\btoPythonIterator|LocalIterator")


@rule("tasks-in-turn")
def tasks_in_turn(case: Case) -> Iterator[Hit]:
    """Find stages of one task that follow each other while the other slots are idle."""
    if case.line.account.batches is not None:
        return
    found = [(stage, alone_s) for stage, alone_s in _alone(case)]
    taken_s = sum(alone_s for _, alone_s in found)
    few = len(found) < case.limit("tasks-in-turn", "stages")
    if few or taken_s < case.limit("tasks-in-turn", "share") * (case.line.elapsed_s or 0.0):
        return
    slots = max(stage.slots for stage, _ in found)
    parts = min(slots, len(found))
    saved_s = 0.0
    for stage, alone_s in found:
        _, times = case.ran(stage.key)
        shorter_s = np.maximum(times.elapsed_s - shared_slot_s(case, times) / parts, 0.0)
        saved_s += min(case.saved_s(stage.key, shorter_s), alone_s)
    fetched = any(_ITERATOR.search(stage.name) for stage, _ in found)
    longest = sorted(found, key=lambda each: -each[1])[:SHOWN]
    single = sum(stage.n_tasks == 1 for stage in case.analysis.stages)
    least = format_duration(case.limit("tasks-in-turn", "task_s"))
    shorter = f" ({single - len(found):,} more took less than {least} alone)"
    yield Hit(
        f"{len(found):,} stages of one task ran one after another on {slots} slots, for "
        f"{format_duration(taken_s)}{shorter if single > len(found) else ''}; the longest is "
        f"{longest[0][0].title}",
        tuple(FindingScope(stage=stage.label) for stage, _ in longest),
        saved_s,
        Confidence.MEDIUM,
        "iterator" if fetched else "any",
        {"slots": f"{slots}"},
    )


def _alone(case: Case) -> Iterator[tuple[Stage, float]]:
    """Yield stages of one task, and for how long no other stage ran."""
    spans = case.line.spans
    edges_s = np.array([(span.from_s, span.to_s) for span in spans.values()])
    for stage in case.stages:
        if stage.n_tasks != 1 or stage.slots < 2 or takes_some(case, stage):
            continue
        span = spans[stage.key]
        others_s = np.minimum(edges_s[:, 1], span.to_s) - np.maximum(edges_s[:, 0], span.from_s)
        own_s = span.to_s - span.from_s
        alone_s = own_s - (float(np.maximum(others_s, 0.0).sum()) - own_s)
        if alone_s >= case.limit("tasks-in-turn", "task_s"):
            yield stage, alone_s
