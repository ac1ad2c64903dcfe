"""The job history that MapReduce leaves with a trial."""

from __future__ import annotations

from collections.abc import Sequence

from venturi.jobs.logs import mapreduce
from venturi.measure.hosts.host import Files
from venturi.measure.trial.job import Attachment
from venturi.record.importing.formats import Log
from venturi.record.job_account import JobAccount

HISTORY, HISTORY_CONF = "history.jhist", "job-conf.xml"
"""The names of an attached history and its configuration."""


def read_account(files: Files, log: Attachment, logs: Sequence[Attachment]) -> JobAccount | None:
    """The account in `log` and the configuration among `logs`, None if it is not a history."""
    if log.name != HISTORY:
        return None
    conf = [each.path for each in logs if each.name == HISTORY_CONF][:1]
    with files.here(log.path, *conf) as (path, *confs):
        return mapreduce.read(Log(path, (path,)), conf=next(iter(confs), None))
