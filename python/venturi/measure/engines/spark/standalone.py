"""Venturi's own Master and Workers, on one host or, with the data in Venturi's HDFS, on many."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from http.client import HTTPConnection, HTTPException
from pathlib import Path

from venturi.measure.engines.hadoop.cluster import OwnCluster, open_cluster
from venturi.measure.engines.kind import MOST_INSTANCES
from venturi.measure.engines.nodes import ClusterNode, on_one_host, open_folders
from venturi.measure.engines.process_job import memory_bytes_of
from venturi.measure.engines.protocol import Resources
from venturi.measure.engines.spark.deployment import (
    ANSWER_S,
    LEAST_HEAP_MIB,
    LIGHT,
    NAME,
    Installation,
    Master,
    NodeInstallations,
    Shares,
    require_executors,
    shares,
)
from venturi.measure.engines.spark.hdfs_transfer import DataLocations, HdfsTransfer
from venturi.measure.hosts.daemons import DaemonHome, Daemons, on_free_ports, wait_until
from venturi.measure.hosts.host import LiveHost
from venturi.measure.trial.folders import DataFolders
from venturi.measure.trial.job import Attachment
from venturi.measure.workloads.checking import Portion
from venturi.measure.workloads.programs import Task

UP_S = 120.0  # on a machine that does nothing else it takes a twentieth of this
_APPLICATION = re.compile(r"with app ID (app-\S+)")
_MASTER, _WORKER = (
    f"org.apache.spark.deploy.{name}" for name in ("master.Master", "worker.Worker")
)
_DAEMON_OPTIONS = (
    # A daemon on another port than the requested one would not be found. Submissions don't use the
    # Master's REST service, which has the same port for every Master of a machine.
    "-Dspark.port.maxRetries=0 -Dspark.master.rest.enabled=false "
    "-Dspark.deploy.maxExecutorRetries=3"
)


class Standalone(Master):
    """Venturi's own Master and Workers; on several nodes the data are in Venturi's HDFS.

    An application's own settings limit it: the workers accept all concurrent ones, each of the
    chosen size.
    """

    def __init__(self, host: LiveHost, site: NodeInstallations | None = None) -> None:
        super().__init__(host, "")
        self._site = site
        self._kept: ExitStack | None = None
        self._daemons: Daemons | None = None
        self._cluster: OwnCluster | None = None
        self._stored: HdfsTransfer | None = None
        self._work: tuple[tuple[ClusterNode, Path], ...] = ()

    def start(self, spark: Installation, resources: Resources) -> None:
        site = self._site
        if site is None:
            nodes = on_one_host(self.host, resources.dirs, resources.workers or 1)
            site = NodeInstallations(nodes, {nodes.client.name: spark.java}, {})
        nodes = site.nodes
        self._executors = len(nodes.workers)
        self._address = nodes.client.address
        split = shares(
            resources.threads or nodes.cores,
            memory_bytes_of(resources.memory_bytes),
            self._executors,
        )
        with ExitStack() as stack:
            if nodes.are_several:
                self._cluster = open_cluster(nodes, site.hadoop, resources, yarn=False)
                stack.callback(self._cluster.stop)
                self._stored = HdfsTransfer(self.host.files, self._cluster)
            folders = open_folders(stack, nodes, ("scratch",))
            started = on_free_ports(
                nodes.master.host,
                2,
                lambda ports: _DaemonStart(spark.home, site, split, folders, ports).up(),
            )
            self._kept = stack.pop_all()
        self._daemons, self.url, self._work = started.daemons, started.url, tuple(started.work)

    def stop(self) -> None:
        daemons, self._daemons = self._daemons, None
        kept, self._kept = self._kept, None
        self._cluster, self._stored = None, None
        try:
            if daemons is not None:
                daemons.stop()
        finally:
            if kept is not None:
                kept.close()

    def is_lost(self) -> bool:
        if self._daemons is None or self._daemons.dead():
            return True
        return self._cluster is not None and self._cluster.dead() != ()

    def check(self, log: Path) -> None:
        assert self._daemons is not None
        self._daemons.check()
        if self._cluster is not None:
            self._cluster.check()
        require_executors(self.host.files, log)

    def environment(self) -> Mapping[str, str]:
        own = {} if self._cluster is None else self._cluster.environment
        return {**super().environment(), **own}

    def data(self, task: Task) -> DataLocations:
        return super().data(task) if self._stored is None else self._stored.data(task)

    def bring(self, task: Task) -> None:
        if self._stored is not None:
            self._stored.bring(task)

    def fetch(self, task: Task) -> None:
        if self._stored is not None:
            self._stored.fetch(task)

    def portions(self, task: Task) -> AbstractContextManager[tuple[Portion, ...] | None]:
        return nullcontext() if self._stored is None else self._stored.portions(task)

    def logs(self, driver_log: Path) -> tuple[Attachment, ...]:
        said = self.host.files.read(driver_log).decode(errors="replace")
        found = _APPLICATION.search(said)
        of_hdfs = () if self._cluster is None else self._cluster.logs()
        if found is None:
            return of_hdfs
        return (*self._executors_said(found[1]), *of_hdfs)

    def _executors_said(self, application: str) -> Iterator[Attachment]:
        for node, work in self._work:
            files = node.host.files
            for each in files.find(work, f"{application}/*/std*"):
                if each.bytes:
                    name = f"executor{each.path.parent.name}.{each.path.name}"
                    yield Attachment("log", name, each.path, files)

    def _sent(self, task: Task) -> Mapping[str, str]:
        return {} if self._cluster is None else self._packed_for(task)


class _DaemonStart:
    """One attempt to start the daemons."""

    def __init__(
        self,
        home: Path,
        site: NodeInstallations,
        split: Shares,
        folders: Mapping[str, DataFolders],
        ports: Sequence[int],
    ) -> None:
        self._home, self._site, self._split, self._folders = home, site, split, folders
        self._places = {}
        for node in site.nodes.all:
            folders[node.name].empty(("scratch",))
            self._places[node.name] = folders[node.name].of("scratch")[0] / "cluster"
            node.host.files.mkdir(self._places[node.name])
        master = site.nodes.master
        self._port, self._page = ports
        self.url = f"spark://{master.address}:{self._port}"
        self.daemons = Daemons(master.host, NAME, self._places[master.name])
        self.work: list[tuple[ClusterNode, Path]] = []

    def up(self) -> _DaemonStart:
        """Itself, once the Master knows all Workers."""
        try:
            self._bring_up()
        except BaseException:
            self.daemons.stop()
            raise
        return self

    def _bring_up(self) -> None:
        nodes, split = self._site.nodes, self._split
        ports = ("--port", str(self._port), "--webui-port", str(self._page))
        self._daemon(nodes.master, "Master", _MASTER, *ports)
        # A worker that gets no answer from its master retries only after seconds.
        self._wait("the Master", 0)
        for number, node in nodes.numbered():
            name = "Worker" if number is None else f"Worker{number}"
            work = self._places[node.name] / f"work-{name}"
            self.work.append((node, work))
            self._daemon(
                node,
                name,
                _WORKER,
                "--port",
                "0",
                "--webui-port",
                "0",
                "--cores",
                str(split.cores * MOST_INSTANCES),
                "--memory",
                f"{split.executor_mib * MOST_INSTANCES}m",
                "--work-dir",
                work,
                self.url,
            )
        self._wait("the Workers", len(nodes.workers))

    def _daemon(self, node: ClusterNode, name: str, program: str, *arguments: str | Path) -> None:
        place, local = self._places[node.name], self._folders[node.name].of("scratch")
        launcher = self._home / "bin" / "spark-class"
        self.daemons.start(
            name,
            [launcher, program, "--host", node.address, *arguments],
            env={
                "SPARK_HOME": str(self._home),
                "JAVA_HOME": str(self._site.javas[node.name].home),
                "SPARK_LOCAL_IP": node.address,
                "SPARK_LOCAL_DIRS": ",".join(map(str, local)),
                "SPARK_DAEMON_MEMORY": f"{LEAST_HEAP_MIB}m",
                "SPARK_DAEMON_JAVA_OPTS": f"{LIGHT} {_DAEMON_OPTIONS} -Djava.io.tmpdir={place}",
            },
            cwd=place,
            at=DaemonHome(node.host, place, self._site.nodes.label(node)),
        )

    def _wait(self, what: str, workers: int) -> None:
        page = f"{self._site.nodes.master.address}:{self._page}"
        wait_until(lambda: _alive(page) == workers, daemons=self.daemons, what=what, timeout_s=UP_S)


def _alive(page: str) -> int | None:
    """Return the number of Workers on this page of the Master; None if it doesn't answer."""
    connection = HTTPConnection(page, timeout=ANSWER_S)
    try:
        connection.request("GET", "/json/")
        return int(json.loads(connection.getresponse().read())["aliveworkers"])
    except (OSError, HTTPException, ValueError, KeyError):
        return None
    finally:
        connection.close()
