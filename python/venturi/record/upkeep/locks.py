"""Locks of a repository's folder, which end with the process that holds them.

A trial that is being imported has its files before it is recorded. So files without a trial must
not be searched or deleted while `import_lock` is held.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from venturi.core.errors import VenturiError
from venturi.record.store import file_lock
from venturi.record.store.files import modes_in

_WORKING, _FILES, _TRIALS = ".upkeep.lock", ".files.lock", ".trials.lock"


@contextmanager
def upkeep_lock(home: Path, what: str) -> Iterator[None]:
    """Let only one command copy, repair or remove files in `home`; VEN-REPOSITORY-BUSY names it."""
    with _opened(home, _WORKING) as file:
        other = file_lock.take(file, f"{what}, process {os.getpid()}")
        if other is not None:
            raise VenturiError(
                "VEN-REPOSITORY-BUSY",
                f"another command is changing this repository: {other or 'it started just now'}",
                where={"folder": str(home)},
                hint="retry when it has ended",
            )
        yield


def is_active(home: Path) -> bool:
    """Whether a command is copying, repairing or removing files in `home`."""
    with _opened(home, _WORKING) as file:
        return file_lock.is_taken(file)


@contextmanager
def import_lock(home: Path) -> Iterator[None]:
    """Held while `home` may have files of an unrecorded trial; holders run concurrently."""
    with _opened(home, _FILES) as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        yield


@contextmanager
def trial_lock(home: Path, id_: str) -> Iterator[None]:
    """Held while the files of the trial `id_` are replaced; waits for another process that does.

    Each trial has one byte of a file, so it costs no file of its own.
    """
    place = int.from_bytes(hashlib.sha256(id_.encode()).digest()[:4])
    with _opened(home, _TRIALS) as file:
        fcntl.lockf(file, fcntl.LOCK_EX, 1, place)
        yield


@contextmanager
def exclusive_files_lock(home: Path) -> Iterator[None]:
    """While every file in `home` is of a recorded trial, or left behind; waits for that."""
    with _opened(home, _FILES) as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextmanager
def _opened(home: Path, name: str) -> Iterator[int]:
    mode = modes_in(home)[1]
    try:
        file = os.open(home / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, mode)
    except OSError as error:
        raise VenturiError(
            "VEN-RECORD-DATABASE",
            f"the folder of the repository cannot be written: {error.strerror}",
            where={"folder": str(home)},
            hint="set VENTURI_HOME to a folder that you can write to",
        ) from error
    try:
        with suppress(PermissionError):  # it is another's, who has let us open it
            os.fchmod(file, mode)
        yield file
    finally:
        os.close(file)
