"""One measurement at a time: a lock of the host, held for as long as a command measures."""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from venturi.errors import VenturiError
from venturi.record.trial import now

_LOOK_AGAIN_S = 0.5


@contextmanager
def alone(
    path: Path, what: str, *, wait: bool = False, on_wait: Callable[[str], None] | None = None
) -> Iterator[None]:
    """Holds the lock in the file `path` while `what` measures; the kernel ends it with us.

    If another holds it: VEN-MEASURE-BUSY with who that is, or with `wait` waits, after telling
    `on_wait` once who is in the way.
    """
    try:
        lock = _opened(path)
    except OSError as error:
        raise VenturiError(
            "VEN-RECORD-DATABASE",
            f"the lock file of measurements cannot be opened: {error.strerror}",
            where={"file": str(path)},
            hint="set VENTURI_LOCK to a file you may write to",
        ) from error
    try:
        told = False
        while not _taken(lock):
            holder = _holder(path)
            if not wait:
                raise VenturiError(
                    "VEN-MEASURE-BUSY",
                    f"another command is measuring on this host: {holder}",
                    where={"lock": str(path)},
                    hint="wait until it has ended, or add --wait",
                )
            if not told and on_wait is not None:
                on_wait(holder)
            told = True
            time.sleep(_LOOK_AGAIN_S)
        os.ftruncate(lock, 0)
        about = {"what": what, "pid": os.getpid(), "since": now().isoformat(timespec="seconds")}
        os.pwrite(lock, json.dumps(about).encode(), 0)
        yield
    finally:
        os.close(lock)


def measuring(path: Path) -> str | None:
    """Who measures on this host, holding the lock in the file `path`; None if nobody does."""
    try:
        lock = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError:  # nobody has measured yet
        return None
    try:
        return None if _taken(lock, fcntl.LOCK_SH) else _holder(path)
    finally:
        os.close(lock)


def _opened(path: Path) -> int:
    """The file, which all users of the host share, closed in every child.

    In a folder that all may write to nobody is led elsewhere, and only who makes it creates it.
    """
    flags = os.O_RDWR | os.O_NOFOLLOW
    try:
        return os.open(path, flags)
    except FileNotFoundError:
        lock = os.open(path, flags | os.O_CREAT, 0o666)
        os.fchmod(lock, 0o666)  # whatever the umask
        return lock


def _taken(lock: int, how: int = fcntl.LOCK_EX) -> bool:
    try:
        fcntl.flock(lock, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _holder(path: Path) -> str:
    try:
        about = json.loads(path.read_text())
        return f"{about['what']} (process {about['pid']}, since {about['since']})"
    except (OSError, ValueError, KeyError, TypeError):
        return "another command"
