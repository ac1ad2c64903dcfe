"""Ends that a Spark event log lacks, inferred from other events.

Spark's listener queue drops events of large applications. A stage has ended if all of its tasks
succeeded, its child stage began, or its job ended. A job ends like its last stage.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from venturi.core.wording import count_of
from venturi.record.account_tables import AT_MOST, BY_TASKS
from venturi.record.gaps import hole, lost_ends, missing_tasks

if TYPE_CHECKING:
    import polars as pl

Key = tuple[int, int]
Rows = dict[Any, dict[str, Any]]
_LOCAL = re.compile(r"local(?:\[[^,\]]*(?:,\s*(\d{1,6})\s*)?\])?")
_MOST_FAILURES = 4  # the default of spark.task.maxFailures
# Only in Spark's own words: an error of the program may also say that something was canceled.
_CANCELLED = re.compile(r"(\[\w+\] )?(Job|Stage) \d+ (was )?cancell?ed\b", re.IGNORECASE)
_ABSENT = (None, "unfinished")


def most_failures(settings: Mapping[str, str]) -> int:
    """The number of failures of one task that ends a job; local mode has its own limit."""
    if local := _LOCAL.fullmatch(settings.get("spark.master", "")):
        return int(local[1] or 1)
    text = settings.get("spark.task.maxFailures", "")
    return int(text) if text.isdecimal() else _MOST_FAILURES


def outcome_of(reason: str) -> str:
    """Whether a job with this reason failed or was canceled."""
    return "canceled" if _CANCELLED.match(reason) else "failed"


# Source: DAGScheduler.cleanUpAfterSchedulerStop.
_SHUT_DOWN = re.compile(r"because SparkContext was shut down")


@dataclass(slots=True)
class _TaskFacts:
    """Tasks of a stage without an end: which succeeded, when the last one did, and failures of
    each.
    """

    done: dict[int, int] = field(default_factory=dict)
    failures: dict[int, int] = field(default_factory=dict)
    reason: str | None = None
    fetch_failed: bool = False


def add_ends(
    jobs: Rows,
    stages: Rows,
    tasks: pl.DataFrame,
    queries: Rows,
    *,
    n_failures: int,
    ended: bool,
    dropped: bool,
) -> dict[str, int]:
    """Give jobs and stages without an end the one that the evidence shows; count the missing ends.

    `n_failures` of one task end a job. In an application that `ended`, all jobs and stages did, and
    Spark recorded it: if events are missing (`dropped`: of tasks, too), those still open get the
    outcome None, unknown. Otherwise the log may have been cut, and open ones remain unfinished.
    """
    found = _MissingEnds(jobs, stages, tasks, n_failures)
    for key in found.facts:
        found.end_by_tasks(key)
        found.end_by_next_stage(key)
    done = _succeeded(queries)
    n_jobs, last = 0, max(jobs, default=-1)
    for job_id, job in jobs.items():
        if job["outcome"] == "unfinished" and (ended or job_id < last):
            n_jobs += found.end_job(job, done) and not found.was_shut_down(job)
    n_stages = sum(map(found.end_by_job, found.facts))
    left = {job_id: job for job_id, job in jobs.items() if job["outcome"] == "unfinished"}
    open_ = [key for key in found.facts if stages[key]["outcome"] == "unfinished"]
    # Without other evidence, the application was stopped while the last of its jobs were running.
    gone_on = bool(left or open_) and last not in left
    if ended and (n_jobs or n_stages or dropped or gone_on):
        n_jobs += len(left)
        n_stages += len(open_)
        for job in left.values():
            job["outcome"] = None
        for key in open_:
            found.end(key, None, None)
    return {"stage end": n_stages, "job end": n_jobs}


def missing_events(stages: pl.DataFrame, tasks: pl.DataFrame, n_starts: int) -> dict[str, int]:
    """The number of missing task events by kind; `n_starts` tasks lack only the start."""
    lost = max(hole(tasks), sum(missing_tasks(stages, tasks).values()))
    return {"task start": n_starts + lost, "task end": len(lost_ends(stages, tasks)) + lost}


def repeated(tasks: pl.DataFrame) -> list[str]:
    """The successful attempts before another attempt at the same task, without speculative copies.

    Spark repeats a successful task only if its output was lost.
    """
    from venturi.record.store.frames import pl

    if not (tasks["attempt"] > 0).any():
        return []
    same = ("stage_id", "stage_attempt", "index")
    last_ms = pl.when(~pl.col("speculative").fill_null(value=False)).then("launched_ms")
    found = tasks.filter(
        (pl.col("outcome") == "succeeded") & (last_ms.max().over(same) > pl.col("finished_ms"))
    )
    return found["task_id"].to_list()


class _MissingEnds:
    """The jobs and stages of an application, and facts about the stages without an end."""

    def __init__(self, jobs: Rows, stages: Rows, tasks: pl.DataFrame, n_failures: int) -> None:
        self._stages = stages
        self._n_failures = n_failures
        self._last = {key[0]: key for key in sorted(stages)}
        self._began_ms: dict[int, list[int]] = {}
        for stage in stages.values():
            if stage["submitted_ms"] is not None:
                for parent in stage.get("parent_ids") or ():
                    self._began_ms.setdefault(parent, []).append(stage["submitted_ms"])
        self.facts = {
            key: _TaskFacts()
            for key, stage in stages.items()
            if stage["outcome"] == "unfinished" and stage["submitted_ms"] is not None
        }
        self._jobs_of: dict[int, list[dict[str, Any]]] = {}
        if self.facts:
            for job in jobs.values():
                for stage_id in job.get("stage_ids") or ():
                    self._jobs_of.setdefault(stage_id, []).append(job)
            self._look_at(tasks)

    def _look_at(self, tasks: pl.DataFrame) -> None:
        columns = ("stage_id", "stage_attempt", "index", "outcome", "reason", "finished_ms")
        own = tasks.filter(tasks["stage_id"].is_in([key[0] for key in self.facts]))
        for stage_id, attempt, index, outcome, reason, ended_ms in own.select(columns).rows():
            facts = self.facts.get((stage_id, attempt))
            if facts is None or ended_ms is None:
                continue
            if outcome == "succeeded":
                facts.done[index] = min(ended_ms, facts.done.get(index, ended_ms))
            elif outcome == "failed":
                if (reason or "").startswith("FetchFailed"):
                    facts.fetch_failed = True
                    continue
                facts.failures[index] = facts.failures.get(index, 0) + 1
                facts.reason = reason or "no reason is recorded"

    def was_shut_down(self, job: Mapping[str, Any]) -> bool:
        """Whether the application stopped while the job ran: then its end is rarely written."""
        own = (self._last.get(stage_id) for stage_id in job.get("stage_ids") or ())
        reasons = (self._stages[key].get("reason") or "" for key in own if key is not None)
        return any(_SHUT_DOWN.search(each) for each in reasons)

    def end_by_tasks(self, key: Key) -> None:
        """A stage ends when each of its tasks succeeded."""
        stage, done = self._stages[key], self.facts[key].done
        if stage["n_tasks"] and len(done) >= stage["n_tasks"]:
            self.end(key, "succeeded", max(done.values()), BY_TASKS)

    def next_began_ms(self, key: Key) -> int | None:
        """When a stage began that reads the output of this one, None if none did."""
        again = self._stages.get((key[0], key[1] + 1), {}).get("submitted_ms")
        since = self._stages[key]["submitted_ms"]
        began = [each for each in self._began_ms.get(key[0], ()) if each >= since]
        return min((each for each in began if again is None or each < again), default=None)

    def end_by_next_stage(self, key: Key) -> None:
        """A stage has ended if a child or another attempt at it began."""
        again = self._stages.get((key[0], key[1] + 1), {}).get("submitted_ms")
        began_ms = self.next_began_ms(key)
        if again is not None and self.facts[key].fetch_failed:
            self.end(key, "failed", again, AT_MOST)
        elif began_ms is not None:
            self.end(key, "succeeded", began_ms, AT_MOST)
        elif again is not None:
            self.end(key, None, again, AT_MOST)

    def end_job(self, job: dict[str, Any], queries: Mapping[int, int | None]) -> bool:
        """End a job by its last stage, a failed one, or its query; return whether that worked."""
        own = [self._last[each] for each in job.get("stage_ids") or () if each in self._last]
        if not own:
            return False
        # The stage that makes a job's result is created last.
        last = self._stages[max(own)]
        if max(own)[0] == max(job["stage_ids"]) and last["outcome"] == "succeeded":
            job |= {"outcome": "succeeded", "ended_ms": last["ended_ms"]}
        elif failed := [each for each in own if self._stages[each]["outcome"] == "failed"]:
            stage = self._stages[max(failed)]
            reason = stage["reason"] or "its stage failed"
            job |= {"outcome": outcome_of(reason), "reason": reason, "ended_ms": stage["ended_ms"]}
        elif said := next(filter(None, map(self._gave_up, own)), None):
            job |= {"outcome": "failed", "reason": said}
        elif job.get("query_id") in queries:
            job |= {"outcome": "succeeded", "ended_ms": queries[job["query_id"]]}
        return bool(job["outcome"] != "unfinished")

    def _gave_up(self, key: Key) -> str | None:
        """Why Spark gave up on a stage: a task reached the limit of failures."""
        facts = self.facts.get(key)
        if facts is None:
            return None
        for index, n in facts.failures.items():
            if n >= self._n_failures and index not in facts.done:
                times = count_of(n, "time")
                return f"task {index} of stage {key[0]} failed {times}: {facts.reason}"
        return None

    def end_by_job(self, key: Key) -> bool:
        """End a stage like its job, if that has ended; return whether the stage has ended."""
        stage = self._stages[key]
        since = stage["submitted_ms"]
        for job in self._jobs_of.get(key[0], ()):
            if job["outcome"] in _ABSENT:
                continue
            ended_ms = job.get("ended_ms")
            if ended_ms is not None and ended_ms < since:
                continue
            succeeded = job["outcome"] == "succeeded" and self._last[key[0]] == key
            reason = None if succeeded else self._gave_up(key)
            outcome = "succeeded" if succeeded else "failed" if reason else None
            self.end(key, outcome, ended_ms)
            stage["reason"] = stage["reason"] or reason
            return True
        return bool(stage["outcome"] != "unfinished")

    def end(self, key: Key, outcome: str | None, at_ms: int | None, by: str = AT_MOST) -> None:
        """End a stage; the first evidence counts."""
        stage = self._stages[key]
        if stage["outcome"] == "unfinished":
            stage |= {"outcome": outcome, "ended_ms": at_ms, "end_by": by}


def _succeeded(queries: Rows) -> dict[int, int | None]:
    """The end of each query that succeeded."""
    succeeded = {id_: each for id_, each in queries.items() if each.get("outcome") == "succeeded"}
    return {id_: each["ended_ms"] for id_, each in succeeded.items()}
