"""The jobs and stages of each SQL query, and the changes of its plan by adaptive execution."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from venturi.core.wording import count_of
from venturi.jobs.failures.endings import stream_stop
from venturi.jobs.failures.messages import headline
from venturi.jobs.stages.stage import label_of
from venturi.record.job_account import Application, JobAccount
from venturi.record.trial import State

MOST = 100
NO_REASON = "no reason is recorded"
_SHOWN = 6  # operators that only one of two plans has
_SHOWN_TEXT = 60
# A join and the keys of its sides; of long ones the end may be cut off.
_JOIN = re.compile(r"(\w+Join(?:\(skew=true\))?) (\[[^\]]*(?:\]|$))(?:, (\[[^\]]*(?:\]|$)))?")


@dataclass(frozen=True, slots=True)
class QueryWork:
    """The first `MOST` jobs of a query, and attempts at its stages by label.

    Skipped stages don't count. The rest is counted as left out. `stages_may_be_missing` is true if
    the log lacks events: a stage without any event looks like a skipped one.
    """

    jobs: tuple[int, ...]
    jobs_left_out: int
    stages: tuple[str, ...]
    stages_left_out: int
    stages_may_be_missing: bool = False


def works_of(account: JobAccount) -> Mapping[int, QueryWork] | None:
    """That of every query, by its number; None where jobs don't say of which query they are."""
    of_jobs = dict(account.jobs.select("job_id", "query_id").drop_nulls().sort("job_id").rows())
    if account.queries is None or not of_jobs or _lacks_jobs(account):
        return None
    jobs: dict[int, list[int]] = {id_: [] for id_ in account.queries["query_id"]}
    labels: dict[int, list[str]] = {id_: [] for id_ in jobs}
    for job, query in of_jobs.items():
        if query in jobs:
            jobs[query].append(job)
    stages = account.stages.select("stage_id", "attempt", "job_id").sort("stage_id", "attempt")
    for stage, attempt, job in stages.rows():
        if (of := of_jobs.get(job)) in labels:
            labels[of].append(label_of((stage, attempt)))
    return {
        query: QueryWork(
            tuple(own[:MOST]),
            max(len(own) - MOST, 0),
            tuple(labels[query][:MOST]),
            max(len(labels[query]) - MOST, 0),
            stages_may_be_missing=any(account.reading.dropped.values()),
        )
        for query, own in jobs.items()
    }


def _lacks_jobs(account: JobAccount) -> bool:
    """Whether the log lacks jobs, or of which query they are."""
    largest = max(account.jobs["job_id"], default=-1)
    return bool(account.reading.dropped.get("job start")) or len(account.jobs) <= largest


def unrecorded_commits_ms(account: JobAccount) -> Mapping[int, float]:
    """Return the driver time after the last task of each query that wrote files, by its number.

    Spark before 3.2, and sinks of others, don't record the time to commit. After the last task such
    a query does nothing else. Queries with a recorded commit, or without written bytes, are absent.
    """
    from venturi.record.store.frames import pl

    written = account.kind.output_bytes
    if account.queries is None or written is None or _lacks_jobs(account):
        return {}
    if not account.tasks[written].sum():
        return {}
    wrote = (
        account.tasks.group_by("stage_id", "stage_attempt")
        .agg(wrote=pl.col(written).sum(), last_ms=pl.col("finished_ms").max())
        .join(
            account.stages.select("stage_id", pl.col("attempt").alias("stage_attempt"), "job_id"),
            on=["stage_id", "stage_attempt"],
        )
        .join(account.jobs.select("job_id", "query_id").drop_nulls(), on="job_id")
        .group_by("query_id")
        .agg(pl.col("wrote").sum(), pl.col("last_ms").max())
        .filter(pl.col("wrote") > 0)
    )
    queries = account.queries.filter(pl.col("commit_ms").is_null()).join(wrote, on="query_id")
    rows = queries.select("query_id", pl.col("ended_ms") - pl.col("last_ms")).drop_nulls().rows()
    return {query: float(after_ms) for query, after_ms in rows if after_ms > 0}


def changes_of(account: JobAccount) -> Mapping[int, str]:
    """For each query with a changed plan, the changes by adaptive execution in words."""
    if account.plan_changes is None:
        return {}
    sides: dict[int, tuple[Counter[str], Counter[str]]] = {}
    for query, came, operator, n in account.plan_changes.rows():
        sides.setdefault(query, (Counter(), Counter()))[came][operator] += n
    return {query: _in_words(*each) for query, each in sides.items()}


def _in_words(gone: Counter[str], come: Counter[str]) -> str:
    """A join that has the keys of one that is gone has taken its place."""
    takers: dict[str, list[str]] = {}
    for new in reversed(list(come)):
        if (keys := _keys(new)) is not None:
            takers.setdefault(keys, []).append(new)
    said = []
    for old in list(gone):
        if (keys := _keys(old)) is not None and takers.get(keys):
            new = takers[keys].pop()
            n = min(gone[old], come[new])
            gone[old] -= n
            come[new] -= n
            short = _short(old), _short(new)
            before, after = (old, new) if short[0] == short[1] else short
            said.append(f"{before} became {after}{_times(n)}")
    for left, words in ((gone, "removed"), (come, "new")):
        if rest := [f"{_short(each)}{_times(n)}" for each, n in left.items() if n > 0]:
            more = f" and {len(rest) - _SHOWN:,} more" if len(rest) > _SHOWN else ""
            said.append(f"{words}: {', '.join(rest[:_SHOWN])}{more}")
    return "; ".join(said)


def _keys(operator: str) -> str | None:
    """The keys of the left side of a join; None if the operator isn't a join."""
    join = _JOIN.match(operator)
    return None if join is None else join[2]


def _short(operator: str) -> str:
    join = _JOIN.match(operator)
    if join is None:
        short = operator
    else:
        short = f"{join[1]} {join[2]}" + (f", {join[3]}" if join[3] not in {None, join[2]} else "")
    return short if len(short) <= _SHOWN_TEXT else f"{short[: _SHOWN_TEXT - 1]}…"


def _times(n: int) -> str:
    return "" if n == 1 else f" ({n:,} times)"


def failed_queries(account: JobAccount) -> list[str]:
    """Return the messages of SQL queries that failed, also if the application ended well."""
    if account.queries is None:
        return []
    rows = account.queries.select("outcome", "reason").rows()
    return [reason or NO_REASON for outcome, reason in rows if outcome == "failed"]


def canceled_jobs(account: JobAccount) -> str | None:
    """Return which jobs were canceled, and the message of the last one; None if none was.

    Without the jobs of stopped streams, which end like this.
    """
    rows = account.jobs.sort("job_id").select("job_id", "outcome", "reason").rows()
    found = [(id_, why) for id_, how, why in rows if how == "canceled" and not stream_stop(why)]
    if not found:
        return None
    shown = ", ".join(str(id_) for id_, _ in found[:_SHOWN])
    more = " and more" if len(found) > _SHOWN else ""
    what = "job" if len(found) == 1 else f"{len(found):,} jobs:"
    return f"{what} {shown}{more}, by: {headline(found[-1][1]) or NO_REASON}"


def _queries_without_end(account: JobAccount) -> int:
    """The number of queries that may have ended in any way."""
    if account.queries is None:
        return 0
    without = account.queries["ended_ms"].is_null() & account.queries["outcome"].is_null()
    return int(without.sum())


def ending(state: State, account: JobAccount) -> str:
    """How an application ended: its state, or its queries that failed without failing it."""
    failed, unknown = failed_queries(account), _queries_without_end(account)
    if not (failed or unknown) or state is not State.SUCCEEDED:
        if state is State.SUCCEEDED and canceled_jobs(account):
            return "ended, jobs were canceled"
        return "outcome unknown" if state is State.UNKNOWN else state.value
    n = count_of(len(failed) or unknown, "query", "queries")
    least = "at least " if unknown else ""
    return f"ended, {least}{n} failed" if failed else f"ended, outcome of {n} unknown"


def failure_of(application: Application) -> str | None:
    """How an application failed or was cut short, and the recorded reason; None if it succeeded."""
    if application.outcome == "succeeded":
        return None
    return f"{application.outcome}: {application.reason or NO_REASON}"
