"""The summary of a job that stays when its task tables are dropped.

It is an artifact of the trial, so exports, backups and checks treat it as any file. Summaries are
read for years: new fields of the dataclasses in it need a default.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING

from venturi.core.errors import VenturiError
from venturi.jobs.diagnosis.find import Diagnosis, diagnose_trial
from venturi.jobs.fleet.run_use import run_use
from venturi.jobs.fleet.summary import JobSummary, summary_of
from venturi.jobs.stages.analysis import analyse_trial
from venturi.jobs.stages.losses import failure_meaning
from venturi.jobs.stages.queries import ending, failed_queries, failure_of
from venturi.jobs.stages.stage import NarrowestPoint
from venturi.jobs.stages.timeline import timeline
from venturi.record.dropped_tables import SUMMARY_NAME, tables_dropped
from venturi.record.job_account import load
from venturi.record.store.repository import TrialRepository
from venturi.record.trial import State, Trial

if TYPE_CHECKING:
    from pydantic import TypeAdapter


@dataclass(frozen=True, slots=True)
class KeptSummary:
    """The answer about a job at the time when its task tables were dropped.

    `row` is the job in lists. `ending` says how it ended, in words, and `failure` why it failed.
    `meaning` explains the failure of the application or a query. `narrowest` divides the elapsed
    time. `counts` are the numbers of its jobs, stages and task attempts.
    """

    row: JobSummary
    ending: str
    failure: str | None
    elapsed_s: float | None = None
    began_s: float | None = None
    diagnosis: Diagnosis | None = None
    narrowest: NarrowestPoint | None = None
    meaning: str | None = None
    lacking: str | None = None
    counts: dict[str, int] = field(default_factory=dict)


def summary_file(repository: TrialRepository, trial: Trial) -> bytes:
    """The content of the artifact about the job of `trial`.

    VEN-RECORD-ARTIFACT if its account can't be read. If it can be read and not analyzed, that is
    the reason for having no finding.
    """
    account = load(repository, trial)
    counts = {
        "jobs": len(account.jobs),
        "stages": len(account.stages),
        "task_attempts": len(account.tasks),
    }
    kept = KeptSummary(
        JobSummary(),
        ending(trial.state, account),
        failure_of(account.application),
        counts=counts,
    )
    try:
        line = timeline(account)
        found = analyse_trial(trial, line)
        diagnosis = diagnose_trial(repository, trial, line, found)
        bad = trial.state is not State.SUCCEEDED or failed_queries(account)
        meaning = failure_meaning(account, found) if bad else None
        kept = replace(
            kept,
            row=summary_of(trial, line, found, diagnosis),
            elapsed_s=found.elapsed_s,
            began_s=account.began_s,
            diagnosis=diagnosis,
            narrowest=found.verdict,
            meaning=None if meaning is None else meaning.text,
            lacking=found.lacking,
        )
    except VenturiError as error:
        row = JobSummary(
            application=account.application.id,
            elapsed_s=trial.elapsed_s,
            finding_reason=error.message,
            saving_reason=error.message,
            use=run_use(trial, None, error.message),
        )
        kept = replace(kept, row=row, elapsed_s=trial.elapsed_s)
    return _adapter().dump_json(kept)


def kept_summary(repository: TrialRepository, trial: Trial) -> KeptSummary | None:
    """The kept summary of `trial`; None if its task tables were not dropped.

    VEN-RECORD-ARTIFACT if the file is missing or damaged.
    """
    if tables_dropped(trial) is None:
        return None
    artifact = next((each for each in trial.artifacts if each.name == SUMMARY_NAME), None)
    try:
        if artifact is None:
            raise ValueError("it isn't among the trial's files")
        return _adapter().validate_json(repository.artifact_path(artifact).read_bytes())
    except (ValueError, OSError) as error:
        raise VenturiError(
            "VEN-RECORD-ARTIFACT",
            f"the summary kept with trial {trial.id} cannot be read: {error}",
            where={"trial": trial.id},
            hint="import its log again",
        ) from error


@cache
def _adapter() -> TypeAdapter[KeptSummary]:
    from pydantic import TypeAdapter  # noqa: PLC0415 - slow to load

    return TypeAdapter(KeptSummary)
