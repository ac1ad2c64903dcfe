"""Gaps of an event log: events that were dropped, lost with lines or compacted away.

Spark numbers jobs and tasks from 0 without gaps. A job that succeeded has run its last stage, and a
stage that succeeded has run all of its tasks. Contradictions show that events are missing. Time in
such a gap has no known cause.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from venturi.core.wording import count_of, joined
from venturi.record.job_account import AccountReading, JobAccount

if TYPE_CHECKING:
    import polars as pl

Key = tuple[int, int]
Span = tuple[float | None, float]
# Events without which it is still known what held the slots.
_NO_SLOTS = {"log start", "application start", "stage start", "query start", "query end"}
# Source: TaskSetManager.handleFailedTask; the reason of a stage that was given up.
_GAVE_UP = re.compile(r"Task (\d{1,9}) in stage \S{1,30} failed (\d{1,6}) times")


@dataclass(frozen=True, slots=True)
class LossCause:
    """Why a log lacks events, and what to do, as the end of "Can't tell: the log lacks events"."""

    says: str
    remedy: str


QUEUE_FULL = LossCause(
    "Spark's listener queue dropped events (raise spark.scheduler.listenerbus.eventqueue.capacity)",
    "a larger spark.scheduler.listenerbus.eventqueue.capacity records them",
)
# Spark writes the start of a log itself, not through its queue.
_NO_BEGINNING = LossCause("the file lacks its beginning", "import the whole file")
_DAMAGED = LossCause("lines of the log are damaged", "copy the log again")
_NO_PART = LossCause("a part of the rolling log is missing", "import all of its parts")


def loss_cause(reading: AccountReading) -> LossCause:
    """Return the cause that fits the kinds of missing events and the damage of the log."""
    dropped = reading.dropped
    if dropped.get("log part"):
        return _NO_PART
    if reading.malformed or reading.damaged or reading.oversized:
        return _DAMAGED
    return _NO_BEGINNING if dropped.get("log start") else QUEUE_FULL


@dataclass(frozen=True, slots=True)
class Gaps:
    """Events that are missing from a log.

    `spans` are the time ranges in which jobs or their stages are missing: milliseconds since 1970,
    None for the beginning. In those of `queries`, a query with a missing event may have been open.
    `stages` may lack events of tasks, so their counts and sums are lower bounds. The end of each of
    the `endless` stages isn't recorded, only implied. `dropped` counts missing events by kind.
    """

    n_jobs: int
    n_tasks: int
    n_stages: int
    spans: tuple[Span, ...]
    stages: frozenset[Key]
    endless: frozenset[Key] = frozenset()
    dropped: Mapping[str, int] | None = None
    queries: tuple[Span, ...] = ()

    @property
    def lacks(self) -> bool:
        """Whether events of stages or executors are missing: slots may only look free or busy."""
        missing = self.n_jobs or self.n_tasks or self.n_stages or self.stages or self.endless
        return bool(missing or (self.dropped or {}).keys() - _NO_SLOTS)

    @property
    def slots_known(self) -> bool:
        """Whether the log has the start and the removal of all executors."""
        dropped = self.dropped or {}
        return not dropped.get("executor start") and not dropped.get("executor removal")

    @property
    def plans_known(self) -> bool:
        """Whether the log has the plans of all queries, and the metrics of all stages."""
        lost = self.endless or self.n_stages or (self.dropped or {}).get("query start")
        return not lost

    @property
    def sentence(self) -> str | None:
        """The missing events in words; None if none are known to be missing."""
        counted = ((self.n_jobs, "job"), (self.n_stages, "stage"), (self.n_tasks, "task"))
        said = [count_of(n, name) for n, name in counted if n]
        ends = dict(self.dropped or {})
        for kind in ("task start", "task end"):  # tasks without either event count as tasks
            if kind in ends:
                ends[kind] = max(ends[kind] - self.n_tasks, 0)
        parts = [f"the events of {joined(said)}"] if said else []
        parts += [count_of(n, name) for name, n in ends.items() if n]
        if parts:
            return f"the log lacks {joined(parts)}"
        return "the log lacks ends of tasks" if self.stages else None


_NONE = Gaps(0, 0, 0, (), frozenset())


def gaps_of(account: JobAccount) -> Gaps:
    """Return the known gaps of the log of `account`."""
    if not account.kind.can("numbered"):
        return _NONE
    n_jobs, spans = _jobs_missing(account)
    n_stages, without = _stages_missing(account)
    spans += without
    missing = missing_tasks(account.stages, account.tasks)
    n_tasks = max(hole(account.tasks), sum(missing.values()))
    stages = account.stages.select("stage_id", "attempt", "outcome", "end_by").rows()
    endless = {(stage, attempt) for stage, attempt, _, by in stages if by is not None}
    lost = lost_ends(account.stages, account.tasks).select("stage_id", "stage_attempt")
    partial = set(missing) | set(lost.unique().rows()) | _given_up(account)
    dropped = {name: n for name, n in account.reading.dropped.items() if n}
    if n_tasks > sum(missing.values()):
        partial |= _around_holes(account)
    if n_jobs or n_stages or n_tasks or partial or dropped:
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
        n_stages,
        tuple(spans),
        frozenset(partial),
        frozenset(endless),
        dropped,
        tuple(_open_queries(account)),
    )


def _jobs_missing(account: JobAccount) -> tuple[int, list[Span]]:
    """The number of jobs without any event, and when the jobs were that have no start."""
    n_jobs, last, ended_ms, named = 0, -1, None, -1
    spans: list[Span] = []
    for job in account.jobs.sort("job_id").rows(named=True):
        began_ms = job["submitted_ms"] or job["ended_ms"]
        if began_ms and (job["job_id"] > last + 1 or job["submitted_ms"] is None):
            spans.append((ended_ms, began_ms))
        n_jobs += job["job_id"] - last - 1
        last = job["job_id"]
        ended_ms = max(ended_ms or 0, job["ended_ms"] or began_ms or 0) or None
        named = max([named, *(job["stage_ids"] or ())])
    until_ms = account.application.ended_ms
    later = max(account.stages["stage_id"], default=-1) > named
    if later and account.reading.dropped.get("job start") and until_ms is not None:
        spans.append((ended_ms, until_ms))  # of the last job
    return n_jobs, spans


def _stages_missing(account: JobAccount) -> tuple[int, list[Span]]:
    """The number of stages that ran and have no event, and the spans of their jobs."""
    there = set(account.stages["stage_id"].to_list())
    missing = {each for each in account.tasks["stage_id"].unique() if each >= 0} - there
    # Others of a job were skipped, unless numbers of tasks are missing: then they may have run.
    perhaps = hole(account.tasks) > sum(missing_tasks(account.stages, account.tasks).values())
    spans: list[Span] = []
    rows = account.jobs.select("submitted_ms", "ended_ms", "outcome", "stage_ids").rows()
    for from_ms, ended_ms, outcome, ids in rows:
        if ids and outcome == "succeeded" and max(ids) not in there:
            missing.add(max(ids))
        to_ms = ended_ms or account.application.ended_ms
        absent = missing.intersection(ids or ()) or (perhaps and not there.issuperset(ids or ()))
        if from_ms and to_ms and absent:
            spans.append((from_ms, to_ms))
    return len(missing), spans


def _open_queries(account: JobAccount) -> Iterator[Span]:
    """When queries without a recorded start or end may have been open."""
    until_ms = account.application.ended_ms
    if account.queries is None or until_ms is None:
        return
    began_ms = None
    rows = account.queries.sort("query_id").select("submitted_ms", "ended_ms", "outcome").rows()
    for from_ms, to_ms, outcome in rows:
        if from_ms is None or (to_ms is None and outcome is None):
            yield from_ms or began_ms, to_ms or until_ms
        began_ms = from_ms or began_ms


def missing_tasks(stages: pl.DataFrame, tasks: pl.DataFrame) -> Mapping[Key, int]:
    """The number of missing tasks of each stage that succeeded."""
    from venturi.record.store.frames import pl

    # Zombies of an earlier attempt at a stage may succeed at tasks of a later one.
    retried = pl.col("stage_attempt").max().over("stage_id") > 0
    counted = tasks.filter((pl.col("outcome") != "failed").fill_null(value=True) | retried)
    known = counted.group_by("stage_id", "stage_attempt").agg(n=pl.col("index").n_unique())
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
    edges = edges.select("before_ms", "launched_ms").sort("before_ms")
    from_ms, to_ms = edges["before_ms"].to_numpy(), edges["launched_ms"].cum_max().to_numpy()
    found = set()
    columns = ("stage_id", "attempt", "submitted_ms", "ended_ms")
    for stage_id, attempt, submitted_ms, ended_ms in account.stages.select(columns).rows():
        # The holes that begin before it ends: the last one of them to end.
        n = len(from_ms) if ended_ms is None else from_ms.searchsorted(ended_ms, "right")
        if n and submitted_ms is not None and submitted_ms <= to_ms[n - 1]:
            found.add((stage_id, attempt))
    return found
