"""Runs an engine's program under the supervisor, and names what went wrong."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from venturi.errors import Interrupted
from venturi.measure.runner import Attachment, JobFailed
from venturi.units import format_duration

SUPERVISOR = Path(__file__).with_name("supervise.py")
CLEAN_UP_S = 30.0
TAIL_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class Ended:
    """A program that ended well. `started_s` and `ended_s` are of the monotonic clock."""

    started_s: float
    ended_s: float
    user_s: float
    system_s: float
    peak_rss_bytes: int
    log: Path


# What a log says -> code, sentence, hint. The first that is found counts: causes before effects.
_CAUSES: tuple[tuple[tuple[str, ...], str, str, str], ...] = (
    (
        ("No space left on device", "DiskOutOfSpaceException", "Disk quota exceeded"),
        "VEN-ENGINE-SPACE",
        "the disk is full",
        "free some space, or name another disk with --dir",
    ),
    (
        ("UnsupportedClassVersionError", "getSubject is not supported"),
        "VEN-ENGINE-JAVA",
        "this Java is not one the engine works with",
        "set JAVA_HOME to another one; `venturi engines` says which are fit",
    ),
    (
        ("OutOfMemoryError", "There is insufficient memory for the Java Runtime"),
        "VEN-ENGINE-MEMORY",
        "the engine ran out of memory",
        "give it more with --memory, or a smaller input",
    ),
)


def run(
    command: Sequence[str | Path],
    *,
    engine: str,
    log: Path,
    cwd: Path,
    env: Mapping[str, str],
    timeout_s: float | None,
    attachments: Callable[[], tuple[Attachment, ...]] = tuple,
) -> Ended:
    """Runs `command` to its end; nothing of it is left, however it ended.

    Raises JobFailed (with the log and what `attachments` then finds) and Interrupted.
    """
    started_s = time.monotonic()
    # A pipe, not a signal, holds the two together: it closes however this process ends.
    supervisor = subprocess.Popen(
        [sys.executable, "-I", "-S", SUPERVISOR, log, "--", *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=cwd,
        env={**os.environ, **env},
        process_group=0,
    )
    late = False
    try:
        assert supervisor.stdout is not None
        try:
            supervisor.wait(timeout_s)
        except subprocess.TimeoutExpired:
            late = True
            _stop(supervisor)
        line = supervisor.stdout.readline()
    except KeyboardInterrupt:
        _stop(supervisor)
        raise Interrupted from None
    finally:
        _stop(supervisor)
        for pipe in (supervisor.stdin, supervisor.stdout):
            if pipe is not None:
                pipe.close()
    kept = (Attachment("log", log.name, log), *attachments())
    if late:
        raise JobFailed(
            "VEN-ENGINE-TIMEOUT",
            f"{engine} was not done after {format_duration(timeout_s)} and was ended",
            hint="give it more with --timeout",
            attachments=kept,
        )
    report = json.loads(line) if line else {"status": supervisor.returncode}
    if report["status"] != 0:
        raise _failure(engine, int(report["status"]), tail(log), kept)
    return Ended(
        started_s=started_s,
        ended_s=time.monotonic(),
        user_s=report["user_s"],
        system_s=report["system_s"],
        peak_rss_bytes=report["peak_rss_bytes"],
        log=log,
    )


def _stop(supervisor: subprocess.Popen[bytes]) -> None:
    if supervisor.poll() is not None:
        return
    assert supervisor.stdin is not None
    with suppress(OSError):
        supervisor.stdin.close()
    try:
        supervisor.wait(CLEAN_UP_S)
    except subprocess.TimeoutExpired:
        supervisor.kill()
        supervisor.wait()


def tail(log: Path) -> str:
    """The end of a log, as text."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - TAIL_BYTES))
            return file.read().decode(errors="replace")
    except OSError:
        return ""


def _failure(engine: str, status: int, text: str, attachments: tuple[Attachment, ...]) -> JobFailed:
    for signs, code, sentence, hint in _CAUSES:
        if any(sign in text for sign in signs):
            return JobFailed(code, f"{engine}: {sentence}", hint=hint, attachments=attachments)
    how = f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
    return JobFailed(
        "VEN-ENGINE-FAILED",
        f"{engine} {how}: {complaint(text)}",
        where={"status": status},
        hint="the engine's own log is kept with the trial",
        attachments=attachments,
    )


def complaint(text: str) -> str:
    """The line of a log that most likely says why."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    signs = ("Caused by:", "Exception", "Error", "ERROR", "FATAL")
    for sign in signs:
        named = [line for line in lines if sign in line and not line.startswith("at ")]
        if named:
            return named[-1][:300]
    return lines[-1][:300] if lines else "it said nothing"
