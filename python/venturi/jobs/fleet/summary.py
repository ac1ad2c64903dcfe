"""The summary of a job: its time, its machines, and its biggest finding."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from venturi.jobs.fleet.run_use import run_use
from venturi.machines.cost.job_prices import JobUse
from venturi.record.trial import State, Trial

if TYPE_CHECKING:
    from venturi.jobs.diagnosis.find import Diagnosis
    from venturi.jobs.stages.stage import Analysis
    from venturi.jobs.stages.timeline import Timeline

_FAILED = "the job failed"


@dataclass(frozen=True, slots=True)
class JobSummary:
    """A job's time, machines, and biggest finding with its `fix` and `saving` in words.

    `finding` and `fix` of a failed job are those of its failure. Without a finding, `finding` is
    None and `finding_reason` explains why; without a saving, `saving_reason` does.
    """

    application: str | None = None
    elapsed_s: float | None = None
    finding: str | None = None
    finding_reason: str | None = None
    fix: str | None = None
    saving: str | None = None
    saving_s: float | None = None
    saving_low_s: float | None = None
    saving_high_s: float | None = None
    saving_reason: str | None = None
    use: JobUse = field(default_factory=JobUse)


def summary_of(
    trial: Trial, line: Timeline, analysis: Analysis, diagnosis: Diagnosis
) -> JobSummary:
    """The summary of a job; a failed one has the meaning of its failure, and no saving."""
    from venturi.jobs.failures.meanings import CANCELED  # noqa: PLC0415
    from venturi.jobs.stages.losses import failure_meaning  # noqa: PLC0415

    plain = JobSummary(
        application=line.account.application.id,
        elapsed_s=line.elapsed_s if trial.elapsed_s is None else trial.elapsed_s,
        use=run_use(trial, line),
    )
    if trial.state is State.FAILED:
        meaning = failure_meaning(line.account, analysis)
        said = None if trial.failure is None else trial.failure.message.partition("\n")[0]
        return replace(
            plain,
            # Only the message names the canceled job and the reason.
            finding=said if meaning is None or meaning.id == CANCELED else meaning.meaning,
            finding_reason=None if meaning or said else "no reason of the failure is recorded",
            fix=None if meaning is None else meaning.remedy,
            saving_reason=_FAILED,
        )
    first = next(iter(diagnosis.findings), None)
    if first is None:
        reason = diagnosis.silence or "no findings"
        return replace(plain, finding_reason=reason, saving_reason=reason)
    with_fix = replace(plain, finding=first.title, fix=first.fix, saving=first.saving)
    if first.saving_s <= 0:
        return replace(with_fix, saving_reason="the fix saves resources, not time")
    return replace(
        with_fix,
        saving_s=first.saving_s,
        saving_low_s=first.saving_low_s,
        saving_high_s=first.saving_high_s,
    )
