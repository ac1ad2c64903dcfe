"""Trials of other tools' disk and network probes, in the metrics of DiskBench and NetBench.

Such a trial has the workload `diskbench` or `netbench`, the tool as its engine, and imported
provenance. So catalogs use its rates like those of Venturi's own probes, and pages name the tool.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from venturi.record.importing.items import (
    FAILED,
    SOFTWARE,
    ImportSource,
    unnamed_hosts,
)
from venturi.record.trial import (
    Cluster,
    Engine,
    Failure,
    Host,
    Sample,
    Scalar,
    State,
    Trial,
    TrialWarning,
    Workload,
)

DISK, NETWORK = "diskbench", "netbench"
# rw of fio and the direction of the data -> mode of DiskBench, beginning of the metrics.
_ROLES: Mapping[tuple[str, str], tuple[str, str]] = {
    ("read", "read"): ("read", "disk_read"),
    ("write", "write"): ("write", "disk_write"),
    ("rw", "read"): ("read_write", "disk_mixed_read"),
    ("rw", "write"): ("read_write", "disk_mixed_write"),
    ("randread", "read"): ("random_read", "disk_random_read"),
    ("randwrite", "write"): ("random_write", "disk_random_write"),
    ("randrw", "read"): ("random_read_write", "disk_random_mixed_read"),
    ("randrw", "write"): ("random_read_write", "disk_random_mixed_write"),
    ("trim", "trim"): ("trim", "disk_trim"),
    ("randtrim", "trim"): ("random_trim", "disk_random_trim"),
    ("trimwrite", "trim"): ("trim_write", "disk_trim"),
    ("trimwrite", "write"): ("trim_write", "disk_trimmed_write"),
    ("randtrimwrite", "trim"): ("random_trim_write", "disk_random_trim"),
    ("randtrimwrite", "write"): ("random_trim_write", "disk_random_trimmed_write"),
}
_NAMED = re.compile(
    r"(?:rand(?:om)?|seq(?:uential)?|(?<![a-z]))[-_ ]?(?P<kind>(?P<both>read[-_ ]?)?write|read|rw)"
    r"(?![a-z])",
    re.IGNORECASE,
)
_SAME = {"readwrite": "rw", "rw,readwrite": "rw"}


@dataclass(frozen=True, slots=True)
class DiskTest:
    """A kind of access: how fio's `rw` calls it, and the labels of its samples."""

    rw: str | None
    labels: Mapping[str, Scalar]

    def metric(self, direction: str) -> str:
        """Beginning of the names of the metrics; of an unknown kind of access no probe's."""
        return self._role(direction)[1]

    def mode(self, direction: str) -> str:
        """The mode, as DiskBench calls it."""
        return self._role(direction)[0]

    def _role(self, direction: str) -> tuple[str, str]:
        return _ROLES.get((self.rw or "", direction), ("unknown", f"disk_unknown_{direction}"))

    def rates(
        self, direction: str, bytes_per_s: float | None, iops: float | None
    ) -> tuple[Sample, ...]:
        """Samples of the rates that are known."""
        found = (("bytes_per_s", bytes_per_s, "B/s"), ("iops", iops, "1/s"))
        start = self.metric(direction)
        return tuple(
            Sample(f"{start}_{name}", value, unit, labels=self.labels)
            for name, value, unit in found
            if value is not None
        )

    def latencies(
        self, direction: str, seconds: Mapping[str, float], missing: str = ""
    ) -> tuple[Sample, ...]:
        """Samples of latencies by quantile, or one that says why they are `missing`."""
        labels = {**self.labels, "mode": self.mode(direction), "role": direction}
        if missing:
            return (Sample("disk_latency_s", None, "s", labels=labels, missing_reason=missing),)
        return tuple(
            Sample("disk_latency_s", value, "s", labels={**labels, "quantile": name})
            for name, value in seconds.items()
        )


def access(rw: object) -> str | None:
    """Return fio's `rw` without its offset (`read:8k`), None for an unknown one."""
    name = str(rw).partition(":")[0].strip().casefold()
    name = _SAME.get(name, name)
    return name if any(name == known for known, _ in _ROLES) else None


def access_named(name: str) -> str | None:
    """Return the access pattern that a job's name says, such as `randread` of `4k-random-read`."""
    found = _NAMED.search(name)
    if found is None:
        return None
    kind = "rw" if found["both"] else found["kind"].casefold()
    return access(f"rand{kind}" if "rand" in name.casefold() else kind)


def quantile_name(percent: float) -> str:
    """Return `p99_9` for 99.9, as DiskBench writes it."""
    return f"p{percent:g}".replace(".", "_")


@dataclass(frozen=True, slots=True)
class ProbeRun:
    """One run of a tool: its measurement, place and time.

    `dataset` names the format that it comes from, `failure` is the tool's own message.
    """

    id: str
    dataset: str
    kind: str
    engine: Engine
    samples: tuple[Sample, ...]
    configuration: Mapping[str, Scalar]
    started_at: datetime | None
    elapsed_s: float | None
    hosts: Sequence[str] = ()
    folders: tuple[str, ...] = ()
    network: str | None = None
    instance_type: str | None = None
    repetition: int = 0
    warnings: tuple[TrialWarning, ...] = ()
    failure: str | None = None
    others: Mapping[str, str] | None = None

    def trial(self, source: ImportSource) -> Trial:
        """Return it as a trial that was imported from `source`."""
        named = self.instance_type or "unknown"
        hosts = tuple(Host(name) for name in self.hosts) or unnamed_hosts(
            f"{self.dataset}-{named}", 1, {}
        )
        disks = {"input": self.folders, "output": self.folders} if self.folders else {}
        failed = self.failure is not None
        return Trial(
            id=self.id,
            workload=Workload(self.kind, self.dataset),
            engine=self.engine,
            cluster=Cluster(
                hosts,
                disks_by_role=disks,
                instance_type=self.instance_type,
                network=self.network,
            ),
            configuration=self.configuration,
            software=replace(SOFTWARE, others=dict(self.others or {})),
            provenance=source.provenance(self.dataset),
            started_at=self.started_at,
            state=State.FAILED if failed else State.SUCCEEDED,
            repetition=self.repetition,
            elapsed_s=None if failed else self.elapsed_s,
            samples=self.samples,
            warnings=self.warnings,
            failure=Failure("workload", FAILED, self.failure or "") if failed else None,
        )
