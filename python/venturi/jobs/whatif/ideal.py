"""The number of slots that each job of an application needs by itself.

Slots beyond the job's parallelism are useless, and the last of them save little: they wait for the
longest tasks. This finds the fewest slots that make the job hardly slower than all useful ones,
with the replay of `outlook` on the job's stages alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import ceil

from venturi.jobs.stages.path import StageSpan
from venturi.jobs.stages.timeline import Key, Timeline
from venturi.jobs.whatif.outlook import MOST_TASKS, executor_slots, why_unpredictable
from venturi.jobs.whatif.slot_simulation import SlotSimulation

LONGER = 0.1
"""Chosen by us: how much longer than its minimum a job may take, as a share."""
MOST_JOBS = 100
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class IdealSlots:
    """A job by itself: its tasks fill `useful_slots`, and it takes `least_s` with these.

    `slots` is the smallest number with which it takes at most a tenth longer, `time_s`. `executors`
    provide that many, in the size that the job used; None if sizes differed or it had one executor.
    `name` describes its last stage, if its plan is recorded.
    """

    job_id: int
    name: str
    elapsed_s: float
    useful_slots: int
    least_s: float
    slots: int
    executors: int | None
    time_s: float


@dataclass(frozen=True, slots=True)
class Ideals:
    """The jobs that took the longest, in this order; `left_out` shorter ones were skipped.

    Excludes jobs with no recorded task times. If the list is empty, `reason` explains why.
    """

    found: tuple[IdealSlots, ...]
    left_out: int
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class _SparkJob:
    job_id: int
    name: str
    stage_ids: tuple[int, ...]
    from_s: float
    to_s: float


def ideals(line: Timeline, most_tasks: int = MOST_TASKS) -> Ideals:
    """The slots that each job of `line` needs; none of an application too large for `outlooks`."""
    if (reason := why_unpredictable(line, most_tasks)) is not None:
        return Ideals((), 0, reason)
    jobs = sorted(_jobs(line), key=lambda job: job.from_s - job.to_s)
    stages: dict[int, list[StageSpan]] = {}
    for span in line.spans.values():
        stages.setdefault(span.key[0], []).append(span)
    size = executor_slots(line)
    found = []
    taken: set[Key] = set()
    for job in jobs[:MOST_JOBS]:
        # A later job also lists stages that an earlier one ran; those aren't its own. A stage that
        # two concurrent jobs waited for counts for the longer one, so that no task is replayed
        # twice.
        own = [
            span
            for stage_id in job.stage_ids
            for span in stages.get(stage_id, ())
            if job.from_s <= span.from_s <= job.to_s and span.key not in taken
        ]
        if own:
            taken.update(span.key for span in own)
            replay = SlotSimulation(line, own, job.from_s, job.to_s, line.tasks.times.elapsed_s)
            if replay.warm_s > 0:
                last = max(own, key=lambda span: (span.to_s, span.key))
                named = replace(job, name=line.plans.name(last.key, job.name))
                found.append(_ideal(named, replay, size))
    if not found:
        return Ideals((), 0, "no job with recorded times of job and tasks")
    return Ideals(tuple(found), max(len(jobs) - MOST_JOBS, 0))


def _jobs(line: Timeline) -> Iterator[_SparkJob]:
    """The jobs with a recorded beginning and end."""
    columns = ("job_id", "name", "stage_ids", "submitted_ms", "ended_ms")
    origin_ms = line.tasks.origin_ms
    for id_, name, stage_ids, start, end in line.account.jobs.select(columns).rows():
        if start is not None and end is not None and end > start:
            yield _SparkJob(
                id_,
                name or "",
                tuple(dict.fromkeys(stage_ids or ())),
                (start - origin_ms) / 1e3,
                (end - origin_ms) / 1e3,
            )


def _ideal(job: _SparkJob, replay: SlotSimulation, size: int | None) -> IdealSlots:
    useful, least_s = replay.boundless()
    enough_s = (1 + LONGER) * least_s + _ROUNDING
    times_s = {useful: least_s}
    # On fewer than these the work alone takes longer.
    low, high = max(ceil(replay.warm_s / enough_s), 1), useful
    while low < high:
        middle = (low + high) // 2
        times_s[middle] = replay.on(middle).elapsed_s
        if times_s[middle] <= enough_s:
            high = middle
        else:
            low = middle + 1
    return IdealSlots(
        job.job_id,
        job.name,
        job.to_s - job.from_s,
        useful,
        least_s,
        high,
        None if size is None else ceil(high / size),
        times_s[high],
    )
