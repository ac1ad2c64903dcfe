"""The hosts of an engine's daemons: one that has them all, or those of a cluster."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from venturi.core.errors import UsageError, VenturiError
from venturi.measure.clusters.cluster_spec import WORKER, ClusterSpec, HostSpec
from venturi.measure.hosts.host import LiveHost
from venturi.measure.hosts.local import ipv4_of
from venturi.measure.trial.folders import DataFolders

LOCALHOST = "localhost"
LOOPBACK = "127.0.0.1"
ROLES = ("input", "scratch", "output")


@dataclass(frozen=True)
class ClusterNode:
    """A host with daemons: its name and IPv4 address for the others, its folders for data by role,
    and its rack.
    """

    name: str
    host: LiveHost
    address: str
    dirs: Mapping[str, tuple[Path, ...]]
    rack: str | None = None


@dataclass(frozen=True)
class ClusterNodes:
    """The nodes of a cluster's daemons and of their jobs' clients. `workers` contains a node once
    per worker daemon on it.
    """

    master: ClusterNode
    client: ClusterNode
    workers: tuple[ClusterNode, ...]

    @property
    def all(self) -> tuple[ClusterNode, ...]:
        """Each node once: the master, the client if it is a different one, those of workers."""
        found = {node.name: node for node in (self.master, self.client, *self.workers)}
        return tuple(found.values())

    @property
    def are_several(self) -> bool:
        """Whether there are several hosts."""
        return len(self.all) > 1

    def folders(self, role: str) -> tuple[Path, ...]:
        """Those for `role` of all hosts with workers."""
        hosts = {node.name: node for node in self.workers}
        return tuple(path for node in hosts.values() for path in node.dirs[role])

    @property
    def cores(self) -> int:
        """Processor threads of all hosts with workers."""
        hosts = {node.name: node.host for node in self.workers}
        return sum(host.cores for host in hosts.values())

    def label(self, node: ClusterNode) -> str:
        """Return the name of a node if there are several, else an empty text."""
        return node.name if self.are_several else ""

    def numbered(self) -> tuple[tuple[int | None, ClusterNode], ...]:
        """The workers, with a number where a host has several of them or all are on one."""
        counts: dict[str, int] = {}
        found: list[tuple[int | None, ClusterNode]] = []
        several = len(self.workers) > len({node.name for node in self.workers})
        for node in self.workers:
            number = counts.get(node.name, 0)
            counts[node.name] = number + 1
            found.append((number if several or not self.are_several else None, node))
        return tuple(found)


def open_folders(
    stack: ExitStack, nodes: ClusterNodes, roles: tuple[str, ...]
) -> dict[str, DataFolders]:
    """Create Venturi's folders below each node's folders for `roles`; return them by node name.
    Closing `stack` removes them.
    """
    return {
        node.name: stack.enter_context(
            DataFolders(node.host.files, {role: node.dirs[role] for role in roles})
        )
        for node in nodes.all
    }


def on_one_host(host: LiveHost, dirs: Mapping[str, tuple[Path, ...]], workers: int) -> ClusterNodes:
    """All daemons on `host`, at its loopback address."""
    node = ClusterNode(LOCALHOST, host, LOOPBACK, dirs)
    return ClusterNodes(node, node, (node,) * workers)


def nodes_of(
    spec: ClusterSpec, hosts: Mapping[str, LiveHost], workers_each: int = 1
) -> ClusterNodes:
    """Return the nodes of a cluster with connected `hosts`, with `workers_each` worker daemons on
    each host of the role worker. Raises VEN-ENGINE-CLUSTER without such a host or with an unknown
    address.
    """
    workers = spec.having(WORKER)
    if not workers:
        raise UsageError(
            "VEN-ENGINE-CLUSTER",
            f"no host of the cluster {spec.name} is a worker",
            where={"file": str(spec.file)},
            hint='give some hosts roles = ["worker"]',
        )
    used = {each.name: each for each in spec.taking_part}
    # A cluster of this machine alone needs no address that others can reach.
    alone = len(used) == 1 and spec.master.reached.is_this_machine
    nodes = {
        name: _node(each, hosts[name], LOOPBACK if alone else _ipv4(spec, each))
        for name, each in used.items()
    }
    return ClusterNodes(
        nodes[spec.master.name],
        nodes[spec.client.name],
        tuple(nodes[each.name] for each in workers for _ in range(workers_each)),
    )


def _node(host: HostSpec, connected: LiveHost, address: str) -> ClusterNode:
    # A host without disks of its own, such as a master, keeps its files where temporary ones are.
    folders = {
        role: tuple(host.folders.get(role, ())) or (connected.files.temporaries,) for role in ROLES
    }
    return ClusterNode(host.name, connected, address, folders, host.rack)


def _ipv4(spec: ClusterSpec, host: HostSpec) -> str:
    """The address of `host` in the network for data, as this machine knows its name."""
    told = spec.address(host)
    try:
        return ipv4_of(told)
    except OSError as error:
        raise VenturiError(
            "VEN-ENGINE-CLUSTER",
            f"the address of {host.name}, {told!r}, cannot be resolved here: "
            f"{error.strerror or error}",
            where={"file": str(spec.file), "line": host.line, "host": host.name},
            hint='give its data address in the cluster file: address = "10.0.0.7"',
        ) from error
