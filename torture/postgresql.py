"""A PostgreSQL server of our own, and databases in it."""

from __future__ import annotations

import ctypes
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg

from venturi.core.settings import Settings
from venturi.record.store.closing import Closing
from venturi.record.store.repository import TrialRepository
from venturi.record.store.tables import METADATA

# Tables that are the template's have its rows in these catalogs, with its transactions.
_CATALOGS = ("pg_attribute", "pg_index", "pg_constraint", "pg_trigger")
_TABLES = "SELECT (SELECT version_num FROM alembic_version), " + ", ".join(
    f"(SELECT (count(*), sum(xmin::text::bigint))::text FROM {name})" for name in _CATALOGS
)
_NAMES = [table.name for table in METADATA.sorted_tables]
_FILLED = " UNION ALL ".join(
    f"SELECT '{name}' WHERE EXISTS (SELECT FROM {name})" for name in _NAMES
)
_END_OTHERS = """
SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()
"""


class Postgresql(Closing):
    """A server on a socket, owned by an ordinary user: PostgreSQL refuses root."""

    def __init__(self) -> None:
        """Start it; FileNotFoundError if PostgreSQL is not installed."""
        programs = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
        if not programs:
            raise FileNotFoundError("PostgreSQL is not installed (Debian package postgresql)")
        self._programs, self._databases = programs[-1].parent, 0
        self._returned: list[str] = []
        # Short, because the path of a socket has at most 107 bytes.
        self._folder = folder = Path(tempfile.mkdtemp(prefix="vpg", dir="/tmp"))
        self._as: dict[str, Any] = {
            "cwd": folder,
            "env": {"PATH": os.environ["PATH"], "LC_ALL": "C"},
        }
        self._server: subprocess.Popen[bytes] | None = None
        try:
            self._start()
            first = self.new_database()  # test1
            TrialRepository.open(Settings(folder, first, None, allow_debug=False)).close()
            with self._connected(_name_of(first)) as connection:
                self._tables = connection.execute(_TABLES).fetchall()
                self._changes = connection.execute("SELECT made FROM changes").fetchone()
        except BaseException:
            self.close()
            raise

    def _start(self) -> None:
        folder, programs = self._folder, self._programs
        if os.geteuid() == 0:
            users = {entry.pw_name: entry for entry in pwd.getpwall()}
            user = users.get("postgres") or users["nobody"]
            os.chown(folder, user.pw_uid, user.pw_gid)
            self._as |= {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        initdb = (programs / "initdb", "-D", folder / "data", "-U", "venturi")
        subprocess.run(
            [*initdb, "--auth=trust", "--encoding=UTF8", "--no-locale", "--no-sync"],
            check=True,
            stdout=subprocess.DEVNULL,
            timeout=120,
            **self._as,
        )
        # Hundreds of databases, each for seconds: there is nothing to look after in them.
        options = (
            "listen_addresses=",
            f"unix_socket_directories={folder}",
            "fsync=off",
            "autovacuum=off",
        )
        with (folder / "log").open("wb") as log:
            self._server = subprocess.Popen(
                [programs / "postgres", "-D", folder / "data", *(f"--{o}" for o in options)],
                stdout=log,
                stderr=log,
                preexec_fn=_end_with_parent,  # noqa: PLW1509
                **self._as,
            )
        self._wait_until_ready(self._server)

    def new_database(self) -> str:
        """The URL of a new database without tables."""
        return self._create("template1")

    def new_repository(self) -> str:
        """The URL of a new database with the tables of an empty repository."""
        return self._create("test1")

    def borrowed_repository(self) -> str:
        """The URL of such a database, which may be one that `take_back` has emptied."""
        return self._returned.pop() if self._returned else self.new_repository()

    def take_back(self, url: str) -> None:
        """Empty the database at `url` for the next borrower, unless its tables were changed: a
        quarter of the time that a new one takes.
        """
        with suppress(psycopg.Error), self._connected(_name_of(url)) as connection:
            connection.execute(_END_OTHERS)
            if connection.execute(_TABLES).fetchall() != self._tables:
                return
            filled = [name for (name,) in connection.execute(_FILLED.encode())]
            connection.execute(f"TRUNCATE {', '.join(filled)}".encode())
            connection.execute("SELECT setval('trials_serial_seq', 1, false)")
            connection.execute("INSERT INTO changes VALUES (%s)", self._changes)
            self._returned.append(url)

    def copy_of(self, url: str) -> str:
        """Return the URL of a copy of the database at `url`, which must have no connections."""
        return self._create(_name_of(url))

    def drop(self, url: str) -> None:
        """Remove the database at `url` despite any connections."""
        self._execute(f"DROP DATABASE {_name_of(url)} WITH (FORCE)")

    @property
    def socket(self) -> Path:
        """On which it listens."""
        return self._folder / ".s.PGSQL.5432"

    def end_connections(self, url: str, by: int) -> None:
        """End all connections to the database at `url`: by SIGTERM as an administrator would
        (`pg_terminate_backend`), or by SIGKILL, after which the server restarts.
        """
        at_work = f"SELECT pid FROM pg_stat_activity WHERE datname = '{_name_of(url)}'"
        for (pid,) in self._execute(at_work):
            with suppress(ProcessLookupError):
                os.kill(pid, by)
        if by == signal.SIGKILL and self._server is not None:
            time.sleep(0.1)  # it has not yet noticed
            self._wait_until_ready(self._server)

    def end_idle(self, url: str) -> None:
        """From now on end connections to the database at `url` that wait within a transaction."""
        name = _name_of(url)
        self._execute(f"ALTER DATABASE {name} SET idle_in_transaction_session_timeout = 1")

    def bear_idle(self, url: str) -> None:
        """No longer."""
        self._execute(f"ALTER DATABASE {_name_of(url)} RESET ALL")

    def _create(self, template: str) -> str:
        self._databases += 1
        name = f"test{self._databases}"
        self._execute(f"CREATE DATABASE {name} TEMPLATE {template}")
        return f"postgresql+psycopg://venturi@/{name}?host={self._folder}"

    def _connected(self, name: str) -> psycopg.Connection:
        server = f"host={self._folder} user=venturi dbname={name}"
        return psycopg.connect(server, autocommit=True)

    def _execute(self, statement: str) -> list[tuple[Any, ...]]:
        with self._connected("postgres") as connection:
            done = connection.execute(statement.encode())
            return done.fetchall() if done.description else []

    def close(self) -> None:
        """Stop it immediately: nothing in it is kept."""
        if self._server is not None:
            self._server.send_signal(signal.SIGQUIT)
            try:
                self._server.wait(30)
            except subprocess.TimeoutExpired:
                self._server.kill()
                self._server.wait()
        shutil.rmtree(self._folder)

    def _wait_until_ready(self, server: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + 60
        ready = (self._programs / "pg_isready", "-q", "-h", self._folder, "-d", "postgres")
        while subprocess.run(ready, check=False, **self._as).returncode:
            if server.poll() is not None or time.monotonic() > deadline:
                log = (self._folder / "log").read_text()
                raise RuntimeError(f"PostgreSQL did not start:\n{log}")
            time.sleep(0.05)


def _name_of(url: str) -> str:
    return url.partition("@/")[2].partition("?")[0]


def _end_with_parent() -> None:
    # A shell's background job ignores these two, and so would the server.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    # If its owner is killed, the server must not stay behind: prctl(PR_SET_PDEATHSIG, SIGQUIT).
    ctypes.CDLL(None).prctl(1, signal.SIGQUIT)
