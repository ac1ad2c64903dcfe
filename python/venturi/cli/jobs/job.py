"""Loads and analyzes the engine's own account of a trial for the verbs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from venturi.core import settings
from venturi.jobs.stages.stage import Analysis
from venturi.record.account_tables import has_account
from venturi.record.job_account import JobAccount, load
from venturi.record.trial import Trial

if TYPE_CHECKING:
    from venturi.jobs.diagnosis.find import Diagnosis
    from venturi.jobs.stages.host_use import HostUseByStage
    from venturi.jobs.stages.timeline import Timeline
    from venturi.machines.cost.job_prices import JobCost, JobPrices
    from venturi.record.store.repository import TrialRepository


@dataclass(frozen=True, slots=True)
class AnalyzedJob:
    """The account on its timeline, its analysis with the host's use, and the diagnosis."""

    line: Timeline
    analysis: Analysis
    host: HostUseByStage
    diagnosis: Diagnosis

    @property
    def account(self) -> JobAccount:
        """The engine's own account."""
        return self.line.account


def job_of(repository: TrialRepository, trial: Trial) -> AnalyzedJob | None:
    """Load and analyze the job of `trial`; None if no account is kept with it."""
    if not has_account(trial):
        return None
    from venturi.jobs.diagnosis.find import diagnose_trial
    from venturi.jobs.stages.analysis import analyse_trial
    from venturi.jobs.stages.host_use import host_use_by_stage
    from venturi.jobs.stages.timeline import timeline

    account = load(repository, trial)
    line = timeline(account)
    analysis = analyse_trial(trial, line)
    host = host_use_by_stage(repository, trial, account, analysis)
    return AnalyzedJob(
        line, analysis, host, diagnose_trial(repository, trial, line, analysis, host)
    )


def cost_of_job(trial: Trial, job: AnalyzedJob) -> JobCost:
    """The cost of the job's run, at its recorded price or the user's."""
    from venturi.jobs.fleet.run_use import run_use
    from venturi.machines.cost.job_prices import job_cost

    return job_cost(run_use(trial, job.line), own_prices())


def own_prices() -> JobPrices:
    """The user's prices of jobs; VEN-PRICE-FORMAT if their file has a mistake."""
    from venturi.machines.cost.prices_file import own_job_prices

    return own_job_prices(settings.load().job_prices)
