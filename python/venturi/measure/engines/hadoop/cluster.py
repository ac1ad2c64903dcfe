"""Hadoop clusters: Venturi's own on this host, of real daemons, or one that is there already.

    format ---> NameNode, DataNodes ---> JobHistoryServer (wants HDFS when it starts)
    ResourceManager, NodeManagers   ---> healthy: all workers have reported to their masters

HDFS keeps its blocks below the users' `output` folders and YARN its local files below those for
`scratch`, in folders that the next start removes if Venturi was killed.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any, Protocol

from venturi.errors import VenturiError
from venturi.measure.engines.hadoop import conf as hadoop_conf
from venturi.measure.engines.hadoop.conf import Addresses, Containers, Ports, read_addresses
from venturi.measure.engines.hadoop.install import Hadoop
from venturi.measure.engines.java import Java
from venturi.measure.engines.process_job import memory_bytes_of, threads_of
from venturi.measure.engines.protocol import Resources
from venturi.measure.hosts.daemons import POLL_S, Daemons, on_free_ports, wait_until
from venturi.measure.hosts.hdfs import FileMissing, Hdfs
from venturi.measure.hosts.host import Files, Host
from venturi.measure.trial.folders import DataFolders
from venturi.measure.trial.programs import run
from venturi.record.trial import new_id

ENGINE = "hadoop"
UP_S = 180.0  # on a machine that does nothing else it takes a tenth of this
ANSWER_S = 5.0
HEARTBEATS_S = 4.0  # a little more than Hadoop's three seconds between two
BLOCK_BYTES = 128 * 2**20  # HDFS's default
_LOOKS = 3
_DONE_DEPTH = 4

_NAMENODE = "org.apache.hadoop.hdfs.server.namenode.NameNode"
_DATANODE = "org.apache.hadoop.hdfs.server.datanode.DataNode"
_RESOURCE_MANAGER = "org.apache.hadoop.yarn.server.resourcemanager.ResourceManager"
_NODE_MANAGER = "org.apache.hadoop.yarn.server.nodemanager.NodeManager"
_HISTORY = "org.apache.hadoop.mapreduce.v2.hs.JobHistoryServer"
# DataNodes and NodeManagers move every byte, and get the compiler that makes them fast.
_LIGHT = ("-Xmx512m", *hadoop_conf.LIGHT)
_HEAVY = ("-Xmx512m", "-XX:+UseSerialGC")


class Cluster(Protocol):
    """A Hadoop cluster that answers.

    `conf` is its HADOOP_CONF_DIR, `fs` the URI of its HDFS, `root` a folder there for us alone,
    `environment` what clients need, `java_options` what their JVMs should be given.
    """

    conf: Path
    fs: str
    root: str
    host: Host
    hdfs: Hdfs
    environment: Mapping[str, str]
    java_options: tuple[str, ...]

    def dead(self) -> tuple[str, ...]:
        """Daemons of ours that have ended."""

    def check(self) -> None:
        """VEN-ENGINE-DAEMON, or what its log names as the cause, if a daemon of ours has ended."""

    def is_full(self) -> bool:
        """Whether HDFS has no room for another block."""

    def logs(self) -> tuple[Path, ...]:
        """Logs of our daemons."""

    def kill(self, application: str) -> None:
        """Ends a YARN application; nothing if it has ended."""

    def history(self, job: str, folder: Path) -> tuple[Path, Path] | None:
        """The history of a MapReduce job and its configuration, copied; None: it has none."""

    def stop(self) -> None:
        """Removes what is ours, and ends it."""


class _Answering:
    """What there is to know of a cluster through its interfaces."""

    def __init__(self, host: Host, conf: Path, java: Java, addresses: Addresses, root: str) -> None:
        self.host = host
        self.conf = conf
        self.fs = addresses.fs
        self.root = root
        self.user = host.user
        self.hdfs = Hdfs(addresses.namenode, self.user)
        self.environment: Mapping[str, str] = {
            "HADOOP_CONF_DIR": str(conf),
            "YARN_CONF_DIR": str(conf),
            "JAVA_HOME": str(java.home),
        }
        self._addresses = addresses

    def datanodes(self) -> int | None:
        """Live ones, of a NameNode that takes writes; None: it does not, or does not answer."""
        state = self._hdfs_state()
        return int(state["NumLiveDataNodes"]) if state.get("FSState") == "Operational" else None

    def is_full(self) -> bool:
        """Whether HDFS has no room for another block; False if it does not answer.

        The NameNode knows of room what the DataNodes' last heartbeats said: it is asked for so long
        that all of them have come.
        """
        deadline_s = time.monotonic() + HEARTBEATS_S
        while int(self._hdfs_state().get("CapacityRemaining", BLOCK_BYTES)) >= BLOCK_BYTES:
            if time.monotonic() > deadline_s:
                return False
            time.sleep(POLL_S)
        return True

    def node_managers(self) -> int | None:
        """Active ones; None: the ResourceManager does not answer."""
        metrics = _got(self._addresses.resource_manager, "/ws/v1/cluster/metrics")
        return None if metrics is None else int(metrics["clusterMetrics"]["activeNodes"])

    def _hdfs_state(self) -> Mapping[str, Any]:
        query = "/jmx?qry=Hadoop:service=NameNode,name=FSNamesystemState"
        beans = (_got(self._addresses.namenode, query) or {}).get("beans")
        return beans[0] if beans else {}

    def keeps_history(self) -> bool:
        """Whether the JobHistoryServer answers."""
        return _got(self._addresses.history, "/ws/v1/history/info") is not None

    def kill(self, application: str) -> None:
        path = f"/ws/v1/cluster/apps/{application}/state?user.name={self.user}"
        _got(self._addresses.resource_manager, path, {"state": "KILLED"})

    def history(self, job: str, folder: Path) -> tuple[Path, Path] | None:
        # The history server may move both files away while we look. Where it moves them, not every
        # user may look.
        for _ in range(_LOOKS):
            with suppress(VenturiError):
                return self._copied(self._addresses.finished, job, folder)
            with suppress(VenturiError):
                return self._copied(_newest(self.hdfs, self._addresses.done), job, folder)
        return None

    def _copied(self, place: str, job: str, folder: Path) -> tuple[Path, Path]:
        """FileMissing unless both files are in `place`."""
        configuration = f"{job}_conf.xml"
        for name, _ in self.hdfs.files(place):
            if name.startswith(job) and name.endswith(".jhist"):
                for each in (name, configuration):
                    self.hdfs.get(self.host.files, f"{place}/{each}", folder / each)
                return folder / name, folder / configuration
        raise FileMissing("VEN-ENGINE-HDFS", f"{place} has no history of {job}")


class PseudoCluster(_Answering):
    """A cluster of real daemons on this host, started by `open_cluster`."""

    def __init__(
        self, conf: Path, java: Java, addresses: Addresses, daemons: Daemons, folders: DataFolders
    ) -> None:
        super().__init__(daemons.host, conf, java, addresses, root="/venturi")
        self.java_options = hadoop_conf.java_options(java, conf / "hosts")
        self._daemons = daemons
        self._folders = folders

    def dead(self) -> tuple[str, ...]:
        return self._daemons.dead()

    def check(self) -> None:
        self._daemons.check()

    def logs(self) -> tuple[Path, ...]:
        return self._daemons.logs()

    def stop(self) -> None:
        try:
            self._daemons.stop()
        finally:
            self._folders.__exit__()


class GivenCluster(_Answering):
    """A cluster that was there before; nothing of it is started or stopped.

    `histories`: whether a JobHistoryServer must answer, as MapReduce's jobs need it.
    """

    java_options: tuple[str, ...] = ()

    def __init__(self, host: Host, conf: Path, java: Java, *, histories: bool) -> None:
        super().__init__(host, conf, java, read_addresses(host, conf), root="")
        self.root = f"/user/{self.user}/venturi-{new_id().lower()}"
        for what, answer in (
            ("NameNode", self.datanodes()),
            ("ResourceManager", self.node_managers()),
            ("JobHistoryServer", not histories or self.keeps_history() or None),
        ):
            if not answer:
                raise VenturiError(
                    "VEN-ENGINE-CLUSTER",
                    f"the {what} of the cluster of {conf} "
                    + ("does not answer" if answer is None else "has no live worker"),
                    where={"dir": str(conf)},
                    hint="check that it is running, and that --hadoop-conf names its configuration",
                )
        self.hdfs.mkdir(self.root)

    def dead(self) -> tuple[str, ...]:
        return ()

    def check(self) -> None:
        pass

    def logs(self) -> tuple[Path, ...]:
        return ()

    def stop(self) -> None:
        with suppress(VenturiError):  # it may be gone itself
            self.hdfs.remove(self.root)


def open_cluster(
    host: Host, hadoop: Hadoop, resources: Resources, conf: Path | None = None
) -> Cluster:
    """The cluster of the HADOOP_CONF_DIR `conf`, else one that is started, in `resources.dirs`.

    It answers, and all its workers are there. VEN-ENGINE-CLUSTER if a given one is not like that;
    VEN-ENGINE-DAEMON, -PORT, -SPACE, -JAVA, -MEMORY or -TIMEOUT if ours does not get there, and
    nothing is left of it then.
    """
    if conf is not None:
        return GivenCluster(host, conf, hadoop.java, histories=True)
    folders = DataFolders(
        host.files, {role: resources.dirs[role] for role in ("output", "scratch")}
    )
    sizes = hadoop_conf.containers(
        threads_of(host, resources.threads),
        memory_bytes_of(resources.memory_bytes),
        resources.workers or 1,
    )
    with ExitStack() as stack:
        stack.enter_context(folders)
        cluster = on_free_ports(
            hadoop_conf.PORTS,
            lambda ports: _Start(host, hadoop, folders, sizes, Ports(*ports)).up(),
        )
        stack.pop_all()
    return cluster


class _Start:
    """One attempt to start a cluster."""

    def __init__(
        self, host: Host, hadoop: Hadoop, folders: DataFolders, sizes: Containers, ports: Ports
    ) -> None:
        self._host = host
        self._java = hadoop.java
        self._sizes = sizes
        self._folders = folders
        folders.empty(("output", "scratch"))
        self._place = folders.of("scratch")[0] / "cluster"
        host.files.mkdir(self._place)
        self._conf = self._place / "conf"
        hadoop_conf.write(host, self._conf, hadoop=hadoop, ports=ports, sizes=sizes)
        self._class_path = ":".join((str(self._conf), *hadoop.jars))
        self._daemons = Daemons(host, ENGINE, self._place)
        self._cluster = PseudoCluster(
            self._conf, hadoop.java, read_addresses(host, self._conf), self._daemons, folders
        )

    def up(self) -> PseudoCluster:
        try:
            self._bring_up()
        except BaseException:
            self._daemons.stop()
            raise
        return self._cluster

    def _bring_up(self) -> None:
        cluster, workers = self._cluster, self._sizes.workers
        self._daemon("ResourceManager", _LIGHT, _RESOURCE_MANAGER)
        for number in range(workers):
            self._start_node_manager(f"NodeManager{number}")
        run(
            self._host,
            self._command(_LIGHT, _NAMENODE, *self._name_dirs(), "-format", "-nonInteractive"),
            engine=ENGINE, log=self._place / "format.log", cwd=self._place,
            env=cluster.environment, timeout_s=UP_S, check=self._daemons.check,
        )  # fmt: skip
        self._daemon("NameNode", _LIGHT, _NAMENODE, *self._name_dirs())
        for number in range(workers):
            self._start_data_node(f"DataNode{number}")
        # It looks for HDFS when it starts, and again only after 10 s.
        self._wait("HDFS", lambda: cluster.datanodes() is not None)
        self._daemon("JobHistoryServer", _LIGHT, _HISTORY)
        self._wait("HDFS", lambda: cluster.datanodes() == workers)
        self._wait("YARN", lambda: cluster.node_managers() == workers)
        self._wait("the job history", cluster.keeps_history)
        cluster.hdfs.mkdir(cluster.root)

    def _start_node_manager(self, name: str) -> None:
        local = _made(self._host.files, self._folders.of("scratch"), name)
        self._daemon(
            name, _HEAVY, _NODE_MANAGER,
            _set("yarn.nodemanager.local-dirs", *(str(folder / "local") for folder in local)),
            _set("yarn.nodemanager.log-dirs", *(str(folder / "logs") for folder in local)),
        )  # fmt: skip

    def _start_data_node(self, name: str) -> None:
        data = _made(self._host.files, self._folders.of("output"), name)
        uris = (folder.as_uri() for folder in data)
        self._daemon(name, _HEAVY, _DATANODE, _set("dfs.datanode.data.dir", *uris))

    def _name_dirs(self) -> tuple[str, ...]:
        return (_set("dfs.namenode.name.dir", (self._place / "name").as_uri()),)

    def _daemon(self, name: str, options: tuple[str, ...], *program: str) -> None:
        self._daemons.start(
            name, self._command(options, *program), env=self._cluster.environment, cwd=self._place
        )

    def _command(self, options: tuple[str, ...], *program: str) -> list[str | Path]:
        own = (*self._cluster.java_options, f"-Djava.io.tmpdir={self._place}")
        return [self._java.program, *options, *own, "-cp", self._class_path, *program]

    def _wait(self, what: str, ready: Callable[[], bool]) -> None:
        wait_until(ready, daemons=self._daemons, what=what, timeout_s=UP_S)


def _set(name: str, *values: str) -> str:
    return f"-D{name}={','.join(values)}"


def _made(files: Files, parents: tuple[Path, ...], name: str) -> list[Path]:
    """A folder in each of `parents`, which only we may enter: DataNodes insist."""
    folders = [parent / name for parent in parents]
    for folder in folders:
        files.mkdir(folder, mode=0o700)
    return folders


def _newest(hdfs: Hdfs, done: str) -> str:
    """Where the history server moved the last jobs: DONE/year/month/day/serial."""
    place = done
    for _ in range(_DONE_DEPTH):
        with suppress(FileMissing):
            if names := hdfs.folders(place):
                place = f"{place}/{names[-1]}"
    return place


def _got(address: str, target: str, body: object = None) -> Any:
    """What JSON is served there, None if there is no good answer. With `body`: what PUT answers."""
    connection = HTTPConnection(address, timeout=ANSWER_S)
    try:
        if body is None:
            connection.request("GET", target)
        else:
            headers = {"Content-Type": "application/json"}
            connection.request("PUT", target, json.dumps(body), headers)
        response = connection.getresponse()
        return json.loads(response.read()) if response.status < 400 else None
    except (OSError, HTTPException, ValueError):
        return None
    finally:
        connection.close()
