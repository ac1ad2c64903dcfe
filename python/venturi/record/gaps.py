"""Gaps of an event log: events that were dropped, lost with lines or compacted away.

Spark numbers jobs and tasks from 0 without gaps. A job that succeeded has run its last stage, and a
stage that succeeded has run all of its tasks. Contradictions show that events are missing. Time in
such a gap has no known cause.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from venturi.core.wording import count_of
from venturi.record.job_account import JobAccount

if TYPE_CHECKING:
    import polars as pl

Key = tuple[int, int]
# Source: TaskSetManager.handleFailedTask; the reason of a stage that was given up.
_GAVE_UP = re.compile(r"Task (\d{1,9}) in stage \S{1,30} failed (\d{1,6}) times")


@dataclass(frozen=True, slots=True)
class Gaps:
    """Events that are missing from a log.

    `spans` are the time ranges in which jobs or their stages are missing: milliseconds since 1970,
    None for the beginning. `stages` may lack events of tasks, so their counts and sums are lower
    bounds. The end of each of the `endless` stages isn't recorded, only implied. `dropped` counts
    missing events by kind.
    """

    n_jobs: int
    n_tasks: int
    n_stages: int
    spans: tuple[tuple[float | None, float], ...]
    stages: frozenset[Key]
    endless: frozenset[Key] = frozenset()
    dropped: Mapping[str, int] | None = None

    @property
    def lacks(self) -> bool:
        """Whether events of recorded stages are missing: slots may only look free or busy."""
        return bool(self.n_tasks or self.stages or self.endless or self.dropped)

    @property
    def sentence(self) -> str | None:
        """The missing events in words; None if none are known to be missing."""
        counted = ((self.n_jobs, "job"), (self.n_stages, "stage"), (self.n_tasks, "task"))
        said = [count_of(n, name) for n, name in counted if n]
        ends = dict(self.dropped or {})
        for kind in ("task start", "task end"):  # tasks without either event count as tasks
            if kind in ends:
                ends[kind] = max(ends[kind] - self.n_tasks, 0)
        dropped = [count_of(n, name) for name, n in ends.items() if n]
        parts = [f"the events of {' and '.join(said)}"] if said else []
        parts += [" and ".join(dropped)] if dropped else []
        if parts:
            return f"the log lacks {' and '.join(parts)}"
        return "the log lacks ends of tasks" if self.stages else None


_NONE = Gaps(0, 0, 0, (), frozenset())


def gaps_of(account: JobAccount) -> Gaps:
    """Return the known gaps of the log of `account`."""
    if not account.kind.can("numbered"):
        return _NONE
    jobs = [row for row in account.jobs.sort("job_id").rows(named=True) if row["submitted_ms"]]
    spans: list[tuple[float | None, float]] = []
    n_jobs, last, ended_ms = 0, -1, None
    for job in jobs:
        if job["job_id"] > last + 1:
            n_jobs += job["job_id"] - last - 1
            spans.append((ended_ms, job["submitted_ms"]))
        last = job["job_id"]
        ended_ms = max(ended_ms or 0, job["ended_ms"] or job["submitted_ms"])
    there = set(account.stages["stage_id"].to_list())
    without = [
        (job["submitted_ms"], job["ended_ms"])
        for job in jobs
        if job["outcome"] == "succeeded"
        and job["ended_ms"] is not None
        and job["stage_ids"]
        and max(job["stage_ids"]) not in there
    ]
    missing = missing_tasks(account.stages, account.tasks)
    n_tasks = max(hole(account.tasks), sum(missing.values()))
    stages = account.stages.select("stage_id", "attempt", "outcome", "end_by").rows()
    endless = {(stage, attempt) for stage, attempt, _, by in stages if by is not None}
    lost = lost_ends(account.stages, account.tasks).select("stage_id", "stage_attempt")
    partial = set(missing) | set(lost.unique().rows()) | _given_up(account)
    dropped = {name: n for name, n in account.reading.dropped.items() if n}
    if n_tasks > sum(missing.values()):
        partial |= _around_holes(account)
    if n_jobs or without or n_tasks or partial or dropped:
        # Stages that aren't proven complete may lack events, too.
        partial |= {(stage, attempt) for stage, attempt, what, _ in stages if what != "succeeded"}
        partial |= _open(account)
    if dropped.get("log part"):
        # Nothing of it is known to be whole, nor what the driver did.
        partial |= {(stage, attempt) for stage, attempt, _, _ in stages}
        if account.application.ended_ms is not None:
            spans.append((None, account.application.ended_ms))
    return Gaps(
        n_jobs,
        n_tasks,
        len(without),
        (*spans, *without),
        frozenset(partial),
        frozenset(endless),
        dropped,
    )


def missing_tasks(stages: pl.DataFrame, tasks: pl.DataFrame) -> Mapping[Key, int]:
    """The number of missing tasks of each stage that succeeded."""
    from venturi.record.store.frames import pl

    known = tasks.group_by("stage_id", "stage_attempt").agg(n=pl.col("index").n_unique())
    whole = stages.filter(
        (pl.col("outcome") == "succeeded") & pl.col("n_tasks").is_not_null()
    ).join(
        known, left_on=["stage_id", "attempt"], right_on=["stage_id", "stage_attempt"], how="left"
    )
    missing = whole.with_columns(missing=pl.col("n_tasks") - pl.col("n").fill_null(0))
    return {
        (stage_id, attempt): n
        for stage_id, attempt, n in missing.select("stage_id", "attempt", "missing").rows()
        if n > 0
    }


def hole(tasks: pl.DataFrame) -> int:
    """The count of missing task numbers below the largest."""
    numbers = tasks["task_id"].cast(int, strict=False).drop_nulls()
    largest = numbers.max()
    return int(largest) + 1 - numbers.n_unique() if isinstance(largest, int) else 0


def _open(account: JobAccount) -> set[Key]:
    """The stages with an attempt without an end."""
    found = account.tasks.filter(outcome="unfinished").select("stage_id", "stage_attempt")
    return set(found.unique().rows())


def lost_ends(stages: pl.DataFrame, tasks: pl.DataFrame) -> pl.DataFrame:
    """The rows of `tasks` without an end although their stages have one.

    A copy that lost to another attempt may still have been running when the application ended.
    """
    from venturi.record.store.frames import pl

    if not (tasks["outcome"] == "unfinished").any():
        return tasks.clear()
    same_task = ("stage_id", "stage_attempt", "index")
    ended = stages.filter(
        (pl.col("outcome") != "unfinished").fill_null(value=True)
        & ~pl.col("reason").str.contains("(?i)cancel").fill_null(value=False)
    ).select("stage_id", stage_attempt="attempt")
    copied = pl.col("speculative").fill_null(value=False).any().over(same_task)
    alone = ~(pl.col("outcome") == "succeeded").any().over(same_task)
    found = tasks.filter((pl.col("outcome") == "unfinished") & (alone | ~copied))
    return found.join(ended, on=["stage_id", "stage_attempt"], how="semi")


def _given_up(account: JobAccount) -> set[Key]:
    """The stages that failed after more failures of a task than the log has."""
    from venturi.record.store.frames import pl

    found = set()
    reasons = account.stages.drop_nulls("reason").select("stage_id", "attempt", "reason")
    for stage_id, attempt, reason in reasons.rows():
        if (match := _GAVE_UP.search(reason)) is None:
            continue
        failures = account.tasks.filter(
            (pl.col("stage_id") == stage_id)
            & (pl.col("stage_attempt") == attempt)
            & (pl.col("index") == int(match[1]))
            & (pl.col("outcome") == "failed")
        )
        if len(failures) < int(match[2]):
            found.add((stage_id, attempt))
    return found


def _around_holes(account: JobAccount) -> set[Key]:
    """Return the stages that were active around the launch of a task with a missing number."""
    from venturi.record.store.frames import pl

    tasks = account.tasks.select(
        number=pl.col("task_id").cast(pl.Int64, strict=False), launched_ms="launched_ms"
    )
    tasks = tasks.drop_nulls().sort("number")
    edges = tasks.with_columns(
        before_ms=pl.col("launched_ms").shift(1), step=pl.col("number").diff().fill_null(1)
    ).filter(pl.col("step") > 1)
    spans = account.stages.select("stage_id", "attempt", "submitted_ms", "ended_ms").rows()
    found = set()
    for from_ms, to_ms in edges.select("before_ms", "launched_ms").rows():
        found |= {
            (stage_id, attempt)
            for stage_id, attempt, submitted_ms, ended_ms in spans
            if submitted_ms is not None
            and submitted_ms <= to_ms
            and (ended_ms is None or ended_ms >= from_ms)
        }
    return found
