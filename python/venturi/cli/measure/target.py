"""Where the engines of a verb run: on this machine, or on the hosts of a cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from venturi.cli.measure.clusters import cluster_hosts, described
from venturi.cli.measure.measuring import Open, measuring_session, say, this_host
from venturi.core import settings
from venturi.core.errors import VenturiError
from venturi.measure.clusters.cluster_spec import ClusterSpec
from venturi.measure.clusters.traits import memory_bytes
from venturi.measure.engines.nodes import ClusterNodes, nodes_of
from venturi.measure.hosts.host import LiveHost
from venturi.measure.trial.folders import parse_roles, require_writable

if TYPE_CHECKING:
    from venturi.measure.trial.runner import Session
    from venturi.record.store.trial_store import TrialStore


@dataclass(frozen=True)
class ExecutionTarget:
    """`host` is where jobs are submitted, `roles` its folders for data, `opened` a session there.
    `nodes` are those of a cluster.
    """

    host: LiveHost
    roles: Mapping[str, tuple[Path, ...]]
    nodes: ClusterNodes | None = None
    opened: Open | None = None

    @property
    def hosts(self) -> Mapping[str, LiveHost]:
        """The hosts of the cluster, by name."""
        if self.nodes is None:
            return {}
        return {node.name: node.host for node in (self.nodes.client, *self.nodes.all)}

    def measuring(
        self, what: str, *, show_progress: bool, wait: bool
    ) -> AbstractContextManager[Session]:
        """A session; while it is open, only `what` measures there.

        Unwritable folders are rejected before the wait for another command.
        """
        parents = (folder for folders in self.roles.values() for folder in folders)
        require_writable(self.host.files, parents)
        return measuring_session(
            show_progress=show_progress,
            alone_as=what,
            wait=wait,
            opened=self.opened,
            hosts=self.hosts,
        )

    def sized(self, limits: Mapping[str, Any]) -> dict[str, Any]:
        """`limits` for a cluster. Default `threads`: those of all workers. Default `memory_bytes`:
        for each worker, the amount that an engine gets on one host, or half of its memory.
        """
        if self.nodes is None:
            return dict(limits)
        return {
            **limits,
            "threads": limits["threads"] or self.nodes.cores,
            "memory_bytes": limits["memory_bytes"] or _memory_bytes(self.nodes),
        }


@contextmanager
def execution_target(
    cluster: ClusterSpec | None, dirs: tuple[str, ...], workers: int | None
) -> Iterator[ExecutionTarget]:
    """The hosts of `cluster`, connected, until the block is left; without a cluster this machine.

    VEN-HOST-... for the first unreachable host: an engine needs all of them.
    """
    if cluster is None:
        yield ExecutionTarget(this_host(), parse_roles(dirs, Path.cwd()))
        return
    if dirs:
        raise click.UsageError("--dir is of one machine: the cluster's file says where data go")
    with cluster_hosts(cluster) as reached:
        hosts = reached.all()
        nodes = nodes_of(cluster, hosts, workers or 1)
        client = nodes.client
        yield ExecutionTarget(client.host, client.dirs, nodes, partial(session_on, cluster, nodes))


def _memory_bytes(nodes: ClusterNodes) -> int:
    """The memory that an engine gets on the workers of a cluster."""
    from venturi.measure.engines.process_job import memory_bytes_on, small_hosts
    from venturi.measure.hosts.agent import Agent
    from venturi.measure.hosts.concurrent_commands import on_all

    loaded = settings.load()
    agents = {node.name: Agent.find(loaded, node.host) for node in nodes.workers}
    each: dict[str, int | None] = {}
    for name, outcome in on_all(agents, "facts").items():
        if isinstance(outcome, VenturiError):
            raise outcome
        each[name] = memory_bytes(outcome.data)
    if (warning := small_hosts(each)) is not None:
        say(f"warning: {warning}")
    return memory_bytes_on(list(each.values()))


def session_on(
    cluster: ClusterSpec, nodes: ClusterNodes, keeper: TrialStore, **more: Any
) -> Session:
    """A session on all `nodes`, the client's first: its agent does single-host work."""
    from venturi.measure.hosts.agent import Agent
    from venturi.measure.trial.runner import open_cluster_session

    hosts = {node.name: node.host for node in (nodes.client, *nodes.all)}
    agents = {name: Agent.find(settings.load(), host) for name, host in hosts.items()}
    session, failures = open_cluster_session(agents, keeper, **more)
    for error in failures.values():
        raise error
    return described(cluster, session)
