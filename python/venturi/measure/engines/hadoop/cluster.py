"""Hadoop clusters: an existing one, or Venturi's own, with real daemons on one host or many.

    format ---> NameNode, DataNodes ---> JobHistoryServer, of MapReduce (wants HDFS at its start)
    ResourceManager, NodeManagers   ---> healthy: all workers have reported to their masters

HDFS keeps its blocks below each node's folders for `output`, and YARN its local files below those
for `scratch`. If Venturi was killed, the next start removes these folders. This machine queries
health and files, so it must reach the addresses of the nodes.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

from venturi.core.errors import VenturiError
from venturi.measure.engines.hadoop import conf as hadoop_conf
from venturi.measure.engines.hadoop.conf import Addresses, Containers, Ports, read_addresses
from venturi.measure.engines.hadoop.install import Hadoop
from venturi.measure.engines.java import Java
from venturi.measure.engines.nodes import ClusterNode, ClusterNodes, open_folders
from venturi.measure.engines.process_job import memory_bytes_of
from venturi.measure.engines.protocol import Resources
from venturi.measure.hosts.daemons import POLL_S, DaemonHome, Daemons, on_free_ports, wait_until
from venturi.measure.hosts.hdfs import FileMissing, Hdfs
from venturi.measure.hosts.host import Files, LiveHost
from venturi.measure.trial.folders import DataFolders
from venturi.measure.trial.job import Attachment
from venturi.measure.trial.programs import run
from venturi.record.trial import new_id

ENGINE = "hadoop"
UP_S = 180.0  # on a machine that does nothing else it takes a tenth of this
ANSWER_S = 5.0
HEARTBEATS_S = 4.0  # a little more than Hadoop's three seconds between two
BLOCK_BYTES = 128 * 2**20  # HDFS's default
_LOOKS = 3
_KILL_S = 10.0
_ALIVE = "NEW,NEW_SAVING,SUBMITTED,ACCEPTED,RUNNING"
_DONE_DEPTH = 4

_NAMENODE = "org.apache.hadoop.hdfs.server.namenode.NameNode"
_DATANODE = "org.apache.hadoop.hdfs.server.datanode.DataNode"
_RESOURCE_MANAGER = "org.apache.hadoop.yarn.server.resourcemanager.ResourceManager"
_NODE_MANAGER = "org.apache.hadoop.yarn.server.nodemanager.NodeManager"
_HISTORY = "org.apache.hadoop.mapreduce.v2.hs.JobHistoryServer"
# DataNodes and NodeManagers move every byte, and get the compiler that makes them fast.
_LIGHT = ("-Xmx512m", *hadoop_conf.LIGHT)
_HEAVY = ("-Xmx512m", "-XX:+UseSerialGC")


class HadoopCluster:
    """A running Hadoop cluster, seen through its HTTP interfaces.

    `conf` is its HADOOP_CONF_DIR, `fs` the URI of its HDFS, `root` a folder there for Venturi only,
    `environment` the variables of clients. JVMs of clients need `java_options`, those in containers
    `container_options`.
    """

    java_options: tuple[str, ...] = ()
    container_options: tuple[str, ...] = ()

    def __init__(
        self, host: LiveHost, conf: Path, java: Java, addresses: Addresses, root: str
    ) -> None:
        self.host = host
        self.conf = conf
        self.fs = addresses.fs
        self.root = root
        self.user = host.user
        self.hdfs = Hdfs(addresses.namenode, self.user)
        self.environment: Mapping[str, str] = environment(conf, java)
        self._addresses = addresses

    def datanodes(self) -> int | None:
        """Live ones, of a NameNode that takes writes; None: it does not, or does not answer."""
        state = self._hdfs_state()
        return int(state["NumLiveDataNodes"]) if state.get("FSState") == "Operational" else None

    def is_full(self) -> bool:
        """Return whether HDFS has no room for another block; False if it doesn't answer.

        The NameNode's figure comes from the DataNodes' last heartbeats, so this polls until all of
        them have arrived.
        """
        deadline_s = time.monotonic() + HEARTBEATS_S
        while int(self._hdfs_state().get("CapacityRemaining", BLOCK_BYTES)) >= BLOCK_BYTES:
            if time.monotonic() > deadline_s:
                return False
            time.sleep(POLL_S)
        return True

    def node_managers(self) -> int | None:
        """Return the number of active NodeManagers; None if the ResourceManager doesn't answer or
        accept jobs.

        While it starts, nodes report to it before it knows whether it gets the port for clients.
        """
        information = _got(self._addresses.resource_manager, "/ws/v1/cluster/info")
        metrics = _got(self._addresses.resource_manager, "/ws/v1/cluster/metrics")
        if information is None or metrics is None:
            return None
        if information["clusterInfo"]["haState"] != "ACTIVE":
            return None
        return int(metrics["clusterMetrics"]["activeNodes"])

    def _hdfs_state(self) -> Mapping[str, Any]:
        query = "/jmx?qry=Hadoop:service=NameNode,name=FSNamesystemState"
        beans = (_got(self._addresses.namenode, query) or {}).get("beans")
        return beans[0] if beans else {}

    def keeps_history(self) -> bool:
        """Whether the JobHistoryServer answers."""
        return _got(self._addresses.history, "/ws/v1/history/info") is not None

    def dead(self) -> tuple[str, ...]:
        """Names of Venturi's daemons that have ended."""
        return ()

    def check(self) -> None:
        """Raise VEN-ENGINE-DAEMON, or the cause found in its log, if one of Venturi's daemons has
        ended.
        """

    def logs(self) -> tuple[Attachment, ...]:
        """Logs of our daemons."""
        return ()

    def stop(self) -> None:
        """Remove Venturi's files, and end its daemons."""

    def kill(self, tag: str) -> None:
        """End the YARN applications with a tag, and wait some seconds for their end."""
        # A busy ResourceManager may not answer, or may end an application only after a repeated
        # request.
        deadline_s = time.monotonic() + _KILL_S
        while (alive := self._alive(tag)) != [] and time.monotonic() < deadline_s:
            for application in alive or ():
                path = f"/ws/v1/cluster/apps/{application}/state?user.name={self.user}"
                _got(self._addresses.resource_manager, path, {"state": "KILLED"})
            time.sleep(POLL_S)

    def _alive(self, tag: str) -> list[str] | None:
        """Return the running applications with a tag; None if the ResourceManager doesn't
        answer.
        """
        path = f"/ws/v1/cluster/apps?applicationTags={tag}&states={_ALIVE}"
        said = _got(self._addresses.resource_manager, path)
        return (
            None if said is None else [each["id"] for each in (said["apps"] or {}).get("app", ())]
        )

    def history(self, job: str, folder: Path) -> tuple[Path, Path] | None:
        """The history of a MapReduce job and its configuration, copied; None: it has none."""
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


@dataclass(frozen=True)
class Client:
    """The environment for Hadoop programs on a node: the `command` before a main class, a folder
    for their logs, and one for data on a `disk`.
    """

    node: ClusterNode
    command: tuple[str | Path, ...]
    env: Mapping[str, str]
    place: Path
    disk: Path


class OwnCluster(HadoopCluster):
    """A cluster of real daemons, started by `open_cluster`; `conf` belongs to its client.

    `clients` are on its workers, by name, if it has several hosts.
    """

    def __init__(
        self,
        nodes: ClusterNodes,
        conf: Path,
        java: Java,
        daemons: Daemons,
        release: Callable[[], object],
    ) -> None:
        host = nodes.client.host
        super().__init__(host, conf, java, read_addresses(host, conf), root="/venturi")
        self.hdfs.addresses = {node.name: node.address for node in nodes.all}
        self.java_options = hadoop_conf.java_options(java, conf / hadoop_conf.HOSTS)
        self.container_options = hadoop_conf.container_options(java)
        self.clients: Mapping[str, Client] = {}
        self._daemons = daemons
        self._release = release

    def dead(self) -> tuple[str, ...]:
        return self._daemons.dead()

    def check(self) -> None:
        self._daemons.check()

    def logs(self) -> tuple[Attachment, ...]:
        return tuple(
            Attachment("log", daemon.log.name, daemon.log, daemon.host.files)
            for daemon in self._daemons.all()
        )

    def stop(self) -> None:
        try:
            self._daemons.stop()
        finally:
            self._release()


class GivenCluster(HadoopCluster):
    """An existing cluster; Venturi starts and stops nothing of it.

    `histories`: whether a JobHistoryServer must answer, which MapReduce's jobs need.
    VEN-ENGINE-CLUSTER unless it answers and has workers.
    """

    def __init__(self, host: LiveHost, conf: Path, java: Java, *, histories: bool) -> None:
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

    def stop(self) -> None:
        with suppress(VenturiError):  # it may be gone itself
            self.hdfs.remove(self.root)


def open_cluster(
    nodes: ClusterNodes,
    hadoop: Mapping[str, Hadoop],
    resources: Resources,
    *,
    yarn: bool = True,
    histories: bool = True,
) -> OwnCluster:
    """Start Venturi's own cluster on `nodes`, with each node's Hadoop by name. Without `yarn` it
    has only HDFS; without `histories` no JobHistoryServer, which only MapReduce needs.

    Returns when the cluster answers and all workers have registered. Otherwise raises
    VEN-ENGINE-DAEMON, -PORT, -SPACE, -JAVA, -MEMORY or -TIMEOUT and removes everything.
    """
    sizes = hadoop_conf.containers(
        resources.threads or nodes.cores,
        memory_bytes_of(resources.memory_bytes),
        len(nodes.workers),
    )
    with ExitStack() as stack:
        folders = open_folders(stack, nodes, ("output", "scratch"))
        return on_free_ports(
            nodes.master.host,
            hadoop_conf.PORTS,
            lambda ports: _ClusterStart(
                nodes, hadoop, folders, sizes, Ports(*ports), yarn=yarn, histories=histories
            ).up(stack),
        )


class _ClusterStart:
    """One attempt to start a cluster."""

    def __init__(
        self,
        nodes: ClusterNodes,
        hadoop: Mapping[str, Hadoop],
        folders: Mapping[str, DataFolders],
        sizes: Containers,
        ports: Ports,
        *,
        yarn: bool,
        histories: bool,
    ) -> None:
        self._nodes = nodes
        self._hadoop = hadoop
        self._sizes = sizes
        self._folders = folders
        self._yarn = yarn
        self._histories = yarn and histories
        self._places = {}
        for node in nodes.all:
            folders[node.name].empty(("output", "scratch"))
            place = folders[node.name].of("scratch")[0] / "cluster"
            node.host.files.mkdir(place)
            self._places[node.name] = place
            hadoop_conf.write(
                node, place / "conf", nodes, hadoop=hadoop[node.name], ports=ports, sizes=sizes
            )
        master, client = nodes.master, nodes.client
        self._daemons = Daemons(master.host, ENGINE, self._places[master.name])
        self._kept = ExitStack()
        self._cluster = OwnCluster(
            nodes,
            self._places[client.name] / "conf",
            hadoop[client.name].java,
            self._daemons,
            self._kept.close,
        )

    def up(self, stack: ExitStack) -> OwnCluster:
        """Start the cluster and return it; it owns the content of `stack` from now on."""
        try:
            self._bring_up()
        except BaseException:
            self._daemons.stop()
            raise
        if self._nodes.are_several:
            self._cluster.clients = self._clients()
        self._kept.push(stack.pop_all())
        return self._cluster

    def _bring_up(self) -> None:
        cluster, master = self._cluster, self._nodes.master
        workers = self._nodes.numbered()
        if self._yarn:
            self._daemon(master, "ResourceManager", _LIGHT, _RESOURCE_MANAGER)
            for number, node in workers:
                self._start_node_manager(node, _numbered("NodeManager", number))
        place = self._places[master.name]
        run(
            master.host,
            self._command(
                master, _LIGHT, _NAMENODE, *self._name_dirs(), "-format", "-nonInteractive"
            ),
            engine=ENGINE,
            log=place / "format.log",
            cwd=place,
            env=self._environment(master),
            timeout_s=UP_S,
            check=self._daemons.check,
        )
        self._daemon(master, "NameNode", _LIGHT, _NAMENODE, *self._name_dirs())
        for number, node in workers:
            self._start_data_node(node, _numbered("DataNode", number))
        if self._histories:
            # It looks for HDFS when it starts, and again only after 10 s.
            self._wait("HDFS", lambda: cluster.datanodes() is not None)
            self._daemon(master, "JobHistoryServer", _LIGHT, _HISTORY)
        self._wait("HDFS", lambda: cluster.datanodes() == len(workers))
        if self._yarn:
            self._wait("YARN", lambda: cluster.node_managers() == len(workers))
        if self._histories:
            self._wait("the job history", cluster.keeps_history)
        cluster.hdfs.mkdir(cluster.root)

    def _clients(self) -> dict[str, Client]:
        """Return the clients on the workers; none if a worker lacks its own agent."""
        nodes = {node.name: node for node in self._nodes.workers}
        if not all(node.host.agent for node in nodes.values()):
            return {}
        return {
            name: Client(
                node,
                tuple(self._command(node, _LIGHT)),
                self._environment(node),
                self._places[name],
                self._folders[name].of("output")[0],
            )
            for name, node in nodes.items()
        }

    def _start_node_manager(self, node: ClusterNode, name: str) -> None:
        local = _made(node.host.files, self._folders[node.name].of("scratch"), name)
        self._daemon(
            node,
            name,
            _HEAVY,
            _NODE_MANAGER,
            *_settings(hadoop_conf.node_manager(node)),
            _set("yarn.nodemanager.local-dirs", *(str(folder / "local") for folder in local)),
            _set("yarn.nodemanager.log-dirs", *(str(folder / "logs") for folder in local)),
        )

    def _start_data_node(self, node: ClusterNode, name: str) -> None:
        data = _made(node.host.files, self._folders[node.name].of("output"), name)
        # Executors that YARN did not start are known by their addresses, as data should be then.
        own = _settings(
            hadoop_conf.data_node(node, called=node.name if self._yarn else node.address)
        )
        uris = (folder.as_uri() for folder in data)
        self._daemon(node, name, _HEAVY, _DATANODE, *own, _set("dfs.datanode.data.dir", *uris))

    def _name_dirs(self) -> tuple[str, ...]:
        place = self._places[self._nodes.master.name]
        return (_set("dfs.namenode.name.dir", (place / "name").as_uri()),)

    def _daemon(
        self, node: ClusterNode, name: str, options: tuple[str, ...], *program: str
    ) -> None:
        place = self._places[node.name]
        self._daemons.start(
            name,
            self._command(node, options, *program),
            env=self._environment(node),
            cwd=place,
            at=DaemonHome(node.host, place, self._nodes.label(node)),
        )

    def _command(
        self, node: ClusterNode, options: tuple[str, ...], *program: str
    ) -> list[str | Path]:
        place, hadoop = self._places[node.name], self._hadoop[node.name]
        conf = place / "conf"
        own = (
            *hadoop_conf.java_options(hadoop.java, conf / hadoop_conf.HOSTS),
            f"-Djava.io.tmpdir={place}",
        )
        class_path = ":".join((str(conf), *hadoop.jars))
        return [hadoop.java.program, *options, *own, "-cp", class_path, *program]

    def _environment(self, node: ClusterNode) -> dict[str, str]:
        return environment(self._places[node.name] / "conf", self._hadoop[node.name].java)

    def _wait(self, what: str, ready: Callable[[], bool]) -> None:
        wait_until(ready, daemons=self._daemons, what=what, timeout_s=UP_S)


def environment(conf: Path, java: Java) -> dict[str, str]:
    """Return the environment variables for daemons and clients with the configuration `conf`."""
    return {
        "HADOOP_CONF_DIR": str(conf),
        "YARN_CONF_DIR": str(conf),
        "JAVA_HOME": str(java.home),
    }


def _numbered(name: str, number: int | None) -> str:
    return name if number is None else f"{name}{number}"


def _settings(values: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(_set(name, value) for name, value in values.items())


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
    """Return the JSON at an address; None without a good answer. With `body`, PUT it and return the
    response.
    """
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
