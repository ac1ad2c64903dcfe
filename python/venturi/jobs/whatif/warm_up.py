"""Warm-up: the extra time of the first tasks of a stage on each slot.

An executor loads and compiles a stage's code while it runs the first tasks: on a slow CPU, a task
took 12 s instead of 1 s (docs/studies/diagnosis.md). Each slot pays for that itself, so more slots
mean more warm-up.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush

import numpy as np
import numpy.typing as npt

from venturi.jobs.stages.causes import Floats, Seconds

MOST_PLACES = 4
"""So many tasks of a stage on a slot warm it up at most."""
LEAST_TOLD = 5
"""With fewer warm tasks than this, an executor isn't judged by its own."""
LEAST_RATIO = 1.5
"""Chosen by us: less than this many times a warm task's time is no warm-up."""
MOST_SLACK_S = 0.5
"""So long before the end of the one before it a task may be launched on its slot."""
LEAST_TAKEN = 0.8
"""If less than this share of the expected warm-up fits into the task times, none is removed."""
Places = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class WarmTasks:
    """The tasks of a stage as if nothing was to be warmed up: the time of each, and how much more
    the first, second, ... of the stage on a slot take."""

    lasting_s: Seconds
    more_s: tuple[float, ...]


def without_warm_up(
    lasting_s: Seconds, places: Places, executors: Places, read: Floats
) -> WarmTasks:
    """The tasks of a stage without their warm-up.

    `places` is each task's position on its slot within the stage, from 0 (-1: unknown), `executors`
    its executor, `read` the bytes that it read (NaN: unknown). Tasks are warm after the first four
    places, or after half of the places on an executor's slots; the next four set the warm time. The
    expected time of a task grows with its bytes. The warm-up of a place is the lower median of its
    excess over that, so a single long task doesn't count. It never grows from place to place.
    """
    known = np.unique(executors[places >= 0])
    rounds = [int(places[executors == executor].max()) + 1 for executor in known]
    several = [each for each in rounds if each > 1]
    if not several:
        return WarmTasks(lasting_s, ())
    settled = min(max(int(np.median(several)) // 2, 1), MOST_PLACES)
    over_s, usual_s = _over(lasting_s, places, executors, read, settled)
    more_s: list[float] = []
    for place in range(settled):
        here_s = np.sort(over_s[places == place])  # a slot with a later place had this one, too
        usually_s = max(float(here_s[(len(here_s) - 1) // 2]), 0.0)
        more_s.append(min([usually_s, *more_s]))
    wanted_s = np.array([*more_s, 0.0])[np.where(places < 0, settled, np.minimum(places, settled))]
    taken_s = np.minimum(wanted_s, lasting_s)
    steep = more_s[0] >= (LEAST_RATIO - 1) * usual_s
    if not steep or taken_s.sum() < LEAST_TAKEN * wanted_s.sum():
        return WarmTasks(lasting_s, ())
    return WarmTasks(lasting_s - taken_s, tuple(more_s))


def _over(
    lasting_s: Seconds, places: Places, executors: Places, read: Floats, settled: int
) -> tuple[Seconds, float]:
    """The excess of each task over a warm one, NaN where its executor is unknown; and the time
    of a warm task.
    """
    over_s = np.full(len(lasting_s), np.nan)
    warmed = (places >= settled) & (places < settled + MOST_PLACES)
    for executor in np.unique(executors[places >= 0]):
        own = executors == executor
        tell = own & warmed
        # Executors may differ; of a few tasks those of all say more.
        told = tell if int(tell.sum()) >= LEAST_TOLD else warmed
        usual_bytes = float(np.median(read[told]))
        larger = read[own] / usual_bytes if usual_bytes > 0 else np.ones(int(own.sum()))
        expected_s = np.median(lasting_s[told]) * np.maximum(np.nan_to_num(larger, nan=1.0), 1.0)
        over_s[own] = lasting_s[own] - expected_s
    return over_s, float(np.median(lasting_s[warmed]))


def places_on_slots(launched_s: Seconds, finished_s: Seconds, executors: Places) -> Places:
    """Which task of a stage each was on its slot: 0 for the first, -1 where its executor (a number
    each) is below 0, not known.

    A task is on the slot of its executor that got free the earliest, else on one more. The next
    task on a slot is launched a little before the end of the one before it is noted.
    """
    found = np.full(len(executors), -1, dtype=np.int64)
    free: dict[int, list[tuple[float, int]]] = {}
    for at in np.argsort(launched_s, kind="stable").tolist():
        if (executor := int(executors[at])) < 0:
            continue
        slots = free.setdefault(executor, [])
        had = 0
        slack_s = min((finished_s[at] - launched_s[at]) / 2, MOST_SLACK_S)
        if slots and slots[0][0] <= launched_s[at] + slack_s:
            had = heappop(slots)[1]
        found[at] = had
        heappush(slots, (float(finished_s[at]), had + 1))
    return found
