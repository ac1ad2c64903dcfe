"""Where the parts of a Spark application run, and where its data are.

    local         driver and executor are one JVM
    standalone    a Master and Workers of ours on this host
    spark://...   a master that is there already
    yarn          containers of a Hadoop cluster: ours on this host, or one that is there already

But for `local`, a driver on this host has executors elsewhere. What of a budget each JVM gets, see
`shares`. Data are files that all of them see, and on YARN files in HDFS.
"""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Protocol

import venturi
from venturi.errors import VenturiError
from venturi.measure.engines.hadoop.cluster import Cluster, GivenCluster, open_cluster
from venturi.measure.engines.hadoop.install import Hadoop
from venturi.measure.engines.java import Java
from venturi.measure.engines.kind import MOST_INSTANCES
from venturi.measure.engines.nodes import on_one_host
from venturi.measure.engines.process_job import memory_bytes_of, threads_of
from venturi.measure.engines.protocol import Resources
from venturi.measure.engines.spark import KIND
from venturi.measure.hosts.daemons import Daemons, on_free_ports, wait_until
from venturi.measure.hosts.hdfs import Hdfs
from venturi.measure.hosts.host import Files, Host
from venturi.measure.hosts.local import HERE
from venturi.measure.hosts.logs import tail
from venturi.measure.trial.folders import DataFolders
from venturi.measure.trial.job import Attachment
from venturi.measure.workloads.programs import Task

NAME = KIND.name
LOOPBACK = "127.0.0.1"
UP_S = 120.0  # on a machine that does nothing else it takes a twentieth of this
ANSWER_S = 5.0
MIB = 2**20
# Spark refuses to start with a smaller heap; a driver that only plans needs no more than the most.
LEAST_HEAP_MIB = 512
_MOST_DRIVER_MIB = 1024
_DRIVER_SHARE = 4
# Beside the heap of an executor: its Python workers. The application master does next to nothing.
_LEAST_OVERHEAD_MIB, _OVERHEAD_SHARE = 128, 5
_MASTER_HEAP_MIB, _MASTER_OVERHEAD_MIB = 256, 128
_MASTER_MIB = _MASTER_HEAP_MIB + _MASTER_OVERHEAD_MIB
# A master starts executors that end at once for ever: it counts only those that cannot be started.
MOST_EXECUTORS_LOST = 10
_LOST = re.compile(r"Executor updated: \S+ is now (?:EXITED|FAILED|LOST)")
# What a driver says every 15 s while nothing was granted.
_STARVED, _GRANTED = "Initial job has not accepted any resources", "Granted executor ID"
MOST_STARVED = 4
_APPLICATION = re.compile(r"with app ID (app-\S+)")
_MASTER, _WORKER = (
    f"org.apache.spark.deploy.{name}" for name in ("master.Master", "worker.Worker")
)
# For what handles little: a compiler that is ready soon.
_LIGHT = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
_DAEMON_OPTIONS = (
    # Another port than the one asked for would not be found.
    "-Dspark.port.maxRetries=0 -Dspark.deploy.maxExecutorRetries=3"
)


@dataclass(frozen=True, slots=True)
class Installation:
    """SPARK_HOME and the Java for it."""

    home: Path
    java: Java


@dataclass(frozen=True, slots=True)
class Shares:
    """How a budget is split over the JVMs of an application with `executors`; all heaps in MiB."""

    executors: int
    cores: int
    driver_mib: int
    executor_mib: int


def shares(threads: int, memory_bytes: int, executors: int, overhead_mib: int = 0) -> Shares:
    """A quarter of the memory, but no more than 1 GiB, is the driver's; the executors share the
    rest alike. Cores are rounded up. No heap is smaller than Spark takes, whatever the budget.

    `overhead_mib` is what else has to be in the budget.
    """
    memory_mib = memory_bytes // MIB - overhead_mib
    driver_mib = min(max(memory_mib // _DRIVER_SHARE, LEAST_HEAP_MIB), _MOST_DRIVER_MIB)
    executor_mib = max((memory_mib - driver_mib) // executors, LEAST_HEAP_MIB)
    return Shares(executors, -(-threads // executors), driver_mib, executor_mib)


@dataclass(frozen=True, slots=True)
class Data:
    """What a program reads and writes: paths or URIs. `hdfs`: where they are, for Python workers"""

    input: str
    output: str
    hdfs: Mapping[str, str] | None = None


class Deployment(Protocol):
    """How Spark is deployed."""

    def start(self, spark: Installation, resources: Resources) -> None:
        """Makes ready what applications share."""

    def stop(self) -> None:
        """Ends what `start` began."""

    def is_lost(self) -> bool:
        """Whether no application can run there any more, and a new one would help."""

    def check(self, log: Path) -> None:
        """Raises what keeps an application, whose driver writes `log`, from ever ending well."""

    def sizes(self, threads: int, memory_bytes: int) -> Mapping[str, str]:
        """Settings: how large an application is."""

    def places(self, task: Task) -> Mapping[str, str]:
        """Settings: where its parts are. They say nothing about how it was configured."""

    def environment(self) -> Mapping[str, str]:
        """Of the driver."""

    def data(self, task: Task) -> Data:
        """Where the program finds what `task` names."""

    def bring(self, task: Task) -> None:
        """Makes the input visible to the program, before the clock starts."""

    def fetch(self, task: Task) -> None:
        """Makes the output visible on this host, after the clock has stopped."""

    def logs(self, driver_log: Path) -> tuple[Attachment, ...]:
        """What the executors of the application said, where it can be had."""


class Local:
    """Driver and executor are one JVM. Also what the other deployments do unless they must not."""

    def __init__(self, host: Host) -> None:
        self.host = host

    def start(self, spark: Installation, resources: Resources) -> None:
        pass

    def stop(self) -> None:
        pass

    def is_lost(self) -> bool:
        return False

    def check(self, log: Path) -> None:
        pass

    def sizes(self, threads: int, memory_bytes: int) -> Mapping[str, str]:
        return {
            "spark.master": f"local[{threads}]",
            "spark.driver.memory": f"{memory_bytes // MIB}m",
        }

    def places(self, task: Task) -> Mapping[str, str]:
        return _driver_at(LOOPBACK)

    def environment(self) -> Mapping[str, str]:
        return {"SPARK_LOCAL_IP": LOOPBACK}

    def data(self, task: Task) -> Data:
        return Data(str(task.input), str(task.output))

    def bring(self, task: Task) -> None:
        pass

    def fetch(self, task: Task) -> None:
        pass

    def logs(self, driver_log: Path) -> tuple[Attachment, ...]:
        return ()

    def _packed_for(self, task: Task) -> dict[str, str]:
        """Settings: what Python workers on other hosts need."""
        return {"spark.submit.pyFiles": str(packed(self.host.files, task.scratch))}


class Master(Local):
    """Applications of a master: one that is there, at `url`. A subclass starts its own."""

    def __init__(self, host: Host, url: str) -> None:
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
        """Its workers may be on hosts that have no Venturi."""
        return self._packed_for(task)


class Standalone(Master):
    """A Master and Workers of ours on the loopback address.

    What an application may use is in its own settings: the workers admit all that are executed at
    the same time, each of the size that was chosen.
    """

    def __init__(self, host: Host) -> None:
        super().__init__(host, "")
        self._folders: DataFolders | None = None
        self._daemons: Daemons | None = None
        self._work: tuple[Path, ...] = ()

    def start(self, spark: Installation, resources: Resources) -> None:
        self._executors = workers = resources.workers or 1
        self._folders = folders = DataFolders(
            self.host.files, {"scratch": resources.dirs["scratch"]}
        )
        with ExitStack() as stack:
            stack.enter_context(folders)
            on_free_ports(
                self.host,
                2 + 2 * workers,
                lambda ports: self._bring_up(spark, resources, folders, ports),
            )
            stack.pop_all()

    def stop(self) -> None:
        daemons, self._daemons = self._daemons, None
        folders, self._folders = self._folders, None
        try:
            if daemons is not None:
                daemons.stop()
        finally:
            if folders is not None:
                folders.__exit__()

    def is_lost(self) -> bool:
        return self._daemons is None or self._daemons.dead() != ()

    def check(self, log: Path) -> None:
        assert self._daemons is not None
        self._daemons.check()
        require_executors(self.host.files, log)

    def logs(self, driver_log: Path) -> tuple[Attachment, ...]:
        files = self.host.files
        found = _APPLICATION.search(files.read(driver_log).decode(errors="replace"))
        if found is None:
            return ()
        said = (each for work in self._work for each in files.find(work, f"{found[1]}/*/std*"))
        return tuple(
            Attachment("log", f"executor{each.path.parent.name}.{each.path.name}", each.path)
            for each in said
            if each.bytes
        )

    def _sent(self, task: Task) -> Mapping[str, str]:
        return {}

    def _bring_up(
        self, spark: Installation, resources: Resources, folders: DataFolders, ports: Sequence[int]
    ) -> None:
        folders.empty(("scratch",))
        local = folders.of("scratch")
        place = local[0] / "cluster"
        self.host.files.mkdir(place)
        self._daemons = daemons = Daemons(self.host, NAME, place)
        environment = {
            "SPARK_HOME": str(spark.home),
            "JAVA_HOME": str(spark.java.home),
            "SPARK_LOCAL_IP": LOOPBACK,
            "SPARK_LOCAL_DIRS": ",".join(map(str, local)),
            "SPARK_DAEMON_MEMORY": f"{LEAST_HEAP_MIB}m",
            "SPARK_DAEMON_JAVA_OPTS": f"{_LIGHT} {_DAEMON_OPTIONS} -Djava.io.tmpdir={place}",
        }

        def start(name: str, program: str, port: int, page: int, *more: str | Path) -> None:
            command = [
                spark.home / "bin" / "spark-class", program, "--host", LOOPBACK,
                "--port", str(port), "--webui-port", str(page), *more,
            ]  # fmt: skip
            daemons.start(name, command, env=environment, cwd=place)

        port, page, *rest = ports
        self.url = f"spark://{LOOPBACK}:{port}"
        self._work = tuple(place / f"work{number}" for number in range(self._executors))
        split = shares(
            threads_of(self.host, resources.threads),
            memory_bytes_of(resources.memory_bytes),
            self._executors,
        )
        try:
            start("Master", _MASTER, port, page)
            # A worker whose master does not yet answer asks again only after seconds.
            _wait(daemons, "the Master", page, 0)
            for number, work in enumerate(self._work):
                start(
                    f"Worker{number}", _WORKER, rest[2 * number], rest[2 * number + 1],
                    "--cores", str(split.cores * MOST_INSTANCES),
                    "--memory", f"{split.executor_mib * MOST_INSTANCES}m",
                    "--work-dir", work, self.url,
                )  # fmt: skip
            _wait(daemons, "the Workers", page, self._executors)
        except BaseException:
            daemons.stop()
            raise


class Yarn(Local):
    """Applications of a Hadoop cluster, with their data in its HDFS.

    The cluster is that of `conf`; None: one of ours, from the `hadoop` installed.
    """

    def __init__(self, host: Host, conf: Path | None, hadoop: Hadoop | None) -> None:
        super().__init__(host)
        self._conf = conf
        self._hadoop = hadoop
        self._cluster: Cluster | None = None
        self._home = Path()
        self._address = LOOPBACK
        self._executors = 1
        self._brought: list[tuple[str, int, int]] | None = None

    @property
    def cluster(self) -> Cluster:
        """The cluster; there is one after `start`."""
        assert self._cluster is not None
        return self._cluster

    def start(self, spark: Installation, resources: Resources) -> None:
        self._executors = resources.workers or 1
        self._home = spark.home
        if self._conf is not None:
            self._cluster = GivenCluster(self.host, self._conf, spark.java, histories=False)
            self._address = _address_towards(self.host, self._cluster.fs)
            return
        assert self._hadoop is not None
        split, overhead_mib = self._shares(
            threads_of(self.host, resources.threads), memory_bytes_of(resources.memory_bytes)
        )
        # All that are executed at the same time are admitted, each of the size that was chosen.
        each_mib = split.executors * (split.executor_mib + overhead_mib) + _MASTER_MIB
        room = replace(
            resources,
            threads=split.executors * split.cores * MOST_INSTANCES,
            memory_bytes=each_mib * MOST_INSTANCES * MIB,
        )
        nodes = on_one_host(self.host, resources.dirs, resources.workers or 1)
        self._cluster = open_cluster(nodes, {nodes.client.name: self._hadoop}, room)

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
            **(self._on_this_host() if self._conf is None else self._packed_for(task)),
            **_driver_at(self._address),
        }

    def environment(self) -> Mapping[str, str]:
        return {"SPARK_LOCAL_IP": self._address, **self.cluster.environment}

    def data(self, task: Task) -> Data:
        hdfs = self.cluster.hdfs
        return Data(
            f"{self.cluster.fs}{self._input()}",
            f"{self.cluster.fs}{self._output(task)}",
            {"namenode": hdfs.namenode, "user": hdfs.user},
        )

    def bring(self, task: Task) -> None:
        hdfs, files = self.cluster.hdfs, self.host.files
        hdfs.remove(self._output(task))
        given = [each for each in files.find(task.input, "**/*") if each.kind == "file"]
        content = [(str(files.resolve(each.path)), each.bytes, each.modified_ns) for each in given]
        if self._brought != content:
            self._brought = None
            hdfs.remove(self._input())
            for each in given:
                hdfs.put(files, each.path, f"{self._input()}/{each.path.relative_to(task.input)}")
            self._brought = content

    def fetch(self, task: Task) -> None:
        hdfs, output = self.cluster.hdfs, self._output(task)
        if hdfs.exists(output):
            _fetch(self.host.files, hdfs, output, task.output)
            hdfs.remove(output)

    def _on_this_host(self) -> dict[str, str]:
        """What only containers on this host can use."""
        options = " ".join(self.cluster.java_options)
        return {
            "spark.yarn.jars": f"local:{self._home}/jars/*",
            "spark.driver.defaultJavaOptions": options,
            "spark.executor.defaultJavaOptions": options,
            "spark.yarn.am.extraJavaOptions": f"{options} {_LIGHT}",
        }

    def _shares(self, threads: int, memory_bytes: int) -> tuple[Shares, int]:
        """Of what is left beside the application master and the executors' overhead; and that."""
        overhead_mib = max(
            memory_bytes // MIB // (_OVERHEAD_SHARE * self._executors), _LEAST_OVERHEAD_MIB
        )
        beside_mib = _MASTER_MIB + overhead_mib * self._executors
        return shares(threads, memory_bytes, self._executors, beside_mib), overhead_mib

    def _input(self) -> str:
        return f"{self.cluster.root}/input"

    def _output(self, task: Task) -> str:
        return f"{self.cluster.root}/{task.output.name}"


def require_executors(files: Files, log: Path) -> None:
    """VEN-ENGINE-FAILED if a master gives no executor, or executors end again and again.

    Spark itself waits, and starts others, for ever.
    """
    said = tail(files, log)
    if len(_LOST.findall(said)) > MOST_EXECUTORS_LOST:
        problem = f"more than {MOST_EXECUTORS_LOST} executors were started and ended again"
    elif _GRANTED not in said and said.count(_STARVED) >= MOST_STARVED:
        problem = f"no executor was granted in {MOST_STARVED * 15} s"
    else:
        return
    raise VenturiError(
        "VEN-ENGINE-FAILED",
        f"{NAME}: {problem}",
        where={"engine": NAME},
        hint="compare what --set asks for with what the workers have, and read the executors' logs",
    )


def _address_towards(host: Host, url: str) -> str:
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
    """What Python workers on other hosts need of Venturi, as one file in `folder`."""
    package = Path(venturi.__file__).parent
    archive = folder / "venturi.zip"
    modules = (*HERE.find(package, "*.py"), *HERE.find(package, "measure/**/*.py"))
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


def _wait(daemons: Daemons, what: str, page: int, workers: int) -> None:
    wait_until(lambda: _alive(page) == workers, daemons=daemons, what=what, timeout_s=UP_S)


def _alive(page: int) -> int | None:
    """Workers that the Master whose page is at that port counts; None: it does not answer."""
    connection = HTTPConnection(LOOPBACK, page, timeout=ANSWER_S)
    try:
        connection.request("GET", "/json/")
        return int(json.loads(connection.getresponse().read())["aliveworkers"])
    except (OSError, HTTPException, ValueError, KeyError):
        return None
    finally:
        connection.close()


def _fetch(files: Files, hdfs: Hdfs, path: str, folder: Path) -> None:
    files.mkdir(folder)
    for name, _ in hdfs.files(path):
        hdfs.get(files, f"{path}/{name}", folder / name)
    for name in hdfs.folders(path):
        _fetch(files, hdfs, f"{path}/{name}", folder / name)
