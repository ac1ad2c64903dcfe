"""What the host did while a stage ran: its own series beside the engine's account.

The engine says what its tasks waited for, the host which of its devices was busy. Neither is
corrected by the other: where they differ, both are said.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from venturi.advise.devices import device_of, mount_of
from venturi.errors import VenturiError
from venturi.model.stages.stage import Analysis, Stage
from venturi.model.stages.verdict import WORDS
from venturi.present.host_use import PROCESSOR, HostUse
from venturi.present.report.timeline import CPU_STATES, NO_SERIES
from venturi.record.series import host_of, read_parts, stacked_on_others
from venturi.units import format_rate

if TYPE_CHECKING:
    import polars as pl

    from venturi.record.job_account import JobAccount
    from venturi.record.repository import Repository
    from venturi.record.trial import Artifact, Host, Trial

# Our judgement, not measured: a device that is busy for less is not what held a stage up.
BUSY = 0.8
ROWS_MAX = 2_000_000  # of a series, that are kept in memory
COVERED = 0.5  # of a stage, at least, by samples
DISK_READ = "disk_read_bytes_per_s"
LO = "lo"
_WAITING = CPU_STATES["waiting for I/O"]
_WORKING = tuple(m for metrics in CPU_STATES.values() for m in metrics if m not in _WAITING)
_INTERVAL_S_MAX = 3_600  # between samples
_ASKED = [
    *_WORKING, *_WAITING, "own_cpu", "disk_busy", DISK_READ, "disk_write_bytes_per_s",
    "net_receive_bytes_per_s", "net_transmit_bytes_per_s",
]  # fmt: skip
# What an engine's causes ask of a host; of the others no device can be named.
_ASKS = {
    "cpu": PROCESSOR,
    "garbage collection": PROCESSOR,
    "deserialisation": PROCESSOR,
    "result serialisation": PROCESSOR,
    "shuffle write": "disk",
}


@dataclass(frozen=True, slots=True)
class Meanwhile:
    """What the host did by stage; `reason` says why nothing is known, `watched` if it could be."""

    uses: Mapping[tuple[int, int], HostUse]
    reason: str | None
    watched: bool = True


def meanwhile(
    repository: Repository, trial: Trial, account: JobAccount, analysis: Analysis
) -> Meanwhile:
    """What the host of `trial` did in each stage of its job that is long enough to tell."""
    series = [artifact for artifact in trial.artifacts if artifact.kind == "series"]
    began_s = account.began_s
    if not series:
        return Meanwhile({}, NO_SERIES.reason, watched=False)
    if began_s is None:
        return Meanwhile({}, account.origin_reason or "the account has a clock of its own")
    times = [
        (began_s + stage.started_s, began_s + stage.started_s + stage.elapsed_s)
        for stage in analysis.stages
        if stage.started_s is not None and stage.elapsed_s
    ]
    members = _members(trial, series)
    if members is None:
        return Meanwhile({}, "several hosts were watched, and which series is whose is not known")
    try:
        watched = [
            _watched(repository.artifact_path(each), times, member)
            for each, member in zip(series, members, strict=True)
        ]
    except VenturiError as error:
        return Meanwhile({}, error.message)
    uses = {}
    for stage in analysis.stages:
        if stage.started_s is not None and stage.elapsed_s:
            found = [each.use(began_s + stage.started_s, stage.elapsed_s) for each in watched]
            if known := [use for use in found if use is not None]:
                uses[stage.key] = _narrowest(known, shared=_share_processors(trial))
    return Meanwhile(uses, None if uses else "no stage lasted as long as the time between samples")


@dataclass(frozen=True, slots=True)
class _Member:
    """One of several hosts: the disks under its folders, the rate of its link for data."""

    name: str
    disks: frozenset[str]
    link_bytes_per_s: float | None


def _members(trial: Trial, series: Sequence[Artifact]) -> list[_Member | None] | None:
    """Whose each of the series is, None being the only host; None if that is not known."""
    if len(series) == 1:
        return [None]
    hosts = {host.name: host for host in trial.cluster.hosts}
    names = [host_of(each.name, tuple(hosts)) for each in series]
    return None if set(names) - set(hosts) else [_member(trial, hosts[name]) for name in names]


def _member(trial: Trial, host: Host) -> _Member:
    folders = [folder for folders in host.disks.values() for folder in folders]
    mounts = (mount_of(host.facts, folder) for folder in folders)
    names = (device_of(host.facts, mount).get("name") for mount in mounts if mount is not None)
    link = trial.cluster.data_link(host)
    return _Member(
        host.name,
        frozenset(str(name) for name in names if name),
        None if link is None else link.bytes_per_s,
    )


def _share_processors(trial: Trial) -> bool:
    """Whether the hosts are one machine, as those of a lab."""
    machines = [host.facts.get("boot_id") for host in trial.cluster.hosts]
    return len(machines) > 1 and len(set(machines)) == 1


def _narrowest(uses: Sequence[HostUse], *, shared: bool) -> HostUse:
    """The use of the host with the busiest device."""
    if len(uses) == 1:
        return uses[0]
    use = max(uses, key=lambda each: each.busiest[1] if each.busiest else -1.0)
    if use.busiest is None:
        return replace(use, host=None)
    device, _ = use.busiest
    if shared and device == PROCESSOR:
        return replace(use, host=None, processor_shared=True)
    kind = device.split()[0]
    peers = (
        busy
        for other in uses
        if other is not use
        for named, busy in other.shares
        if named.split()[0] == kind
    )
    return replace(use, peers_busy=max(peers, default=None))


def _watched(path: Path, times: Sequence[tuple[float, float]], member: _Member | None) -> _Watched:
    """What is asked for of the series in `path` around these times; VenturiError if too much."""
    from venturi.record.frames import pl

    from_s = min((begin for begin, _ in times), default=math.inf)
    to_s = max((end for _, end in times), default=-math.inf)
    values: list[pl.DataFrame] = []
    moments = pl.Series("t_s", [], pl.Float64)
    for part in read_parts(path, ("t_s", "metric", "device", "value")):
        moments = pl.concat([moments, part["t_s"]]).unique()
        # Of the end, the sample after it tells too.
        values.append(
            part.filter(
                pl.col("metric").is_in(_ASKED) & (pl.col("t_s") >= from_s)
                & (pl.col("t_s") <= to_s + _INTERVAL_S_MAX)
            )
        )  # fmt: skip
        if sum(map(len, values)) > ROWS_MAX or len(moments) > ROWS_MAX:
            raise VenturiError(
                "VEN-RECORD-ARTIFACT", f"the series has more than {ROWS_MAX:,} values of that time"
            )
    if not values:
        raise VenturiError("VEN-RECORD-ARTIFACT", "the series holds no values")
    return _Watched(pl.concat(values), moments, member)


class _Watched:
    """A host's series; each value is the mean since the sample before."""

    def __init__(self, frame: pl.DataFrame, times: pl.Series, member: _Member | None) -> None:
        from venturi.record.frames import pl

        self._member = member
        moments = times.sort().to_frame("t_s")
        moments = moments.with_columns(from_s=pl.col("t_s").shift(1)).drop_nulls()
        interval_s = (moments["t_s"] - moments["from_s"]).median()
        self._interval_s = interval_s if isinstance(interval_s, float) else math.inf
        disks = set(frame.filter(metric=DISK_READ)["device"].drop_nulls())
        counted_twice = [disk for disk in disks if stacked_on_others(disk, disks)]
        if member is not None:  # a host of a lab sees the disks of all
            counted_twice = [disk for disk in disks if disk not in member.disks]
        self._values = frame.join(moments, on="t_s").filter(
            pl.col("value").is_finite(), ~pl.col("device").fill_null("").is_in([*counted_twice, LO])
        )

    def use(self, started_s: float, elapsed_s: float) -> HostUse | None:
        """What the host did from `started_s` on; None if too few samples tell."""
        if elapsed_s < self._interval_s:
            return None
        means = self._means(started_s, elapsed_s)
        if not means:
            return None

        def added(*metrics: str) -> float | None:
            values = [value for (metric, _), value in means.items() if metric in metrics]
            return sum(values) if values else None

        busy = {device: value for (metric, device), value in means.items() if metric == "disk_busy"}
        disk = max(busy, key=lambda device: busy[device], default=None)
        work, own = added("cpu_user", "cpu_nice", "cpu_system"), added("own_cpu")
        others = None if work is None or own is None else max(0.0, work - own)
        received, sent = added("net_receive_bytes_per_s"), added("net_transmit_bytes_per_s")
        rate = self._member.link_bytes_per_s if self._member is not None else None
        traffic = max(received or 0.0, sent or 0.0)
        return HostUse(
            cpu_busy=added(*_WORKING),
            cpu_iowait=added(*_WAITING),
            cpu_others=others,
            disk=disk,
            disk_busy=busy.get(disk),
            disk_read_bytes_per_s=added(DISK_READ),
            disk_write_bytes_per_s=added("disk_write_bytes_per_s"),
            net_receive_bytes_per_s=received,
            net_transmit_bytes_per_s=sent,
            network_busy=None if rate is None or received is None else traffic / rate,
            host=None if self._member is None else self._member.name,
        )

    def _means(self, started_s: float, elapsed_s: float) -> dict[tuple[str, str | None], float]:
        """Metric and device -> the mean over that time, weighted by how much of it each covers."""
        from venturi.record.frames import pl

        to_s = pl.min_horizontal("t_s", pl.lit(started_s + elapsed_s))
        inside_s = to_s - pl.max_horizontal("from_s", pl.lit(started_s))
        means = (
            self._values.with_columns(inside_s=inside_s)
            .filter(pl.col("inside_s") > 0)
            .group_by("metric", "device")
            .agg(
                mean=(pl.col("value") * pl.col("inside_s")).sum() / pl.col("inside_s").sum(),
                covered_s=pl.col("inside_s").sum(),
            )
            .filter(pl.col("covered_s") >= COVERED * elapsed_s)
        )
        return {
            (metric, device): mean
            for metric, device, mean in means.select("metric", "device", "mean").iter_rows()
        }


def sentence(stage: Stage, use: HostUse) -> str:
    """The host's evidence on the narrowest point of `stage`, beside what its engine says."""
    narrowest = stage.verdict.narrowest
    engine = "cannot tell" if narrowest is None else f"says {WORDS[narrowest]}"
    if use.busiest is None:
        return f"the engine's account {engine}; the host's series names no device"
    device, busy = use.busiest
    whose = use.host or "the host"
    agrees, thing, its = f"{whose} agrees", f"{whose}'s {device}", f"its {device}"
    if use.processor_shared:
        agrees, thing = "the hosts agree", "the processor that all hosts share"
        its = thing
    peers = "" if use.peers_busy is None else f", those of the others up to {use.peers_busy:.0%}"
    if busy < BUSY:
        none_of = "the host" if use.host is None else "any host"
        said = f"no device of {none_of} was busy for {BUSY:.0%} of it"
    elif narrowest is not None and device.startswith(_ASKS.get(narrowest, "-")):
        return f"{agrees}: {its} was busy {busy:.0%}{peers} ({_facts(use)})"
    else:
        said = f"{thing} was busy {busy:.0%} meanwhile{peers}"
    return f"the engine's account {engine}; {said} ({_facts(use)})"


def _facts(use: HostUse) -> str:
    def share(value: float | None) -> str:
        return "—" if value is None else f"{value:.0%}"

    others = "" if use.cpu_others is None else f" (others {share(use.cpu_others)})"
    return (
        f"processor {share(use.cpu_busy)}{others}, waiting for I/O {share(use.cpu_iowait)}; "
        f"disk {use.disk or '—'} {share(use.disk_busy)}, "
        f"read {format_rate(use.disk_read_bytes_per_s)}, "
        f"written {format_rate(use.disk_write_bytes_per_s)}; "
        f"network in {format_rate(use.net_receive_bytes_per_s)}, "
        f"out {format_rate(use.net_transmit_bytes_per_s)}"
    )
