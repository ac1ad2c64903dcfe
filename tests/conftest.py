"""Fixtures that every test may use: settings, repositories on both databases, trials, the agent."""

from __future__ import annotations

import gc
import itertools
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from command_line import AGENT
from fork_server import ForkServer, shared_server
from public_data import ImportedData, imported
from torture.postgresql import Postgresql
from venturi.core.settings import SETTINGS, Settings
from venturi.record.store.repository import TrialRepository
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

# Plugins, for hooks of a conftest are not called for fixtures of the whole session.
pytest_plugins = ("processes", "scheduling")


def pytest_configure() -> None:
    gc.disable()  # until all tests are collected: two fifths of the time that it takes
    # Speed is never asserted.
    hypothesis.settings.register_profile("venturi", deadline=None)
    hypothesis.settings.load_profile("venturi")


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


def pytest_xdist_auto_num_workers() -> int:
    """How many tests run concurrently: more than there are cores, for most of them wait much."""
    return len(os.sched_getaffinity(0)) + 2


_NUMBERS = itertools.count()


@pytest.fixture(autouse=True)
def _no_settings_from_outside(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Tests see no VENTURI_ variable of the caller but the agent to be tested, and wait for no
    other process that measures on this host.
    """
    for setting in SETTINGS:
        if setting.variable != "VENTURI_AGENT":
            monkeypatch.delenv(setting.variable, raising=False)
    lock = tmp_path_factory.getbasetemp() / f"lock-{next(_NUMBERS)}"
    monkeypatch.setenv("VENTURI_LOCK", str(lock))


@pytest.fixture(autouse=True, scope="session")
def _python3_is_this_one(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """`python3` is this interpreter. The stand-in for the agent is started hundreds of times, and a
    version manager's `python3` is a shell script that takes longer than it.
    """
    folder = tmp_path_factory.mktemp("bin")
    (folder / "python3").symlink_to(Path(sys.executable).resolve())
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", str(folder), prepend=os.pathsep)
        yield


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Settings with a home of their own and SQLite."""
    return Settings(home=tmp_path / "home", database_url=None, agent=None, allow_debug=False)


@pytest.fixture(scope="session")
def agent_binary() -> Path:
    """The agent: VENTURI_AGENT, or the one installed next to Python."""
    if not AGENT.exists():
        pytest.fail(f"there is no agent at {AGENT}: `make setup` builds it")
    return AGENT


@pytest.fixture(scope="session")
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
def kind_of_database(request: pytest.FixtureRequest) -> str:
    """SQLite and PostgreSQL, one after the other."""
    return str(request.param)


@pytest.fixture
def repository_settings(
    kind_of_database: str, settings: Settings, request: pytest.FixtureRequest
) -> Iterator[Settings]:
    """`settings` with an empty repository, once on SQLite and once on PostgreSQL.

    Its tables are a copy: they are created once for all tests.
    """
    if kind_of_database == "sqlite":
        shutil.copytree(request.getfixturevalue("home_without_trials"), settings.home)
        yield settings
        return
    server = request.getfixturevalue("postgresql")
    url = server.borrowed_repository()
    yield replace(settings, database_url=url)
    server.take_back(url)


@pytest.fixture
def bare_settings(
    kind_of_database: str, settings: Settings, request: pytest.FixtureRequest
) -> Settings:
    """`settings` with a database without tables, for tests of how they are created."""
    if kind_of_database == "sqlite":
        return settings
    return replace(settings, database_url=request.getfixturevalue("postgresql").new_database())


@pytest.fixture
def repository(repository_settings: Settings) -> Iterator[TrialRepository]:
    """An empty repository, once on SQLite and once on PostgreSQL."""
    with TrialRepository.open(repository_settings) as opened:
        yield opened


@pytest.fixture(scope="session")
def home_without_trials(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home of an empty repository on SQLite, to be copied."""
    home = tmp_path_factory.mktemp("repository")
    TrialRepository.open(Settings(home, None, None, allow_debug=False)).close()
    return home


@pytest.fixture(scope="session")
def aloja(tmp_path_factory: pytest.TempPathFactory) -> ImportedData:
    """ALOJA's fourth public data set."""
    return imported(tmp_path_factory, "aloja", "aloja_dataset4.csv")


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Postgresql]:
    """A PostgreSQL server of our own."""
    try:
        server = Postgresql()
    except FileNotFoundError as error:
        pytest.skip(str(error))
    with server:
        yield server


@pytest.fixture(scope="session")
def fork_server() -> ForkServer:
    """Starts servers, and programs to be killed, by forks."""
    return shared_server()
