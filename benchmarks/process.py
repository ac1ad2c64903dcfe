"""Runs one program and measures its cost: wall time, CPU and peak memory of that child alone."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from benchmarks.limits import MemoryGroup

Ending = Literal["ok", "failed", "out of memory", "timed out"]
_GRACE_S = 10.0


@dataclass(frozen=True, slots=True)
class ProcessOutcome:
    """The outcome of one process.

    `wall_s` runs from before the start until after the exit and after `then` (an fsync, say).
    `user_s`, `system_s` and `max_rss_bytes` are the kernel's own account of that child (wait4).
    """

    command: tuple[str, ...]
    ending: Ending
    returncode: int
    wall_s: float
    user_s: float
    system_s: float
    max_rss_bytes: int
    stdout: str
    stderr: str

    @property
    def complaint(self) -> str:
        """The last line on stderr that names an error, else the last line, else the ending."""
        lines = self.stderr.strip().splitlines()
        named = [line for line in lines if "error" in line.lower()]
        said = (named or lines or ["no message"])[-1]
        return f"{self.ending}: {said[:300]}"


def run(
    command: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    group: MemoryGroup | None = None,
    timeout_s: float | None = None,
    then: Callable[[], None] | None = None,
) -> ProcessOutcome:
    """Run `command` to its end; `then` is called inside the timed region after a success.

    An interruption ends the child and its children first.
    """
    full = [*(group.enter if group else ()), *command]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        started_s = time.perf_counter()
        process = subprocess.Popen(
            full,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            env={**os.environ, **(env or {})},
            process_group=0,
        )
        late = threading.Event()
        timer = threading.Timer(timeout_s or 0.0, _time_is_up, (process.pid, late))
        if timeout_s is not None:
            timer.start()
        try:
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        except BaseException:
            end(process)
            raise
        finally:
            timer.cancel()
        if then and process.returncode == 0:
            then()
        wall_s = time.perf_counter() - started_s
        out.seek(0)
        err.seek(0)
        return ProcessOutcome(
            command=tuple(command),
            ending=_ending(process.returncode, group, late.is_set()),
            returncode=process.returncode,
            wall_s=wall_s,
            user_s=usage.ru_utime,
            system_s=usage.ru_stime,
            max_rss_bytes=usage.ru_maxrss * 1024,
            stdout=out.read().decode(errors="replace"),
            stderr=err.read().decode(errors="replace"),
        )


def _time_is_up(pid: int, late: threading.Event) -> None:
    late.set()
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)


def _ending(returncode: int, group: MemoryGroup | None, late: bool) -> Ending:
    if late:
        return "timed out"
    if group and group.oom_kills() > 0:
        return "out of memory"
    return "ok" if returncode == 0 else "failed"


def end(process: subprocess.Popen[bytes]) -> None:
    """End a process that we started and its children: by SIGTERM, then by SIGKILL."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    try:
        process.wait(_GRACE_S)
    except subprocess.TimeoutExpired:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@contextmanager
def background(command: Sequence[str]) -> Iterator[subprocess.Popen[bytes]]:
    """A server for the time of the `with` block."""
    process = subprocess.Popen(
        list(command),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        process_group=0,
    )
    try:
        yield process
    finally:
        end(process)


def fsync_tree(path: Path) -> None:
    """Make a file, or a folder's files and the folder itself, durable."""
    inside = sorted(path.rglob("*")) if path.is_dir() else [path, path.parent]
    for each in [*inside, *([path] if path.is_dir() else [])]:
        handle = os.open(each, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def make_cold(path: Path) -> None:
    """Write `path` (a file or a folder) back and drop it from the page cache; needs no root."""
    for file in [path] if path.is_file() else [p for p in path.rglob("*") if p.is_file()]:
        handle = os.open(file, os.O_RDONLY)
        try:
            os.fsync(handle)
            os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(handle)
