"""The configuration of a Hadoop cluster: writes Venturi's own, and reads an existing one.

Every daemon is bound to its node's address; on one host that is the loopback address. Names are
resolved from a private hosts file: a daemon resolves its host's name at its start, and a DNS server
that doesn't answer costs 20 s. Settings that differ between nodes are passed to their daemons.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from urllib.parse import urlsplit
from xml.sax.saxutils import escape

from venturi.core.errors import VenturiError
from venturi.jobs.logs.hadoop_xml import read_properties
from venturi.measure.engines.hadoop.install import Hadoop
from venturi.measure.engines.java import Java
from venturi.measure.engines.nodes import LOCALHOST, LOOPBACK, ClusterNode, ClusterNodes
from venturi.measure.hosts.host import LiveHost

MIB = 2**20
HOSTS = "hosts"
"""The file with the names of all nodes, in the configuration's folder."""
RACKS = "racks"
"""The file with the rack of each node, in the configuration's folder."""
# YARN puts in, on each host, the folder that its NodeManager was given.
_CONF_THERE = "{{HADOOP_CONF_DIR}}"
LIGHT = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
"""For JVMs that handle little: a compiler that is ready soon."""
LOGGING = """\
log4j.rootLogger=INFO,stderr
log4j.appender.stderr=org.apache.log4j.ConsoleAppender
log4j.appender.stderr.target=System.err
log4j.appender.stderr.layout=org.apache.log4j.PatternLayout
log4j.appender.stderr.layout.ConversionPattern=%d{yyyy-MM-dd HH:mm:ss,SSS} %p %c{2}: %m%n
# A line for each request would be most of a NameNode's log.
log4j.logger.http.requests=WARN
log4j.logger.org.apache.hadoop.hdfs.server.namenode.FSNamesystem.audit=WARN
"""
BLOCK_SIZE = "dfs.blocksize"
_SIZE = re.compile(r"(\d{1,15})([kmgtpe]?)", re.IGNORECASE)
# Packages that Hadoop 3.4 and its Guice access by reflection.
_OPENED = ("java.lang", "java.io", "java.net", "java.nio", "java.util", "sun.nio.ch")
DEFAULT_RACK = "default-rack"
_LEAST_MASTER_MIB, _MOST_MASTER_MIB = 256, 1024
_LEAST_TASK_MIB = 128
_STEP_MIB = 32


@dataclass(frozen=True, slots=True)
class Ports:
    """Ports that others must know in advance; the kernel chooses all other ports."""

    namenode: int
    namenode_http: int
    resource_manager: int
    scheduler: int
    tracker: int
    admin: int
    resource_manager_http: int
    history: int
    history_admin: int
    history_http: int


PORTS = len(fields(Ports))


@dataclass(frozen=True, slots=True)
class Containers:
    """The division of the workers' memory: each runs a number of tasks and an application
    master.
    """

    workers: int
    tasks: int
    task_mib: int
    master_mib: int

    @property
    def node_mib(self) -> int:
        """Memory that one NodeManager offers to containers."""
        return self.tasks * self.task_mib + self.master_mib


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where a cluster answers (`host:port`), and where in its HDFS job histories go."""

    fs: str
    namenode: str
    resource_manager: str
    history: str
    finished: str
    done: str


def containers(threads: int, memory_bytes: int, workers: int) -> Containers:
    """Size the containers for `threads` concurrent tasks over all workers, within `memory_bytes`
    unless JVMs need more to start.
    """
    memory_mib = memory_bytes // MIB
    master_mib = min(max(memory_mib // 8, _LEAST_MASTER_MIB), _MOST_MASTER_MIB)
    task_mib = max((memory_mib - master_mib) // threads, _LEAST_TASK_MIB)
    return Containers(
        workers=workers,
        tasks=-(-threads // workers),
        task_mib=task_mib // _STEP_MIB * _STEP_MIB,
        master_mib=master_mib // _STEP_MIB * _STEP_MIB,
    )


def block_bytes(setting: str | None) -> int | None:
    """The size that a setting of Hadoop (`8m`) means; None: none that it would take."""
    found = _SIZE.fullmatch((setting or "").strip())
    return int(found[1]) << 10 * " kmgtpe".index(found[2].lower() or " ") if found else None


def java_options(java: Java, hosts: Path | str) -> tuple[str, ...]:
    """Return the options of every JVM of the cluster: no DNS, and the access that newer Javas
    otherwise deny.
    """
    if java.major < 9:
        return ("-Djava.net.preferIPv4Stack=true",)
    opened = (f"--add-opens=java.base/{name}=ALL-UNNAMED" for name in _OPENED)
    return ("-Djava.net.preferIPv4Stack=true", f"-Djdk.net.hosts.file={hosts}", *opened)


def container_options(java: Java) -> tuple[str, ...]:
    """Return the options of the JVMs in containers, valid on every host."""
    return java_options(java, f"{_CONF_THERE}/{HOSTS}")


def write(
    node: ClusterNode,
    folder: Path,
    nodes: ClusterNodes,
    *,
    hadoop: Hadoop,
    ports: Ports,
    sizes: Containers,
) -> None:
    """Make `folder` the HADOOP_CONF_DIR of the daemons and clients on one of `nodes`."""
    files = node.host.files
    files.mkdir(folder, exist_ok=True)
    # Hadoop's servers expect the folders of their web pages next to the configuration; empty ones
    # suffice.
    for name in ("hdfs", "datanode"):
        files.mkdir(folder / "webapps" / name, parents=True, exist_ok=True)
    files.write(folder / HOSTS, _hosts(nodes))
    files.write(folder / RACKS, racks(nodes))
    files.write(folder / "log4j.properties", LOGGING)
    master = nodes.master.address
    for name, properties in (
        ("core-site.xml", _core(master, ports, folder / RACKS)),
        ("hdfs-site.xml", _hdfs(master, ports)),
        ("yarn-site.xml", _yarn(master, ports, sizes, hadoop.jars, folder / "node-attributes")),
        ("mapred-site.xml", _mapred(nodes, ports, sizes, hadoop)),
        ("capacity-scheduler.xml", _SCHEDULER),
    ):
        files.write(folder / name, _site(properties))


def data_node(node: ClusterNode, *, called: str) -> dict[str, str]:
    """Return the settings for the DataNodes of `node` only. Clients reach their data under the host
    name `called`.
    """
    return {
        "dfs.datanode.hostname": called,
        "dfs.datanode.address": f"{node.address}:0",
        "dfs.datanode.http.address": f"{node.address}:0",
        "dfs.datanode.ipc.address": f"{node.address}:0",
    }


def node_manager(node: ClusterNode) -> dict[str, str]:
    """Return the settings for the NodeManagers of `node` only."""
    return {
        "yarn.nodemanager.hostname": node.name,
        "yarn.nodemanager.address": f"{node.name}:0",
        "yarn.nodemanager.localizer.address": f"{node.name}:0",
        "yarn.nodemanager.webapp.address": f"{node.name}:0",
    }


def _hosts(nodes: ClusterNodes) -> str:
    """Return the address and names of each node: the name in the cluster file, and its own."""
    lines = [f"{LOOPBACK} {LOCALHOST}\n"]
    for node in nodes.all:
        lines += (
            f"{node.address} {name}\n"
            for name in dict.fromkeys((node.name, node.host.name))
            if name != LOCALHOST
        )
    return "".join(lines)


def racks(nodes: ClusterNodes) -> str:
    """A line for each node's name and address: its rack, as TableMapping reads it. All are at one
    depth, as Hadoop wants it: of racks within racks only the innermost counts.
    """
    return "".join(
        f"{called}\t/{node.rack or DEFAULT_RACK}\n"
        for node in nodes.all
        for called in (node.name, node.address)
    )


def _core(master: str, ports: Ports, racks: Path) -> dict[str, str]:
    return {
        # One copy of each block goes to another rack.
        "net.topology.node.switch.mapping.impl": "org.apache.hadoop.net.TableMapping",
        "net.topology.table.file.name": str(racks),
        "fs.defaultFS": f"hdfs://{master}:{ports.namenode}",
        # Daemons start concurrently: an early one retries soon, for as long in total as by default.
        "ipc.client.connect.retry.interval": "200",
        "ipc.client.connect.max.retries": "50",
    }


def _hdfs(master: str, ports: Ports) -> dict[str, str]:
    return {
        "dfs.namenode.rpc-address": f"{master}:{ports.namenode}",
        "dfs.namenode.http-address": f"{master}:{ports.namenode_http}",
        "dfs.namenode.datanode.registration.ip-hostname-check": "false",
        "dfs.namenode.safemode.extension": "0",
        # A closed file is on the disk: the timed region ends with durable output.
        "dfs.datanode.synconclose": "true",
        # A disk is used to its end, not until 1 GiB is left.
        "dfs.datanode.round-robin-volume-choosing-policy.additional-available-space": "0",
        # Measured data are temporary: users who want copies set this.
        "dfs.replication": "1",
        # Free the space of removed files soon.
        "dfs.heartbeat.interval": "1",
        "dfs.namenode.redundancy.interval.seconds": "1",
        # A writer asks for its block shortly before the NameNode hears of it; retry soon.
        "dfs.client.block.write.locateFollowingBlock.initial.delay.ms": "20",
        "dfs.permissions.enabled": "false",
    }


def _yarn(
    master: str, ports: Ports, sizes: Containers, jars: tuple[str, ...], attributes: Path
) -> dict[str, str]:
    return {
        # By default all ResourceManagers of a machine's user write into one folder, and fail so.
        "yarn.node-attribute.fs-store.root-dir": attributes.as_uri(),
        "yarn.resourcemanager.hostname": master,
        "yarn.resourcemanager.address": f"{master}:{ports.resource_manager}",
        "yarn.resourcemanager.scheduler.address": f"{master}:{ports.scheduler}",
        "yarn.resourcemanager.resource-tracker.address": f"{master}:{ports.tracker}",
        "yarn.resourcemanager.admin.address": f"{master}:{ports.admin}",
        "yarn.resourcemanager.webapp.address": f"{master}:{ports.resource_manager_http}",
        "yarn.resourcemanager.connect.retry-interval.ms": "200",
        # A container ends by itself should even the supervisor of its NodeManager be killed.
        "yarn.resourcemanager.connect.max-wait.ms": "120000",
        "yarn.resourcemanager.nodemanagers.heartbeat-interval-ms": "100",
        "yarn.resourcemanager.nodemanagers.heartbeat-interval-min-ms": "100",
        "yarn.resourcemanager.nodemanagers.heartbeat-interval-max-ms": "100",
        "yarn.nodemanager.aux-services": "mapreduce_shuffle",
        "yarn.nodemanager.resource.memory-mb": str(sizes.node_mib),
        "yarn.nodemanager.resource.cpu-vcores": str(sizes.tasks),
        # Containers say themselves how much they need; a JVM needs more than its heap.
        "yarn.nodemanager.pmem-check-enabled": "false",
        "yarn.nodemanager.vmem-check-enabled": "false",
        # A disk is in use until it is full, as everywhere else.
        "yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage": "100",
        "yarn.scheduler.minimum-allocation-mb": str(_STEP_MIB),
        "yarn.scheduler.maximum-allocation-mb": str(sizes.node_mib),
        "yarn.scheduler.maximum-allocation-vcores": str(sizes.tasks),
        "yarn.application.classpath": ",".join((_CONF_THERE, *jars)),
    }


def _mapred(nodes: ClusterNodes, ports: Ports, sizes: Containers, hadoop: Hadoop) -> dict[str, str]:
    master, options = nodes.master.address, " ".join(container_options(hadoop.java))
    # On one host, a second copy of a slow task takes resources from the first.
    speculative = str(nodes.are_several).lower()
    return {
        "mapreduce.framework.name": "yarn",
        "mapreduce.application.classpath": ",".join(hadoop.jars),
        "mapreduce.shuffle.port": "0",
        "mapreduce.jobhistory.address": f"{master}:{ports.history}",
        "mapreduce.jobhistory.admin.address": f"{master}:{ports.history_admin}",
        "mapreduce.jobhistory.webapp.address": f"{master}:{ports.history_http}",
        "yarn.app.mapreduce.am.admin-command-opts": " ".join((options, *LIGHT)),
        "mapreduce.admin.map.child.java.opts": f"{options} -XX:+UseSerialGC",
        "mapreduce.admin.reduce.child.java.opts": f"{options} -XX:+UseSerialGC",
        "mapreduce.map.memory.mb": str(sizes.task_mib),
        "mapreduce.reduce.memory.mb": str(sizes.task_mib),
        "yarn.app.mapreduce.am.resource.mb": str(sizes.master_mib),
        "yarn.app.mapreduce.am.command-opts": f"-Xmx{sizes.master_mib * 3 // 4}m",
        "yarn.app.mapreduce.am.scheduler.heartbeat.interval-ms": "100",
        "mapreduce.client.submit.file.replication": "1",
        "mapreduce.map.speculative": speculative,
        "mapreduce.reduce.speculative": speculative,
    }


_SCHEDULER: Mapping[str, str] = {
    "yarn.scheduler.capacity.root.queues": "default",
    "yarn.scheduler.capacity.root.default.capacity": "100",
    "yarn.scheduler.capacity.root.default.maximum-am-resource-percent": "1",
    "yarn.scheduler.capacity.node-locality-delay": "0",
    # Otherwise all reducers of a job are put on the worker that asks first.
    "yarn.scheduler.capacity.per-node-heartbeat.maximum-container-assignments": "1",
}


def _site(properties: Mapping[str, str]) -> str:
    lines = (
        f"  <property><name>{escape(name)}</name><value>{escape(value)}</value></property>\n"
        for name, value in properties.items()
    )
    return f'<?xml version="1.0"?>\n<configuration>\n{"".join(lines)}</configuration>\n'


def read_addresses(host: LiveHost, conf: Path) -> Addresses:
    """Where the cluster of a HADOOP_CONF_DIR says it answers; VEN-ENGINE-CLUSTER if it does not."""
    properties: dict[str, str] = {}
    for name in ("core-site.xml", "hdfs-site.xml", "mapred-site.xml", "yarn-site.xml"):
        if host.files.is_file(conf / name):
            with host.files.here(conf / name) as (path,):
                properties |= read_properties(path)[0]

    def value(name: str, default: str = "") -> str:
        # A value may name others, as ${name}.
        text = properties.get(name, default)
        return re.sub(r"\$\{([^}]+)\}", lambda match: value(match[1]), text)

    fs = value("fs.defaultFS")
    if not fs.startswith("hdfs://"):
        raise VenturiError(
            "VEN-ENGINE-CLUSTER",
            f"{conf} has no HDFS: fs.defaultFS is {fs!r}",
            where={"dir": str(conf)},
            hint="--hadoop-conf needs the folder with the cluster's core-site.xml",
        )
    namenode = urlsplit(fs).hostname
    manager = value("yarn.resourcemanager.hostname", str(namenode))
    staging = value("yarn.app.mapreduce.am.staging-dir", "/tmp/hadoop-yarn/staging")  # noqa: S108
    history = f"{staging}/history"
    finished = value("mapreduce.jobhistory.intermediate-done-dir", f"{history}/done_intermediate")
    return Addresses(
        fs=fs,
        namenode=value("dfs.namenode.http-address", f"{namenode}:9870"),
        resource_manager=value("yarn.resourcemanager.webapp.address", f"{manager}:8088"),
        history=value("mapreduce.jobhistory.webapp.address", f"{namenode}:19888"),
        finished=f"{urlsplit(finished).path}/{host.user}",
        done=urlsplit(value("mapreduce.jobhistory.done-dir", f"{history}/done")).path,
    )
