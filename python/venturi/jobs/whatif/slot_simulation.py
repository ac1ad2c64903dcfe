"""Simulates stages with given task times on any number of slots.

Stages begin in order of submission, each after the stage that it waited for and the recorded pause.
The time before the first stage and after the last stays the same. Tasks take the given times:
recorded ones, or predictions for other hardware. The warm-up of a stage's first tasks on each slot
moves to the first tasks on the simulated slots.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import dataclass
from heapq import heapify, heappop, heappush, heapreplace
from math import inf

import numpy as np
import numpy.typing as npt

from venturi.jobs.stages.causes import Seconds
from venturi.jobs.stages.path import StageSpan, waited_for
from venturi.jobs.stages.replay import slots_used
from venturi.jobs.stages.timeline import Key, Timeline
from venturi.jobs.whatif.warm_up import places_on_slots, without_warm_up

MANY_SLOTS = 1_000
"""A question may ask for millions of slots. Beyond this number, unused ones aren't simulated."""


@dataclass(frozen=True, slots=True)
class SimulatedSchedule:
    """Stages on so many slots: how long all took, and how long tasks did."""

    elapsed_s: float
    task_s: float


@dataclass(frozen=True, slots=True)
class StageTasks:
    """A stage's attempts in launch order without warm-up, the warm-up of the first tasks on a
    slot, and the time after the end of the last one.

    `places` are the attempts' places among all tasks of the application.
    """

    lasting_s: tuple[float, ...]
    more_s: tuple[float, ...]
    tail_s: float
    n_tasks: int
    """Attempts at one task are one after another."""
    places: npt.NDArray[np.intp]


class _StageProgress:
    """The tasks of a stage that have run: how many, the end of the last, and warm-ups by slot."""

    __slots__ = ("done", "last_s", "warm_ups")

    def __init__(self) -> None:
        self.done, self.last_s = 0, 0.0
        self.warm_ups: dict[int, int] = {}

    def run(self, tasks: StageTasks, free: list[tuple[float, int]], until_s: float) -> float:
        """Runs tasks on the heap of `free` slots until its end, or until a slot is free at
        `until_s` or later. Returns the time of their warm-up.

        The loop runs for each task of a job, so it uses only local names.
        """
        lasting_s, more_s, warm_ups = tasks.lasting_s, tasks.more_s, self.warm_ups
        last_s, n_more, warming_s = self.last_s, len(more_s), 0.0
        place, n = self.done, len(lasting_s)
        while place < n:
            free_s, slot = free[0]
            if free_s >= until_s:
                break
            end_s = free_s + lasting_s[place]
            if n_more and (had := warm_ups.get(slot, 0)) < n_more:
                warm_ups[slot] = had + 1
                end_s += more_s[had]
                warming_s += more_s[had]
            heapreplace(free, (end_s, slot))
            if end_s > last_s:  # noqa: PLR1730 - max takes a tenth of the loop's time
                last_s = end_s
            place += 1
        self.done, self.last_s = place, last_s
        return warming_s

    def run_in_parallel(
        self, tasks: StageTasks, slots: int, at_s: float
    ) -> tuple[list[tuple[float, int]], float]:
        """Runs all tasks at `at_s`, each on a slot of its own: faster than `run`, with the same
        result. Returns the heap of free slots, and the time of the tasks' warm-up.
        """
        n = len(tasks.lasting_s)
        more_s = tasks.more_s[0] if tasks.more_s else 0.0
        ends_s = [at_s + each_s + more_s for each_s in tasks.lasting_s]
        free = list(zip(ends_s, range(n), strict=True))
        free += [(at_s, slot) for slot in range(n, slots)]
        heapify(free)
        self.done, self.last_s = n, max(ends_s)
        return free, n * more_s


class SlotSimulation:
    """Some stages of an application: those that ran from `from_s` to `to_s`, or would have.

    `lasting_s` is how long each attempt at a task of the application takes.
    """

    def __init__(
        self,
        line: Timeline,
        spans: Iterable[StageSpan],
        from_s: float,
        to_s: float,
        lasting_s: Seconds,
    ) -> None:
        ordered = sorted(spans, key=lambda span: (span.from_s, span.key))
        self._spans = {span.key: span for span in ordered}
        self._before = waited_for(ordered)
        self._after: dict[Key | None, list[StageSpan]] = {}
        for span in ordered:
            self._after.setdefault(self._before[span.key], []).append(span)
        self._from_s, self._to_s = from_s, to_s
        self._have({span.key: _tasks(line, span, lasting_s) for span in ordered})

    def _have(self, tasks: Mapping[Key, StageTasks]) -> None:
        self.tasks = tasks
        """The tasks of each stage, in order of submission."""
        self.warm_s = sum(sum(each.lasting_s) for each in tasks.values())
        """The time of all tasks but their warm-up."""

    def with_tasks(self, tasks: Mapping[Key, StageTasks]) -> SlotSimulation:
        """The same stages with other tasks, such as those of larger data."""
        other = copy(self)
        other._have(tasks)
        return other

    def on(self, slots: int) -> SimulatedSchedule:
        """The stages on `slots`."""
        if slots > MANY_SLOTS:
            slots = min(slots, self._most_used())
        ordered = list(self._spans)
        places = {key: place for place, key in enumerate(ordered)}
        free = [(0.0, slot) for slot in range(slots)]
        progress = {key: _StageProgress() for key in ordered}
        waiting: list[tuple[float, int]] = []
        ready: list[int] = []
        ends: dict[Key, float] = {}

        def release(key: Key | None) -> None:
            """Starts the stages that waited for a stage."""
            for span in self._after.get(key, ()):
                at_s = self._begins_s(span, ends)
                tasks = self.tasks[span.key]
                if tasks.lasting_s:
                    heappush(waiting, (at_s, places[span.key]))
                else:
                    ends[span.key] = at_s + tasks.tail_s
                    release(span.key)

        release(None)
        warming_s = 0.0
        while waiting or ready:
            idle = False
            if not ready and waiting[0][0] > free[0][0]:
                idle_s = waiting[0][0]
                if idle := max(free)[0] <= idle_s:
                    free = [(idle_s, slot) for slot in range(slots)]
                else:
                    free = [(max(free_s, idle_s), slot) for free_s, slot in free]
                    heapify(free)
            while waiting and waiting[0][0] <= free[0][0]:
                heappush(ready, heappop(waiting)[1])
            key = ordered[ready[0]]
            tasks = self.tasks[key]
            own = progress[key]
            if idle and len(tasks.lasting_s) <= slots:
                free, warm_s = own.run_in_parallel(tasks, slots, free[0][0])
            else:
                warm_s = own.run(tasks, free, waiting[0][0] if waiting else inf)
            warming_s += warm_s
            if own.done == len(tasks.lasting_s):
                heappop(ready)
                ends[key] = own.last_s + tasks.tail_s
                release(key)
        return SimulatedSchedule(self._whole_s(ends), self.warm_s + warming_s)

    def _most_used(self) -> int:
        """So many slots are enough for all attempts: more make no difference."""
        again = sum(len(each.lasting_s) - each.n_tasks for each in self.tasks.values())
        return max(self.boundless()[0] + max(again, 0), 1)

    def boundless(self) -> tuple[int, float]:
        """The number of slots that its tasks can fill, and the time with as many or more."""
        ends: dict[Key, float] = {}
        launched: list[Seconds] = []
        finished: list[Seconds] = []
        # In this order each comes after what it waited for.
        for span in sorted(self._spans.values(), key=lambda span: (span.to_s, span.key)):
            tasks = self.tasks[span.key]
            at_s = self._begins_s(span, ends)
            launched.append(np.full(tasks.n_tasks, at_s))
            first_s = tasks.more_s[0] if tasks.more_s else 0.0
            longest_s = np.sort(tasks.lasting_s)[len(tasks.lasting_s) - tasks.n_tasks :]
            finished.append(at_s + first_s + longest_s)
            ends[span.key] = float(finished[-1].max(initial=at_s)) + tasks.tail_s
        return slots_used(np.concatenate(launched), np.concatenate(finished)), self._whole_s(ends)

    def _begins_s(self, span: StageSpan, ends: dict[Key, float]) -> float:
        """When a stage can begin: after the stage it waited for, and the recorded pause."""
        key = self._before[span.key]
        if key is None:
            return max(span.from_s - self._from_s, 0.0)
        return max(ends[key] + (span.from_s - self._spans[key].to_s), 0.0)

    def _whole_s(self, ends: dict[Key, float]) -> float:
        """The time to the end, which comes after the stage that was the last, and after all."""
        final = max(self._spans.values(), key=lambda span: (span.to_s, span.key))
        return max(ends[final.key] + max(self._to_s - final.to_s, 0.0), *ends.values())


def _tasks(line: Timeline, span: StageSpan, lasting_s: Seconds) -> StageTasks:
    """The tasks of a stage; `lasting_s` covers all tasks of the application.

    Leaves out copies that lost to another attempt. A stage without tasks takes its own recorded
    time.
    """
    tasks = line.tasks
    here = tasks.of(span.key)
    times = tasks.times.at(here)
    kept = ~np.isnan(times.elapsed_s) & ~(tasks.speculative[here] & ~tasks.succeeded[here])
    if not kept.any():
        return StageTasks((), (), span.to_s - span.from_s, 0, np.empty(0, np.intp))
    order = np.argsort(times.launched_s[kept], kind="stable")
    tail_s = max(span.to_s - float(times.finished_s[kept].max()), 0.0)
    executors = tasks.executors[here][kept]
    on_slots = places_on_slots(times.launched_s[kept], times.finished_s[kept], executors)
    found = without_warm_up(
        lasting_s[here][kept], on_slots, executors, tasks.bytes_read[here][kept]
    )
    n_tasks = len(np.unique(tasks.index[here][kept]))
    places = here.start + np.flatnonzero(kept)[order]
    return StageTasks(tuple(found.lasting_s[order].tolist()), found.more_s, tail_s, n_tasks, places)
