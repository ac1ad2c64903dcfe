"""Results of DiskBench on several hosts, read from its trial: disks compared with their peers, and
hosts compared with their own rate alone.

The probe identified the slow ones; nothing is decided here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import median

from venturi.record.one_host import HOST, most_at_once
from venturi.record.trial import Scalar, Trial

_METRIC = {
    ("read", "read"): "disk_read_bytes_per_s",
    ("write", "write"): "disk_write_bytes_per_s",
    ("read_write", "read"): "disk_mixed_read_bytes_per_s",
    ("read_write", "write"): "disk_mixed_write_bytes_per_s",
    ("random_read", "read"): "disk_random_read_iops",
    ("shuffle_read", "read"): "disk_shuffle_read_bytes_per_s",
}


@dataclass(frozen=True, slots=True)
class DiskOfHost:
    """A disk while all hosts are active.

    `rate` is in B/s, or 1/s for random reads. `share` is that of the median of its peers in the
    class (None: no peers). `of_alone` is the share of its host's rate alone (None: not measured).
    """

    host: str
    folder: str
    mode: str
    role: str
    rate: float | None
    unit: str
    share: float | None
    slow: bool
    of_alone: float | None


@dataclass(frozen=True, slots=True)
class DisksOfHosts:
    """Every disk of every host in every mode, slowest share first."""

    disks: tuple[DiskOfHost, ...]
    sentence: str


def disks_of_hosts(trial: Trial) -> DisksOfHosts | None:
    """The results in `trial`; None if it didn't measure disks of several hosts."""
    alone: dict[tuple[Scalar, ...], float | None] = {
        (s.labels.get(HOST), s.labels.get("mode"), s.labels.get("role")): s.value
        for s in trial.samples
        if s.metric == "disk_share_of_alone"
    }
    most = most_at_once(trial.samples)
    found = []
    for sample in trial.samples:
        if sample.metric != "disk_share_of_others":
            continue
        host, folder, mode, role = (
            str(sample.labels.get(key)) for key in (HOST, "dir", "mode", "role")
        )
        metric = _METRIC.get((mode, role), "")
        rates = trial.values(metric, host=host, dir=folder, hosts_at_once=most)
        found.append(
            DiskOfHost(
                host,
                folder,
                mode,
                role,
                median(rates) if rates else None,
                "1/s" if metric.endswith("iops") else "B/s",
                sample.value,
                sample.labels.get("slow") is True,
                alone.get((host, mode, role)),
            )
        )
    if not found:
        return None
    found.sort(key=lambda each: math.inf if each.share is None else each.share)
    return DisksOfHosts(tuple(found), _sentence(found))


def _sentence(disks: list[DiskOfHost]) -> str:
    slow = [each for each in disks if each.slow]
    if slow:
        named = ", ".join(
            f"{each.host} {each.folder} ({each.mode.replace('_', ' ')} at {each.share:.0%} "
            "of its peers)"
            for each in slow[:4]
        )
        more = f" and {len(slow) - 4} more" if len(slow) > 4 else ""
        said = f"slow disks: {named}{more}"
    elif disks[0].share is None:
        said = "no disk has a peer of its class"
    else:
        last = disks[0]
        said = (
            f"no disk is slow: the slowest, {last.host} {last.folder}, has {last.share:.0%} of "
            f"its peers' rate ({last.mode.replace('_', ' ')})"
        )
    known = [each for each in disks if each.of_alone is not None]
    if not known:
        return f"{said}. Whether the hosts slow each other was not measured."
    least = min(known, key=lambda each: each.of_alone or 0.0)
    return (
        f"{said}. With all hosts active, each keeps at least {least.of_alone:.0%} of its "
        f"rate alone (the least: {least.host}, {least.mode.replace('_', ' ')})."
    )
