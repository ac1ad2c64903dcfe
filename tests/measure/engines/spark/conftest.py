"""Spark on clusters of real daemons, one of each deployment for all tests of a module."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from spark_runs import MEMORY_BYTES, Tiered, made, resources

from engine_runs import marked
from venturi.core.settings import Settings
from venturi.measure.engines.protocol import Resources
from venturi.measure.engines.spark.engine import Spark
from venturi.measure.hosts import daemons
from venturi.measure.hosts.agent import Agent
from venturi.measure.hosts.host import LiveHost
from venturi.measure.trial.runner import Session, open_session
from venturi.record.store.repository import TrialRepository


@pytest.fixture(scope="module")
def disks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Path]]:
    """A large disk and a fast one, which is small where we may mount one."""
    folder = tmp_path_factory.mktemp("standalone")
    hdd, ssd = folder / "hdd", folder / "ssd"
    hdd.mkdir()
    ssd.mkdir()
    is_root = os.geteuid() == 0
    if is_root:
        mount = ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(ssd)]
        subprocess.run(mount, check=True)
    yield hdd, ssd
    left = [*hdd.iterdir(), *ssd.iterdir()]
    if is_root:
        subprocess.run(["umount", ssd], check=True)
    assert left == []


@pytest.fixture(scope="module")
def standalone(spark: None, cluster_mark: str, disks: tuple[Path, Path]) -> Iterator[Spark]:
    """A Master and two Workers with two local directories; the first ports that were tried are
    taken."""
    hdd, ssd = disks
    found = made("standalone")
    free_ports, chosen = daemons.free_ports, []
    with pytest.MonkeyPatch.context() as patch, socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()

        def first_without_luck(host: LiveHost, count: int) -> tuple[int, ...]:
            chosen.append(free_ports(host, count))
            taken = other.getsockname()[1]
            return chosen[-1] if len(chosen) > 1 else (taken, *chosen[-1][1:])

        patch.setattr(daemons, "free_ports", first_without_luck)
        try:
            dirs = {"input": (hdd,), "scratch": (hdd, ssd), "output": (hdd,)}
            found.start(Resources(dirs, 2, MEMORY_BYTES, 2))
            assert len(chosen) == 2
            yield found
        finally:
            found.stop()
    assert marked(cluster_mark) == []


@pytest.fixture(scope="module")
def yarn(
    spark: None, engines_home: Path, cluster_mark: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Spark]:
    """Spark on a Hadoop cluster of its own."""
    folder = tmp_path_factory.mktemp("yarn")
    disks = folder / "hdd", folder / "ssd"
    for disk in disks:
        disk.mkdir()
    found = made("yarn", engines_home)
    try:
        found.start(replace(resources(folder), dirs={**resources(folder).dirs, "scratch": disks}))
        yield found
    finally:
        found.stop()
    assert [each for disk in disks for each in disk.iterdir()] == []
    assert sorted(folder.iterdir()) == sorted(disks)


@pytest.fixture
def session(settings: Settings, agent_binary: Path) -> Iterator[Session]:
    real = replace(settings, agent=agent_binary, allow_debug=True)
    with TrialRepository.open(real) as opened:
        yield open_session(Agent.find(real), opened)


@pytest.fixture(scope="module")
def tiered(standalone: Spark, disks: tuple[Path, Path], tiers_jar: Path) -> Tiered:
    """The same deployment with its disks."""
    return Tiered(standalone, *disks)
