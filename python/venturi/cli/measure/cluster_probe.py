"""Probes of all hosts of a cluster: `venturi probe disk` and `net` with --cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from venturi.cli.measure.clusters import cluster_hosts, described
from venturi.cli.measure.measuring import measuring_alone, say_longest
from venturi.cli.open_repository import open_measuring
from venturi.cli.progress import progress_bars
from venturi.core import settings
from venturi.measure.clusters.cluster_spec import ClusterSpec, HostSpec
from venturi.measure.hosts.agent import Agent
from venturi.measure.probes.disk_cluster import ClusterDiskJob, ClusterDiskOptions
from venturi.measure.probes.members import LostHost, ProbedHost
from venturi.measure.probes.net_cluster import ClusterNetJob, ClusterNetOptions
from venturi.measure.probes.probes import DiskOptions
from venturi.measure.probes.slow import SLOW_FACTOR
from venturi.measure.trial.runner import Session, open_cluster_session, run_trial
from venturi.record.store.trial_store import NullRepository, TrialStore
from venturi.record.trial import Trial


@dataclass(frozen=True)
class ClusterProbeOptions:
    """How to run a probe of a cluster and record its trial."""

    show_progress: bool
    record: bool
    wait: bool
    experiment: str | None


def probe_net(
    spec: ClusterSpec,
    how: ClusterProbeOptions,
    pairs: str | None,
    seconds: float | None,
    chosen: Mapping[str, Any],
) -> Trial:
    """NetBench between the hosts of a cluster."""
    known = ("iterations", "sockets_per_peer", "scale", "slow_factor", "cull")
    given = {name: chosen[name] for name in known if chosen[name] is not None}
    if seconds is not None:
        given["seconds"] = seconds
    options = ClusterNetOptions(
        **given, disjoint_pairs=None if pairs is None else pairs == "at-once"
    )
    with _session(spec, "probe net", how) as (session, places, lost):
        version = session.software.others["agent"]
        job = ClusterNetJob(
            places, options, engine_version=version, experiment=how.experiment, lost=lost
        )
        return run_trial(session, job)


def probe_disk(
    spec: ClusterSpec, folders: Sequence[Path], how: ClusterProbeOptions, chosen: dict[str, Any]
) -> Trial:
    """DiskBench on the hosts of a cluster: in `folders`, or in those that its file names."""
    factor, alone = chosen.pop("slow_factor"), chosen.pop("alone")
    each = DiskOptions(dirs=(), **chosen)
    options = ClusterDiskOptions(each, alone, SLOW_FACTOR if factor is None else factor)
    with _session(spec, "probe disk", how, folders) as (session, places, lost):
        version = session.software.others["agent"]
        if how.show_progress:
            say_longest(each.longest_s * options.rounds(len(places)))
        job = ClusterDiskJob(
            places, options, engine_version=version, experiment=how.experiment, lost=lost
        )
        return run_trial(session, job)


@contextmanager
def _session(
    spec: ClusterSpec, verb: str, how: ClusterProbeOptions, folders: Sequence[Path] = ()
) -> Iterator[tuple[Session, list[ProbedHost], list[LostHost]]]:
    """A session on the hosts that can be reached, their places, and the others."""
    with ExitStack() as stack:
        connected = stack.enter_context(cluster_hosts(spec))
        stack.enter_context(measuring_alone(verb, connected.results, wait=how.wait))
        if not connected.results:
            connected.all()  # the first failure, with the names of all
        keeper: TrialStore = (
            stack.enter_context(open_measuring()) if how.record else NullRepository()
        )
        on_progress = stack.enter_context(progress_bars(enabled=how.show_progress))
        agents = {
            name: Agent.find(settings.load(), host) for name, host in connected.results.items()
        }
        session, mute = open_cluster_session(
            agents,
            keeper,
            on_progress=on_progress,
            sample_interval_ms=1000 if how.record else None,
        )
        lost = [
            LostHost(name, "before the measurement", error.message)
            for name, error in {**connected.failures, **mute}.items()
        ]
        session = described(spec, session)
        answered = {member.host.name for member in session.members}
        places = [
            _place(spec, host, agents[host.name], folders)
            for host in spec.hosts
            if host.name in answered
        ]
        yield session, places, lost


def _place(spec: ClusterSpec, host: HostSpec, agent: Agent, folders: Sequence[Path]) -> ProbedHost:
    disks = dict(host.disks) or {"": host.all_folders}
    return ProbedHost(
        host.name, agent, spec.address(host), {"": tuple(folders)} if folders else disks
    )
