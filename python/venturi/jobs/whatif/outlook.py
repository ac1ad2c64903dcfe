"""Predicts an application's time with more or fewer slots, by replaying it.

Like Sparklens, it places the recorded tasks on N slots. Stages run in order of submission, each
after the stage that it waited for and the recorded pause; driver time stays the same. Task times
stay the same, except for the warm-up of a stage's first tasks on each slot. But tasks share disks,
network and memory, so far from the recorded number of slots this is a guess. Amdahl's bound is
given for comparison: it divides all task time except warm-up evenly.

To predict other hardware (faster cores, other disks), pass the task times there as `retimed`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from venturi.core.units import SECONDS_PER_HOUR
from venturi.jobs.stages.causes import Seconds, TaskTimes
from venturi.jobs.stages.memory import is_local
from venturi.jobs.stages.path import without_stage_s
from venturi.jobs.stages.timeline import Timeline
from venturi.jobs.whatif.slot_simulation import SlotSimulation

FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
MOST_TASKS = 200_000
ASSUMED = (
    "by replay: tasks keep their times, except that the first task of a stage on each slot "
    "takes longer; contention between more or fewer concurrent tasks is not modeled"
)
OF_LOCAL_MODE = (
    "in local mode the driver uses the same cores and takes longer with fewer, which is not "
    "predicted"
)


@dataclass(frozen=True, slots=True)
class Outlook:
    """An application on `slots`: its time by replay, that of its tasks, and Amdahl's bound.

    `executors` is the number of executors of the recorded size, None if sizes differed or there was
    only one. `core_hours` is the cost of the cores of all slots, `use` the share of slot time that
    tasks took.
    """

    slots: int
    cores: int
    executors: int | None
    time_s: float
    task_s: float
    bound_s: float
    core_hours: float
    use: float


@dataclass(frozen=True, slots=True)
class Outlooks:
    """Predictions with fewer and more slots.

    The difference between `replayed_s` and the elapsed time shows how far to trust them. If the
    list is empty, `reason` explains why; otherwise `assumes` states the assumptions.
    """

    found: tuple[Outlook, ...]
    replayed_s: float | None
    reason: str | None = None
    assumes: str | None = None


def outlooks(
    line: Timeline,
    most_tasks: int = MOST_TASKS,
    retimed: Callable[[TaskTimes], Seconds] | None = None,
) -> Outlooks:
    """Predicts the time of the application of `line` with more and fewer executors.

    Applications with more than `most_tasks` task attempts aren't replayed: each attempt takes a few
    microseconds per number of slots. `retimed` returns the time of each task on other hardware; by
    default tasks take their recorded time. Pauses and driver time stay the same.
    """
    if (reason := why_unpredictable(line, most_tasks)) is not None:
        return Outlooks((), None, reason)
    assert line.there is not None
    assert line.elapsed_s is not None
    lasting_s = line.tasks.times.elapsed_s if retimed is None else retimed(line.tasks.times)
    replay = SlotSimulation(line, line.spans.values(), 0.0, line.elapsed_s, lasting_s)
    now = line.there.most(0.0, line.elapsed_s)
    if now < 1 or not replay.warm_s:
        return Outlooks((), None, "no slot, or no task with a known time, is recorded")
    size = executor_slots(line)
    step = size or 1  # of a single executor, as in local mode, the cores vary
    serial_s = without_stage_s(list(line.spans.values()), line.elapsed_s)
    found = []
    for slots in sorted({max(round(now * factor / step), 1) * step for factor in FACTORS}):
        laid = replay.on(slots)
        cores = slots * line.there.cpus
        found.append(
            Outlook(
                slots,
                cores,
                None if size is None else slots // size,
                laid.elapsed_s,
                laid.task_s,
                serial_s + replay.warm_s / slots,
                cores * laid.elapsed_s / SECONDS_PER_HOUR,
                min(laid.task_s / (slots * laid.elapsed_s), 1.0),
            )
        )
    assumes = f"{ASSUMED}; {OF_LOCAL_MODE}" if is_local(line.account) else ASSUMED
    return Outlooks(tuple(found), replay.on(now).elapsed_s, assumes=assumes)


def why_unpredictable(line: Timeline, most_tasks: int) -> str | None:
    """Why nothing of it is replayed; None: it is."""
    if line.there is None or not line.elapsed_s or not line.spans:
        return "the executors and their times are not recorded"
    if line.gaps.lacks:
        return line.gaps.sentence
    if len(line.tasks.index) > most_tasks:
        return f"it has more than {most_tasks:,} task attempts"
    return None


def executor_slots(line: Timeline) -> int | None:
    """The slots of each executor; None where sizes differed, or there was one at a time."""
    if line.there is None or not line.elapsed_s:
        return None
    sizes = {int(n) // line.there.cpus for n in line.account.executors["cores"].drop_nulls()}
    size = sizes.pop() if len(sizes) == 1 else 0
    return size if 0 < size < line.there.most(0.0, line.elapsed_s) else None
