"""Summaries of jobs for lists: stored once, because computing one reads all tasks.

A summary is stored under a digest of the trial's record and the program, like other answers about
jobs. Reading it decodes neither the trial nor its account.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import sqlalchemy as sa

from venturi.core.errors import VenturiError
from venturi.jobs.fleet.run_use import run_use
from venturi.jobs.fleet.summary import JobSummary, summary_of
from venturi.record.dropped_tables import tables_dropped
from venturi.record.job_account import load
from venturi.record.store.answer_cache import (
    digest_of_record,
    forget_answers,
    read_answer,
    write_answer,
)
from venturi.record.store.repository import TrialRepository
from venturi.record.store.tables import CHANGES, RECORDS
from venturi.record.trial import Trial

if TYPE_CHECKING:
    from pydantic import TypeAdapter

    from venturi.jobs.diagnosis.find import Diagnosis
    from venturi.jobs.stages.stage import Analysis
    from venturi.jobs.stages.timeline import Timeline

_ANSWER = "fleet.json"
_READ_MAX = 500


class _Cache:
    """The summaries that were read or computed, each with its digest.

    `digests` are those of the records at one state of the repository, which has this number.
    """

    def __init__(self) -> None:
        self.digests: tuple[int, dict[str, str]] = (-1, {})
        self.summaries: dict[str, tuple[str, JobSummary]] = {}


_CACHES: WeakKeyDictionary[TrialRepository, _Cache] = WeakKeyDictionary()


def known_summaries(repository: TrialRepository, ids: Sequence[str]) -> dict[str, JobSummary]:
    """The stored summaries of these trials, by id."""
    cache, home = _CACHES.setdefault(repository, _Cache()), repository.artifacts_dir.parent
    found = {}
    for id_, digest in _digests(repository, ids).items():
        kept = cache.summaries.get(id_)
        if kept is None or kept[0] != digest:
            answer = read_answer(home, id_, _ANSWER, digest)
            if answer is None:
                continue
            try:
                kept = digest, _adapter().validate_json(answer)
            except ValueError:  # damaged: computed again
                continue
            cache.summaries[id_] = kept
        found[id_] = kept[1]
    return found


def _digests(repository: TrialRepository, ids: Sequence[str]) -> dict[str, str]:
    """The digest of each of these trials' records and the program."""
    cache = _CACHES.setdefault(repository, _Cache())
    with repository.reading() as connection:
        change = connection.execute(sa.select(CHANGES.c.made)).scalar_one()
        known = cache.digests
        if known[0] != change:
            known = cache.digests = (change, {})
        digests = known[1]
        missing = [id_ for id_ in ids if id_ not in digests]
        for begin in range(0, len(missing), _READ_MAX):
            some = RECORDS.c.id.in_(missing[begin : begin + _READ_MAX])
            chosen = sa.select(RECORDS.c.id, RECORDS.c.record).where(some)
            for id_, record in connection.execute(chosen):
                digests[id_] = digest_of_record(record)
    return {id_: digests[id_] for id_ in ids if id_ in digests}


def summarise(repository: TrialRepository, id_: str) -> JobSummary:
    """Analyze the job of the trial `id_`, and store its summary.

    If its account can't be read, that is the reason for having no finding. If its task tables were
    dropped, the summary is the one that was kept.
    """
    from venturi.jobs.diagnosis.find import diagnose  # noqa: PLC0415 - slow to load
    from venturi.jobs.stages.analysis import analyse_trial  # noqa: PLC0415
    from venturi.jobs.stages.timeline import timeline  # noqa: PLC0415

    trial = repository.get(id_)
    try:
        if tables_dropped(trial) is not None:
            return _store(repository, trial, _kept(repository, trial))
        line = timeline(load(repository, trial))
        found = analyse_trial(trial, line)
        return store_summary(repository, trial, line, found, diagnose(line, found))
    except VenturiError as error:
        summary = JobSummary(
            elapsed_s=trial.elapsed_s,
            finding_reason=error.message,
            saving_reason=error.message,
            use=run_use(trial, None, error.message),
        )
        for digest in _digests(repository, [trial.id]).values():
            # Not in a file: the account's files may come back.
            _CACHES[repository].summaries[trial.id] = digest, summary
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
    home = repository.artifacts_dir.parent
    for digest in _digests(repository, [trial.id]).values():
        write_answer(home, trial.id, _ANSWER, digest, _adapter().dump_json(summary))
        _CACHES[repository].summaries[trial.id] = digest, summary
        try:
            repository.get(trial.id)
        except VenturiError:  # removed since, with its stored answers
            forget_answers(home, trial.id)
    return summary


@cache
def _adapter() -> TypeAdapter[JobSummary]:
    from pydantic import TypeAdapter  # noqa: PLC0415 - slow to load

    return TypeAdapter(JobSummary)
