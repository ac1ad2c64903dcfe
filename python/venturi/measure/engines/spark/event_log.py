"""The event logs that Spark leaves with a trial."""

from __future__ import annotations

from collections.abc import Sequence

from venturi.jobs.logs import spark
from venturi.measure.hosts.host import Files
from venturi.measure.trial.job import Attachment
from venturi.record.importing.formats import Log
from venturi.record.job_account import JobAccount

EVENT_LOG = "eventlog"
"""How the names of attached event logs begin."""


def read_account(files: Files, log: Attachment, logs: Sequence[Attachment]) -> JobAccount | None:
    """The account in `log`, None if it is not an event log."""
    if not log.name.startswith(EVENT_LOG):
        return None
    with files.here(log.path) as (path,):
        return spark.read(Log(path, (path,)))
