"""A cluster as its newest trial recorded it: hosts, links, disks, differences, clocks, price."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from venturi.core.units import format_offset
from venturi.machines.scaling.between_hosts import between_hosts
from venturi.machines.scaling.disks_of_hosts import disks_of_hosts
from venturi.measure.clusters.traits import (
    disk_of,
    memory_bytes,
    recorded_differences,
    sentence,
    threads,
)
from venturi.record.trial import Clock, Cluster, Host, Link, PriceQuote, Rack, Trial


@dataclass(frozen=True, slots=True)
class HostDisk:
    """A folder of a host for one disk: its file system and the device below."""

    disk_class: str
    folder: str
    device: str | None
    model: str | None
    size_bytes: float | None
    file_system: str | None


@dataclass(frozen=True, slots=True)
class HostCard:
    """A recorded host, with its links by the name of the network."""

    name: str
    roles: tuple[str, ...]
    rack: str | None
    links: Mapping[str, Link]
    disks: tuple[HostDisk, ...]
    memory_bytes: int | None
    threads: float | None
    processor: str | None
    kernel: str | None
    clock: Clock | None


@dataclass(frozen=True, slots=True)
class ProbeSeen:
    """The newest trial of a probe; `sentence` is None if it measured no hosts. `disturbed`: other
    programs used the hosts. `folders`: its results for disks.
    """

    trial: str
    state: str
    disturbed: bool
    folders: tuple[str, ...]
    started_at: datetime | None
    sentence: str | None


@dataclass(frozen=True, slots=True)
class ClusterCard:
    """A cluster as recorded in the trial `as_of_trial`. `differences` are the sentences of `venturi
    cluster check`, as far as a trial's facts show them. `clocks` is the difference between its
    clocks.
    """

    name: str
    as_of_trial: str
    as_of: datetime | None
    hosts: tuple[HostCard, ...]
    racks: tuple[Rack, ...]
    network: str | None
    instance_type: str | None
    price: PriceQuote | None
    dilation: float | None
    dilate_cpu: bool | None
    differences: tuple[str, ...]
    clocks: str | None


def cluster_card(trial: Trial) -> ClusterCard:
    """The cluster of `trial`."""
    cluster = trial.cluster
    return ClusterCard(
        name=cluster.name or trial.id,
        as_of_trial=trial.id,
        as_of=trial.started_at,
        hosts=tuple(map(_host, cluster.hosts)),
        racks=cluster.racks,
        network=cluster.network,
        instance_type=cluster.instance_type,
        price=cluster.price,
        dilation=cluster.dilation,
        dilate_cpu=cluster.dilate_cpu,
        differences=tuple(map(sentence, recorded_differences(cluster.hosts))),
        clocks=_clocks(cluster),
    )


def probe_seen(trial: Trial) -> ProbeSeen:
    """The result of the probe `trial`, in a sentence."""
    found = between_hosts(trial) or disks_of_hosts(trial)
    said = None if found is None else found.sentence
    folders = {
        str(sample.labels["dir"]): None for sample in trial.samples if "dir" in sample.labels
    }
    return ProbeSeen(
        trial.id, trial.state.value, bool(trial.disturbed), tuple(folders), trial.started_at, said
    )


def _host(host: Host) -> HostCard:
    return HostCard(
        name=host.name,
        roles=host.roles,
        rack=host.rack,
        links=host.links,
        disks=tuple(_disks(host)),
        memory_bytes=memory_bytes(host.facts),
        threads=threads(host.facts),
        processor=_text(host.facts.get("cpu_model")),
        kernel=_text(host.facts.get("kernel_release")),
        clock=host.clock,
    )


def _disks(host: Host) -> Iterator[HostDisk]:
    for name, folders in host.disks.items():
        for folder in folders:
            file_system, device = disk_of(host.facts, Path(folder))
            size = device.get("size_bytes")
            yield HostDisk(
                name,
                folder,
                _text(device.get("name")),
                _text(device.get("model")),
                size if isinstance(size, int | float) else None,
                _text(file_system.get("kind")),
            )


def _clocks(cluster: Cluster) -> str | None:
    """The largest difference between two clocks."""
    known = sorted(
        (host.clock.offset_s, host.clock.error_s, host.name)
        for host in cluster.hosts
        if host.clock is not None
    )
    if len(known) < 2:
        return None
    (early_s, error_s, behind), (late_s, other_s, ahead) = known[0], known[-1]
    apart = format_offset(late_s - early_s, error_s + other_s)
    return f"clocks were within {apart} ({ahead} was ahead of {behind})"


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
