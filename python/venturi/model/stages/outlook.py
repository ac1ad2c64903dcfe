"""How long an application would have taken with more or fewer slots, by replaying it.

As Sparklens does: the recorded tasks are laid on N slots, stages in their order of submission, each
after the stage that it waited for and after as long a pause as then; what the driver did is kept.
How long a task takes is kept, too, though it shares disks, network and memory with those beside it:
far from the slots that there were this is a guess. Beside it stands Amdahl's bound, with all work
of tasks divided evenly.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush, heapreplace

import numpy as np

from venturi.model.stages.path import StageSpan, waited_for, without_stage_s
from venturi.model.stages.timeline import Key, Timeline
from venturi.units import SECONDS_PER_HOUR

FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
MOST_TASKS = 200_000


@dataclass(frozen=True, slots=True)
class Outlook:
    """An application on `slots`: its time by replay, Amdahl's bound, and the slots' use.

    `executors` are those of the size that there was, None where sizes differed or there was one.
    """

    slots: int
    cores: int
    executors: int | None
    time_s: float
    bound_s: float

    @property
    def core_hours(self) -> float:
        """What its slots' cores are there for."""
        return self.cores * self.time_s / SECONDS_PER_HOUR

    def use(self, task_s: float) -> float:
        """The share of the slots' time that tasks took, of `task_s` in all."""
        return min(task_s / (self.slots * self.time_s), 1.0)


@dataclass(frozen=True, slots=True)
class Outlooks:
    """With fewer and more slots; `replayed_s` beside the elapsed time says how far to trust it.

    `task_s` is the time of all attempts that are replayed. Without any, `reason` says why.
    """

    found: tuple[Outlook, ...]
    replayed_s: float | None
    task_s: float
    reason: str | None = None


def outlooks(line: Timeline, most_tasks: int = MOST_TASKS) -> Outlooks:
    """What more and fewer executors would have meant for the application of `line`.

    Of one with more attempts at tasks than `most_tasks` nothing is replayed: it takes some
    microseconds for each, number of slots and attempt.
    """
    if line.there is None or not line.elapsed_s or not line.spans:
        return Outlooks((), None, 0.0, "it is not recorded which executors were there, and when")
    if len(line.tasks.index) > most_tasks:
        return Outlooks((), None, 0.0, f"it has more than {most_tasks:,} attempts at tasks")
    replay = _Replay(line, line.elapsed_s)
    now = line.there.most(0.0, line.elapsed_s)
    if now < 1 or not replay.task_s:
        return Outlooks((), None, 0.0, "no task of known time, or no slot, is recorded")
    sizes = {int(n) // line.there.cpus for n in line.account.executors["cores"].drop_nulls()}
    size = sizes.pop() if len(sizes) == 1 else 0
    step = size if 0 < size < now else 1  # of a single executor, as in local mode, the cores vary
    serial_s = without_stage_s(list(line.spans.values()), line.elapsed_s)
    found = []
    for slots in sorted({max(round(now * factor / step), 1) * step for factor in FACTORS}):
        found.append(
            Outlook(
                slots,
                slots * line.there.cpus,
                slots // size if step == size else None,
                replay.elapsed_s(slots),
                serial_s + replay.task_s / slots,
            )
        )
    return Outlooks(tuple(found), replay.elapsed_s(now), replay.task_s)


class _Replay:
    """The stages of an application with the times of their tasks, to be laid on slots."""

    def __init__(self, line: Timeline, elapsed_s: float) -> None:
        self._ordered = sorted(line.spans.values(), key=lambda span: (span.from_s, span.key))
        self._before = waited_for(self._ordered)
        self._elapsed_s = elapsed_s
        self._tasks = {span.key: _times(line, span) for span in self._ordered}
        self.task_s = sum(sum(times) for times, _ in self._tasks.values())

    def elapsed_s(self, slots: int) -> float:
        """The application's time on `slots`."""
        spans = {span.key: span for span in self._ordered}
        places = {span.key: place for place, span in enumerate(self._ordered)}
        after: dict[Key | None, list[StageSpan]] = {}
        for span in self._ordered:
            after.setdefault(self._before[span.key], []).append(span)
        free = [0.0] * slots
        waiting: list[tuple[float, int]] = []
        ready: list[int] = []
        ends: dict[Key, float] = {}

        def release(key: Key | None) -> None:
            """What waited for a stage can begin, after as long a pause as then."""
            for span in after.get(key, ()):
                pause_s = span.from_s - (spans[key].to_s if key is not None else 0.0)
                at_s = max((ends[key] if key is not None else 0.0) + pause_s, 0.0)
                times, tail_s = self._tasks[span.key]
                if times:
                    heappush(waiting, (at_s, places[span.key]))
                else:
                    ends[span.key] = at_s + tail_s
                    release(span.key)

        done = dict.fromkeys(spans, 0)
        last = dict.fromkeys(spans, 0.0)
        release(None)
        while waiting or ready:
            if not ready and waiting[0][0] > free[0]:
                heapreplace(free, waiting[0][0])
                continue
            while waiting and waiting[0][0] <= free[0]:
                heappush(ready, heappop(waiting)[1])
            key = self._ordered[ready[0]].key
            times, tail_s = self._tasks[key]
            end_s = free[0] + times[done[key]]
            heapreplace(free, end_s)
            last[key] = max(last[key], end_s)
            done[key] += 1
            if done[key] == len(times):
                heappop(ready)
                ends[key] = last[key] + tail_s
                release(key)
        final = max(self._ordered, key=lambda span: (span.to_s, span.key))
        return ends[final.key] + max(self._elapsed_s - final.to_s, 0.0)


def _times(line: Timeline, span: StageSpan) -> tuple[list[float], float]:
    """The times of a stage's attempts in launch order, and what passed after the last one's end.

    Copies that lost to another attempt are left out. Of a stage without tasks it is its own time.
    """
    tasks = line.tasks
    here = tasks.of(span.key)
    times = tasks.times.at(here)
    kept = ~np.isnan(times.elapsed_s) & ~(tasks.speculative[here] & ~tasks.succeeded[here])
    if not kept.any():
        return [], span.to_s - span.from_s
    order = np.argsort(times.launched_s[kept], kind="stable")
    tail_s = max(span.to_s - float(times.finished_s[kept].max()), 0.0)
    return times.elapsed_s[kept][order].tolist(), tail_s
