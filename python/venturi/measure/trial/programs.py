"""Runs an engine's program under the supervisor, and names the cause of a failure."""

from __future__ import annotations

import errno
import math
import os
import select
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from venturi.core.errors import Interrupted, VenturiError
from venturi.core.units import format_duration
from venturi.measure.hosts.host import Files, LiveHost
from venturi.measure.hosts.logs import complaint, known_cause, tail
from venturi.measure.trial.job import Attachment, JobFailed

CHECK_EVERY_S = 0.25
# With less free space than this a disk is full: engines remove little when they end.
FULL_BYTES = 4 << 20
# By itself, and by a shell that started it.
_KILLED = (-signal.SIGKILL, 128 + signal.SIGKILL)


@dataclass(frozen=True, slots=True)
class ProcessResult:
    """A program that ended well. `started_s` and `ended_s` are of the monotonic clock."""

    started_s: float
    ended_s: float
    user_s: float
    system_s: float
    peak_rss_bytes: int
    log: Path


@dataclass(frozen=True)
class Program:
    """A command to run. After a failure its `log` is kept, with the result of `attachments`.

    `label` distinguishes concurrent programs in the names of their files.
    """

    command: Sequence[str | Path]
    log: Path
    cwd: Path
    env: Mapping[str, str]
    attachments: Callable[[], tuple[Attachment, ...]] = tuple
    label: str = ""

    def kept(self) -> tuple[Attachment, ...]:
        """Return the files to keep of it."""
        own = (Attachment("log", self.log.name, self.log), *self.attachments())
        return tuple(labelled(each, self.label) for each in own)


def labelled(attachment: Attachment, label: str) -> Attachment:
    """`attachment` under a name that says to which of several programs it belongs."""
    if not label:
        return attachment
    stem, dot, suffix = attachment.name.partition(".")
    return replace(attachment, name=f"{stem}-{label}{dot}{suffix}")


def run(
    host: LiveHost,
    command: Sequence[str | Path],
    *,
    engine: str,
    log: Path,
    cwd: Path,
    env: Mapping[str, str],
    timeout_s: float | None,
    attachments: Callable[[], tuple[Attachment, ...]] = tuple,
    check: Callable[[], None] | None = None,
) -> ProcessResult:
    """Run `command` to its end; see `run_concurrently`."""
    program = Program(command, log, cwd, env, attachments)
    (ended,) = run_concurrently(host, [program], engine=engine, timeout_s=timeout_s, check=check)
    return ended


def run_concurrently(
    host: LiveHost,
    programs: Sequence[Program],
    *,
    engine: str,
    timeout_s: float | None,
    check: Callable[[], None] | None = None,
) -> tuple[ProcessResult, ...]:
    """Run `programs` concurrently to their ends, and leave no process behind however they end.

    The first that fails ends the others. `check` is called while they run, and after a failure: an
    error that it raises, such as that of an ended daemon (`Daemons.check`), ends the programs and
    becomes their failure. Raises JobFailed (with the attachments of all programs) and Interrupted.
    """
    running: list[_RunningProgram] = []
    failed: VenturiError | None = None
    late = False
    try:
        for program in programs:
            running.append(_RunningProgram(host, program))
        try:
            late = not _wait(running, timeout_s, check)
        except VenturiError as error:
            failed = error
    except KeyboardInterrupt:
        _stop(running)
        raise Interrupted from None
    finally:
        _stop(running)
    broken = [each for each in running if each.status != 0]
    if broken and check is not None and failed is None:
        failed = _complaint_of(check)
    kept = tuple(attachment for program in programs for attachment in program.kept())
    if failed is not None:
        raise JobFailed(
            failed.code, failed.message, where=failed.where, hint=failed.hint, attachments=kept
        )
    if late:
        raise JobFailed(
            "VEN-ENGINE-TIMEOUT",
            f"{engine} had not finished after {format_duration(timeout_s)} and was stopped",
            hint="allow more time with --timeout",
            attachments=kept,
        )
    if broken:
        # Programs ended because of the failure ended later.
        first = min(broken, key=lambda each: each.ended_s)
        raise _failure(host.files, engine, first.status, first.program, kept)
    return tuple(each.result() for each in running)


class _RunningProgram:
    """A program under its supervisor."""

    def __init__(self, host: LiveHost, program: Program) -> None:
        self.program = program
        self.started_s = time.monotonic()
        self.process = host.supervise(
            program.command, log=program.log, cwd=program.cwd, env=program.env
        )
        self.ended_s = math.inf

    @property
    def status(self) -> int:
        """Its exit status."""
        return int(self.process.report["status"])

    def hear(self) -> None:
        """Wait for its end, and record the time."""
        _ = self.process.report
        self.ended_s = time.monotonic()

    def result(self) -> ProcessResult:
        report = self.process.report
        return ProcessResult(
            started_s=self.started_s,
            ended_s=self.ended_s,
            user_s=report["user_s"],
            system_s=report["system_s"],
            peak_rss_bytes=report["peak_rss_bytes"],
            log=self.program.log,
        )


def _wait(
    running: Sequence[_RunningProgram], timeout_s: float | None, check: Callable[[], None] | None
) -> bool:
    """Return True if all programs ended by themselves, or one failed; False: their time is up.

    Raises the errors of `check`.
    """
    deadline_s = None if timeout_s is None else time.monotonic() + timeout_s
    waiting = {each.process: each for each in running}
    while waiting:
        left_s = None if deadline_s is None else max(0.0, deadline_s - time.monotonic())
        pause_s = left_s if check is None else min(CHECK_EVERY_S, left_s or CHECK_EVERY_S)
        for process in select.select(list(waiting), [], [], pause_s)[0]:
            ended = waiting.pop(process)
            ended.hear()
            if ended.status != 0:
                return True
        if not waiting:
            break
        if deadline_s is not None and time.monotonic() >= deadline_s:
            return False
        if check is not None:
            check()
    return True


def _complaint_of(check: Callable[[], None]) -> VenturiError | None:
    try:
        check()
    except VenturiError as error:
        return error
    return None


def _stop(running: Sequence[_RunningProgram]) -> None:
    """End the remaining programs together."""
    left = [each for each in running if not each.process.reaped]
    for each in left:
        each.process.release()
    for each in left:
        each.process.reap()
        if each.ended_s == math.inf:
            each.ended_s = time.monotonic()


def _failure(
    files: Files, engine: str, status: int, program: Program, attachments: tuple[Attachment, ...]
) -> JobFailed:
    text = tail(files, program.log)
    cause = known_cause(text)
    # The log may lie on the disk that is full, and end before it says so.
    if cause is None and files.free_bytes(program.log.parent) < FULL_BYTES:
        cause = known_cause(os.strerror(errno.ENOSPC))
    if cause:
        code, sentence, hint = cause
        return JobFailed(code, f"{engine}: {sentence}", hint=hint, attachments=attachments)
    how = f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
    hint = "the engine's own log is kept with the trial"
    if status in _KILLED:
        hint += (
            "; if the kernel killed it because the host's memory, or its limit, was used up, as "
            "`dmesg` there says, ask for less with --memory"
        )
    return JobFailed(
        "VEN-ENGINE-FAILED",
        f"{engine} {how}: {complaint(text)}",
        where={"status": status},
        hint=hint,
        attachments=attachments,
    )
