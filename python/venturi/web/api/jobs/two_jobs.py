"""`/api/jobs`: two jobs compared, as in `venturi compare --why`."""

from __future__ import annotations

from typing import Annotated

from venturi.core.errors import VenturiError
from venturi.jobs.diagnosis.difference import difference
from venturi.jobs.diagnosis.find import Finding, diagnose_trial
from venturi.record.trial import Trial
from venturi.web.api.context import Services
from venturi.web.api.jobs.job_shapes import ComparedJob, TwoJobs
from venturi.web.api.jobs.jobs import analysed
from venturi.web.api.request_arguments import NAME_LENGTH_MAX, Parameter

_Id = Annotated[
    str | None,
    Parameter(description="A trial's ID.", min_length=1, max_length=NAME_LENGTH_MAX),
]


def two_jobs(services: Services, before: _Id = None, after: _Id = None) -> TwoJobs:
    """The differences of two jobs: time by part, settings, plans, data and stages."""
    if before is None or after is None:
        return TwoJobs(
            None, None, None, "pick two trials of Spark or MapReduce that have a job log"
        )
    one, other = (services.repository.get(each) for each in (before, after))
    try:
        read = [analysed(services.repository, trial) for trial in (one, other)]
    except VenturiError as error:
        return TwoJobs(_named(one), _named(other), None, error.message)
    before_found, after_found = (
        diagnose_trial(services.repository, trial, *each).findings
        for trial, each in zip((one, other), read, strict=True)
    )
    found = difference(read[0], read[1], [one.state, other.state], (before_found, after_found))
    return TwoJobs(_named(one, before_found), _named(other, after_found), found, None)


def _named(trial: Trial, findings: tuple[Finding, ...] = ()) -> ComparedJob:
    return ComparedJob(trial.id, trial.workload.name, trial.started_at, findings)
