"""The fake agent as Venturi meets it, a session that uses it, and the real engines.

Hadoop is fetched once and kept in the user's cache folder, as are archives of classes.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import hadoop_classes
import spark_classes
from class_archives import BRIEF
from command_line import FAKE_AGENT, PROGRAM
from engine_runs import wait_until_gone
from scheduling import group_of
from spark_session import end_shared_spark, shared_spark
from this_host import HOST
from venturi.core.errors import VenturiError
from venturi.core.settings import Settings
from venturi.measure.engines.hadoop.install import installed
from venturi.measure.engines.registry import engine
from venturi.measure.engines.spark import task_names, tiers
from venturi.measure.hosts.agent import Agent
from venturi.measure.trial.runner import Session, open_session
from venturi.record.store.repository import TrialRepository

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[2]


FETCH_S = 2400
"""Time limit for fetching Hadoop and archives of classes on slow networks and disks."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Gives tests that may be the first with an engine the time that it takes to make it ready."""
    for item in items:
        if {"engines_home", "spark"}.intersection(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.timeout(FETCH_S + 300))


@pytest.fixture(autouse=True, scope="session")
def _brief_jvms() -> None:
    os.environ.setdefault("JAVA_TOOL_OPTIONS", BRIEF)


@pytest.fixture
def fault(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Makes every fake agent started from now on misbehave."""

    def set_fault(name: str) -> None:
        monkeypatch.setenv("FAKE_FAULT", name)

    return set_fault


@pytest.fixture
def fake_settings(settings: Settings) -> Settings:
    """Settings with the fake agent."""
    return replace(settings, agent=FAKE_AGENT)


@pytest.fixture
def fake_agent(fake_settings: Settings) -> Agent:
    """The client of a fake agent."""
    return Agent.find(fake_settings)


@pytest.fixture
def sqlite(fake_settings: Settings) -> Iterator[TrialRepository]:
    """An empty repository on SQLite."""
    with TrialRepository.open(fake_settings) as opened:
        yield opened


@pytest.fixture
def session(fake_agent: Agent, sqlite: TrialRepository) -> Session:
    """A session on the fake agent that samples often."""
    return open_session(fake_agent, sqlite, sample_interval_ms=20)


def _cache() -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "venturi-tests"


@pytest.fixture(scope="module")
def engines_home() -> Iterator[Path]:
    """A VENTURI_HOME in which Hadoop is installed, kept between test runs; its JVMs begin with an
    archive of classes.
    """
    home = _cache()
    home.mkdir(parents=True, exist_ok=True)
    _install_hadoop(home)  # of several workers one fetches it, and the others find it there
    with pytest.MonkeyPatch.context() as patch:
        for name, value in hadoop_classes.environment(home, _cache()).items():
            patch.setenv(name, value)
        yield home


def _install_hadoop(home: Path) -> None:
    if installed(HOST.files, home) is None:
        if shutil.which("mvn") is None or shutil.which("java") is None:
            pytest.skip("Hadoop needs Maven and Java (Debian packages maven, openjdk-17-jdk)")
        done = subprocess.run(
            [*PROGRAM, "engines", "install", "mapreduce"],
            env={**os.environ, "VENTURI_HOME": str(home)},
            capture_output=True,
            text=True,
            check=False,
            timeout=FETCH_S,
        )
        if "could not fetch" in done.stderr:
            pytest.skip(f"Maven Central cannot be reached: {done.stderr.splitlines()[0]}")
        assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def spark() -> Iterator[None]:
    """Skips where Spark cannot run; where it can, its JVMs begin with an archive of classes."""
    found = engine("spark", HOST, home=Path(), environ=os.environ).available()
    if not found.usable:
        pytest.skip("; ".join(each.what for each in found.missing))
    parts = found.parts
    with pytest.MonkeyPatch.context() as patch:
        for name, value in spark_classes.environment(
            Path(parts["home"]), parts["java"], _cache()
        ).items():
            patch.setenv(name, value)
        yield


@pytest.fixture(scope="session")
def tiers_jar() -> Path:
    """The plugin of tiers for the Spark of the tests."""
    return _built(lambda: tiers.jar("4.0"))


@pytest.fixture(scope="session")
def task_names_jar() -> Path:
    """The plugin by which threads say which task they run."""
    return _built(task_names.jar)


def _built(jar: Callable[[], Path]) -> Path:
    """The jar; made if there is Maven and it is not there yet."""
    try:
        return jar()
    except VenturiError as error:
        if shutil.which("mvn") is None:
            pytest.skip(error.message)
    sys.path.insert(0, str(ROOT / "packaging"))
    import venturi_build

    venturi_build.build_plugin()
    return jar()


@pytest.fixture(scope="module")
def spark_session(spark: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """One Spark in this process for the programs of all files of a group."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        yield shared_spark(lambda: tmp_path_factory.mktemp("spark"))


def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """The last test of a group ends the Spark that the group shares."""
    if nextitem is None or group_of(nextitem.nodeid) != group_of(item.nodeid):
        end_shared_spark()


@pytest.fixture
def home(tmp_path: Path, engines_home: Path) -> Path:
    """An empty repository that shares the installed engines."""
    folder = tmp_path / "home"
    folder.mkdir()
    (folder / "engines").symlink_to(engines_home / "engines")
    return folder


@pytest.fixture
def mark(tmp_path: Path) -> Iterator[str]:
    """The mark in the environment of a test's processes, which all have to end."""
    text = f"{tmp_path.name}-{os.getpid()}"
    yield text
    wait_until_gone(text)
