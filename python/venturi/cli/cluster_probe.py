"""Probes of all hosts of a cluster: `venturi probe disk` and `net` with --cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from venturi import settings
from venturi.cli.measuring import find_agent, say, this_host
from venturi.cli.progress import progress_bars
from venturi.cli.repository import open_repository
from venturi.errors import VenturiError
from venturi.measure.clusters.cluster_file import cluster_of
from venturi.measure.clusters.cluster_spec import ClusterSpec, Here, HostSpec, InLab
from venturi.measure.hosts.agent import Agent
from venturi.measure.hosts.host import Host
from venturi.measure.hosts.lock import alone
from venturi.measure.hosts.remote import connected
from venturi.measure.lab.lab import enter
from venturi.measure.probes.disk_cluster import ClusterDiskJob, ClusterDiskOptions
from venturi.measure.probes.members import Lost, Place
from venturi.measure.probes.net_cluster import ClusterNetJob, ClusterNetOptions
from venturi.measure.probes.probes import DiskOptions
from venturi.measure.probes.slow import SLOW_FACTOR
from venturi.measure.trial.runner import Member, Session, open_cluster_session, run_trial
from venturi.record.keeping import Keeper, Nowhere
from venturi.record.trial import Cluster, Link, Rack, Trial


@dataclass(frozen=True)
class How:
    """How a probe of a cluster is run and kept."""

    show_progress: bool
    record: bool
    wait: bool
    experiment: str | None


def probe_net(
    file: Path, how: How, pairs: str | None, seconds: float | None, chosen: Mapping[str, Any]
) -> Trial:
    """NetBench between the hosts of the cluster in `file`."""

    known = ("iterations", "sockets_per_peer", "scale", "slow_factor", "cull")
    given = {name: chosen[name] for name in known if chosen[name] is not None}
    if seconds is not None:
        given["seconds"] = seconds
    options = ClusterNetOptions(
        **given, disjoint_pairs=None if pairs is None else pairs == "at-once"
    )
    with _session(file, "probe net", how) as (session, places, lost):
        version = session.software.others["agent"]
        job = ClusterNetJob(
            places, options, engine_version=version, experiment=how.experiment, lost=lost
        )
        return run_trial(session, job)


def probe_disk(file: Path, folders: Sequence[Path], how: How, chosen: dict[str, Any]) -> Trial:
    """DiskBench on the hosts of the cluster in `file`: in `folders`, or in those that it names."""

    factor, alone = chosen.pop("slow_factor"), chosen.pop("alone")
    each = DiskOptions(dirs=(), **chosen)
    options = ClusterDiskOptions(each, alone, SLOW_FACTOR if factor is None else factor)
    with _session(file, "probe disk", how, folders) as (session, places, lost):
        version = session.software.others["agent"]
        job = ClusterDiskJob(
            places, options, engine_version=version, experiment=how.experiment, lost=lost
        )
        return run_trial(session, job)


@contextmanager
def _session(
    file: Path, verb: str, how: How, folders: Sequence[Path] = ()
) -> Iterator[tuple[Session, list[Place], list[Lost]]]:
    """A session on the hosts that can be reached, their places, and the others."""

    spec = cluster_of(file.read_text(), file)
    with ExitStack() as stack:
        stack.enter_context(
            alone(
                settings.load().lock, verb, wait=how.wait, on_wait=lambda w: say(f"waiting for {w}")
            )
        )
        hosts, failures = stack.enter_context(_connected(spec))
        keeper: Keeper = stack.enter_context(open_repository()) if how.record else Nowhere()
        on_progress = stack.enter_context(progress_bars(enabled=how.show_progress))
        agents = {name: Agent.find(settings.load(), host) for name, host in hosts.items()}
        session, mute = open_cluster_session(
            agents, keeper, on_progress=on_progress,
            sample_interval_ms=1000 if how.record else None,
        )  # fmt: skip
        lost = [
            Lost(name, "before the measurement", error.message)
            for name, error in {**failures, **mute}.items()
        ]
        session = replace(session, cluster=_cluster(spec), members=_described(spec, session))
        answered = {member.host.name for member in session.members}
        places = [
            _place(spec, host, agents[host.name], folders)
            for host in spec.hosts
            if host.name in answered
        ]
        yield session, places, lost


@contextmanager
def _connected(
    spec: ClusterSpec,
) -> Iterator[tuple[Mapping[str, Host], Mapping[str, VenturiError]]]:
    hosts: dict[str, Host] = {}
    failures: dict[str, VenturiError] = {}
    with ExitStack() as stack:
        for each in spec.hosts:
            try:
                hosts[each.name] = stack.enter_context(_opened(each))
            except VenturiError as error:
                failures[each.name] = error
        yield hosts, failures


@contextmanager
def _opened(spec: HostSpec) -> Iterator[Host]:

    if isinstance(spec.reached, Here):
        yield this_host()
    elif isinstance(spec.reached, InLab):
        into = enter(settings.load().home, spec.reached.lab, spec.name)
        with connected((*into, find_agent().path, "host"), spec.name) as host:
            yield host
    else:
        raise VenturiError(
            "VEN-HOST-START", f"{spec.name} cannot be reached by {spec.reached}",
            where={"host": spec.name},
        )  # fmt: skip


def _place(spec: ClusterSpec, host: HostSpec, agent: Agent, folders: Sequence[Path]) -> Place:

    disks = dict(host.disks) or {"": host.all_folders}
    return Place(host.name, agent, spec.address(host), {"": tuple(folders)} if folders else disks)


def _cluster(spec: ClusterSpec) -> Cluster:
    """What a trial says of the cluster, its hosts apart."""
    types = {host.instance_type for host in spec.hosts}
    return Cluster(
        (),
        name=spec.name,
        instance_type=types.pop() if len(types) == 1 else None,
        racks=tuple(
            Rack(rack.name, rack.within, rack.uplink_bytes_per_s) for rack in spec.racks.values()
        ),
        dilation=spec.dilation,
    )


def _described(spec: ClusterSpec, session: Session) -> tuple[Member, ...]:
    """The members of the session with what the file says of them."""
    found = []
    for member in session.members:
        of = spec.host(member.host.name)
        host = replace(
            member.host,
            roles=of.roles,
            links={name: Link(port.address, port.bytes_per_s) for name, port in of.ports.items()},
            rack=of.rack,
            disks={name: tuple(map(str, paths)) for name, paths in of.disks.items()},
        )
        found.append(replace(member, host=host))
    return tuple(found)
