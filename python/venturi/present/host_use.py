"""How busy a host was while a stage ran: values only, for every page's shapes load them."""

from __future__ import annotations

from dataclasses import dataclass

PROCESSOR = "processor"


@dataclass(frozen=True, slots=True)
class HostUse:
    """Means over one stage; None where the sampler said nothing.

    `cpu_busy` and `cpu_iowait` are fractions of all processors, `cpu_others` that of the first
    which was not the trial's own (interrupts are nobody's), `disk_busy` the fraction of time in
    which the busiest disk (`disk`) had a request in flight. Rates are sums over devices, without
    those that lie on others and without loopback.
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

    @property
    def busiest(self) -> tuple[str, float] | None:
        """The busiest device and the share of time in which it was."""
        shares = [(PROCESSOR, self.cpu_busy), (f"disk {self.disk}", self.disk_busy)]
        known = [(device, busy) for device, busy in shares if busy is not None]
        return max(known, key=lambda each: each[1], default=None)
