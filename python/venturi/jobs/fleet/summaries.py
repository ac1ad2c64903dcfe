"""Summaries of jobs for lists: stored in the database, because computing one reads all tasks.

A summary is that of one version of the program; a change of the trial's record removes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import sqlalchemy as sa

from venturi.core.errors import VenturiError
from venturi.jobs.fleet.run_use import run_use
from venturi.jobs.fleet.summary import JobSummary, summary_of
from venturi.record.dropped_tables import tables_dropped
from venturi.record.job_account import load
from venturi.record.query.selection import fetch
from venturi.record.store.answer_cache import program_digest
from venturi.record.store.repository import TrialRepository
from venturi.record.store.tables import JOBS
from venturi.record.trial import Trial

if TYPE_CHECKING:
    from pydantic import TypeAdapter

    from venturi.jobs.diagnosis.find import Diagnosis
    from venturi.jobs.stages.stage import Analysis
    from venturi.jobs.stages.timeline import Timeline

_READ_MAX = 500
_WHOLE_TABLE = 20_000
"""With more missing summaries than this, all are read."""


@dataclass(slots=True)
class _ReadSummaries:
    """The summaries that were read or computed, as of the change number `changed`."""

    changed: int = -1
    summaries: dict[str, JobSummary] = field(default_factory=dict)


_READ: WeakKeyDictionary[TrialRepository, _ReadSummaries] = WeakKeyDictionary()


def known_summaries(repository: TrialRepository, ids: Sequence[str]) -> dict[str, JobSummary]:
    """The stored summaries of these trials, by id."""
    read = _READ.setdefault(repository, _ReadSummaries())
    known = read.summaries
    stored = sa.select(JOBS.c.id, JOBS.c.summary).where(JOBS.c.program == program_digest())
    with repository.reading() as connection:
        newest = connection.execute(sa.select(sa.func.max(JOBS.c.changed))).scalar_one()
        if newest is not None and newest > read.changed:
            changed = sa.select(JOBS.c.id).where(JOBS.c.changed > read.changed)
            for id_ in connection.execute(changed).scalars() if known else ():
                known.pop(id_, None)
            read.changed = newest
        missing = [id_ for id_ in ids if id_ not in known]
        if len(missing) > _WHOLE_TABLE:
            known |= _decoded(fetch(connection, stored))
        else:
            for begin in range(0, len(missing), _READ_MAX):
                some = JOBS.c.id.in_(missing[begin : begin + _READ_MAX])
                known |= _decoded(fetch(connection, stored.where(some)))
    return {id_: known[id_] for id_ in ids if id_ in known}


def _decoded(rows: Iterable[tuple[Any, ...]]) -> dict[str, JobSummary]:
    decode = _adapter().validate_json
    found = {}
    for id_, text in rows:
        with suppress(ValueError):  # damaged: computed again
            found[id_] = decode(text)
    return found


def summarise(repository: TrialRepository, id_: str) -> JobSummary:
    """Analyze the job of the trial `id_`, and store its summary.

    If its account can't be read, that is the reason for having no finding. If its task tables were
    dropped, the summary is the one that was kept.
    """
    from venturi.jobs.diagnosis.find import diagnose_trial  # noqa: PLC0415 - slow to load
    from venturi.jobs.stages.analysis import analyse_trial  # noqa: PLC0415
    from venturi.jobs.stages.timeline import timeline  # noqa: PLC0415

    trial = repository.get(id_)
    try:
        if tables_dropped(trial) is not None:
            return _store(repository, trial, _kept(repository, trial))
        line = timeline(load(repository, trial))
        found = analyse_trial(trial, line)
        diagnosis = diagnose_trial(repository, trial, line, found)
        return store_summary(repository, trial, line, found, diagnosis)
    except VenturiError as error:
        summary = JobSummary(
            elapsed_s=trial.elapsed_s,
            finding_reason=error.message,
            saving_reason=error.message,
            use=run_use(trial, None, error.message),
        )
        # Not stored: the account's files may come back.
        _READ.setdefault(repository, _ReadSummaries()).summaries[trial.id] = summary
        return summary


def store_summary(
    repository: TrialRepository,
    trial: Trial,
    line: Timeline,
    analysis: Analysis,
    diagnosis: Diagnosis,
) -> JobSummary:
    """Store the summary of the job of `trial`, which was analyzed already."""
    return _store(repository, trial, summary_of(trial, line, analysis, diagnosis))


def store_summaries(repository: TrialRepository, summaries: Mapping[str, JobSummary]) -> None:
    """Store the summaries of trials, by id; ids without a recorded job are ignored."""
    encode, program = _adapter().dump_json, program_digest()
    rows = [
        {"trial": id_, "program": program, "summary": encode(each).decode(), "changed": None}
        for id_, each in summaries.items()
    ]
    update = sa.update(JOBS).where(JOBS.c.id == sa.bindparam("trial"))
    with repository.writing() as connection:
        connection.execute(update, rows)


def _kept(repository: TrialRepository, trial: Trial) -> JobSummary:
    """The summary from before the tables were dropped, with a price that was recorded since."""
    from venturi.jobs.fleet.kept import kept_summary  # noqa: PLC0415 - slow to load

    kept = kept_summary(repository, trial)
    assert kept is not None
    now = run_use(trial, None)
    if now.recorded_usd is None:
        return kept.row
    use = replace(kept.row.use, recorded_usd=now.recorded_usd, recorded_basis=now.recorded_basis)
    return replace(kept.row, use=use)


def _store(repository: TrialRepository, trial: Trial, summary: JobSummary) -> JobSummary:
    """Store `summary` unless the trial was removed; if that fails, it is computed again later."""
    with suppress(VenturiError):
        store_summaries(repository, {trial.id: summary})
    return summary


@cache
def _adapter() -> TypeAdapter[JobSummary]:
    from pydantic import TypeAdapter  # noqa: PLC0415 - slow to load

    return TypeAdapter(JobSummary)
