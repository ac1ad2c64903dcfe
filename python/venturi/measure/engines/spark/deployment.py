"""Where the parts of a Spark application run, and where its data are.

    local         driver and executor are one JVM
    standalone    our Master and Workers, on this host or, with HDFS, on many
    spark://...   an existing master
    yarn          containers of a Hadoop cluster: an existing one, or our own on one host or many

Except for `local`, a driver on the client host has executors elsewhere. `shares` divides the budget
between the JVMs. Data are files that all JVMs can read; on YARN and on several hosts, files in
HDFS.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

import venturi
from venturi.core.errors import VenturiError
from venturi.measure.engines.hadoop.cluster import (
    GivenCluster,
    HadoopCluster,
    OwnCluster,
    open_cluster,
)
from venturi.measure.engines.hadoop.install import Hadoop
from venturi.measure.engines.java import Java
from venturi.measure.engines.kind import MOST_INSTANCES
from venturi.measure.engines.nodes import LOOPBACK, ClusterNodes, on_one_host
from venturi.measure.engines.process_job import memory_bytes_of
from venturi.measure.engines.protocol import Resources
from venturi.measure.engines.spark import KIND
from venturi.measure.engines.spark.hdfs_transfer import DataLocations, HdfsTransfer
from venturi.measure.hosts.host import Files, LiveHost
from venturi.measure.hosts.local import HERE
from venturi.measure.hosts.logs import KILLED, tail
from venturi.measure.trial.job import Attachment
from venturi.measure.workloads.checking import Portion
from venturi.measure.workloads.programs import Task

NAME = KIND.name
ANSWER_S = 5.0
MIB = 2**20
# Spark refuses to start with a smaller heap; a driver that only plans needs no more than the most.
LEAST_HEAP_MIB = 512
_MOST_DRIVER_MIB = 1024
_DRIVER_SHARE = 4
# An executor needs memory for its Python workers, too. The application master does almost nothing.
_LEAST_OVERHEAD_MIB, _OVERHEAD_SHARE = 128, 5
_MASTER_HEAP_MIB, _MASTER_OVERHEAD_MIB = 256, 128
_MASTER_MIB = _MASTER_HEAP_MIB + _MASTER_OVERHEAD_MIB
# A master restarts executors that exit immediately without limit: it counts only those that fail to
# start.
MOST_EXECUTORS_LOST = 10
_LOST = re.compile(r"Executor updated: \S+ is now (?:EXITED|FAILED|LOST)")
# An executor killed for lack of memory is killed again after recomputing its cached data.
MOST_EXECUTORS_KILLED = 1
_KILLED = re.compile(r"Executor updated: \S+ is now EXITED \(Command exited with code 137\)")
# Logged by a driver every 15 s while it has no executor.
_STARVED, _GRANTED = "Initial job has not accepted any resources", "Granted executor ID"
MOST_STARVED = 4
# For short-lived, small programs: a compiler that is ready soon.
LIGHT = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"


@dataclass(frozen=True, slots=True)
class Installation:
    """SPARK_HOME and the Java for it."""

    home: Path
    java: Java


@dataclass(frozen=True)
class NodeInstallations:
    """The nodes of a cluster, with the Java and the Hadoop of each by its name."""

    nodes: ClusterNodes
    javas: Mapping[str, Java]
    hadoop: Mapping[str, Hadoop]


@dataclass(frozen=True, slots=True)
class Shares:
    """How a budget is split over the JVMs of an application with `executors`; all heaps in MiB."""

    executors: int
    cores: int
    driver_mib: int
    executor_mib: int


def shares(threads: int, memory_bytes: int, executors: int, overhead_mib: int = 0) -> Shares:
    """Give the driver a quarter of the memory, at most 1 GiB, and divide the rest equally between
    the executors. Cores are rounded up. No heap is below Spark's minimum, whatever the budget.

    `overhead_mib` is other memory within the budget.
    """
    memory_mib = memory_bytes // MIB - overhead_mib
    driver_mib = min(max(memory_mib // _DRIVER_SHARE, LEAST_HEAP_MIB), _MOST_DRIVER_MIB)
    executor_mib = max((memory_mib - driver_mib) // executors, LEAST_HEAP_MIB)
    return Shares(executors, -(-threads // executors), driver_mib, executor_mib)


class Deployment:
    """How Spark is deployed. By default as `local`: driver and executor are one JVM."""

    def __init__(self, host: LiveHost) -> None:
        self.host = host

    def start(self, spark: Installation, resources: Resources) -> None:
        """Start the common part of all applications."""

    def stop(self) -> None:
        """End everything that `start` began."""

    def is_lost(self) -> bool:
        """Return whether no more applications can run there, and a new deployment would help."""
        return False

    def check(self, log: Path) -> None:
        """Raise the cause that keeps the application with the driver log `log` from ever
        succeeding.
        """

    def sizes(self, threads: int, memory_bytes: int) -> Mapping[str, str]:
        """Settings: how large an application is."""
        return {
            "spark.master": f"local[{threads}]",
            "spark.driver.memory": f"{memory_bytes // MIB}m",
        }

    def places(self, task: Task) -> Mapping[str, str]:
        """Settings: where its parts are. They say nothing about how it was configured."""
        return _driver_at(LOOPBACK)

    def environment(self) -> Mapping[str, str]:
        """The driver's environment variables."""
        return {"SPARK_LOCAL_IP": LOOPBACK}

    def data(self, task: Task) -> DataLocations:
        """Return the program's locations of the data of `task`."""
        return DataLocations(str(task.input), str(task.output))

    def bring(self, task: Task) -> None:
        """Make the input visible to the program, before the clock starts."""

    def fetch(self, task: Task) -> None:
        """Make the output visible on this host, after the clock has stopped, or leave it to
        `portions`.
        """

    def portions(self, task: Task) -> AbstractContextManager[tuple[Portion, ...] | None]:
        """The output on the hosts that read it again; None: it is visible on this host."""
        return nullcontext()

    def logs(self, driver_log: Path) -> tuple[Attachment, ...]:
        """Return the available logs of the application's executors."""
        return ()

    def _packed_for(self, task: Task) -> dict[str, str]:
        """Return the settings with the modules for Python workers on other hosts."""
        return {"spark.submit.pyFiles": str(packed(self.host.files, task.scratch))}


class Master(Deployment):
    """Applications of an existing master at `url`. A subclass starts its own."""

    def __init__(self, host: LiveHost, url: str) -> None:
        super().__init__(host)
        self.url = url
        self._address = LOOPBACK
        self._executors = 1

    def start(self, spark: Installation, resources: Resources) -> None:
        self._executors = resources.workers or 1
        self._address = _address_towards(self.host, self.url)

    def check(self, log: Path) -> None:
        require_executors(self.host.files, log)

    def sizes(self, threads: int, memory_bytes: int) -> Mapping[str, str]:
        split = shares(threads, memory_bytes, self._executors)
        return {
            "spark.driver.memory": f"{split.driver_mib}m",
            "spark.executor.memory": f"{split.executor_mib}m",
            "spark.executor.cores": str(split.cores),
            "spark.cores.max": str(split.cores * split.executors),
        }

    def places(self, task: Task) -> Mapping[str, str]:
        return {
            "spark.master": self.url,
            **self._sent(task),
            **_driver_at(self._address),
        }

    def environment(self) -> Mapping[str, str]:
        return {"SPARK_LOCAL_IP": self._address}

    def _sent(self, task: Task) -> Mapping[str, str]:
        """Return the same settings: workers may be on hosts without Venturi."""
        return self._packed_for(task)


class Yarn(Deployment):
    """Applications of a Hadoop cluster, with their data in its HDFS.

    `conf` belongs to an existing cluster. None: Venturi starts its own, on the nodes of `site` or
    on this host, from the installed `hadoop`.
    """

    def __init__(
        self,
        host: LiveHost,
        conf: Path | None,
        hadoop: Hadoop | None,
        site: NodeInstallations | None = None,
    ) -> None:
        super().__init__(host)
        self._conf = conf
        self._hadoop = hadoop
        self._site = site
        self._cluster: HadoopCluster | None = None
        self._stored: HdfsTransfer | None = None
        self._home = Path()
        self._address = LOOPBACK
        self._executors = 1

    @property
    def cluster(self) -> HadoopCluster:
        """The cluster; requires `start`."""
        assert self._cluster is not None
        return self._cluster

    def start(self, spark: Installation, resources: Resources) -> None:
        self._executors = resources.workers or 1
        self._home = spark.home
        if self._conf is not None:
            self._cluster = GivenCluster(self.host, self._conf, spark.java, histories=False)
            self._address = _address_towards(self.host, self._cluster.fs)
        else:
            self._cluster = self._own(resources)
        self._stored = HdfsTransfer(self.host.files, self._cluster)

    def _own(self, resources: Resources) -> OwnCluster:
        if self._site is None:
            assert self._hadoop is not None
            nodes = on_one_host(self.host, resources.dirs, self._executors)
            hadoop: Mapping[str, Hadoop] = {nodes.client.name: self._hadoop}
        else:
            nodes, hadoop = self._site.nodes, self._site.hadoop
        self._executors = len(nodes.workers)
        self._address = nodes.client.address
        split, overhead_mib = self._shares(
            resources.threads or nodes.cores, memory_bytes_of(resources.memory_bytes)
        )
        # All that are executed at the same time are admitted, each of the size that was chosen.
        each_mib = split.executors * (split.executor_mib + overhead_mib) + _MASTER_MIB
        room = replace(
            resources,
            threads=split.executors * split.cores * MOST_INSTANCES,
            memory_bytes=each_mib * MOST_INSTANCES * MIB,
        )
        return open_cluster(nodes, hadoop, room, histories=False)

    def stop(self) -> None:
        cluster, self._cluster = self._cluster, None
        if cluster is not None:
            cluster.stop()

    def is_lost(self) -> bool:
        return self._cluster is None or self._cluster.dead() != ()

    def check(self, log: Path) -> None:
        self.cluster.check()

    def sizes(self, threads: int, memory_bytes: int) -> Mapping[str, str]:
        split, overhead_mib = self._shares(threads, memory_bytes)
        return {
            "spark.driver.memory": f"{split.driver_mib}m",
            "spark.executor.instances": str(split.executors),
            "spark.executor.memory": f"{split.executor_mib}m",
            "spark.executor.memoryOverhead": f"{overhead_mib}m",
            "spark.executor.cores": str(split.cores),
            "spark.yarn.am.memory": f"{_MASTER_HEAP_MIB}m",
            "spark.yarn.am.memoryOverhead": f"{_MASTER_OVERHEAD_MIB}m",
        }

    def places(self, task: Task) -> Mapping[str, str]:
        return {
            "spark.master": "yarn",
            "spark.submit.deployMode": "client",
            **({} if self._conf is not None else self._on_own_nodes()),
            **(self._packed_for(task) if self._conf is not None or self._site is not None else {}),
            **_driver_at(self._address),
        }

    def environment(self) -> Mapping[str, str]:
        return {"SPARK_LOCAL_IP": self._address, **self.cluster.environment}

    def data(self, task: Task) -> DataLocations:
        assert self._stored is not None
        return self._stored.data(task)

    def bring(self, task: Task) -> None:
        assert self._stored is not None
        self._stored.bring(task)

    def fetch(self, task: Task) -> None:
        assert self._stored is not None
        self._stored.fetch(task)

    def portions(self, task: Task) -> AbstractContextManager[tuple[Portion, ...] | None]:
        assert self._stored is not None
        return self._stored.portions(task)

    def _on_own_nodes(self) -> dict[str, str]:
        """Return the settings that only containers of Venturi's own cluster can use: Spark has the
        same path on all its nodes.
        """
        options = " ".join(self.cluster.container_options)
        return {
            "spark.yarn.jars": f"local:{self._home}/jars/*",
            "spark.driver.defaultJavaOptions": " ".join(self.cluster.java_options),
            "spark.executor.defaultJavaOptions": options,
            "spark.yarn.am.extraJavaOptions": f"{options} {LIGHT}",
        }

    def _shares(self, threads: int, memory_bytes: int) -> tuple[Shares, int]:
        """Return the shares without the application master and the executors' overhead; and that
        overhead.
        """
        overhead_mib = max(
            memory_bytes // MIB // (_OVERHEAD_SHARE * self._executors), _LEAST_OVERHEAD_MIB
        )
        beside_mib = _MASTER_MIB + overhead_mib * self._executors
        return shares(threads, memory_bytes, self._executors, beside_mib), overhead_mib


def require_executors(files: Files, log: Path) -> None:
    """VEN-ENGINE-FAILED if a master gives no executor, or executors end again and again;
    VEN-ENGINE-MEMORY if they are killed.

    Spark itself waits, and starts others, for ever.
    """
    said = tail(files, log)
    if len(_KILLED.findall(said)) > MOST_EXECUTORS_KILLED:
        code, sentence, hint = KILLED
        raise VenturiError(code, f"{NAME}: {sentence}", where={"engine": NAME}, hint=hint)
    if len(_LOST.findall(said)) > MOST_EXECUTORS_LOST:
        problem = f"more than {MOST_EXECUTORS_LOST} executors started and ended"
    elif _GRANTED not in said and said.count(_STARVED) >= MOST_STARVED:
        problem = f"no executor was granted in {MOST_STARVED * 15} s"
    else:
        return
    raise VenturiError(
        "VEN-ENGINE-FAILED",
        f"{NAME}: {problem}",
        where={"engine": NAME},
        hint="compare the resources requested with --set with those of the workers, and read the "
        "executors' logs",
    )


def _address_towards(host: LiveHost, url: str) -> str:
    """The address under which `host` is seen by `url`; VEN-ENGINE-CLUSTER if nothing answers."""
    for place in url.partition("://")[2].split(","):
        server, _, port = place.rpartition(":")
        if port.isdecimal() and (address := host.address_towards(server, int(port), ANSWER_S)):
            return address
    raise VenturiError(
        "VEN-ENGINE-CLUSTER",
        f"nothing answers at {url}",
        where={"url": url},
        hint="check that it is running, and that this host can reach it",
    )


def packed(files: Files, folder: Path) -> Path:
    """Pack the modules that Python workers on other hosts need into one file in `folder`."""
    package = Path(venturi.__file__).parent
    archive = folder / "venturi.zip"
    patterns = ("*.py", "core/**/*.py", "measure/**/*.py")
    modules = [each for pattern in patterns for each in HERE.find(package, pattern)]
    with (
        files.create(archive) as whole,
        zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as target,
    ):
        for module in modules:
            name = module.path.relative_to(package.parent)
            target.writestr(str(name), HERE.read(module.path), zipfile.ZIP_DEFLATED)
    return archive


def _driver_at(address: str) -> dict[str, str]:
    return {"spark.driver.host": address, "spark.driver.bindAddress": address}
