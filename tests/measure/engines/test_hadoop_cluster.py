"""MapReduce and Spark on a cluster of real Hadoop daemons: programs, and their failures.

All tests share one cluster. Its first ports are taken and, if mounting is possible, its disk is
small. The tests of faults come last, because they leave it broken.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Container, Iterator
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import pytest
import spark_runs

from this_host import FILES, HOST
from venturi.core.errors import VenturiError
from venturi.core.settings import Settings
from venturi.measure.engines.hadoop import cluster as hadoop_cluster
from venturi.measure.engines.hadoop import engine as mapreduce
from venturi.measure.engines.hadoop.conf import block_bytes, containers
from venturi.measure.engines.hadoop.deployment import HadoopOnCluster
from venturi.measure.engines.hadoop.engine import MapReduce
from venturi.measure.engines.protocol import Resources, TrialSpec
from venturi.measure.engines.registry import engine
from venturi.measure.engines.spark import deployment as spark_deployment
from venturi.measure.engines.spark.engine import Spark
from venturi.measure.hosts import daemons
from venturi.measure.hosts.agent import Agent
from venturi.measure.hosts.host import LiveHost
from venturi.measure.hosts.owned_folders import PREFIX
from venturi.measure.trial.folders import DataFolders
from venturi.measure.trial.runner import Session, open_session, run_trial
from venturi.measure.workloads.definition import Size
from venturi.measure.workloads.inputs import inputs_of
from venturi.measure.workloads.registry import size_of, size_of_bytes, workload
from venturi.record.job_account import TIERS_SETTING
from venturi.record.store.repository import TrialRepository
from venturi.record.trial import State, Trial

pytestmark = pytest.mark.engines

WORKERS = 2
DISK_BYTES = 400 * 2**20
MEMORY_BYTES = 1 << 30
CLUSTER_BYTES = 4 << 30  # a worker has room for an executor and an application master of Spark
LOCAL = ("hdd", "ssd")
"""Folders for local files, within the scratch folder."""
# Short tasks gain nothing from the second compiler.
BRIEF = dict.fromkeys(
    ("mapreduce.map.java.opts", "mapreduce.reduce.java.opts"), "-XX:TieredStopAtLevel=1"
)
# All tasks in the application master's JVM: the same way through YARN and HDFS, in less time.
UBER = {"mapreduce.job.ubertask.enable": "true", "mapreduce.job.ubertask.maxmaps": "16"}


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A small disk where we may mount one, else an ordinary folder."""
    folder = tmp_path_factory.mktemp("disk")
    options = f"size={DISK_BYTES}"
    mounting = ("mount", "-t", "tmpfs", "-o", options, "venturi-test", str(folder))
    mounted = subprocess.run(mounting, check=False, capture_output=True).returncode == 0
    yield folder
    if mounted:
        subprocess.run(("umount", "--lazy", str(folder)), check=True)


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder that every process of a cluster names, daemons and containers; none may be left."""
    folder = tmp_path_factory.mktemp("scratch")
    for name in LOCAL:
        (folder / name).mkdir()
    yield folder
    wait_until(lambda: processes(folder) == {})


def processes(folder: Path) -> dict[int, bytes]:
    """Command lines of the processes that name `folder`."""
    found = {}
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and os.fsencode(folder) in (
                line := (entry / "cmdline").read_bytes()
            ):
                found[int(entry.name)] = line
        except OSError:
            continue
    return found


def process_of(folder: Path, main_class: bytes, *, but: Container[int] = ()) -> int:
    """The JVM in `folder` that runs `main_class` and is not one of `but`, once there is one."""
    deadline_s = time.monotonic() + 120
    while time.monotonic() < deadline_s:
        for pid, line in processes(folder).items():
            program, *arguments = line.split(b"\0")
            if program.endswith(b"/java") and main_class in arguments and pid not in but:
                return pid
        time.sleep(0.2)
    raise AssertionError(f"{main_class!r} was not started")


@pytest.fixture(scope="module")
def killed(engines_home: Path, disk: Path, scratch: Path) -> Path:
    """A folder that is left of a Venturi that was killed while it started a cluster in `disk`."""
    program = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from venturi.measure.engines.registry import engine\n"
        "from venturi.measure.engines.protocol import Resources\n"
        "from venturi.measure.hosts.local import LocalHost\n"
        "home, disk, scratch = map(Path, sys.argv[1:])\n"
        "dirs = {'output': (disk,), 'scratch': tuple(sorted(scratch.iterdir()))}\n"
        "made = engine('mapreduce:cluster', LocalHost(), home=home, environ=os.environ)\n"
        "made.start(Resources(dirs))\n"
    )
    venturi = subprocess.Popen([sys.executable, "-c", program, engines_home, disk, scratch])
    process_of(scratch, b"org.apache.hadoop.yarn.server.resourcemanager.ResourceManager")
    (folder,) = (scratch / LOCAL[0]).glob(f"{PREFIX}*")
    os.kill(venturi.pid, signal.SIGKILL)
    venturi.wait(30)
    wait_until(lambda: processes(scratch) == {})
    assert folder.is_dir()
    return folder


@pytest.fixture(scope="module")
def hadoop(engines_home: Path, disk: Path, scratch: Path, killed: Path) -> Iterator[MapReduce]:
    """The engine with its cluster up."""
    made = engine("mapreduce:cluster", HOST, home=engines_home, environ=os.environ)
    assert isinstance(made, MapReduce)
    free_ports, chosen = daemons.free_ports, []
    with pytest.MonkeyPatch.context() as patch, socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()

        def first_without_luck(host: LiveHost, count: int) -> tuple[int, ...]:
            ports = free_ports(host, count)
            chosen.append(ports)
            taken = other.getsockname()[1]
            return ports if len(chosen) > 1 else (*ports[:2], taken, *ports[3:])

        patch.setattr(daemons, "free_ports", first_without_luck)
        resources = Resources(
            {"output": (disk,), "scratch": tuple(scratch / name for name in LOCAL)},
            threads=2 * WORKERS,
            memory_bytes=CLUSTER_BYTES,
            workers=WORKERS,
        )
        try:
            made.start(resources)
            assert len(chosen) == 2
            yield made
        finally:
            made.stop()
    assert processes(scratch) == {}
    left = [each for name in LOCAL for each in (scratch / name).iterdir()]
    assert list(disk.iterdir()) == left == []


@pytest.fixture(scope="module")
def yarn(
    hadoop: MapReduce,
    engines_home: Path,
    spark: None,
    cluster_mark: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Spark]:
    """Spark on that cluster, with a folder of its own in HDFS."""
    shared = copy(cluster_of(hadoop))
    shared.root = "/venturi-spark"
    shared.hdfs.mkdir(shared.root)
    shared.stop = bool  # MapReduce ends it
    found = spark_runs.made("yarn", engines_home)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spark_deployment, "open_cluster", lambda *_, **__: shared)
        found.start(spark_runs.resources(tmp_path_factory.mktemp("yarn")))
        yield found
        found.stop()


@pytest.fixture
def session(settings: Settings, agent_binary: Path) -> Iterator[Session]:
    real = replace(settings, agent=agent_binary, allow_debug=True)
    with TrialRepository.open(real) as opened:
        yield open_session(Agent.find(real), opened)


@pytest.fixture
def folders(tmp_path: Path) -> Iterator[DataFolders]:
    with DataFolders(
        FILES, dict.fromkeys(("input", "scratch", "output"), (tmp_path / "data",))
    ) as made:
        yield made


def execute(
    on: MapReduce,
    session: Session,
    folders: DataFolders,
    name: str,
    size: Size | None = None,
    **changes: Any,
) -> Trial:
    definition = workload(name)
    size = size or size_of(definition, "tiny")
    inputs = inputs_of(folders, definition, size)
    order = TrialSpec(
        definition,
        size,
        inputs,
        folders,
        "0.1.0",
        threads=2,
        memory_bytes=MEMORY_BYTES,
        timeout_s=200,
        series=False,
    )
    return run_trial(session, on.job(replace(order, **changes)))


def wait_until(ready: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + 90
    while not ready():
        assert time.monotonic() < deadline_s
        time.sleep(0.1)


def running(on: MapReduce) -> list[str]:
    """Applications that the ResourceManager has not seen end."""
    cluster = cluster_of(on)
    address = cluster._addresses.resource_manager
    states = "NEW,NEW_SAVING,SUBMITTED,ACCEPTED,RUNNING"
    apps = hadoop_cluster._got(address, f"/ws/v1/cluster/apps?states={states}")["apps"]
    return [app["id"] for app in (apps or {}).get("app", ())]


def cluster_of(on: MapReduce) -> Any:
    assert isinstance(on._place, HadoopOnCluster)
    return on._place._cluster


@pytest.mark.parametrize(
    ("setting", "size_bytes"),
    [
        ("8388608", 8 << 20),
        ("8m", 8 << 20),
        ("1G", 1 << 30),
        ("8 m", None),
        ("much", None),
        (None, None),
    ],
)
def test_sizes_of_blocks(setting: str | None, size_bytes: int | None) -> None:
    assert block_bytes(setting) == size_bytes


def test_containers_share_the_memory() -> None:
    one = containers(threads=2, memory_bytes=4 << 30, workers=1)
    assert (one.master_mib, one.task_mib, one.node_mib) == (512, 1792, 4096)
    three = containers(threads=4, memory_bytes=8 << 30, workers=3)
    assert three.tasks == 2
    assert three.workers * three.tasks >= 4
    small = containers(threads=8, memory_bytes=256 << 20, workers=1)
    assert small.task_mib >= 128


def test_terasort(hadoop: MapReduce, session: Session, folders: DataFolders, killed: Path) -> None:
    trial = execute(hadoop, session, folders, "terasort", settings={**BRIEF, "dfs.blocksize": "2m"})
    stored = cluster_of(hadoop).hdfs._entries("/venturi/input")
    assert {each["blockSize"] for each in stored} == {2 << 20}, "input is stored as output is"
    assert trial.state is State.SUCCEEDED, trial.failure
    assert not killed.exists()  # the start of the cluster removed it
    names = [phase.name for phase in trial.phases]
    assert names == [
        "generate",
        "start",
        "submit",
        "launch",
        "map",
        "shuffle+sort+reduce",
        "end",
        "sync",
        "validate",
    ]
    assert trial.elapsed_s == pytest.approx(
        sum(phase.elapsed_s for phase in trial.phases[1:-1]), abs=0.01
    )
    assert trial.configuration["deployment"] == "cluster"
    assert trial.configuration["mapreduce.job.reduces"] == "2"
    kept = {each.name for each in trial.artifacts}
    assert {"engine.log", "counters.json", "history.jhist", "job-conf.xml", "tasks.parquet"} <= kept
    metrics = {sample.metric: sample.value for sample in trial.samples}
    assert metrics["records"] == 32_000
    assert metrics["tasks_cpu_s"] is not None
    assert metrics["tasks_cpu_s"] > 0
    assert running(hadoop) == []


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("teragen", Size(100_000, 1_000)),
        # Runs below until HDFS is full; its figures are tested in test_engine_real.py.
        pytest.param("dfsio-write", Size(2 << 20, 2, 2), marks=pytest.mark.long),
    ],
)
def test_the_other_programs(
    hadoop: MapReduce, session: Session, folders: DataFolders, name: str, size: Size
) -> None:
    trial = execute(hadoop, session, folders, name, size, settings=UBER)
    assert trial.state is State.SUCCEEDED, trial.failure
    left = cluster_of(hadoop).hdfs.folders("/venturi")
    assert set(left) <= {"input"}


def test_a_cluster_that_is_there(
    hadoop: MapReduce, engines_home: Path, session: Session, folders: DataFolders
) -> None:
    own = cluster_of(hadoop)
    given = engine(
        "mapreduce:cluster", HOST, home=engines_home, environ=os.environ, hadoop_conf=own.conf
    )
    assert isinstance(given, MapReduce)
    given.start(Resources({}))
    try:
        trial = execute(given, session, folders, "sort", settings=UBER)
        assert trial.state is State.SUCCEEDED, trial.failure
    finally:
        given.stop()
    assert own.hdfs.folders(f"/user/{own.user}") == []
    assert own.dead() == ()


def test_hdfs_files(hadoop: MapReduce, tmp_path: Path) -> None:
    hdfs = cluster_of(hadoop).hdfs
    local, back = tmp_path / "local", tmp_path / "back"
    local.write_bytes(os.urandom(3_000_000))
    path = "/files/a b#%c"
    hdfs.put(FILES, local, path)
    hdfs.get(FILES, path, back)
    assert back.read_bytes() == local.read_bytes()
    with pytest.raises(OSError, match="No space left"):  # here, not in HDFS
        hdfs.get(FILES, path, Path("/dev/full"))
    assert hdfs.read(path, 2_999_000, 5_000) == local.read_bytes()[2_999_000:]
    assert hdfs.files("/files") == [("a b#%c", 3_000_000)]
    with hdfs.create("/files/written") as writer:
        assert writer.write(b"one, ") == 5
        writer.write(b"")
        writer.write(memoryview(b"two"))
    assert hdfs.read("/files/written") == b"one, two"
    hdfs.rename("/files/written", "/files/moved")
    assert [name for name, _ in hdfs.files("/files")] == ["a b#%c", "moved"]
    with pytest.raises(VenturiError, match="cannot be renamed"):
        hdfs.rename("/files/nothing", "/files/moved")
    with pytest.raises(VenturiError, match=r"/files/nothing is not in HDFS") as caught:
        hdfs.read("/files/nothing")
    assert caught.value.code == "VEN-ENGINE-HDFS"
    assert hdfs.exists("/files/moved")
    hdfs.remove("/files")
    hdfs.remove("/files")
    assert not hdfs.exists("/files/moved")


def test_several_hdfs_files_at_once(hadoop: MapReduce, tmp_path: Path) -> None:
    hdfs = cluster_of(hadoop).hdfs
    given = {f"/several/{number}": tmp_path / f"pipe{number}" for number in range(3)}
    for pipe in given.values():
        os.mkfifo(pipe)

    def write() -> None:
        # The last comes first: one file after the other would wait for ever.
        opened = [pipe.open("wb") for pipe in reversed(given.values())]
        for number, file in enumerate(opened):
            with file:
                file.write(b"%d" % number * 100_000)

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    hdfs.put_all(FILES, given)
    writer.join(10)
    back = {path: tmp_path / f"back{path[-1]}" for path in given}
    hdfs.get_all(FILES, back)
    assert [each.read_bytes()[:1] for each in back.values()] == [b"2", b"1", b"0"]
    assert {each.stat().st_size for each in back.values()} == {100_000}
    with pytest.raises(VenturiError, match=r"/several/9 is not in HDFS"):
        hdfs.get_all(FILES, {**back, "/several/9": tmp_path / "back9"})
    hdfs.remove("/several")


def test_a_conf_that_names_no_cluster(
    hadoop: MapReduce, engines_home: Path, tmp_path: Path
) -> None:
    def start(conf: Path) -> VenturiError:
        made = engine(
            "mapreduce:cluster", HOST, home=engines_home, environ=os.environ, hadoop_conf=conf
        )
        with pytest.raises(VenturiError) as caught:
            made.start(Resources({}))
        made.stop()
        assert caught.value.code == "VEN-ENGINE-CLUSTER"
        return caught.value

    assert "has no HDFS" in start(tmp_path).message
    conf = cluster_of(hadoop).conf
    for name in ("core-site.xml", "hdfs-site.xml"):
        shutil.copy(conf / name, tmp_path)
    assert "ResourceManager" in start(tmp_path).message


def test_java_that_is_too_new(engines_home: Path, tmp_path: Path) -> None:
    java = tmp_path / "java" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.touch()
    (tmp_path / "java" / "release").write_text('JAVA_VERSION="25.0.1"\n')
    environ = {**os.environ, "JAVA_HOME": str(tmp_path / "java")}
    made = engine("mapreduce:cluster", HOST, home=engines_home, environ=environ)
    with pytest.raises(VenturiError, match=r"Java 25\.0\.1") as caught:
        made.start(Resources({"output": (tmp_path,), "scratch": (tmp_path,)}))
    assert caught.value.code == "VEN-ENGINE-JAVA"
    made.stop()


def test_spark(yarn: Spark, session: Session, tmp_path: Path) -> None:
    trial = spark_runs.execute(yarn, session, tmp_path, "terasort")
    assert trial.state is State.SUCCEEDED, trial.failure
    assert trial.configuration["deployment"] == "yarn"
    effective = json.loads(spark_runs.kept(session, trial, "configuration.json"))
    assert effective["spark.master"] == "yarn"
    assert trial.elapsed_s is not None
    own = [phase for phase in trial.phases if phase.name in {"start", "sort", "sync"}]
    assert sum(phase.elapsed_s for phase in own) == pytest.approx(trial.elapsed_s, abs=0.01)
    cluster = spark_runs.cluster_of(yarn).cluster
    assert cluster.hdfs.folders(cluster.root) == ["input"]
    assert {"eventlog.json", "stages.parquet"} <= {each.name for each in trial.artifacts}


def test_spark_with_tiers_on_a_cluster_that_is_there(
    yarn: Spark,
    tiers_jar: Path,
    engines_home: Path,
    session: Session,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """YARN gives each container its directories, in an order of its own."""
    cluster = spark_runs.cluster_of(yarn).cluster
    # Without a JobHistoryServer, which only MapReduce needs.
    monkeypatch.setattr(hadoop_cluster.GivenCluster, "keeps_history", lambda _: False)
    given = spark_runs.made("yarn", engines_home, hadoop_conf=cluster.conf)
    settings = spark_runs.LIGHT | {
        # Else all of Spark's jars are sent there.
        "spark.yarn.jars": f"local:{given.available().parts['home']}/jars/*",
        "spark.sql.files.maxPartitionBytes": "2m",
        TIERS_SETTING: "ssd 0B",
        f"{TIERS_SETTING}.reserves": "shuffle_index 1000TB",
        f"{TIERS_SETTING}.strict": "true",
        f"{TIERS_SETTING}.interval": "200ms",  # YARN ends executors of a short job without a word
    }
    size = size_of_bytes(workload("sort"), 8_000_000)
    given.start(Resources({}))
    try:
        trial = spark_runs.execute(given, session, tmp_path, "sort", size, settings=settings)
    finally:
        given.stop()
    assert trial.state is State.SUCCEEDED, trial.failure
    assert cluster.hdfs.folders(f"/user/{cluster.user}") in ([], [".sparkStaging"])
    assert cluster.dead() == ()
    tiers = [
        tier
        for account in spark_runs.accounts_of_tiers(session, trial)
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


def test_a_job_that_fails_keeps_its_account(
    hadoop: MapReduce, session: Session, folders: DataFolders
) -> None:
    broken = {
        "mapreduce.job.map.output.collector.class": "missing.Collector",
        "mapreduce.map.maxattempts": "1",
    }
    with pytest.raises(VenturiError) as caught:
        execute(hadoop, session, folders, "wordcount", settings=UBER | broken)
    assert caught.value.code == "VEN-ENGINE-FAILED"
    trial = session.repository.get(str(caught.value.where["trial"]))
    kept = {each.name for each in trial.artifacts}
    assert {"history.jhist", "job-account.json", "stages.parquet"} <= kept


def test_a_history_is_read_before_the_server_moves_it(
    hadoop: MapReduce, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> NoReturn:
        raise VenturiError("VEN-ENGINE-HDFS", "HDFS refuses /history/done: AccessControlException")

    # Not every user may see the folder of logs that the history server has read.
    monkeypatch.setattr(hadoop_cluster, "_newest", refuse)
    cluster, job = cluster_of(hadoop), "job_1700000000000_0001"
    history = f"{job}-1700000000000-ann-pi-1700000001000-1-0-FAILED-default-1700000000500.jhist"
    paths = [f"{cluster._addresses.finished}/{name}" for name in (history, f"{job}_conf.xml")]
    for path in paths:
        with cluster.hdfs.create(path) as file:
            file.write(path.encode())
    assert [each.read_text() for each in cluster.history(job, tmp_path)] == paths
    for path in paths:
        cluster.hdfs.remove(path)
    assert cluster.history(job, tmp_path) is None


def test_hdfs_is_full(
    hadoop: MapReduce, session: Session, folders: DataFolders, disk: Path
) -> None:
    if not disk.is_mount():
        pytest.skip("a small disk can be mounted by root alone")
    size = Size(4 * DISK_BYTES // 3, 2, 2)
    once = {"mapreduce.map.maxattempts": "1", "dfs.blocksize": "8m"}
    with pytest.raises(VenturiError) as caught:
        execute(hadoop, session, folders, "dfsio-write", size, settings=UBER | once)
    assert caught.value.code == "VEN-ENGINE-SPACE"
    assert running(hadoop) == []
    wait_until(lambda: shutil.disk_usage(disk).free > DISK_BYTES * 3 // 4)


def test_time_is_up(hadoop: MapReduce, session: Session, folders: DataFolders) -> None:
    with pytest.raises(VenturiError) as caught:
        execute(hadoop, session, folders, "pi", Size(None, 10**12, 2), settings=UBER, timeout_s=6)
    assert caught.value.code == "VEN-ENGINE-TIMEOUT"
    wait_until(lambda: running(hadoop) == [])


def test_a_daemon_that_is_killed_ends_the_job(
    hadoop: MapReduce,
    session: Session,
    folders: DataFolders,
    scratch: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    killed_s: list[float] = []
    before = processes(scratch)

    def kill() -> None:
        process_of(scratch, b"org.apache.hadoop.mapreduce.v2.app.MRAppMaster", but=before)
        manager = b"org.apache.hadoop.yarn.server.nodemanager.NodeManager"
        os.kill(process_of(scratch, manager), signal.SIGKILL)
        killed_s.append(time.monotonic())

    threading.Thread(target=kill, daemon=True).start()
    with pytest.raises(
        VenturiError, match=r"NodeManager\d ended unexpectedly: killed by signal 9"
    ) as caught:
        execute(hadoop, session, folders, "pi", Size(None, 10**12, 2), settings=UBER)
    assert time.monotonic() - killed_s[0] < 20
    assert caught.value.code == "VEN-ENGINE-DAEMON"
    trial = session.repository.get(str(caught.value.where["trial"]))
    assert trial.state is State.FAILED
    assert {"engine.log", "NameNode.log", "NodeManager0.log"} <= {e.name for e in trial.artifacts}

    def refuse(*_: object) -> NoReturn:
        raise VenturiError("VEN-ENGINE-TIMEOUT", "no cluster today")

    # Each of the jobs that follow asks for a new cluster.
    monkeypatch.setattr(mapreduce, "open_cluster", refuse)
    for _ in range(2):
        with pytest.raises(VenturiError, match="no cluster today"):
            execute(hadoop, session, folders, "pi", settings=UBER)
