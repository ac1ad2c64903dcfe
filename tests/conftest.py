"""Fixtures that every test may use: settings, repositories on both databases, trials, the agent."""

from __future__ import annotations

import ctypes
import itertools
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import hypothesis
import pytest

import processes
from venturi.record.repository import Repository
from venturi.record.trial import (
    Cluster,
    Engine,
    Host,
    Provenance,
    ProvenanceKind,
    Software,
    Trial,
    Workload,
    new_id,
)
from venturi.settings import SETTINGS, Settings


def pytest_configure(config: pytest.Config) -> None:
    # A plugin, for hooks of a conftest are not called for fixtures of the whole session.
    config.pluginmanager.register(processes)
    # Speed is never asserted.
    hypothesis.settings.register_profile("venturi", deadline=None)
    hypothesis.settings.load_profile("venturi")


# The files that take longest, so that no worker is left alone with one of them.
LONGEST = ("e2e/test_wheel", "measure/test_hadoop_cluster", "measure/test_spark_deployments",
           "e2e/test_pages", "measure/test_engine_real", "e2e/", "measure/", "benchmarks/",
           "agent/", "api/test_serve", "contract/")  # fmt: skip


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long files begin first."""

    def rank(item: pytest.Item) -> int:
        path = item.path.relative_to(Path(__file__).parent).as_posix()
        return next((n for n, each in enumerate(LONGEST) if path.startswith(each)), len(LONGEST))

    items.sort(key=rank)


_NUMBERS = itertools.count()


@pytest.fixture(autouse=True)
def _no_settings_from_outside(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Tests see no VENTURI_ variable of the caller but the agent to be tested, and wait for nobody
    else who measures on this host.
    """
    for setting in SETTINGS:
        if setting.variable != "VENTURI_AGENT":
            monkeypatch.delenv(setting.variable, raising=False)
    lock = tmp_path_factory.getbasetemp() / f"lock-{next(_NUMBERS)}"
    monkeypatch.setenv("VENTURI_LOCK", str(lock))


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Settings with a home of their own and SQLite."""
    return Settings(home=tmp_path / "home", database_url=None, agent=None, allow_debug=False)


@pytest.fixture(scope="session")
def agent_binary() -> Path:
    """The agent: VENTURI_AGENT, or the one installed beside Python."""
    path = Path(os.environ.get("VENTURI_AGENT") or Path(sys.executable).parent / "venturi-agent")
    if not path.exists():
        pytest.fail(f"there is no agent at {path}: `make setup` builds it")
    return path


@pytest.fixture
def make_trial() -> Callable[..., Trial]:
    """Makes planned trials; keyword arguments replace fields of the record."""

    def make(**changes: Any) -> Trial:
        trial = Trial(
            id=new_id(),
            workload=Workload("terasort", "v1", "tiny", 1_000_000, 10_000),
            engine=Engine("native", "0.1.0"),
            cluster=Cluster((Host("here", {"cores": 2}),), {"input": ("/data",)}),
            configuration={"memory_bytes": 1 << 30, "threads": 2},
            software=Software("0.1.0", "abc123", "release", "6.1"),
            provenance=Provenance(ProvenanceKind.MEASURED, "venturi"),
            started_at=datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC),
        )
        return replace(trial, **changes)

    return make


@pytest.fixture(params=["sqlite", "postgresql"])
def repository_settings(request: pytest.FixtureRequest, settings: Settings) -> Settings:
    """`settings` with an empty database, once on SQLite and once on PostgreSQL."""
    if request.param == "sqlite":
        return settings
    server: Callable[[], str] = request.getfixturevalue("new_postgresql_database")
    return replace(settings, database_url=server())


@pytest.fixture
def repository(repository_settings: Settings) -> Iterator[Repository]:
    """An empty repository, once on SQLite and once on PostgreSQL."""
    with Repository.open(repository_settings) as opened:
        yield opened


@pytest.fixture(scope="session")
def new_postgresql_database() -> Iterator[Callable[[], str]]:
    """Makes empty databases, and returns their URLs, on a PostgreSQL server of our own."""
    programs = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not programs:
        pytest.skip("PostgreSQL is not installed (Debian package postgresql)")
    # Short, because the path of a socket has at most 107 bytes.
    folder = Path(tempfile.mkdtemp(prefix="vpg", dir="/tmp"))
    try:
        server = _Postgresql(programs[-1].parent, folder)
        try:
            yield server.new_database
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder)


class _Postgresql:
    """A server on a socket in `folder`, owned by an ordinary user: PostgreSQL refuses root."""

    def __init__(self, programs: Path, folder: Path) -> None:
        self._programs, self._folder, self._databases = programs, folder, 0
        self._as: dict[str, Any] = {
            "cwd": folder,
            "env": {"PATH": os.environ["PATH"], "LC_ALL": "C"},
        }
        if os.geteuid() == 0:
            users = {entry.pw_name: entry for entry in pwd.getpwall()}
            user = users.get("postgres") or users["nobody"]
            os.chown(folder, user.pw_uid, user.pw_gid)
            self._as |= {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        initdb = (programs / "initdb", "-D", folder / "data", "-U", "venturi")
        subprocess.run(
            [*initdb, "--auth=trust", "--encoding=UTF8", "--no-locale", "--no-sync"],
            check=True, stdout=subprocess.DEVNULL, timeout=120, **self._as,
        )  # fmt: skip
        options = ("listen_addresses=", f"unix_socket_directories={folder}", "fsync=off")
        with (folder / "log").open("wb") as log:
            self._server = subprocess.Popen(
                [programs / "postgres", "-D", folder / "data", *(f"--{o}" for o in options)],
                stdout=log, stderr=log, preexec_fn=_end_with_parent, **self._as,  # noqa: PLW1509
            )  # fmt: skip
        try:
            self._wait_until_ready()
        except BaseException:
            self.stop()
            raise

    def new_database(self) -> str:
        self._databases += 1
        name = f"test{self._databases}"
        createdb = (self._programs / "createdb", "-h", self._folder, "-U", "venturi", name)
        subprocess.run(createdb, check=True, timeout=60, **self._as)
        return f"postgresql+psycopg://venturi@/{name}?host={self._folder}"

    def stop(self) -> None:
        self._server.send_signal(signal.SIGQUIT)  # at once: nothing in it is kept
        try:
            self._server.wait(30)
        except subprocess.TimeoutExpired:
            self._server.kill()
            self._server.wait()

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + 60
        ready = (self._programs / "pg_isready", "-q", "-h", self._folder, "-d", "postgres")
        while subprocess.run(ready, check=False, **self._as).returncode:
            if self._server.poll() is not None or time.monotonic() > deadline:
                log = (self._folder / "log").read_text()
                raise RuntimeError(f"PostgreSQL did not start:\n{log}")
            time.sleep(0.05)


def _end_with_parent() -> None:
    # A shell's background job ignores these two, and so would the server.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    # If the tests are killed, the server must not stay behind: prctl(PR_SET_PDEATHSIG, SIGQUIT).
    ctypes.CDLL(None).prctl(1, signal.SIGQUIT)
