"""A lab: its network, switches, hosts and their disks, and the effect of dilation on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from ipaddress import IPv4Network
from pathlib import Path
from typing import Literal

CORE = "core"
MACHINE = "machine"
"""The machine's own name in its labs."""
FOLDER = Path("/venturi")
"""Where every host of a lab has its disks."""
NETWORKS = tuple(IPv4Network(f"10.{number}.0.0/24") for number in range(77, 128))
"""Networks for labs with a file that names no addresses."""
Model = Literal["throttle", "spindle"]


@dataclass(frozen=True, slots=True)
class LabDisk:
    """A disk of a host, seen there at `FOLDER / name`. Rates are in bytes/s, times in seconds.

    `seek_s` is the average seek, `rotation_s` one turn of the platter. None: not limited; of
    `dirty_bytes`: by the rate.
    """

    name: str
    disk_class: str
    model: Model
    size_bytes: int
    read_bytes_per_s: float | None
    write_bytes_per_s: float | None
    read_iops: float | None
    write_iops: float | None
    seek_s: float | None
    rotation_s: float | None
    dirty_bytes: int | None
    seen_as: str | None = None
    """The class of which its host's cluster file says it is; None: `disk_class`."""


@dataclass(frozen=True, slots=True)
class Pool:
    """Disks of a host, filled in order, as one folder; all but the last keep `free_bytes`."""

    name: str
    pool_class: str
    disks: tuple[str, ...]
    free_bytes: int


@dataclass(frozen=True, slots=True)
class LabHost:
    """A host: its link (bytes/s each way, None: not limited) to a switch, and its hardware."""

    name: str
    address: str
    switch: str
    link_bytes_per_s: float | None
    disks: tuple[LabDisk, ...]
    memory_bytes: int | None
    cpus: float | None
    roles: tuple[str, ...]
    images: Path | None
    pools: tuple[Pool, ...] = ()


@dataclass(frozen=True, slots=True)
class Switch:
    """A rack, or the ports that hosts of one machine share (`ports` above 1), below `within`.

    `uplink_bytes_per_s` is that of one port; None: not limited.
    """

    name: str
    within: str
    uplink_bytes_per_s: float | None
    ports: int = 1


@dataclass(frozen=True, slots=True)
class LabSpec:
    """A lab as its file describes it, nothing dilated yet."""

    name: str
    network: str
    machine_address: str
    mtu: int
    dilation: float
    dilate_cpu: bool
    images: Path | None
    switches: tuple[Switch, ...]
    hosts: tuple[LabHost, ...]
    addresses_named: bool = True
    """Whether its file names addresses; else the lab may have others."""
    file: Path | None = None
    size_lines: Mapping[str, int] = field(default_factory=dict)
    """In which line of `file` each class of disks has its size."""


def dilated(spec: LabSpec, cores: int) -> LabSpec:
    """Return the lab to make from `spec` on a machine with `cores`: rates divided by its dilation,
    times multiplied; CPUs divided, too, with `dilate_cpu`.
    """
    k = spec.dilation

    def divided(value: float | None) -> float | None:
        return None if value is None else value / k

    def multiplied(value: float | None) -> float | None:
        return None if value is None else value * k

    def cpus(host: LabHost) -> float | None:
        return (host.cpus or cores) / k if spec.dilate_cpu else host.cpus

    return replace(
        spec,
        switches=tuple(
            replace(each, uplink_bytes_per_s=divided(each.uplink_bytes_per_s))
            for each in spec.switches
        ),
        hosts=tuple(
            replace(
                host,
                cpus=cpus(host),
                link_bytes_per_s=divided(host.link_bytes_per_s),
                disks=tuple(
                    replace(
                        disk,
                        read_bytes_per_s=divided(disk.read_bytes_per_s),
                        write_bytes_per_s=divided(disk.write_bytes_per_s),
                        read_iops=divided(disk.read_iops),
                        write_iops=divided(disk.write_iops),
                        seek_s=multiplied(disk.seek_s),
                        rotation_s=multiplied(disk.rotation_s),
                    )
                    for disk in host.disks
                ),
            )
            for host in spec.hosts
        ),
    )
