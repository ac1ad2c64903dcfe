"""Conclusions from an event log as a whole: missing events, and how the application ended.

Spark's listener queue drops events of any kind, and parts of rolling logs get lost. Other events
refer to the missing ones.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from venturi.jobs.failures.endings import StreamStop, stream_stop
from venturi.jobs.failures.messages import headline
from venturi.jobs.logs.columnar import whole
from venturi.jobs.logs.spark_ends import Rows
from venturi.record.importing.formats import Log
from venturi.record.job_account import Outcome

# Source: DAGScheduler. Such a job's query may have been open when the application ended.
_STOPPED = re.compile(r"SparkContext (was|has been) (shut ?down|stopped)", re.IGNORECASE)


def missing_starts(
    jobs: Rows, stages: Rows, executors: Rows, used: Collection[str], lost: Collection[str]
) -> dict[str, int]:
    """The number of missing starts by kind, and of removals of executors.

    `used` are the executors with tasks, `lost` those of which a task says that it was lost. A stage
    without a job shows that the start of its job is missing.
    """
    named = {each for job in jobs.values() for each in job.get("stage_ids") or ()}
    n_jobs = sum("stage_ids" not in job for job in jobs.values())
    holes = len(jobs) <= max(jobs, default=-1)
    if not n_jobs and not holes and any(stage not in named for stage, _ in stages):
        n_jobs = 1
    added = {name for name, each in executors.items() if "cores" in each}
    return {
        "job start": n_jobs,
        "stage start": sum("began" not in stage for stage in stages.values()),
        "executor start": len({*used, *executors} - added),
        "executor removal": sum("removed_ms" not in executors.get(each, ()) for each in lost),
    }


def missing_of_queries(queries: Rows, jobs: Rows, *, ended: bool, streams: bool) -> dict[str, int]:
    """The number of missing starts and ends of queries; those without an end get no outcome.

    Numbers have no holes; a JVM with several applications in turn continues them. Queries with
    other events only are rows without facts, and so become those without any.

    In an application that `ended`, a query did so after its jobs, unless these were stopped. One
    without jobs did so before the next query, except for those around the batches of `streams`.
    In one that didn't end, such a query may have ended or not. A batch of a stopped stream is
    canceled.
    """
    of_queries: dict[int, list[Mapping[str, Any]]] = {}
    for job in jobs.values():
        if job.get("query_id") is not None:
            of_queries.setdefault(job["query_id"], []).append(job)
    every = of_queries.keys() | queries.keys()
    for id_ in range(min(every, default=0), max(every, default=-1) + 1):
        queries.setdefault(id_, {})
    n_ends = 0
    stopped = any(map(_stopped, jobs.values()))
    last = max(queries, default=-1)
    for id_, query in queries.items():
        own = of_queries.get(id_, ())
        proven = bool(own) or (id_ < last and not streams and not stopped)
        if query.get("outcome") == "failed" and any(map(_of_stopped_stream, own)):
            query["outcome"] = "canceled"
        if "ended_ms" not in query and not any(map(_stopped, own)):
            if ended:
                n_ends += proven or "submitted_ms" not in query
                query["outcome"] = None
            elif proven:
                query["outcome"] = None  # it ended, or goes on in the driver
    n_starts = sum("submitted_ms" not in each for each in queries.values())
    return {"query start": n_starts, "query end": n_ends}


def missing_parts(log: Log, end: Mapping[str, Any] | None) -> str | None:
    """Which parts of a rolling log are missing, in words; None if none is."""
    if end is not None or log.after is None:
        return log.missing
    last = f"the end of the rolling log is missing ({log.after}), although the application ended"
    return f"{log.missing}; {last}" if log.missing else last


def _stopped(job: Mapping[str, Any]) -> bool:
    """Whether a job didn't end, or was stopped from outside."""
    return job["outcome"] == "unfinished" or _STOPPED.search(job.get("reason") or "") is not None


def _of_stopped_stream(job: Mapping[str, Any]) -> bool:
    """Whether `query.stop()` canceled a job."""
    stop = stream_stop(job.get("reason"))
    of_stream = stop is StreamStop.QUERY or (stop is StreamStop.GROUP and job.get("of_stream"))
    return job["outcome"] == "canceled" and bool(of_stream)


def application_outcome(
    end: Mapping[str, Any] | None, jobs: Rows, stages: Rows, log: Log, last_file: Path | None
) -> tuple[Outcome, str | None]:
    """How the application ended, by all evidence, and why; "unfinished" is also "unknown".

    The last events of jobs are in `last_file`, None without any.
    """
    if end is None and log.after is None:
        return "unfinished", log.missing or "the log ends before the application does"
    if failure := _failure(end, jobs, stages, log):
        return "failed", failure
    if unknown := _unknown(end, jobs, stages, log, last_file):
        return "unfinished", unknown
    return "succeeded", None


def _unknown(
    end: Mapping[str, Any] | None, jobs: Rows, stages: Rows, log: Log, last_file: Path | None
) -> str | None:
    """Why it is unknown how an application ended, None if it succeeded."""
    if end is None or (log.missing and last_file != log.files[-1]):
        return missing_parts(log, end)
    named = {each for job in jobs.values() for each in job.get("stage_ids") or ()}
    starts_known = all("stage_ids" in job for job in jobs.values())
    if stages and starts_known and max(stages)[0] > max(named, default=-1):
        return "the log has stages but no job: it lacks events"
    for job_id, job in jobs.items():
        # A program continues after a job that succeeded, so only the last one is open.
        if job["outcome"] == "unfinished" or (job["outcome"] is None and job_id == max(jobs)):
            return f"no end of job {job_id} is recorded"
    return None


def _failure(end: Mapping[str, Any] | None, jobs: Rows, stages: Rows, log: Log) -> str | None:
    """Spark records no exit status before 4.0: an application is as good as its jobs.

    Stopping a stream cancels the job of its current batch. With exit status 0, that's no failure.
    """
    code = None if end is None else whole(end.get("ExitCode"))
    whole_log = not log.compacted and not log.missing
    if code is None and not jobs and not stages and whole_log:
        return "the application ended without a job, and its exit status is not recorded"
    for job_id, job in jobs.items():
        if job["outcome"] == "failed":
            return f"job {job_id} failed: {headline(job['reason'])}"
    if code:
        return f"the application ended with exit status {code}"
    last = max(jobs.values(), key=lambda job: job.get("ended_ms") or 0, default=None)
    stopped = code == 0 and last is not None and _of_stopped_stream(last)
    if last is not None and last["outcome"] == "canceled" and not stopped:
        return f"its last job was canceled: {headline(last['reason'])}"
    return None
