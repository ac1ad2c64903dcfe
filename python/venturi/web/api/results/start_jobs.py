"""The newest Spark and MapReduce jobs on the start page, each with its costliest finding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from venturi.core.wording import count_of
from venturi.jobs.fleet.summaries import JobSummary, known_summaries, summarise
from venturi.record.account_kind import ACCOUNT_KINDS
from venturi.record.job_account import has_account
from venturi.record.query import paging
from venturi.record.query.conditions import Condition, Op
from venturi.record.query.selection import Query
from venturi.record.store.repository import TrialRepository
from venturi.record.trial import Trial

SHOWN = 8
LOOKED_AT = 40  # newest trials of these engines: some have no log
DIAGNOSED = 2  # jobs per request, so that the page answers soon


@dataclass(frozen=True, slots=True)
class StartJob:
    """A job: `finding` is its costliest one, with its `saving` in words, or the reason for none.

    Both are None until it is diagnosed.
    """

    id: str
    name: str
    engine: str
    state: str
    started_at: datetime | None
    elapsed_s: float | None
    finding: str | None
    saving: str | None


@dataclass(frozen=True, slots=True)
class StartJobs:
    """The newest jobs and the `sentence` about them; of `undiagnosed` no finding is known yet."""

    sentence: str
    jobs: tuple[StartJob, ...]
    undiagnosed: int


def newest_jobs(repository: TrialRepository) -> StartJobs:
    """Return the newest jobs with a log, diagnosing a few without a stored finding."""
    engines = Condition("engine", Op.ONE_OF, tuple(ACCOUNT_KINDS))
    rows = paging.rows(repository, Query((engines,), limit=LOOKED_AT)).rows
    found: list[tuple[Trial, JobSummary | None]] = []
    left = DIAGNOSED
    for row in rows:
        if len(found) == SHOWN:
            break
        if not has_account(trial := repository.get(row.id)):
            continue
        summary = known_summaries(repository, [trial.id]).get(trial.id)
        if summary is None and left:
            left -= 1
            summary = summarise(repository, trial.id)
        found.append((trial, summary))
    jobs = tuple(_job(trial, summary) for trial, summary in found)
    return StartJobs(_sentence(found), jobs, sum(summary is None for _, summary in found))


def _job(trial: Trial, summary: JobSummary | None) -> StartJob:
    return StartJob(
        trial.id,
        trial.workload.name,
        trial.engine.name,
        trial.state.value,
        trial.started_at,
        trial.elapsed_s,
        None if summary is None else summary.finding or summary.finding_reason,
        None if summary is None else summary.saving,
    )


def _sentence(found: Sequence[tuple[Trial, JobSummary | None]]) -> str:
    """Return how many jobs have a finding, and which would save the most time."""
    if not found:
        return ""
    costly = [(summary, trial) for trial, summary in found if summary and summary.saving]
    count = f"{len(costly)} of the {count_of(len(found), 'newest job')} have a known problem"
    if not costly:
        return f"None of the {count_of(len(found), 'newest job')} has a known problem."
    summary, trial = max(costly, key=lambda each: each[0].saving_s or 0.0)
    costliest = f"{trial.workload.name!r}: {summary.finding} ({summary.saving})"
    return f"{count}. The costliest is in {costliest}."
