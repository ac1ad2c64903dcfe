"""Names and units of the sysstat tools and dstat, as metrics of Venturi's own sampler."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeGuard

from venturi.record.importing.host_series import HostSeries
from venturi.record.importing.json_text import is_number

_KIB = 1024.0
_MIB = 1024.0 * 1024
Metric = tuple[str, float, str]
"""The metric, the factor to its unit, and the unit."""

CPU: Mapping[str, Metric] = {
    name: (f"cpu_{metric}", 0.01, "fraction")
    for name, metric in (
        ("user", "user"),
        ("usr", "user"),
        ("nice", "nice"),
        ("system", "system"),
        ("sys", "system"),
        ("iowait", "iowait"),
        ("wai", "iowait"),
        ("irq", "irq"),
        ("hiq", "irq"),
        ("soft", "softirq"),
        ("siq", "softirq"),
        ("steal", "steal"),
        ("stl", "steal"),
        ("idle", "idle"),
        ("idl", "idle"),
    )
}
_READ, _WRITE = "disk_read_bytes_per_s", "disk_write_bytes_per_s"
DISK: Mapping[str, Metric] = {
    "r/s": ("disk_read_ops_per_s", 1.0, "1/s"),
    "w/s": ("disk_write_ops_per_s", 1.0, "1/s"),
    "tps": ("disk_ops_per_s", 1.0, "1/s"),
    "rkB/s": (_READ, _KIB, "B/s"),
    "wkB/s": (_WRITE, _KIB, "B/s"),
    "rMB/s": (_READ, _MIB, "B/s"),
    "wMB/s": (_WRITE, _MIB, "B/s"),
    "rsec/s": (_READ, 512.0, "B/s"),
    "wsec/s": (_WRITE, 512.0, "B/s"),
    "kB_read/s": (_READ, _KIB, "B/s"),
    "kB_wrtn/s": (_WRITE, _KIB, "B/s"),
    "MB_read/s": (_READ, _MIB, "B/s"),
    "MB_wrtn/s": (_WRITE, _MIB, "B/s"),
    "Blk_read/s": (_READ, 512.0, "B/s"),
    "Blk_wrtn/s": (_WRITE, 512.0, "B/s"),
    "rkB": (_READ, _KIB, "B/s"),
    "wkB": (_WRITE, _KIB, "B/s"),
    "rd_sec": (_READ, 512.0, "B/s"),
    "wr_sec": (_WRITE, 512.0, "B/s"),
    "aqu-sz": ("disk_queue_length", 1.0, "1"),
    "avgqu-sz": ("disk_queue_length", 1.0, "1"),
    "r_await": ("disk_read_await_s", 1e-3, "s"),
    "w_await": ("disk_write_await_s", 1e-3, "s"),
    "await": ("disk_await_s", 1e-3, "s"),
    "util": ("disk_busy", 0.01, "fraction"),
    "util-percent": ("disk_busy", 0.01, "fraction"),
}
NETWORK: Mapping[str, Metric] = {
    "rxkB": ("net_receive_bytes_per_s", _KIB, "B/s"),
    "txkB": ("net_transmit_bytes_per_s", _KIB, "B/s"),
    "rxbyt": ("net_receive_bytes_per_s", 1.0, "B/s"),
    "txbyt": ("net_transmit_bytes_per_s", 1.0, "B/s"),
    "rxpck": ("net_receive_packets_per_s", 1.0, "1/s"),
    "txpck": ("net_transmit_packets_per_s", 1.0, "1/s"),
}
MEMORY: Mapping[str, Metric] = {
    "memfree": ("memory_free_bytes", _KIB, "B"),
    "avail": ("memory_available_bytes", _KIB, "B"),
    "memused": ("memory_used_bytes", _KIB, "B"),
    "cached": ("memory_cached_bytes", _KIB, "B"),
    "dirty": ("memory_dirty_bytes", _KIB, "B"),
    "swpused": ("swap_used_bytes", _KIB, "B"),
}
PAGING: Mapping[str, Metric] = {
    "pgpgin": ("page_in_bytes_per_s", _KIB, "B/s"),
    "pgpgout": ("page_out_bytes_per_s", _KIB, "B/s"),
    "majflt": ("page_major_faults_per_s", 1.0, "1/s"),
}


def add_all(
    series: HostSeries,
    t_s: float,
    device: str | None,
    values: Mapping[str, Any],
    known: Mapping[str, Metric],
) -> None:
    """Add the known ones of `values`; a metric that has two names is added once."""
    added: set[str] = set()
    for name, value in values.items():
        found = known.get(name.removeprefix("%"))
        if found is None or found[0] in added or not is_amount(value):
            continue
        metric, scale, unit = found
        added.add(metric)
        series.add(t_s, metric, device, value * scale, unit)


def is_amount(value: object) -> TypeGuard[int | float]:
    """Whether `value` is a finite number that isn't negative."""
    return is_number(value) and value >= 0
