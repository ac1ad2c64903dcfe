"""How busy a host was while a stage ran: values only, for every page's shapes load them."""

from __future__ import annotations

from dataclasses import dataclass

from venturi.core.statistics.stats import Missing

PROCESSOR = "processor"
NETWORK = "network"
NO_SERIES = Missing("no host series was recorded with this trial")

# State shown -> the sampler's metrics that make it up (the kernel splits them finer).
CPU_STATES = {
    "user": ("cpu_user", "cpu_nice"),
    "system": ("cpu_system", "cpu_irq", "cpu_softirq"),
    "waiting for I/O": ("cpu_iowait",),
    "stolen by the hypervisor": ("cpu_steal",),
}


@dataclass(frozen=True, slots=True)
class HostUse:
    """Means over one stage; None if the sampler recorded nothing.

    `cpu_busy` and `cpu_iowait` are fractions of all CPUs. `cpu_own` is the part of `cpu_busy` that
    the trial used on this host. `cpu_others` is the part that it used on no host that shares the
    CPUs. Interrupts are in neither. `disk_busy` is the fraction of time in which the busiest disk
    (`disk`) had a request in flight. Rates are sums over devices, without stacked devices and
    loopback.

    `cpu_python` is the fraction of all CPUs that Spark's Python workers used, which no task
    records; in a lab, of the workers on all hosts.

    If several hosts were watched, it is the use of the bottleneck, `host`. Its disks are those of
    its own folders. `network_busy` is the larger direction's share of its link's rate. `peers_busy`
    is the highest share of the same kind of device on the other hosts. CPUs that hosts share (a
    lab's) belong to no host. If these were busier than any device of a host, `processor_shared` is
    set and `host` is empty.
    """

    cpu_busy: float | None
    cpu_iowait: float | None
    cpu_others: float | None
    disk: str | None
    disk_busy: float | None
    disk_read_bytes_per_s: float | None
    disk_write_bytes_per_s: float | None
    net_receive_bytes_per_s: float | None
    net_transmit_bytes_per_s: float | None
    network_busy: float | None = None
    host: str | None = None
    peers_busy: float | None = None
    processor_shared: bool = False
    cpu_own: float | None = None
    cpu_python: float | None = None

    @property
    def busiest(self) -> tuple[str, float] | None:
        """The busiest device and the share of time in which it was."""
        return max(self.shares, key=lambda each: each[1], default=None)

    @property
    def shares(self) -> list[tuple[str, float]]:
        """Devices with a known share, and that share."""
        every = (
            (PROCESSOR, self.cpu_busy),
            (f"disk {self.disk}", self.disk_busy),
            (NETWORK, self.network_busy),
        )
        return [(device, busy) for device, busy in every if busy is not None]


@dataclass(frozen=True, slots=True)
class HostUseLines:
    """The use of a host in each part of a time; None if unknown. The shares are of the part in
    which all CPUs and the busiest disk were busy. The network has bytes/s in the larger direction.
    """

    processor: tuple[float | None, ...]
    disk_busy: tuple[float | None, ...]
    network_bytes_per_s: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class HostOverTime:
    """A host: `lines` over the parts of the time, `mean` over all of it, None if too little is
    known. `clock_error_s` bounds the error of its timestamps; None if only one clock was used.
    """

    host: str
    rack: str | None
    narrowest: bool
    lines: HostUseLines
    mean: HostUse | None
    link_bytes_per_s: float | None
    clock_error_s: float | None


@dataclass(frozen=True, slots=True)
class HostsOverTime:
    """`t_s` are the middles of the parts, in seconds since the trial began; `sentence` says which
    host was the narrowest, by which `device`, and by how much. A `missing_reason` says why there
    are no hosts.
    """

    t_s: tuple[float, ...]
    hosts: tuple[HostOverTime, ...]
    device: str | None
    sentence: str | None
    missing_reason: str | None
