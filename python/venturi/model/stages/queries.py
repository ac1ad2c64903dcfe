"""What each SQL query had: its jobs, and the stages that ran for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from venturi.model.stages.stage import label_of
from venturi.record.job_account import JobAccount

MOST = 100


@dataclass(frozen=True, slots=True)
class QueryWork:
    """The first `MOST` of the jobs of a query, and of the attempts at stages that ran for them, by
    their labels; stages that were skipped are none. The others are counted as left out."""

    jobs: tuple[int, ...]
    jobs_left_out: int
    stages: tuple[str, ...]
    stages_left_out: int


def works_of(account: JobAccount) -> Mapping[int, QueryWork] | None:
    """That of every query, by its number; None where no job says of which query it is."""
    of_jobs = dict(account.jobs.select("job_id", "query_id").drop_nulls().sort("job_id").rows())
    if account.queries is None or not of_jobs:
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
            tuple(own[:MOST]), max(len(own) - MOST, 0),
            tuple(labels[query][:MOST]), max(len(labels[query]) - MOST, 0),
        )
        for query, own in jobs.items()
    }  # fmt: skip
