"""A cluster as a file describes it: frozen, before anything was connected."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from venturi.measure.hosts.access import HostAccess

MASTER, WORKER, CLIENT = "master", "worker", "client"
ROLES = (MASTER, WORKER, CLIENT)


@dataclass(frozen=True, slots=True)
class Port:
    """A host's address on a network, and the rate of its link, None if unknown. One flow gets
    `flow_bytes_per_s` of it; None: all.
    """

    address: str
    bytes_per_s: float | None
    flow_bytes_per_s: float | None = None


@dataclass(frozen=True, slots=True)
class HostPrice:
    """Hourly price of one host."""

    per_hour: float
    currency: str
    source: str
    as_of: date


@dataclass(frozen=True, slots=True)
class RackSpec:
    """A rack, perhaps in a row of racks; `uplink_bytes_per_s` is the rate of the link out of it."""

    name: str
    within: str | None = None
    uplink_bytes_per_s: float | None = None


@dataclass(frozen=True, slots=True)
class HostSpec:
    """One host. `disks` are its folders by class of disk, `folders` by role (of DISK_ROLES); a role
    without folders uses those of all disks.

    `ports` are by network. `agent` is this machine's copy of the agent for it (None: the installed
    one), `agent_folder` the folder there that keeps it (empty: in the user's cache). `line` is the
    host's line in the file.
    """

    name: str
    reached: HostAccess
    roles: tuple[str, ...]
    ports: Mapping[str, Port]
    rack: str | None = None
    disks: Mapping[str, tuple[Path, ...]] = field(default_factory=dict)
    folders: Mapping[str, tuple[Path, ...]] = field(default_factory=dict)
    instance_type: str | None = None
    price: HostPrice | None = None
    agent: Path | None = None
    agent_folder: str = ""
    line: int = 0

    @property
    def all_folders(self) -> tuple[Path, ...]:
        """Every folder of it, each once."""
        found = (path for paths in (*self.disks.values(), *self.folders.values()) for path in paths)
        return tuple(dict.fromkeys(found))


@dataclass(frozen=True, slots=True)
class ClusterSpec:
    """The parsed content of a cluster's file. `file` is its path.

    Each network has the rate of a host's link; shuffles and replicas use `data_network`. `dilation`
    is the k of a lab: all its rates, and with `dilate_cpu` its CPUs, are k times slower than the
    emulated ones.
    """

    name: str
    file: Path
    hosts: tuple[HostSpec, ...]
    networks: Mapping[str, float | None]
    data_network: str
    racks: Mapping[str, RackSpec] = field(default_factory=dict)
    dilation: float | None = None
    dilate_cpu: bool = False

    @property
    def master(self) -> HostSpec:
        """The host of the master daemons."""
        return self.having(MASTER)[0]

    @property
    def client(self) -> HostSpec:
        """The host that submits jobs: the first client, or else the master."""
        return (*self.having(CLIENT), self.master)[0]

    def having(self, role: str) -> tuple[HostSpec, ...]:
        """The hosts of a role."""
        return tuple(each for each in self.hosts if role in each.roles)

    @property
    def taking_part(self) -> tuple[HostSpec, ...]:
        """The hosts that engines use: the master, the client, the workers, each once."""
        found = {host.name: host for host in (self.master, self.client, *self.having(WORKER))}
        return tuple(found.values())

    def host(self, name: str) -> HostSpec:
        """Return the host with this name; raise KeyError if it doesn't exist."""
        found = next((each for each in self.hosts if each.name == name), None)
        if found is None:
            raise KeyError(name)
        return found

    def address(self, host: HostSpec) -> str:
        """Where the others reach `host` with data."""
        return host.ports[self.data_network].address
