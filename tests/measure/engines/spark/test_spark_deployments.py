"""Spark on clusters of real daemons: every deployment, several instances, what goes wrong.

The tests of one deployment share a cluster; those that leave it broken come last. A Spark 3.5 is
tried where VENTURI_TEST_SPARK_35 names its SPARK_HOME.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from engine_runs import MARK, marked, wait_for, wait_until_gone
from this_host import FILES, HOST
from venturi.core.errors import ExitCode, VenturiError
from venturi.core.settings import Settings
from venturi.measure.engines.process_job import require_instances
from venturi.measure.engines.protocol import Resources, TrialSpec
from venturi.measure.engines.registry import engine
from venturi.measure.engines.spark import deployment as spark_cluster
from venturi.measure.engines.spark.deployment import MIB, shares
from venturi.measure.engines.spark.engine import Spark
from venturi.measure.hosts import daemons
from venturi.measure.hosts.agent import Agent
from venturi.measure.hosts.host import Host
from venturi.measure.trial.folders import DataFolders
from venturi.measure.trial.runner import Session, open_session, run_trial
from venturi.measure.workloads.definition import Size
from venturi.measure.workloads.inputs import inputs_of
from venturi.measure.workloads.registry import size_of, size_of_bytes, workload, workloads_with
from venturi.record.job_account import TIERS_SETTING
from venturi.record.query.conditions import Condition
from venturi.record.query.paging import whole_trials
from venturi.record.store.repository import Repository
from venturi.record.trial import State, Trial

pytestmark = pytest.mark.engines

MEMORY_BYTES = 1 << 30
EXECUTOR = b"CoarseGrainedExecutorBackend"
SPARK_35 = "VENTURI_TEST_SPARK_35"
# Enough of it that something can happen meanwhile.
LONG = Size(None, 20_000_000, 16)
_SOON = "-XX:TieredStopAtLevel=1"
# JVMs that are ready soon, and only one executor.
LIGHT = {
    "spark.driver.extraJavaOptions": _SOON,
    "spark.executor.extraJavaOptions": _SOON,
    "spark.executor.cores": "1",
    "spark.cores.max": "1",
    "spark.sql.shuffle.partitions": "2",
}


@pytest.fixture(scope="module")
def cluster_mark() -> Iterator[str]:
    """What the clusters' processes have in their environment."""
    text = f"spark-clusters-{os.getpid()}"
    os.environ[MARK] = text
    yield text
    del os.environ[MARK]
    wait_until_gone(text)


def made(deployment: str, home: Path = Path(), **more: Any) -> Spark:
    found = engine(f"spark:{deployment}", HOST, home=home, environ=os.environ, **more)
    assert isinstance(found, Spark)
    return found


def resources(folder: Path, workers: int | None = None) -> Resources:
    roles = ("input", "scratch", "output")
    return Resources(dict.fromkeys(roles, (folder,)), 2, MEMORY_BYTES, workers)


@pytest.fixture(scope="module")
def standalone(
    spark: None, cluster_mark: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Spark]:
    """A Master and two Workers; the first ports that were tried are taken."""
    folder = tmp_path_factory.mktemp("standalone")
    found = made("standalone")
    free_ports, chosen = daemons.free_ports, []
    with pytest.MonkeyPatch.context() as patch, socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()

        def first_without_luck(host: Host, count: int) -> tuple[int, ...]:
            chosen.append(free_ports(host, count))
            taken = other.getsockname()[1]
            return chosen[-1] if len(chosen) > 1 else (taken, *chosen[-1][1:])

        patch.setattr(daemons, "free_ports", first_without_luck)
        try:
            found.start(resources(folder, workers=2))
            assert len(chosen) == 2
            yield found
        finally:
            found.stop()
    assert marked(cluster_mark) == []
    assert list(folder.iterdir()) == []


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
    with Repository.open(real) as opened:
        yield open_session(Agent.find(real), opened)


@dataclass(frozen=True)
class Tiered:
    """A Master and two Workers whose local directories are on a large disk and a small fast one."""

    spark: Spark
    hdd: Path
    ssd: Path

    def blocks(self) -> list[Path]:
        """Files that hold blocks, of any executor, and links to them."""
        return [
            Path(folder, name)
            for disk in (self.hdd, self.ssd)
            for folder, _, names in os.walk(disk)
            for name in names
            if Path(folder).parent.name.startswith("blockmgr-")
        ]

    def wait(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 100
        while not condition():
            assert time.monotonic() < deadline, self.blocks()
            time.sleep(0.02)


@pytest.fixture(scope="module")
def tiered(
    spark: None, tiers_jar: Path, cluster_mark: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Tiered]:
    if os.geteuid() != 0:
        pytest.skip("mounts a file system, which needs root")
    folder = tmp_path_factory.mktemp("tiered")
    hdd, ssd = folder / "hdd", folder / "ssd"
    hdd.mkdir()
    ssd.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(ssd)]
    subprocess.run(mount, check=True)
    found = made("standalone")
    try:
        dirs = {"input": (hdd,), "scratch": (hdd, ssd), "output": (hdd,)}
        found.start(Resources(dirs, 2, MEMORY_BYTES, 2))
        yield Tiered(found, hdd, ssd)
    finally:
        found.stop()
        subprocess.run(["umount", ssd], check=True)
    assert list(hdd.iterdir()) == []


def execute(
    on: Spark, session: Session, folder: Path, name: str, size: Size | None = None, **changes: Any
) -> Trial:
    definition = workload(name)
    size = size or size_of(definition, "tiny")
    with DataFolders(
        FILES, dict.fromkeys(("input", "scratch", "output"), (folder / "data",))
    ) as folders:
        inputs = inputs_of(folders, definition, size)
        order = TrialSpec(
            definition,
            size,
            inputs,
            folders,
            "0.1.0",
            threads=2,
            memory_bytes=MEMORY_BYTES,
            settings=LIGHT,
            timeout_s=200,
            series=False,
        )
        return run_trial(session, on.job(replace(order, **changes)))


def kept(session: Session, trial: Trial, name: str) -> str:
    (artifact,) = (each for each in trial.artifacts if each.name == name)
    return session.repository.artifact_path(artifact).read_text(errors="replace")


def accounts_of_tiers(session: Session, trial: Trial) -> list[dict[str, Any]]:
    """What the plugin told, in its event log."""
    events = map(json.loads, kept(session, trial, "eventlog.json").splitlines())
    return [each["account"] for each in events if each["Event"].endswith("StorageAccount")]


def cluster_of(on: Spark) -> Any:
    return on._cluster


def test_a_budget_is_split() -> None:
    whole = shares(threads=4, memory_bytes=4 << 30, executors=3)
    assert (whole.cores, whole.driver_mib, whole.executor_mib) == (2, 1024, 1024)
    large = shares(threads=8, memory_bytes=64 << 30, executors=1)
    assert (large.driver_mib, large.executor_mib) == (1024, 63 * 1024)
    small = shares(threads=2, memory_bytes=256 * MIB, executors=2)
    assert (small.cores, small.driver_mib, small.executor_mib) == (1, 512, 512)


def test_standalone(standalone: Spark, session: Session, tmp_path: Path) -> None:
    two = LIGHT | {"spark.cores.max": "2"}
    trial = execute(standalone, session, tmp_path, "terasort", settings=two)
    assert trial.state is State.SUCCEEDED, trial.failure
    assert trial.configuration["deployment"] == "standalone"
    assert trial.configuration["spark.executor.cores"] == "1"
    assert not any("127.0.0.1" in str(value) for value in trial.configuration.values())
    effective = json.loads(kept(session, trial, "configuration.json"))
    assert effective["spark.master"] == cluster_of(standalone).url
    added = [
        json.loads(line)
        for line in kept(session, trial, "eventlog.json").splitlines()
        if '"SparkListenerExecutorAdded"' in line
    ]
    assert {event["Executor ID"] for event in added} == {"0", "1"}
    names = {each.name for each in trial.artifacts}
    assert {"engine.log", "executor0.stderr", "executor1.stderr", "stages.parquet"} <= names


def test_several_instances_are_one_trial(
    standalone: Spark, session: Session, tmp_path: Path
) -> None:
    trial = execute(standalone, session, tmp_path, "wordcount", instances=2)
    assert trial.state is State.SUCCEEDED, trial.failure
    assert trial.configuration["instances"] == 2
    assert trial.elapsed_s is not None
    took_s = {
        each.labels["instance"]: each.value
        for each in trial.samples
        if each.metric == "instance_elapsed_s"
    }
    assert set(took_s) == {0, 1}
    assert all(value is not None and value <= trial.elapsed_s for value in took_s.values())
    # At the same time, and their phases without a gap.
    assert sum(value or 0.0 for value in took_s.values()) > trial.elapsed_s
    own = [phase for phase in trial.phases if phase.name in {"start", "wordcount", "sync"}]
    assert sum(phase.elapsed_s for phase in own) == pytest.approx(trial.elapsed_s, abs=0.01)
    names = {each.name for each in trial.artifacts}
    assert {
        f"{name}-{number}.{end}"
        for number in (0, 1)
        for name, end in (("engine", "log"), ("eventlog", "json"), ("configuration", "json"))
    } <= names


def test_an_instance_that_fails_ends_the_others(
    standalone: Spark, session: Session, tmp_path: Path, cluster_mark: str
) -> None:
    def kill() -> None:
        os.kill(wait_for(cluster_mark, b"org.apache.spark.deploy.SparkSubmit"), signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    with pytest.raises(VenturiError, match="killed by signal 9") as caught:
        execute(standalone, session, tmp_path, "pi", LONG, instances=2)
    killer.join()
    assert caught.value.code == "VEN-ENGINE-FAILED"
    assert not any(b"SparkSubmit" in command for command in commands(cluster_mark))
    (trial,) = whole_trials(session.repository, Condition.equal("state", State.FAILED))
    assert {"engine-0.log", "engine-1.log"} <= {each.name for each in trial.artifacts}


def commands(mark: str) -> list[bytes]:
    found = []
    for pid in marked(mark):
        try:
            found.append(Path(f"/proc/{pid}/cmdline").read_bytes())
        except OSError:
            continue
    return found


def test_an_executor_that_is_killed_under_a_master_that_is_there(
    standalone: Spark, session: Session, tmp_path: Path, cluster_mark: str
) -> None:
    def kill() -> None:
        wait_for(cluster_mark, b"pyspark.daemon")
        os.kill(wait_for(cluster_mark, EXECUTOR), signal.SIGKILL)

    url = cluster_of(standalone).url
    given = made(url)
    given.start(resources(tmp_path))
    killer = threading.Thread(target=kill)
    killer.start()
    try:
        trial = execute(given, session, tmp_path, "pi", LONG)
    finally:
        given.stop()
        killer.join()
    assert trial.state is State.SUCCEEDED, trial.failure  # Spark has tried again what was lost
    assert '"SparkListenerExecutorRemoved"' in kept(session, trial, "eventlog.json")
    (said,) = (each.message for each in trial.warnings if each.code == "VEN-ENGINE-EXECUTOR")
    assert said.startswith("1 of 2 executors ended before the application did")
    assert trial.configuration["deployment"] == url
    assert "venturi.zip" in kept(session, trial, "configuration.json")


def test_executors_that_end_at_once(standalone: Spark, session: Session, tmp_path: Path) -> None:
    settings = LIGHT | {"spark.executor.extraJavaOptions": "-agentlib:missing"}
    with pytest.raises(VenturiError, match="executors were started and ended again") as caught:
        execute(standalone, session, tmp_path, "wordcount", settings=settings)
    assert caught.value.code == "VEN-ENGINE-FAILED"
    (trial,) = whole_trials(session.repository, Condition.equal("state", State.FAILED))
    assert "agent library missing" in kept(session, trial, "executor0.stdout")


@pytest.mark.long  # executors that are killed, and daemons of Hadoop, are in the suite
def test_a_worker_that_is_killed(
    standalone: Spark, session: Session, tmp_path: Path, cluster_mark: str
) -> None:
    killed_s: list[float] = []

    def kill() -> None:
        wait_for(cluster_mark, b"pyspark.daemon")
        os.kill(wait_for(cluster_mark, b"deploy.worker.Worker"), signal.SIGKILL)
        killed_s.append(time.monotonic())

    killer = threading.Thread(target=kill)
    killer.start()
    with pytest.raises(VenturiError, match=r"Worker\d ended unexpectedly") as caught:
        execute(standalone, session, tmp_path, "pi", LONG)
    killer.join()
    assert caught.value.code == "VEN-ENGINE-DAEMON"
    assert time.monotonic() - killed_s[0] < 20
    # The next job gets a new cluster, whatever is left of that one.
    master = wait_for(cluster_mark, b"deploy.master.Master")
    os.kill(master, signal.SIGKILL)
    trial = execute(standalone, session, tmp_path, "wordcount")
    assert trial.state is State.SUCCEEDED, trial.failure
    assert wait_for(cluster_mark, b"deploy.master.Master") != master


# 20 MB over 8 MB on which nothing need stay free.
TIERED = LIGHT | {
    "spark.cores.max": "2",
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    "spark.sql.files.maxPartitionBytes": "2m",
    TIERS_SETTING: "ssd 0B",
    f"{TIERS_SETTING}.interval": "200ms",
}
SORTED_BYTES = 20_000_000


def sorted_by_tiers(on: Tiered, session: Session, folder: Path) -> Trial:
    size = size_of_bytes(workload("sort"), SORTED_BYTES)
    return execute(on.spark, session, folder, "sort", size, settings=TIERED)


@pytest.mark.root
def test_two_executors_fill_one_fast_disk(tiered: Tiered, session: Session, tmp_path: Path) -> None:
    """Neither knows what the other is about to write: who comes too late writes elsewhere."""
    trial = sorted_by_tiers(tiered, session, tmp_path)
    assert trial.state is State.SUCCEEDED, trial.failure
    placed = {
        (account["executor_id"], tier["tier"])
        for account in accounts_of_tiers(session, trial)
        for tier in account["tiers"]
        if any(kind["placements"] for kind in tier["kinds"])
    }
    assert {"0", "1"} <= {executor for executor, _ in placed}
    assert {tier for _, tier in placed} == {"ssd", "last"}
    tiered.wait(lambda: tiered.blocks() == [])


@pytest.mark.root
@pytest.mark.slow
@pytest.mark.parametrize(
    "killed",
    ["executor", *(pytest.param(each, marks=pytest.mark.long) for each in ("driver", "worker"))],
)
def test_nothing_is_left_on_a_tier_of_what_was_killed(
    tiered: Tiered, session: Session, tmp_path: Path, cluster_mark: str, killed: str
) -> None:
    program = {
        "executor": EXECUTOR,
        "driver": b"org.apache.spark.deploy.SparkSubmit",
        # One of this cluster: another one may be there.
        "worker": b"--work-dir\0" + os.fsencode(tiered.hdd),
    }[killed]

    def kill() -> None:
        tiered.wait(lambda: any(each.is_relative_to(tiered.ssd) for each in tiered.blocks()))
        os.kill(wait_for(cluster_mark, program), signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        if killed == "executor":
            trial = sorted_by_tiers(tiered, session, tmp_path)
            assert trial.state is State.SUCCEEDED, trial.failure
        else:
            with pytest.raises(VenturiError, match=r"killed by signal 9|ended unexpectedly"):
                sorted_by_tiers(tiered, session, tmp_path)
    finally:
        killer.join()
    if killed == "worker":  # its executor is killed with it: the next job, or the end, cleans up
        tiered.spark.stop()
    tiered.wait(lambda: tiered.blocks() == [])


def test_yarn(yarn: Spark, session: Session, tmp_path: Path) -> None:
    trial = execute(yarn, session, tmp_path, "terasort")
    assert trial.state is State.SUCCEEDED, trial.failure
    assert trial.configuration["deployment"] == "yarn"
    effective = json.loads(kept(session, trial, "configuration.json"))
    assert effective["spark.master"] == "yarn"
    assert trial.elapsed_s is not None
    own = [phase for phase in trial.phases if phase.name in {"start", "sort", "sync"}]
    assert sum(phase.elapsed_s for phase in own) == pytest.approx(trial.elapsed_s, abs=0.01)
    cluster = cluster_of(yarn).cluster
    assert cluster.hdfs.folders(cluster.root) == ["input"]
    assert {"eventlog.json", "stages.parquet"} <= {each.name for each in trial.artifacts}


def test_tiers_on_yarn(yarn: Spark, tiers_jar: Path, session: Session, tmp_path: Path) -> None:
    """YARN gives each container its directories, in an order of its own."""
    settings = LIGHT | {
        "spark.sql.files.maxPartitionBytes": "2m",
        TIERS_SETTING: "ssd 0B",
        f"{TIERS_SETTING}.reserves": "shuffle_index 1000TB",
        f"{TIERS_SETTING}.strict": "true",
        f"{TIERS_SETTING}.interval": "200ms",  # YARN ends executors of a short job without a word
    }
    size = size_of_bytes(workload("sort"), 8_000_000)
    trial = execute(yarn, session, tmp_path, "sort", size, settings=settings)
    assert trial.state is State.SUCCEEDED, trial.failure
    tiers = [
        tier
        for account in accounts_of_tiers(session, trial)
        if account["executor_id"] != "driver"
        for tier in account["tiers"]
    ]
    seen = {
        (tier["tier"], kind["kind"])
        for tier in tiers
        for kind in tier["kinds"]
        if kind["seen_bytes"]
    }
    assert seen >= {("ssd", "shuffle"), ("last", "shuffle_index")}
    assert not seen & {("last", "shuffle"), ("ssd", "shuffle_index")}
    folders = {Path(each) for tier in tiers for each in tier["directories"]}
    assert {part for folder in folders for part in folder.parts} >= {"appcache", "hdd", "ssd"}
    deadline = time.monotonic() + 60
    while any(each.exists() for each in folders):
        assert time.monotonic() < deadline, folders
        time.sleep(0.1)


def test_a_hadoop_cluster_that_is_there(
    yarn: Spark, engines_home: Path, session: Session, tmp_path: Path
) -> None:
    cluster = cluster_of(yarn).cluster
    # Without a JobHistoryServer: only MapReduce needs one.
    given = made("yarn", engines_home, hadoop_conf=cluster.conf)
    given.start(Resources({}))
    try:
        # Else all of Spark's jars are sent there.
        jars = {"spark.yarn.jars": f"local:{given.available().parts['home']}/jars/*"}
        trial = execute(given, session, tmp_path, "wordcount", settings=LIGHT | jars)
    finally:
        given.stop()
    assert trial.state is State.SUCCEEDED, trial.failure
    assert cluster.hdfs.folders(f"/user/{cluster.user}") in ([], [".sparkStaging"])
    assert cluster.dead() == ()


def test_a_hadoop_daemon_that_is_killed(
    yarn: Spark, session: Session, tmp_path: Path, cluster_mark: str
) -> None:
    def kill() -> None:
        wait_for(cluster_mark, b"org.apache.spark.deploy.SparkSubmit")
        os.kill(wait_for(cluster_mark, b"ResourceManager"), signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    with pytest.raises(VenturiError, match="ResourceManager") as caught:
        execute(yarn, session, tmp_path, "pi", LONG)
    killer.join()
    assert caught.value.code == "VEN-ENGINE-DAEMON"


def test_executors_that_never_come(tmp_path: Path) -> None:
    log = tmp_path / "engine.log"
    starved = "WARN TaskSchedulerImpl: Initial job has not accepted any resources; check\n"
    for text in ("", 3 * starved, "INFO Granted executor ID app-1/0 on\n" + 9 * starved):
        log.write_text(text)
        spark_cluster.require_executors(FILES, log)
    log.write_text(4 * starved)
    with pytest.raises(VenturiError, match="no executor was granted in 60 s"):
        spark_cluster.require_executors(FILES, log)


def test_nobody_answers(spark: None, tmp_path: Path) -> None:
    for url in ("spark://127.0.0.1:1", "spark://127.0.0.1:1,127.0.0.1:2", "spark://:"):
        with pytest.raises(VenturiError, match="nothing answers") as caught:
            made(url).start(resources(tmp_path))
        assert caught.value.code == "VEN-ENGINE-CLUSTER"


def test_what_yarn_needs(spark: None, tmp_path: Path) -> None:
    environ = {key: value for key, value in os.environ.items() if key != "HADOOP_HOME"}
    found = engine("spark:yarn", HOST, home=tmp_path, environ=environ).available()
    assert found.engine == "spark:yarn"
    assert [(each.what, each.mend) for each in found.missing] == [
        ("for YARN: Hadoop is not installed", "venturi engines install mapreduce")
    ]
    given = engine("spark:yarn", HOST, home=tmp_path, environ=environ, hadoop_conf=tmp_path)
    assert given.available().usable


@pytest.mark.parametrize(
    ("spark_version", "java", "fit"),
    [
        ("4.3.0", "11.0.2", False),
        ("4.3.0", "21.0.1", True),
        ("3.5.9", "11.0.2", True),
        ("3.4.1", "11.0.2", False),
        ("3.5.9", "25", False),
    ],
)
def test_versions_that_fit(tmp_path: Path, spark_version: str, java: str, fit: bool) -> None:
    home, java_home = tmp_path / "spark", tmp_path / "java"
    for program in (home / "bin" / "spark-submit", java_home / "bin" / "java"):
        program.parent.mkdir(parents=True)
        program.touch(mode=0o755)
    (home / "jars").mkdir()
    (home / "jars" / f"spark-core_2.13-{spark_version}.jar").touch()
    (java_home / "release").write_text(f'JAVA_VERSION="{java}"\n')
    environ = {"SPARK_HOME": str(home), "JAVA_HOME": str(java_home)}
    found = engine("spark", HOST, home=tmp_path, environ=environ)
    assert found.available().usable is fit
    if not fit:
        with pytest.raises(VenturiError) as caught:
            found.start(resources(tmp_path))
        assert caught.value.code in {"VEN-ENGINE-JAVA", "VEN-ENGINE-MISSING"}


def test_engines_that_execute_once_at_a_time() -> None:
    one = engine("native", HOST, home=Path(), environ=os.environ)
    require_instances(one, 1)
    require_instances(made("standalone"), 8)
    for found, instances in ((one, 2), (made("standalone"), 65)):
        with pytest.raises(VenturiError, match=r"once at a time|65 instances") as caught:
            require_instances(found, instances)
        assert caught.value.exit_code is ExitCode.USAGE


def test_what_python_workers_get(tmp_path: Path) -> None:
    with zipfile.ZipFile(spark_cluster.packed(FILES, tmp_path)) as archive:
        names = archive.namelist()
    assert "venturi/measure/workloads/shared/spark_storage.py" in names
    assert "venturi/core/errors.py" in names
    assert not any(name.startswith("venturi/cli") for name in names)


@pytest.mark.skipif(SPARK_35 not in os.environ, reason=f"{SPARK_35} names no Spark 3.5")
@pytest.mark.parametrize(
    ("deployment", "name"),
    [
        ("standalone", "terasort"),
        ("yarn", "terasort"),
        *(("local", name) for name in sorted(workloads_with("on_spark"))),
    ],
)
def test_spark_3_5(
    session: Session, engines_home: Path, tmp_path: Path, deployment: str, name: str
) -> None:
    environ = {**os.environ, "SPARK_HOME": os.environ[SPARK_35]}
    found = engine(f"spark:{deployment}", HOST, home=engines_home, environ=environ)
    assert isinstance(found, Spark)
    try:
        found.start(resources(tmp_path))
        trial = execute(found, session, tmp_path, name)
    finally:
        found.stop()
    assert trial.state is State.SUCCEEDED, trial.failure
    assert trial.engine.version.startswith("3.5.")
