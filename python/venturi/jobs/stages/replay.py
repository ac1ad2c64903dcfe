"""Replaying a stage's tasks on its slots, with some of their time taken away.

The method of blocked-time analysis (Ousterhout, Rasti, Ratnasamy, Shenker and Chun, NSDI 2015):
take from each task the time it was blocked, and let the shortened tasks run on the same number of
slots. Tasks start in the order in which they did, each on the slot that has been free the longest,
after the same pause as then. Unshortened tasks so reproduce the stage exactly, and shortening any
task never makes the stage longer (the sorted times at which slots get free only ever move earlier).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from heapq import heapreplace

import numpy as np
import numpy.typing as npt

from venturi.jobs.stages.causes import Seconds, TaskTimes


def slots_used(launched_s: Seconds, finished_s: Seconds) -> int:
    """Peak number of concurrent tasks; a task that ends frees its slot for one that starts then."""
    lasting = finished_s > launched_s
    starts, ends = np.sort(launched_s[lasting]), np.sort(finished_s[lasting])
    running = np.arange(1, len(starts) + 1) - np.searchsorted(ends, starts, "right")
    # A task of zero length needs a slot in addition to running tasks, and frees it immediately.
    moments = launched_s[~lasting]
    beside = np.searchsorted(starts, moments) - np.searchsorted(ends, moments, "right")
    return int(max(running.max(initial=0), (beside + 1).max(initial=0)))


@dataclass(frozen=True, slots=True)
class Schedule:
    """The placement of a stage's tasks on `slots` slots: launch order, and the pause before each.

    A pause is negative if a task was launched before the driver noticed the end of the task before
    it. `needed` marks the tasks that the stage waited for, without killed copies. `tail_s` is the
    time from the last of their ends to the end of the stage, which took `whole_s`.
    """

    slots: int
    order: npt.NDArray[np.intp]
    pauses_s: Seconds
    elapsed_s: Seconds
    needed: npt.NDArray[np.bool_]
    tail_s: float
    whole_s: float

    def stage_s(self, saved_s: Seconds) -> float:
        """The stage's time when each task is shorter by `saved_s`, in the tasks' own order."""
        if not saved_s.any():
            return self.whole_s
        return self._replayed_s(self.pauses_s, np.maximum(self.elapsed_s - saved_s[self.order], 0))

    def paused(self, least_s: float, copies: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Which attempts waited for `least_s` or longer on a free slot, in launch order.

        Speculative `copies`, marked in the tasks' own order, start late by design.
        """
        waited: npt.NDArray[np.bool_] = (self.pauses_s >= least_s) & ~copies[self.order]
        return waited

    def without_pauses_s(self, paused: npt.NDArray[np.bool_]) -> float:
        """The stage's time when the `paused` attempts don't wait."""
        if not paused.any():
            return self.whole_s
        return self._replayed_s(np.where(paused, 0.0, self.pauses_s), self.elapsed_s)

    def without_s(self, removed: npt.NDArray[np.bool_]) -> float:
        """The stage's time without the attempts `removed`, marked in the tasks' own order.

        An attempt that started later had waited for them, as a retry does for its failure, so it
        starts after the usual pause.
        """
        kept = ~removed[self.order]
        if kept.all():
            return self.whole_s
        first = int(np.argmin(kept))
        usual_s = float(np.median(self.pauses_s[:first])) if first else 0.0
        pauses_s = np.append(self.pauses_s[:first], np.minimum(self.pauses_s[first:], usual_s))
        rest = replace(
            self, pauses_s=pauses_s[kept], elapsed_s=self.elapsed_s[kept], needed=self.needed[kept]
        )
        return rest._replayed_s(rest.pauses_s, rest.elapsed_s)

    def merged_s(self, work_s: Seconds, n_tasks: int) -> float:
        """The stage's time when `n_tasks` equal tasks do the `work_s` of all recorded ones.

        Each costs as much beyond its work as a recorded task does at the median.
        """
        fixed_s = max(float(np.median(self.elapsed_s + self.pauses_s - work_s[self.order])), 0.0)
        waves = math.ceil(n_tasks / self.slots)
        merged_s = waves * (fixed_s + float(work_s.sum()) / n_tasks) + max(self.tail_s, 0.0)
        return min(merged_s, self.whole_s)

    def _replayed_s(self, pauses_s: Seconds, lasting_s: Seconds) -> float:
        free = [0.0] * self.slots
        taken = pauses_s + lasting_s
        if self.needed.all() and (taken >= 0).all():  # mostly: then the last end is never replaced
            for took in taken.tolist():
                heapreplace(free, free[0] + took)
            return max(max(free) + self.tail_s, 0.0)
        last = 0.0
        for took, needed in zip(taken.tolist(), self.needed.tolist(), strict=True):
            end = free[0] + took
            heapreplace(free, end)
            if needed and end > last:
                last = end
        return max(last + self.tail_s, 0.0)


def schedule(
    times: TaskTimes, needed: npt.NDArray[np.bool_], slots: int, stage_s: tuple[float, float]
) -> Schedule:
    """The schedule of a stage that lasted from `stage_s[0]` to `stage_s[1]`.

    At least one task must be `needed`, and all must have a known time.
    """
    order = np.lexsort((times.finished_s, times.launched_s))
    starts, ends = times.launched_s[order], times.finished_s[order]
    submitted_s = min(stage_s[0], float(starts[0]))
    last_s = float(ends[needed[order]].max())
    return Schedule(
        slots,
        order,
        starts - _free_s(ends, slots, submitted_s),
        ends - starts,
        needed[order],
        stage_s[1] - last_s,
        max(stage_s[1] - submitted_s, 0.0),
    )


def _free_s(ends: Seconds, slots: int, submitted_s: float) -> Seconds:
    """For each task, in launch order, since when the slot was free that was so the longest."""
    # Each end makes one slot free. Mostly a task ends after the slot that it took got free, and so
    # the slots are taken in the order of the ends.
    in_order = np.sort(ends)[: max(len(ends) - slots, 0)]
    if (ends[slots:] > in_order).all():
        return np.concatenate([np.full(min(slots, len(ends)), submitted_s), in_order])
    free, found = [submitted_s] * slots, []
    for end in ends.tolist():
        found.append(free[0])
        heapreplace(free, end)
    return np.array(found)
