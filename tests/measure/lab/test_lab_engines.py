"""Engines on the hosts of a lab: daemons host by host, series of all, nothing left of any."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from command_line import AGENT, started, venturi
from sshd import sshd
from torture.measure.lab_remains import ADDRESSES, NAME, NEEDS, id_of, inside, left, remains
from venturi.core.settings import load
from venturi.measure.lab import lab, machine
from venturi.measure.lab.lab_file import lab_of
from venturi.record.store.repository import TrialRepository

pytestmark = [
    pytest.mark.root,
    pytest.mark.engines,
    pytest.mark.slow,
    pytest.mark.skipif(bool(NEEDS), reason="; ".join(NEEDS)),
]

LAB = """
name = "NAME"
[network]
addresses = "ADDRESSES"
rate = "400Mbit/s"
[disks.ssd]
size = "512MiB"
rate = "200MB/s"
[[hosts]]
name = "m"
roles = ["master"]
[[hosts]]
name = "w"
count = 2
disks = { ssd = 2 }
"""
WORKERS = ("w1", "w2")
NODE_MANAGER = b"org.apache.hadoop.yarn.server.nodemanager.NodeManager"
DATA_NODE = b"org.apache.hadoop.hdfs.server.datanode.DataNode"
MASTER_OF_JOB = b"org.apache.hadoop.mapreduce.v2.app.MRAppMaster"
_SOON = "-XX:TieredStopAtLevel=1"
BRIEF = [
    f"--set=mapreduce.{kind}.java.opts={_SOON}" for kind in ("map", "reduce")
]  # short tasks gain nothing from the second compiler


@pytest.fixture(scope="module")
def home(engines_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A repository with the installed engines, and a lab that is up."""
    folder = tmp_path_factory.mktemp("home")
    (folder / "engines").symlink_to(engines_home / "engines")
    before = remains()
    text = LAB.replace("NAME", NAME).replace("ADDRESSES", ADDRESSES)
    lab.up(lab_of(text, Path("lab.toml")), folder, cores=2, agent=AGENT)
    ids = id_of(folder, NAME)
    try:
        yield folder
    finally:
        lab.down(folder, NAME)
    assert left(before, ids) == []


def run(
    home: Path, *arguments: object, cluster: object = f"lab:{NAME}", **environment: str
) -> subprocess.Popen[str]:
    """`venturi run ARGUMENTS` on the lab, with the real agent."""
    return started(
        "run",
        *arguments,
        "--cluster",
        cluster,
        "--warm-up",
        "0",
        "--threads",
        "2",
        "--memory",
        "1GiB",
        "--json",
        home=home,
        VENTURI_AGENT=str(AGENT),
        **environment,
    )


@contextmanager
def over_ssh(home: Path, folder: Path) -> Iterator[tuple[Path, Path]]:
    """The hosts of the lab by a server in each: a cluster's file, and a folder with an `ssh` that
    leads to them.
    """
    config, file, programs = folder / "config", folder / "cluster.toml", folder / "bin"
    told = lab.cluster_file(home, NAME).read_text()
    with ExitStack() as stack:
        texts = []
        for host in lab.look(home, NAME).made.hosts:
            server = stack.enter_context(
                sshd(
                    folder / host.name,
                    address=host.address,
                    within=lab.enter(home, NAME, host.name),
                )
            )
            texts.append((server.folder / "client").read_text().replace("far", host.name))
        config.write_text("".join(texts))
        file.write_text(told.replace(f'lab = "{NAME}"\n', ""))
        programs.mkdir()
        ssh = programs / "ssh"
        ssh.write_text(f'#!/bin/sh\nexec {shutil.which("ssh")} -F {config} "$@"\n')
        ssh.chmod(0o755)
        yield file, programs


@cache
def namespace(home: Path, host: str) -> str:
    """The network namespace of a host of the lab."""
    return inside(home, NAME, host, "readlink", "/proc/self/ns/net").stdout.strip()


def processes(home: Path, host: str) -> dict[int, list[bytes]]:
    """The arguments of each process in the network namespace of a host of the lab."""
    own = namespace(home, host)
    found = {}
    for pid in machine.processes():
        with suppress(OSError):
            if str(Path(f"/proc/{pid}/ns/net").readlink()) == own:
                found[pid] = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    return found


def running(home: Path, program: bytes, hosts: tuple[str, ...] = WORKERS) -> list[int]:
    """The JVMs on `hosts` that run the class `program`."""
    return [
        pid
        for host in hosts
        for pid, arguments in processes(home, host).items()
        if arguments[0].endswith(b"/java") and program in arguments
    ]


def wait_for(
    home: Path,
    program: bytes,
    venturi: subprocess.Popen[str],
    hosts: tuple[str, ...] = WORKERS,
    but: Collection[int] = (),
) -> int:
    """A JVM on one of `hosts` that runs the class `program`, when there is one, and not `but`."""
    deadline_s = time.monotonic() + 200
    while time.monotonic() < deadline_s:
        for pid in running(home, program, hosts):
            if pid not in but:
                return pid
        assert venturi.poll() is None, venturi.communicate()
        time.sleep(0.2)
    raise AssertionError(f"{program!r} was not started on {hosts}")


def require_nothing_left(home: Path) -> None:
    """Check that each host has only the process that keeps its namespaces."""
    until_s = time.monotonic() + 30
    while any((counts := lab.look(home, NAME).processes).values()):
        assert time.monotonic() < until_s, counts
        time.sleep(0.1)


def listed(home: Path, state: str) -> list[str]:
    """Trials in this state, the newest first."""
    found = venturi("ls", "--state", state, "--json", home=home)
    if found.returncode != 0:  # there is no repository yet
        return []
    return [trial["id"] for trial in json.loads(found.stdout)["data"]]


def test_mapreduce_over_ssh_and_a_daemon_that_is_killed(home: Path, tmp_path: Path) -> None:
    """One cluster for two trials, of which the second loses a daemon."""
    with over_ssh(home, tmp_path) as (file, programs):
        command = run(
            home,
            "terasort",
            "--engine",
            "mapreduce:cluster",
            "--bytes",
            "20MB",
            "--repeat",
            "2",
            *BRIEF,
            cluster=file,
            PATH=f"{programs}:{os.environ['PATH']}",
        )
        of_first: set[int] = set()  # they may outlive its jobs by seconds
        while not (done := listed(home, "succeeded")):
            of_first.update(running(home, MASTER_OF_JOB))
            assert command.poll() is None, command.communicate()
            time.sleep(1)
        wait_for(home, MASTER_OF_JOB, command, but=of_first)
        os.kill(wait_for(home, NODE_MANAGER, command, ("w2",)), signal.SIGKILL)
        _, said = command.communicate(timeout=120)
    assert command.returncode == 1
    assert "NodeManager on w2 ended unexpectedly: killed by signal 9" in said
    require_nothing_left(home)
    with TrialRepository.open(replace(load({}), home=home)) as repository:
        trial = repository.get(done[0])
        (failed_id,) = listed(home, "failed")
        failed = repository.get(failed_id)
    assert [(host.name, host.roles) for host in trial.cluster.hosts] == [
        ("m", ("master",)),
        ("w1", ("worker",)),
        ("w2", ("worker",)),
    ]
    assert all(host.clock is not None and host.clock.error_s < 1 for host in trial.cluster.hosts)
    assert trial.cluster.disks_by_role["output"][1:] == tuple(
        f"{name}:/venturi/ssd{number}" for name in WORKERS for number in range(2)
    )
    names = {artifact.name for artifact in trial.artifacts}
    assert {f"series.{name}.parquet" for name in ("m", *WORKERS)} <= names
    assert {"history.jhist", "engine.log"} <= names
    kept = {artifact.name for artifact in failed.artifacts}
    assert {"NameNode-m.log", "NodeManager-w1.log", "NodeManager-w2.log"} <= kept
    validated = {each.metric: each.value for each in trial.samples}
    assert validated["validating_hosts"] == 2  # both read its output again, concurrently
    assert "all hosts" in venturi("show", trial.id, home=home).stdout


def sorted_by(home: Path, engine: str, *options: str) -> dict[str, Any]:
    """The trial of a small TeraSort, which has succeeded."""
    command = run(
        home, "terasort", "--engine", engine, "--bytes", "20MB", "--repeat", "1", *options
    )
    told, said = command.communicate(timeout=280)
    assert command.returncode == 0, said
    trial: dict[str, Any]
    (trial,) = json.loads(told)["data"]
    assert trial["state"] == "succeeded"
    return trial


SPARKS = tuple(f"--set=spark.{part}.extraJavaOptions={_SOON}" for part in ("driver", "executor"))


def test_spark_with_its_data_in_hdfs_and_a_host_that_is_lost(home: Path, spark: None) -> None:
    """One cluster for two trials, of which the second loses a host."""
    before = listed(home, "succeeded")
    command = run(
        home,
        "terasort",
        "--engine",
        "spark:standalone",
        "--bytes",
        "20MB",
        "--repeat",
        "2",
        *SPARKS,
    )
    while (done := listed(home, "succeeded")) == before:
        assert command.poll() is None, command.communicate()
        time.sleep(1)
    require_lost_host(home, command)
    with TrialRepository.open(replace(load({}), home=home)) as repository:
        trial = repository.get(done[0])
    found = {each.metric: each.value for each in trial.samples}
    assert found["validating_hosts"] == 1  # where its only file is
    kept = {artifact.name for artifact in trial.artifacts}
    assert {"executor0.stderr", "executor1.stderr", "DataNode-w1.log", "series.w2.parquet"} <= kept


@pytest.mark.long  # YARN on several hosts is above, Spark on YARN in test_hadoop_cluster.py
def test_spark_on_yarn(home: Path, spark: None) -> None:
    trial = sorted_by(home, "spark:yarn", *SPARKS)
    assert trial["configuration"]["deployment"] == "yarn"
    assert trial["configuration"]["spark.executor.instances"] == "2"
    found = {each["metric"]: each["value"] for each in trial["samples"]}
    assert found["validating_hosts"] == 1
    kept = {artifact["name"] for artifact in trial["artifacts"]}
    assert {"series.w1.parquet", "series.w2.parquet"} <= kept
    require_nothing_left(home)


@pytest.mark.long  # on one host in test_engine_real.py, on others' in hosts/test_ssh_host.py
def test_venturi_is_killed(home: Path) -> None:
    command = run(home, "terasort", "--engine", "mapreduce:cluster", "--bytes", "20MB")
    for host in WORKERS:
        wait_for(home, DATA_NODE, command, (host,))
    command.kill()
    command.communicate(timeout=30)
    require_nothing_left(home)
    assert not any(
        arguments[0].endswith(b"/java")
        for host in ("m", *WORKERS)
        for arguments in processes(home, host).values()
    )


@pytest.mark.long  # in the middle of a trial, above
def test_a_host_is_lost_while_daemons_start(home: Path) -> None:
    command = run(home, "terasort", "--engine", "mapreduce:cluster", "--bytes", "20MB")
    wait_for(home, DATA_NODE, command, ("w1",))
    require_lost_host(home, command)


def require_lost_host(home: Path, command: subprocess.Popen[str]) -> None:
    """Ends the agent on w1: `command` says so, and leaves nothing running."""
    (agent,) = (
        pid
        for pid, arguments in processes(home, "w1").items()
        if arguments[:2] == [os.fsencode(AGENT), b"host"]
    )
    os.kill(agent, signal.SIGKILL)
    _, said = command.communicate(timeout=120)
    assert command.returncode == 1
    # Whichever is noticed first: its link is gone, and so are its daemons.
    assert "the connection to w1 was lost" in said or "  host: w1\n" in said
    require_nothing_left(home)
