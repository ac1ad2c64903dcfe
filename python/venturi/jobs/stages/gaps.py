"""Finds gaps in an event log: events that were lost, cut off or compacted away.

Spark numbers jobs and tasks from 0 without gaps. A job that succeeded has run its last stage, and a
stage that succeeded all of its tasks. If the log contradicts this, events are missing, and the time
around them can't be attributed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from venturi.record.job_account import JobAccount

if TYPE_CHECKING:
    import polars as pl

Key = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Gaps:
    """Events missing from a log.

    `spans` are the intervals in which jobs or their stages are missing, in milliseconds since 1970
    (None: from the start). `stages` are the stages with missing tasks.
    """

    n_jobs: int
    n_tasks: int
    n_stages: int
    spans: tuple[tuple[float | None, float], ...]
    stages: frozenset[Key]

    @property
    def sentence(self) -> str | None:
        """A sentence that names the missing events; None if no gap is known."""
        counted = ((self.n_jobs, "job"), (self.n_stages, "stage"), (self.n_tasks, "task"))
        said = [f"{n:,} {name}{'' if n == 1 else 's'}" for n, name in counted if n]
        return f"the log lacks the events of {' and '.join(said)}" if said else None


def gaps_of(account: JobAccount) -> Gaps:
    """Finds the events that the log of `account` lacks."""
    if not account.kind.can("numbered"):
        return Gaps(0, 0, 0, (), frozenset())
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
    missing = _missing_tasks(account)
    return Gaps(
        n_jobs,
        max(_hole(account.tasks), sum(missing.values())),
        len(without),
        (*spans, *without),
        frozenset(missing),
    )


def _missing_tasks(account: JobAccount) -> Mapping[Key, int]:
    """How many tasks are missing of each stage that succeeded."""
    from venturi.record.store.frames import pl

    told = account.tasks.group_by("stage_id", "stage_attempt").agg(n=pl.col("index").n_unique())
    whole = account.stages.filter(
        (pl.col("outcome") == "succeeded") & pl.col("n_tasks").is_not_null()
    ).join(
        told, left_on=["stage_id", "attempt"], right_on=["stage_id", "stage_attempt"], how="left"
    )
    missing = whole.with_columns(missing=pl.col("n_tasks") - pl.col("n").fill_null(0))
    return {
        (stage_id, attempt): n
        for stage_id, attempt, n in missing.select("stage_id", "attempt", "missing").rows()
        if n > 0
    }


def _hole(tasks: pl.DataFrame) -> int:
    """How many numbers of tasks are missing below the largest."""
    numbers = tasks["task_id"].cast(int, strict=False).drop_nulls()
    largest = numbers.max()
    return int(largest) + 1 - numbers.n_unique() if isinstance(largest, int) else 0
