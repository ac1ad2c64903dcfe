"""The task slots that executors offered over time, and their use.

A slot is `spark.task.cpus` cores of an executor, from its addition to its removal. Offered time is
divided exactly: used slots by the task's outcome; unused slots by reason: no active stage, no task
left to launch, or tasks waiting nevertheless.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from venturi.jobs.stages.causes import Floats, Seconds
from venturi.jobs.stages.latest_ends import task_cpus
from venturi.jobs.stages.path import StageSpan
from venturi.jobs.stages.stage import CoreTime, CoreUse
from venturi.jobs.stages.tasks import Tasks
from venturi.record.job_account import OUTPUT_LOST, JobAccount

OUTCOMES = {
    "succeeded": "tasks that succeeded",
    OUTPUT_LOST: "tasks that succeeded, but their output was lost",
    "failed": "attempts that failed",
    "killed": "attempts that were killed",
    "unfinished": "attempts without an end",
}
_LOCAL = re.compile(r"local(\[|$)")  # there, the setting has no effect
NO_STAGE = "no stage was active"
NO_TASK = "no task was left to launch"
WAITED = "tasks waited, and slots were free"
NO_SLOT = "cores too few for another slot"


@dataclass(frozen=True, slots=True)
class SlotOffer:
    """The number of slots over time: `slots[n]` from `from_s[n]` until `from_s[n + 1]`.

    It is 0 before `from_s[0]`; the last value holds to the end.
    """

    from_s: Seconds
    slots: Floats
    cpus: int
    """Cores that a slot takes."""
    spare_cores: Floats
    """Cores of executors that make no whole slot."""

    def at(self, moments_s: Seconds) -> Floats:
        """The number of slots at each time."""
        return _step(self.from_s, self.slots, moments_s)

    def between(self, from_s: float, to_s: float) -> float:
        """Slot-seconds between two times."""
        edges = np.concatenate([[from_s], _inside(self.from_s, from_s, to_s), [to_s]])
        return float((self.at(edges[:-1]) * np.diff(edges)).sum())

    def cores_until(self, to_s: float) -> tuple[float, int]:
        """Core-seconds from the start to a time, and the most cores at one time."""
        edges = np.concatenate([[0.0], _inside(self.from_s, 0.0, to_s), [to_s]])
        cores = _step(self.from_s, self.slots * self.cpus + self.spare_cores, edges[:-1])
        return float((cores * np.diff(edges)).sum()), int(cores.max())

    def most(self, from_s: float, to_s: float) -> int:
        """The peak number of slots between two times."""
        edges = np.concatenate([[from_s], _inside(self.from_s, from_s, to_s)])
        return int(self.at(edges).max())


def offered(account: JobAccount, origin_ms: float) -> SlotOffer | None:
    """The slots that the executors of `account` offered, None if it does not say all of them.

    Without a recorded beginning, an executor was there from the start.
    """
    dropped = account.reading.dropped
    if dropped.get("executor start") or dropped.get("executor removal"):
        return None
    rows = account.executors.select("cores", "added_ms", "removed_ms").rows()
    if not rows or any(cores is None for cores, _, _ in rows):
        return None
    return _offer(rows, task_cpus(account), origin_ms)


def implied_offer(account: JobAccount, origin_ms: float) -> tuple[SlotOffer, float] | None:
    """The most slots that executors can have offered if some lack a start, and from when they are
    exact.

    An executor without a start has the cores of all others, or else those of the setting. It was
    added between the start of the application and its first task. None if executors differ in
    cores, or lack a removal.
    """
    columns = ("executor_id", "cores", "added_ms", "removed_ms")
    executors = account.executors.select(columns).rows()
    cores = {each[1] for each in executors} - {None}
    chosen = account.configuration.get("spark.executor.cores", "")
    master = account.configuration.get("spark.master", "local")
    if chosen.isdecimal() and not _LOCAL.match(master):
        cores.add(int(chosen))
    if account.reading.dropped.get("executor removal") or len(cores) != 1:
        return None
    launches = account.tasks.select("executor_id", "launched_ms").drop_nulls().rows()
    first_ms: dict[str, int] = {}
    for executor, launched_ms in launches:
        first_ms[executor] = min(launched_ms, first_ms.get(executor, launched_ms))
    n_cores, exact_s = cores.pop(), 0.0
    rows = [each[1:] for each in executors if each[1] is not None]
    removed = {executor: removed_ms for executor, _, _, removed_ms in executors}
    for executor in first_ms.keys() - {each[0] for each in executors if each[1] is not None}:
        rows.append((n_cores, None, removed.get(executor)))
        exact_s = max(exact_s, (first_ms[executor] - origin_ms) / 1e3)
    return (_offer(rows, task_cpus(account), origin_ms), exact_s) if rows else None


def _offer(
    rows: Sequence[tuple[int, int | None, int | None]], cpus: int, origin_ms: float
) -> SlotOffer:
    """The slots of executors, by their cores, addition and removal."""
    moments, slots, spare = [], [], []
    for cores, added_ms, removed_ms in rows:
        added_s = 0.0 if added_ms is None else (added_ms - origin_ms) / 1e3
        moments.append(added_s)
        slots.append(int(cores) // cpus)
        spare.append(int(cores) % cpus)
        if removed_ms is not None:
            moments.append(max((removed_ms - origin_ms) / 1e3, added_s))
            slots.append(-slots[-1])
            spare.append(-spare[-1])
    order = np.argsort(moments, kind="stable")
    # When one executor replaces another, its start and the other's end coincide.
    at_s, places = np.unique(np.array(moments)[order], return_index=True)
    last = np.append(places[1:], len(order)) - 1
    slots_, spare_ = (np.cumsum(np.array(each, float)[order])[last] for each in (slots, spare))
    return SlotOffer(at_s, slots_, cpus, spare_)


def core_use(
    tasks: Tasks,
    spans: list[StageSpan],
    n_tasks: list[int | None],
    there: SlotOffer,
    elapsed_s: float,
) -> CoreUse:
    """Divides the core time offered by `there` from the start to `elapsed_s` by its use.

    `n_tasks` is the number of tasks of each of `spans`.
    """
    launched, finished = tasks.times.launched_s, tasks.times.finished_s
    known = ~np.isnan(finished - launched)
    waits = _waits(tasks, spans, n_tasks)
    steps = [
        _StepFunction(launched[known], finished[known]),
        _StepFunction(waits[:, 0], waits[:, 1], waits[:, 2]),
        _StepFunction(*_columns(spans)),
    ]
    edges = _merged([np.array([0.0, elapsed_s]), there.from_s, *(each.moments for each in steps)])
    edges = edges[(edges >= 0) & (edges <= elapsed_s)]
    length = np.diff(edges)
    running, waiting, active = (each.at(edges[:-1]) for each in steps)
    slots = np.maximum(there.at(edges[:-1]), 0.0)
    used = np.minimum(running, slots)
    free = slots - used
    though_waited = np.where(active > 0, np.minimum(free, waiting), 0.0)
    unused = {
        NO_STAGE: np.where(active > 0, 0.0, free),
        NO_TASK: np.where(active > 0, free - though_waited, 0.0),
        WAITED: though_waited,
    }
    spare = _step(there.from_s, there.spare_cores, edges[:-1])
    parts = [
        CoreTime(reason, float((each * length).sum()) * there.cpus)
        for reason, each in unused.items()
    ]
    parts.append(CoreTime(NO_SLOT, float((spare * length).sum())))
    used_s = float((used * length).sum()) * there.cpus
    return CoreUse(
        offered_s=float((slots * length).sum()) * there.cpus + float((spare * length).sum()),
        used_s=used_s,
        used=_by_outcome(tasks, used_s, elapsed_s),
        unused=tuple(part for part in parts if part.time_s > 0),
    )


@dataclass(frozen=True, slots=True)
class Shortages:
    """For pieces of time their length, how many attempts waited, and how many slots there were."""

    length_s: Seconds
    waiting: Floats
    slots: Floats


def shortages(
    tasks: Tasks, spans: list[StageSpan], n_tasks: list[int | None], there: SlotOffer
) -> Shortages:
    """Tasks waiting to be launched over time, and the slots in `there`; as in `core_use`."""
    waits = _waits(tasks, spans, n_tasks)
    waiting = _StepFunction(waits[:, 0], waits[:, 1], waits[:, 2])
    edges = _merged([there.from_s, waiting.moments])
    return Shortages(np.diff(edges), waiting.at(edges[:-1]), there.at(edges[:-1]))


def _by_outcome(tasks: Tasks, used_s: float, elapsed_s: float) -> tuple[CoreTime, ...]:
    """`used_s` divided by how attempts ended, by the time that they took until `elapsed_s`."""
    inside = np.minimum(tasks.times.finished_s, elapsed_s) - np.clip(
        tasks.times.launched_s, 0.0, elapsed_s
    )
    inside = np.where(np.isnan(inside), 0.0, np.maximum(inside, 0.0))
    whole = float(inside.sum())
    outcomes = tasks.rows["outcome"]
    found = []
    for outcome, said in OUTCOMES.items():
        which = tasks.output_lost
        if outcome != OUTPUT_LOST:
            which = (outcomes == outcome).fill_null(value=False).to_numpy() & ~which
        part = float(inside[which].sum())
        if part > 0:
            found.append(CoreTime(said, used_s * part / whole))
    return tuple(found)


def _waits(tasks: Tasks, spans: list[StageSpan], n_tasks: list[int | None]) -> Floats:
    """From when to when how many attempts waited to be launched, as rows; copies wait for nothing.

    The first attempt at a task waits from the beginning of its stage, a later one from the end of
    the one before; a task that was never launched, to the end of its stage.
    """
    found = [np.empty((0, 3))]
    for span, count in zip(spans, n_tasks, strict=True):
        here = tasks.of(span.key)
        own = here.start + np.flatnonzero(~tasks.speculative[here])
        own = own[~np.isnan(tasks.times.launched_s[own])]
        own = own[np.lexsort((tasks.times.launched_s[own], tasks.index[own]))]
        launched, index = tasks.times.launched_s[own], tasks.index[own]
        since = np.full(len(own), span.from_s)
        again = np.flatnonzero(index[1:] == index[:-1])
        since[again + 1] = tasks.times.finished_s[own][again]
        since = np.fmin(np.where(np.isnan(since), span.from_s, since), launched)
        found.append(np.column_stack([since, launched, np.ones(len(own))]))
        never = (count or 0) - (len(index) - len(again))
        if never > 0:
            found.append(np.array([[span.from_s, span.to_s, never]]))
    return np.concatenate(found)


class _StepFunction:
    """The number of intervals that cover each time, weighted."""

    def __init__(self, from_s: Seconds, to_s: Seconds, weights: Floats | None = None) -> None:
        weights = np.ones(len(from_s)) if weights is None else weights
        moments = np.concatenate([from_s, to_s])
        order = np.argsort(moments, kind="stable")
        self.moments = moments[order]
        self._sums = np.cumsum(np.concatenate([weights, -weights])[order])

    def at(self, moments_s: Seconds) -> Floats:
        """The value at each time, which includes intervals that start there."""
        return _step(self.moments, self._sums, moments_s)


def _columns(spans: list[StageSpan]) -> tuple[Seconds, Seconds]:
    both = np.array([(span.from_s, span.to_s) for span in spans]).reshape(-1, 2)
    return both[:, 0], both[:, 1]


def _merged(sorted_s: Sequence[Seconds]) -> Seconds:
    """The distinct times of sorted arrays. Merging is faster than sorting."""
    moments = np.sort(np.concatenate(sorted_s), kind="stable")
    return moments[np.diff(moments, prepend=-np.inf) > 0]


def _step(from_s: Seconds, values: Floats, moments_s: Seconds) -> Floats:
    """The value of a step function at each time, 0 before its first."""
    places: npt.NDArray[np.intp] = np.searchsorted(from_s, moments_s, "right")
    found: Floats = np.concatenate([[0.0], values])[places]
    return found


def _inside(moments_s: Seconds, from_s: float, to_s: float) -> Seconds:
    return moments_s[(moments_s > from_s) & (moments_s < to_s)]
