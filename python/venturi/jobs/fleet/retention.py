"""Drops the task tables of old imported jobs, and removes jobs that are older still.

Each job is one step. Its summary is on the disk before its record says that the tables are dropped,
and the tables are deleted after that. So a kill leaves a job with its tables, or a job without them
and with files that the next run deletes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from venturi.core.errors import VenturiError
from venturi.jobs.fleet.kept import summary_file
from venturi.jobs.fleet.summaries import summarise
from venturi.record.access.authors import Author
from venturi.record.account_kind import ACCOUNT_KINDS
from venturi.record.account_tables import ACCOUNT_NAME
from venturi.record.dropped_tables import (
    DROPPED,
    SUMMARY_NAME,
    remove_tables,
    table_artifacts,
    table_files,
    tables_dropped,
    without_tables,
)
from venturi.record.store.answer_cache import forget_answers
from venturi.record.store.repository import TrialRepository
from venturi.record.store.tables import RECORDS, TRIALS, microseconds
from venturi.record.trial import ProvenanceKind, State, Trial
from venturi.record.upkeep import removal
from venturi.record.upkeep.locks import import_lock, trial_lock, upkeep_lock

Progress = Callable[[int, int | None], None]
"""Called with the number of jobs done, and their total."""
COMMAND = "venturi repository keep"
_SOURCES = sorted(kind.source for kind in ACCOUNT_KINDS.values() if kind.source)
_Clause = sa.ColumnElement[bool]
_ENDED = TRIALS.c.state != State.RUNNING.value


@dataclass(frozen=True, slots=True)
class UnsummarizedJob:
    """A job that keeps its task tables, because its summary can't be made."""

    trial: str
    reason: str


@dataclass(frozen=True, slots=True)
class DroppedTables:
    """The jobs that lost their task tables, or would, and the bytes that this frees.

    `running` jobs and `undated` ones, which don't state their start, keep their tables, and so do
    the `unsummarized` ones. `leftover_bytes` were left behind by a killed command.
    """

    trials: tuple[str, ...]
    freed_bytes: int
    leftover_bytes: int
    running: int
    undated: int
    unsummarized: tuple[UnsummarizedJob, ...]


def drop_tables(
    repository: TrialRepository,
    before: datetime,
    now: datetime,
    *,
    oldest: datetime | None = None,
    dry_run: bool = False,
    progress: Progress = lambda _done, _all: None,
) -> DroppedTables:
    """Drop the task tables of imported jobs that ended before this time, and keep their summaries.

    Jobs that ended before `oldest` are left out. The end is the start plus the recorded time, of a
    failed job its start.
    """
    old = _old_jobs(before) if oldest is None else (*_old_jobs(before), ~_ended_before(oldest))
    if dry_run:
        return _drop_all(repository, old, None, progress)
    with upkeep_lock(repository.artifacts_dir.parent, COMMAND):
        return _drop_all(repository, old, now, progress)


def removable_jobs(repository: TrialRepository, before: datetime) -> removal.RemovableTrials:
    """The imported jobs that ended before this time."""
    return removal.removable(repository, (), _ended_jobs(before))


def remove_jobs(
    repository: TrialRepository, before: datetime, author: Author, reason: str
) -> removal.RemovableTrials:
    """Delete the imported jobs that ended before this time for good, and record the removal."""
    text = f"imported jobs that ended before {before:%Y-%m-%d %H:%M} UTC"
    chosen = _ended_jobs(before)
    if removal.removable(repository, (), chosen).ids:
        return removal.remove(repository, (), (text,), author, reason, chosen=chosen)[1]
    return removal.RemovableTrials((), (), 0, 0)


def _jobs() -> tuple[_Clause, ...]:
    """Conditions of imported jobs with an engine's account."""
    return (
        TRIALS.c.provenance == ProvenanceKind.IMPORTED.value,
        TRIALS.c.source.in_(_SOURCES),
        _has(ACCOUNT_NAME),
    )


def _has(text: str) -> _Clause:
    """Whether a trial's record has a string that is this text."""
    has = RECORDS.c.record.contains(f'"{text}"', autoescape=True)
    return sa.exists().where(RECORDS.c.id == TRIALS.c.id, has).correlate(TRIALS)


def _old_jobs(before: datetime) -> tuple[_Clause, ...]:
    return *_jobs(), _ended_before(before)


def _ended_before(time: datetime) -> _Clause:
    ended_us = TRIALS.c.started_at_us + sa.func.coalesce(TRIALS.c.elapsed_s, 0.0) * 1e6
    return ended_us < microseconds(time)


def _ended_jobs(before: datetime) -> tuple[_Clause, ...]:
    return *_old_jobs(before), _ENDED


def _drop_all(
    repository: TrialRepository,
    old: tuple[_Clause, ...],
    now: datetime | None,
    progress: Progress,
) -> DroppedTables:
    """Drop the tables of `old` jobs as of `now`; without that, only count them."""
    with repository.reading() as connection:
        ids = _ids(connection, (*old, _ENDED), dropped=False)
        done_before = _ids(connection, (*old, _ENDED), dropped=True)
        running = _count(connection, (*old, ~_ENDED))
        undated = _count(connection, (*_jobs(), TRIALS.c.started_at_us.is_(None)))
    trials: list[str] = []
    failed: list[UnsummarizedJob] = []
    freed = 0
    for done, id_ in enumerate(ids):
        progress(done, len(ids))
        try:
            dropped = _drop(repository, id_, now)
        except VenturiError as error:
            if error.code != "VEN-RECORD-ARTIFACT":
                raise
            failed.append(UnsummarizedJob(id_, error.message))
            continue
        if dropped is not None:
            trials.append(id_)
            freed += dropped
    progress(len(ids), len(ids))
    leftover = 0 if now is None else _remove_leftovers(repository, done_before)
    return DroppedTables(tuple(trials), freed, leftover, running, undated, tuple(failed))


def _ids(connection: sa.Connection, clauses: Iterable[_Clause], *, dropped: bool) -> list[str]:
    """The oldest jobs first, so that an interrupted command has done the most urgent part."""
    warned = _has(DROPPED)
    chosen = sa.select(TRIALS.c.id).where(*clauses, warned if dropped else ~warned)
    return list(connection.scalars(chosen.order_by(TRIALS.c.started_at_us, TRIALS.c.id)))


def _count(connection: sa.Connection, clauses: Iterable[_Clause]) -> int:
    chosen: sa.Select[Any] = sa.select(sa.func.count()).select_from(TRIALS).where(*clauses)
    return int(connection.execute(chosen).scalar_one())


def _drop(repository: TrialRepository, id_: str, now: datetime | None) -> int | None:
    """Drop the tables of one job; the bytes freed, None if it was changed or removed since."""
    home = repository.artifacts_dir.parent
    if now is None:
        trial = repository.stored(id_)
        return None if trial is None or not table_artifacts(trial) else _size(trial)
    with import_lock(home), trial_lock(home, id_):
        trial = repository.stored(id_)
        if trial is None or not table_artifacts(trial) or tables_dropped(trial) is not None:
            return None
        kept = without_tables(trial, now, repository.limits.warnings)
        kept = repository.attach(kept, "other", SUMMARY_NAME, summary_file(repository, trial))
        if not repository.supersede(trial, kept):
            return None
        forget_answers(home, id_)
        remove_tables(repository.artifacts_dir / id_)
    summarise(repository, id_)  # so that the next list of jobs doesn't wait for it
    return _size(trial)


def _size(trial: Trial) -> int:
    return sum(each.size_bytes for each in table_artifacts(trial))


def _remove_leftovers(repository: TrialRepository, ids: Iterable[str]) -> int:
    """Delete the tables that a killed command left with jobs of which they were dropped."""
    home, freed = repository.artifacts_dir.parent, 0
    for id_ in ids:
        folder = repository.artifacts_dir / id_
        if not table_files(folder):
            continue
        with import_lock(home), trial_lock(home, id_):
            trial = repository.stored(id_)
            if trial is not None and tables_dropped(trial) is not None:
                forget_answers(home, id_)
                freed += remove_tables(folder)
    return freed
