"""What verbs tell of a trial whose engine's own account is kept with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from venturi.model.stages.stage import Analysis
from venturi.record.job_account import JobAccount, has_account, load
from venturi.record.trial import CPU_OTHERS, Trial

if TYPE_CHECKING:
    from venturi.advise.diagnosis.find import Diagnosis
    from venturi.model.stages.timeline import Timeline
    from venturi.present.meanwhile import Meanwhile
    from venturi.record.repository import Repository


@dataclass(frozen=True, slots=True)
class Job:
    """The account on its timeline, what can be told from it and from the host, and what to do."""

    line: Timeline
    analysis: Analysis
    host: Meanwhile
    diagnosis: Diagnosis

    @property
    def account(self) -> JobAccount:
        """The engine's own account."""
        return self.line.account


def job_of(repository: Repository, trial: Trial) -> Job | None:
    """That of `trial`, None if no account is kept with it."""
    if not has_account(trial):
        return None
    from venturi.advise.diagnosis.find import diagnose
    from venturi.model.stages.analysis import analyse
    from venturi.model.stages.timeline import timeline
    from venturi.present.meanwhile import meanwhile

    account = load(repository, trial)
    line = timeline(account)
    analysis = analyse(account, next(iter(trial.values(CPU_OTHERS)), None), line)
    host = meanwhile(repository, trial, account, analysis)
    return Job(line, analysis, host, diagnose(line, analysis))
