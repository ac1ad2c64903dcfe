"""The account of a job that Venturi ran itself, read from its engine's logs.

The account uses the trial's clock: `origin_ms` is the wall-clock time, in milliseconds since 1970,
at which the trial's phases and series start. That is valid for a driver on this host; timestamps
outside the job's execution mean that the driver had a different clock. An unreadable account must
not fail a trial: any error becomes a warning.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from venturi.core.errors import VenturiError
from venturi.jobs.logs.trial import LOST
from venturi.jobs.logs.trial import warnings as warnings_of
from venturi.measure.hosts.host import Files
from venturi.measure.trial.job import Attachment
from venturi.record.job_account import JobAccount
from venturi.record.job_account import files as files_of
from venturi.record.trial import TrialWarning

TOLERANCE_S = 1.0  # by which a driver's timestamps may lie outside its execution


@dataclass(frozen=True, slots=True)
class Execution:
    """When the trial began and when its job was executed, in seconds of the monotonic clock."""

    origin_s: float
    started_s: float
    ended_s: float


@dataclass(frozen=True, slots=True)
class KeptAccount:
    """Attachments and warnings to store with the trial; both empty if its engine left no log."""

    attachments: tuple[Attachment, ...] = ()
    warnings: tuple[TrialWarning, ...] = ()


ReadLog = Callable[[Files, Attachment, Sequence[Attachment]], JobAccount | None]
"""Reads the account in an attachment, one of several of a job; None if it is not a log."""


def account_of(
    read: ReadLog, files: Files, logs: Sequence[Attachment], execution: Execution, folder: Path
) -> KeptAccount:
    """Find the account in `logs` with `read`, and store it in `folder`, which is created.

    With several applications it is that of a failed one, else that of the longest.
    """
    warnings: list[TrialWarning] = []
    attachments: tuple[Attachment, ...] = ()
    try:
        accounts = list(_accounts(read, files, logs, warnings))
        if accounts:
            chosen = replace(max(accounts, key=_concern), applications=len(accounts))
            warnings += warnings_of(chosen)
            attachments = _written(files, aligned(chosen, execution), folder)
    except Exception as error:
        said = f"no job account: {type(error).__name__}: {error}"
        warnings.append(TrialWarning(LOST, said))
    return KeptAccount(attachments, tuple(warnings))


def aligned(account: JobAccount, execution: Execution) -> JobAccount:
    """`account` with the trial's beginning on its clock, or why that is not known."""
    origin_ms = 1e3 * (time.time() - time.monotonic() + execution.origin_s)
    application = account.application
    if application.started_ms is None or application.ended_ms is None:
        return replace(account, origin_reason="its log has no start or end of the application")
    began_s, ended_s = (
        execution.origin_s + (moment_ms - origin_ms) / 1e3
        for moment_ms in (application.started_ms, application.ended_ms)
    )
    outside_s = max(execution.started_s - began_s, ended_s - execution.ended_s)
    if outside_s > TOLERANCE_S:
        reason = f"the clock of its driver differs from this host's by at least {outside_s:.0f} s"
        return replace(account, origin_reason=reason)
    return replace(account, origin_ms=origin_ms)


def _concern(account: JobAccount) -> tuple[bool, float]:
    application = account.application
    return application.outcome != "succeeded", application.elapsed_s or 0.0


def _accounts(
    read: ReadLog, files: Files, logs: Sequence[Attachment], warnings: list[TrialWarning]
) -> Iterator[JobAccount]:
    for log in logs:
        try:
            if (found := read(files, log, logs)) is not None:
                yield found
        except VenturiError as error:
            warnings.append(TrialWarning(error.code, error.message))


def _written(files: Files, account: JobAccount, folder: Path) -> tuple[Attachment, ...]:
    files.mkdir(folder)
    kept = []
    for name, content in files_of(account):
        files.write(folder / name, content)
        kept.append(Attachment("other", name, folder / name))
    return tuple(kept)
