"""A verb's changes, recorded as it makes them, and its death at one of them."""

from __future__ import annotations

import itertools
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event

FILE, WRITE, COMMIT = "file", "write", "commit"
_READ = ("SELECT", "BEGIN", "PRAGMA", "SHOW", "SET", "EXPLAIN", "SAVEPOINT", "RELEASE", "ROLLBACK")
_OF_FILES = {"os.rename": 1, "os.remove": 0, "os.mkdir": 0, "os.rmdir": 0, "os.link": 1}
"""Audit events, and which of their arguments is the path that changes."""
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT


def note_changes(path: str, folders: Sequence[str], kill_at: tuple[int, float] | None) -> None:
    """Record each change of a file in `folders` and of the database from now on in `path`, at its
    start: the seconds from now and a description.

    `kill_at` is the number of a change, from 1, and the seconds after it: then SIGALRM, which has
    no handler here, ends this process. It is as sudden as SIGKILL, and exact, because no other
    process is involved.
    """
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    begun_s = time.monotonic()
    numbers = itertools.count(1)

    def note(what: str) -> None:
        os.write(file, f"{time.monotonic() - begun_s:.6f} {what}\n".encode())
        if kill_at is not None and next(numbers) == kill_at[0]:
            signal.setitimer(signal.ITIMER_REAL, max(kill_at[1], 1e-6))

    _note_statements(note)
    sys.addaudithook(_of_files(note, tuple(f"{folder}/" for folder in folders)))


def _note_statements(note: Callable[[str], None]) -> None:
    written: set[int] = set()

    def before(connection: sa.Connection, _cursor: Any, statement: str, *_: Any) -> None:
        if not statement.lstrip().upper().startswith(_READ):
            written.add(id(connection.connection.dbapi_connection))
            note(WRITE)

    def commit(connection: sa.Connection) -> None:
        if id(connection.connection.dbapi_connection) in written:
            written.clear()
            note(COMMIT)

    event.listen(sa.Engine, "before_cursor_execute", before)
    event.listen(sa.Engine, "commit", commit)


def _of_files(
    note: Callable[[str], None], folders: tuple[str, ...]
) -> Callable[[str, tuple[Any, ...]], None]:
    def audit(name: str, arguments: tuple[Any, ...]) -> None:
        if name == "open":
            path, _, flags = arguments
            path = path if flags & _WRITES else None
        elif name in _OF_FILES:
            path = arguments[_OF_FILES[name]]
        else:
            return
        if isinstance(path, str | os.PathLike) and os.fspath(path).startswith(folders):
            note(FILE)

    return audit
