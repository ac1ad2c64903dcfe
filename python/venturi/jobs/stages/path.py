"""The critical path of an application through its stages, and the time without any stage."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StageSpan:
    """A stage as the path sees it: an attempt at a stage, seconds since the application's start."""

    key: tuple[int, int]
    parent_ids: tuple[int, ...]
    from_s: float
    to_s: float


@dataclass(frozen=True, slots=True)
class PathStep:
    """A part of the critical path: a stage, or the driver (without `key`)."""

    key: tuple[int, int] | None
    from_s: float
    to_s: float

    @property
    def elapsed_s(self) -> float:
        """How long it lasted."""
        return self.to_s - self.from_s


def critical_path(spans: Sequence[StageSpan], elapsed_s: float) -> tuple[PathStep, ...]:
    """The chain of stages that the end of the application waited for, in time order.

    Walks back from the end: to the stage that ended last, from there to the parent that ended last
    (it may end while its child runs, as map tasks do), and where no parent was executed, to the
    stage that ended last before this one was submitted. The time between them is the driver's. The
    steps cover the application's time without gap or overlap.
    """
    steps: list[PathStep] = []
    place_s = elapsed_s
    inside = (span for span in spans if span.from_s < elapsed_s and span.to_s > 0)
    ordered = sorted(inside, key=_end)
    walk = _PathFinder(ordered)
    current = len(ordered) - 1
    while current >= 0 and place_s > 0:
        span = ordered[current]
        to_s = min(span.to_s, place_s)
        if to_s < place_s:
            steps.append(PathStep(None, to_s, place_s))
        current = walk.before(current, to_s)
        from_s = max(span.from_s, 0.0, ordered[current].to_s if current >= 0 else 0.0)
        from_s = min(from_s, to_s)
        if from_s < to_s:
            steps.append(PathStep(span.key, from_s, to_s))
        place_s = from_s
    if place_s > 0:
        steps.append(PathStep(None, 0.0, place_s))
    return tuple(reversed(steps))


def waited_for(spans: Sequence[StageSpan]) -> dict[tuple[int, int], tuple[int, int] | None]:
    """For each stage the one that it waited for, as `critical_path` has it; None: the driver."""
    ordered = sorted(spans, key=_end)
    walk = _PathFinder(ordered)
    places = ((span, walk.before(place, span.to_s)) for place, span in enumerate(ordered))
    return {span.key: ordered[before].key if before >= 0 else None for span, before in places}


def _end(span: StageSpan) -> tuple[float, tuple[int, int]]:
    return span.to_s, span.key


class _PathFinder:
    """Finds the stage that a stage waited for among `ordered`; always one that stands before it."""

    def __init__(self, ordered: Sequence[StageSpan]) -> None:
        self._ordered = ordered
        self._ends = [span.to_s for span in ordered]
        self._places: dict[int, list[int]] = {}
        for place, span in enumerate(ordered):
            self._places.setdefault(span.key[0], []).append(place)

    def before(self, place: int, to_s: float) -> int:
        """The place of the predecessor of the stage at `place`; -1 if it has no predecessor."""
        span = self._ordered[place]
        parents = [
            each
            for parent_id in span.parent_ids
            for each in self._places.get(parent_id, ())
            if each < place and self._ends[each] < to_s
        ]
        return max(parents, default=min(bisect_right(self._ends, span.from_s), place) - 1)


def without_stage_s(spans: Sequence[StageSpan], elapsed_s: float) -> float:
    """How much of the application's time no stage was active in."""
    covered = reach = 0.0
    for from_s, to_s in sorted((max(s.from_s, 0.0), min(s.to_s, elapsed_s)) for s in spans):
        if to_s > max(from_s, reach):
            covered += to_s - max(from_s, reach)
            reach = to_s
    return max(elapsed_s - covered, 0.0)
