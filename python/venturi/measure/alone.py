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

LOCK_FILE = "measuring.lock"
_LOOK_AGAIN_S = 0.5


@contextmanager
def alone(
    home: Path, what: str, *, wait: bool = False, on_wait: Callable[[str], None] | None = None
) -> Iterator[None]:
    """Holds the lock in `home` (VENTURI_HOME) while `what` measures; the kernel ends it with us.

    If another holds it: VEN-MEASURE-BUSY with who that is, or with `wait` waits, after telling
    `on_wait` once who is in the way.
    """
    path = home / LOCK_FILE
    try:
        home.mkdir(parents=True, exist_ok=True)
        lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)  # closed in every child
    except OSError as error:
        raise VenturiError(
            "VEN-RECORD-DATABASE",
            f"the lock of measurements cannot be made: {error.strerror}",
            where={"file": str(path)},
            hint="set VENTURI_HOME to a folder you may write to",
        ) from error
    try:
        told = False
        while not _taken(lock):
            holder = _holder(path)
            if not wait:
                raise VenturiError(
                    "VEN-MEASURE-BUSY",
                    f"this host is measuring already: {holder}",
                    where={"lock": str(path)},
                    hint="wait until it has ended, or let --wait do that",
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


def _taken(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _holder(path: Path) -> str:
    try:
        about = json.loads(path.read_text())
        return f"{about['what']} (process {about['pid']}, since {about['since']})"
    except (OSError, ValueError, KeyError, TypeError):
        return "another command"
