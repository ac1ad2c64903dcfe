"""The recorded runs of jobs with an engine's account, from the trials' columns alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from venturi.record.query.selection import Query, fetch, rules_for, where
from venturi.record.store.repository import TrialRepository
from venturi.record.store.tables import JOBS, TRIALS, shown_moment
from venturi.record.trial import State

_COLUMNS = (
    *("id", "workload", "workload_version", "scale", "input_bytes", "engine", "state"),
    *("started_at_us", "elapsed_s", "warm_up"),
)


@dataclass(frozen=True, slots=True)
class JobRun:
    """One run of a job. Runs with the same `key` are runs of the same job.

    The key has the program's version and its input if Venturi ran it. Logs record neither, so
    imported runs with the same name and engine count as the same job.
    """

    id: str
    key: tuple[str | int | None, ...]
    name: str
    engine: str
    state: str
    started_at: datetime | None
    elapsed_s: float | None
    counted: bool


def job_runs(repository: TrialRepository, query: Query) -> list[JobRun]:
    """The runs that meet the conditions of `query`, newest first, undated ones last."""
    with repository.reading() as connection:
        chosen = (
            sa.select(*(TRIALS.c[name] for name in _COLUMNS))
            .join(JOBS, JOBS.c.id == TRIALS.c.id)
            .where(*where(query.conditions, rules_for(connection, query)))
            .order_by(TRIALS.c.started_at_us.desc().nulls_last(), TRIALS.c.id.desc())
        )
        return [_run(row) for row in fetch(connection, chosen)]


def grouped(runs: Iterable[JobRun]) -> list[list[JobRun]]:
    """The runs of each job, in their order."""
    jobs: dict[tuple[str | int | None, ...], list[JobRun]] = {}
    for run in runs:
        jobs.setdefault(run.key, []).append(run)
    return list(jobs.values())


def _run(row: tuple[Any, ...]) -> JobRun:
    id_, name, version, scale, input_bytes, engine, state, started_at_us, elapsed_s, warm_up = row
    return JobRun(
        id=id_,
        key=(name, version, scale, input_bytes, engine),
        name=name,
        engine=engine,
        state=state,
        started_at=shown_moment(started_at_us),
        elapsed_s=elapsed_s,
        counted=state == State.SUCCEEDED and not warm_up and elapsed_s is not None,
    )
