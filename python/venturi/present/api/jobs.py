"""A job as its engine accounts for it: stages, causes, the critical path, for the trial's page."""

from __future__ import annotations

from venturi.errors import VenturiError
from venturi.model.stage import Analysis, Stage, analyse
from venturi.model.stage_verdict import WORDS
from venturi.present.api.shapes import JobBound, JobCause, JobData, JobPart, JobStage
from venturi.record.job_account import has_account, load
from venturi.record.repository import Repository
from venturi.record.trial import Trial

SHOWN_STAGES = 200
TASK_TIME = "task time"


def job_of(repository: Repository, trial: Trial) -> JobData:
    """What the account that is kept with `trial` tells, or why nothing."""
    if not has_account(trial):
        return _nothing("no account of its engine was recorded with this trial")
    try:
        return _data(analyse(load(repository, trial)))
    except VenturiError as error:
        return _nothing(error.message)


def _nothing(reason: str) -> JobData:
    return JobData(None, None, None, (), (), 0, (), reason)


def _data(found: Analysis) -> JobData:
    longest = sorted(found.stages, key=lambda each: -each.task_s)[:SHOWN_STAGES]
    shown, path = {each.key for each in longest}, {step.key for step in found.path}
    whole_s = found.verdict.of_s
    return JobData(
        elapsed_s=found.elapsed_s,
        driver_s=found.driver_s,
        verdict=found.verdict.sentence,
        parts=tuple(
            JobPart(part, WORDS[part], share * whole_s, share)
            for part, share in found.verdict.shares.items()
            if whole_s is not None
        ),
        stages=tuple(_stage(each, each.key in path) for each in found.stages if each.key in shown),
        stages_left_out=len(found.stages) - len(shown),
        bounds=tuple(JobBound(b.without, b.recorded_s, b.at_most_s) for b in found.bounds),
        missing_reason=None,
    )


def _stage(stage: Stage, on_critical_path: bool) -> JobStage:
    skews = {each.what: each.ratio for each in stage.skews}
    return JobStage(
        label=stage.label,
        name=stage.name,
        outcome=stage.outcome,
        started_s=stage.started_s,
        elapsed_s=stage.elapsed_s,
        tasks=stage.n_attempts,
        slots=stage.slots,
        waves=stage.waves,
        slot_use=stage.slot_use,
        task_s=stage.task_s,
        causes=tuple(JobCause(each.cause, each.time_s) for each in stage.causes),
        unattributed_s=stage.unattributed_s,
        skew=skews.get(TASK_TIME),
        stragglers=stage.n_stragglers,
        spilled_bytes=stage.spilled_bytes,
        on_critical_path=on_critical_path,
        verdict=stage.verdict.sentence,
    )
