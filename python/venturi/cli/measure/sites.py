"""Sites of a plan's trials: this machine, the hosts of a cluster, or a lab made for them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from venturi.cli.measure.clusters import CLUSTER, cluster_hosts
from venturi.cli.measure.measuring import MeasuringCommand, find_agent, say, this_host
from venturi.cli.measure.target import ExecutionTarget, session_on
from venturi.core import settings
from venturi.core.errors import VenturiError
from venturi.measure.clusters.cluster_record import cluster_record, host_record
from venturi.measure.clusters.cluster_spec import WORKER, ClusterSpec
from venturi.measure.engines.nodes import ClusterNodes, nodes_of
from venturi.measure.engines.registry import engine, hdfs_spec, starts_daemons
from venturi.measure.hosts.host import LiveHost
from venturi.measure.lab import lab
from venturi.measure.lab.lab_spec import FOLDER
from venturi.measure.studies.study import LOCAL, Combination, Plan, PlanCluster, on_disk
from venturi.measure.trial.folders import require_writable
from venturi.measure.trial.space import SHARE_OF_FREE, existing_parent, usable_bytes
from venturi.record.access.owner import current_owner

if TYPE_CHECKING:
    from venturi.measure.engines.protocol import Resources, WorkloadEngine
    from venturi.measure.studies.run import Site
    from venturi.measure.trial.runner import Session

Told = Callable[[str], None]


@contextmanager
def site_of(plan: Plan, measuring: MeasuringCommand, told: Told, name: str) -> Iterator[Site]:
    """The site of a plan's cluster, or of LOCAL, with a callback for progress messages."""
    if name == LOCAL:
        yield _LocalSite(plan, replace(measuring.session(), traced=plan.traced))
        return
    with ExitStack() as stack:
        site: Site
        try:
            site = stack.enter_context(_hosts(plan, name, measuring, told))
        except (VenturiError, OSError) as error:
            site = _UnreachableSite(_stand_in(measuring, plan.clusters[name].spec), error)
        yield site


@dataclass(frozen=True)
class _LocalSite:
    plan: Plan
    session: Session

    def engine(self, combination: Combination) -> WorkloadEngine:
        return engine_on(combination.engine, this_host())

    def resources(self, combination: Combination) -> Resources:
        from venturi.measure.engines.protocol import Resources

        return Resources(
            self.plan.folders(combination),
            combination.threads,
            combination.memory,
            combination.workers,
        )


@dataclass(frozen=True)
class _ClusterSite:
    """The hosts of a cluster, connected; `spec` is without the plan's disks."""

    plan: Plan
    session: Session
    spec: ClusterSpec
    hosts: Mapping[str, LiveHost]

    def engine(self, combination: Combination) -> WorkloadEngine:
        nodes = self._nodes(combination)
        if combination.disk is not None:
            require_folders(nodes, self.spec)
        return engine_on(combination.engine, nodes.client.host, nodes)

    def resources(self, combination: Combination) -> Resources:
        from venturi.measure.engines.protocol import Resources

        nodes = self._nodes(combination)
        where = ExecutionTarget(nodes.client.host, nodes.client.dirs, nodes)
        sized = where.sized({"threads": combination.threads, "memory_bytes": combination.memory})
        return Resources(where.roles, sized["threads"], sized["memory_bytes"], combination.workers)

    def _nodes(self, combination: Combination) -> ClusterNodes:
        return nodes_at(self.plan, combination, self.spec, self.hosts)


@dataclass(frozen=True)
class _UnreachableSite:
    """Hosts that could not be connected, or made: each trial fails by that."""

    session: Session
    error: VenturiError | OSError

    def engine(self, combination: Combination) -> WorkloadEngine:
        raise self.error

    def resources(self, combination: Combination) -> Resources:
        raise self.error


def engine_on(spec: str, host: LiveHost, nodes: ClusterNodes | None = None) -> WorkloadEngine:
    """The engine of `spec` on one host, or on the nodes of a cluster with the client `host`."""
    home = settings.load().home
    return engine(spec, host, home=home, environ=os.environ, nodes=nodes)


def nodes_at(
    plan: Plan, combination: Combination, spec: ClusterSpec, hosts: Mapping[str, LiveHost]
) -> ClusterNodes:
    """The nodes of a combination on the connected hosts of its cluster."""
    if combination.disk is not None:
        spec = on_disk(spec, plan.disks[combination.disk])
    return nodes_of(spec, hosts, combination.workers or 1)


def require_folders(nodes: ClusterNodes, spec: ClusterSpec) -> None:
    """VEN-MEASURE-DIR, or -SPACE, if a worker lacks a folder that the plan names for it."""
    workers = {host.name for host in spec.having(WORKER)}
    for node in nodes.all:
        if node.name not in workers:
            continue
        try:
            folders = (folder for dirs in node.dirs.values() for folder in dirs)
            require_writable(node.host.files, folders, there=True)
        except VenturiError as error:
            error.where = {"host": node.name, **error.where}
            error.hint = "make it on each host, or name others under [disks] in the plan"
            raise


@contextmanager
def _hosts(
    plan: Plan, name: str, measuring: MeasuringCommand, told: Told
) -> Iterator[_ClusterSite]:
    cluster = plan.clusters[name]
    with ExitStack() as stack:
        spec = cluster.spec
        if cluster.lab is not None:
            spec = stack.enter_context(_lab(cluster, told))
        hosts = stack.enter_context(cluster_hosts(spec)).all()
        stack.enter_context(measuring.alone_on(hosts))
        session = measuring.session(partial(session_on, spec, nodes_of(spec, hosts)))
        yield _ClusterSite(plan, session, spec, hosts)


@contextmanager
def _lab(cluster: PlanCluster, told: Told) -> Iterator[ClusterSpec]:
    """The lab of a plan's cluster, up until the block is left."""
    home, spec = settings.load().home, cluster.lab
    assert spec is not None
    told(f"lab {spec.name}: up")
    agent = Path(find_agent().path)
    made = lab.up(spec, home, cores=this_host().cores, agent=agent, owner=current_owner())
    try:
        yield CLUSTER.convert(str(made.cluster), None, None)
    finally:
        told(f"lab {spec.name}: down")
        try:
            lab.down(home, spec.name)
        except VenturiError as error:  # the trials are done; the next that needs it tries again
            say(f"warning: {error.message}; {error.hint}")


def _stand_in(measuring: MeasuringCommand, spec: ClusterSpec) -> Session:
    """A session to record that a cluster's hosts were unreachable, with the facts of its file."""
    from venturi.measure.trial.runner import SessionMember

    session = measuring.session()
    hosts = [host_record(host, {}) for host in spec.taking_part]
    return replace(
        session,
        host=hosts[0],
        members=tuple(SessionMember(session.agent, host) for host in hosts),
        cluster=cluster_record(spec, hosts),
    )


@dataclass
class SiteSurvey:
    """The resources of a plan's sites: usable bytes of disks by place, and problems."""

    room_bytes: dict[str, int] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)


def look(plan: Plan) -> SiteSurvey:
    """Inspect the disks and engines of a plan's sites, as far as they exist; a lab by its file."""
    found = SiteSurvey()
    for made in _engines_here(plan):
        _warn_of_lacks(found, made)
    for name in dict.fromkeys(each.place for each in plan.combinations):
        own = [each for each in plan.combinations if each.place == name]
        cluster = plan.clusters.get(name)
        if cluster is None:
            folders = [
                path for each in own for dirs in plan.folders(each).values() for path in dirs
            ]
            found.room_bytes[name] = _usable(this_host(), folders)
        elif cluster.lab is not None:
            found.room_bytes[name] = _in_lab(plan, own, cluster)
            try:
                require_lab(cluster)
            except VenturiError as error:
                found.warnings.append(f"line {cluster.line}: {error.message}; {error.hint}")
        else:
            _look_at_hosts(found, plan, name, own)
    return found


def require_engines(plan: Plan) -> None:
    """Raise VEN-ENGINE-MISSING, or -JAVA, if an engine of the plan is missing here.

    Checks the engines that run here or in a lab.
    """
    from venturi.measure.engines.protocol import require

    for made in _engines_here(plan):
        require(made.available())


def _engines_here(plan: Plan) -> Iterator[WorkloadEngine]:
    """The engines of this machine, which its labs use, too; in labs all have their data in HDFS."""
    labs = {name for name, cluster in plan.clusters.items() if cluster.lab is not None}
    for place, spec in dict.fromkeys((each.place, each.engine) for each in plan.combinations):
        if place in {LOCAL, *labs}:
            yield engine_on(spec, this_host())
        if place in labs and starts_daemons(spec):
            yield engine_on(hdfs_spec(), this_host())


def require_lab(cluster: PlanCluster) -> None:
    """Raise the error that would prevent the lab of a plan's cluster; see `lab.require`."""
    assert cluster.lab is not None
    lab.require(cluster.lab, settings.load().home, cores=this_host().cores)


def _look_at_hosts(found: SiteSurvey, plan: Plan, name: str, own: list[Combination]) -> None:
    cluster = plan.clusters[name]
    with cluster_hosts(cluster.spec) as reached:
        for host, error in reached.failures.items():
            found.warnings.append(f"line {cluster.line}: {host} of {name}: {error.message}")
        if reached.failures:
            return
        folders: dict[str, set[Path]] = {}
        for each in own:
            nodes = nodes_at(plan, each, cluster.spec, reached.results)
            try:
                if each.disk is not None:
                    require_folders(nodes, cluster.spec)
            except VenturiError as error:
                said = f"{error.where['host']} of {name}: {error.message}"
                found.warnings += [] if said in found.warnings else [said]
            _warn_of_lacks(found, engine_on(each.engine, nodes.client.host, nodes))
            for node in nodes.workers:
                paths = (path for dirs in node.dirs.values() for path in dirs)
                folders.setdefault(node.name, set()).update(paths)
        found.room_bytes[name] = sum(
            _usable(reached.results[host], paths) for host, paths in folders.items()
        )


def _warn_of_lacks(found: SiteSurvey, made: WorkloadEngine) -> None:
    for lack in made.available().missing:
        said = f"{made.name}: {lack.what}; do: {lack.mend}"
        found.warnings += [] if said in found.warnings else [said]


def _usable(host: LiveHost, folders: Iterable[Path]) -> int:
    """Usable bytes of the disks of `folders`, each disk once."""
    devices = {existing_parent(host.files, folder).device: folder for folder in folders}
    return sum(usable_bytes(host.files, folder) for folder in devices.values())


def _in_lab(plan: Plan, own: list[Combination], cluster: PlanCluster) -> int:
    """Usable bytes of those disks of a lab's workers that the combinations use."""
    assert cluster.lab is not None
    used: dict[tuple[str, str], int] = {}
    disks = {host.name: host.disks for host in cluster.lab.hosts}
    for each in own:
        spec = plan.cluster(each)
        assert spec is not None
        for host in spec.having(WORKER):
            for path in (path for dirs in host.folders.values() for path in dirs):
                for disk in disks[host.name]:
                    if path.is_relative_to(FOLDER / disk.name):
                        used[host.name, disk.name] = disk.size_bytes
    return int(sum(used.values()) * SHARE_OF_FREE)
