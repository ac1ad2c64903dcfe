"""Use of a trial's hosts, from their series: over any time span, with the narrowest host.

One computation for `venturi show`, a job's stages, and the comparison of hosts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from venturi.core.errors import VenturiError
from venturi.machines.health.devices import device_of, mount_of
from venturi.record.store.series import host_of, read_parts, stacked_on_others
from venturi.results.hosts.use import CPU_STATES, NO_SERIES, PROCESSOR, HostUse, HostUseLines

if TYPE_CHECKING:
    import polars as pl

    from venturi.record.store.repository import TrialRepository
    from venturi.record.trial import Artifact, Host, Trial

K = TypeVar("K")
TimeSpan = tuple[float, float]
"""When something began, in seconds since the trial did, and how long it took."""

# Our choice, not measured: a device that is less busy did not hold the stage up.
BUSY = 0.8
STANDS_OUT = 0.1  # of the time: a host is narrower that is busy for so much more than the others
ROWS_MAX = 2_000_000  # of a series, that are kept in memory
COVERED = 0.5  # of a stage, at least, by samples
DISK_READ = "disk_read_bytes_per_s"
LO = "lo"
_WAITING = CPU_STATES["waiting for I/O"]
_WORKING = tuple(m for metrics in CPU_STATES.values() for m in metrics if m not in _WAITING)
_RECEIVED, _SENT = "net_receive_bytes_per_s", "net_transmit_bytes_per_s"
_INTERVAL_S_MAX = 3_600  # between samples
_ASKED = [
    *_WORKING,
    *_WAITING,
    "own_cpu",
    "python_cpu",
    "disk_busy",
    DISK_READ,
    "disk_write_bytes_per_s",
    _RECEIVED,
    _SENT,
]


@dataclass(frozen=True, slots=True)
class NarrowestHost:
    """The host that was the narrowest for most of the time, its busiest device, and a sentence.

    The host is None if none was the narrowest.
    """

    host: str | None
    device: str | None
    sentence: str


class WatchedHosts:
    """The hosts of a trial that were watched, around some spans of its time.

    `reason` says why nothing is known; `any_series`, whether there is anything to know it from.
    """

    def __init__(
        self, repository: TrialRepository, trial: Trial, spans: Sequence[TimeSpan]
    ) -> None:
        self.hosts: tuple[WatchedHost, ...] = ()
        self.reason: str | None = None
        self._shared = trial.cluster.one_machine
        series = [artifact for artifact in trial.artifacts if artifact.kind == "series"]
        self.any_series = bool(series)
        members = _members(trial, series)
        if not series:
            self.reason = NO_SERIES.reason
        elif members is None:
            self.reason = (
                "several hosts were watched, and it is unknown which series belongs to which host"
            )
        else:
            try:
                self.hosts = tuple(
                    _watched(repository.artifact_path(each), spans, member)
                    for each, member in zip(series, members, strict=True)
                )
            except VenturiError as error:
                self.reason = error.message

    def uses(self, span: TimeSpan) -> tuple[HostUse | None, ...]:
        """The use of each of `hosts`; None for a host with too few samples."""
        uses = tuple(host.use(*span) for host in self.hosts)
        if not self._shared:
            return uses
        owns = [None if use is None else use.cpu_own for use in uses]
        all_own = None if None in owns else sum(own for own in owns if own is not None)
        return tuple(use and _of_shared_processors(use, all_own) for use in uses)

    def narrowest(self, span: TimeSpan) -> HostUse | None:
        """The use of the host with the busiest device; None if there are too few samples."""
        known = [use for use in self.uses(span) if use is not None]
        return _narrowest(known, shared=self._shared) if known else None


def narrowest_of(
    uses: Mapping[K, HostUse], spans: Mapping[K, TimeSpan], what: str
) -> NarrowestHost | None:
    """The host that was the narrowest for most of the time of `spans`; None for a trial of one
    host.

    `uses` has the narrowest host of each span, `what` names the spans: stages, phases.
    """
    several = {key: use for key, use in uses.items() if use.host or use.processor_shared}
    if not several:
        return None

    def time_s(keys: Iterable[K]) -> float:
        return sum(spans[key][1] for key in keys)

    by_host: dict[str | None, dict[K, tuple[str, float]]] = {}
    for key, use in several.items():
        if use.busiest is not None and use.busiest[1] >= BUSY:
            by_host.setdefault(use.host, {})[key] = use.busiest
    if not by_host:
        return NarrowestHost(
            None, None, f"no device of any host was {BUSY:.0%} busy in any of the {what}"
        )
    host, found = max(by_host.items(), key=lambda each: time_s(each[1]))
    longest = max(found, key=lambda key: spans[key][1])
    device, busy = found[longest]
    of_time = f"{time_s(found) / time_s(several):.0%} of the time of the {what}"
    if host is None:
        said = f"no host was a bottleneck: the {device} that all share was busy"
        return NarrowestHost(
            None, device, f"{said} {busy:.0%}, the busiest of all devices in {of_time}"
        )
    peers = several[longest].peers_busy
    others = "" if peers is None else f", on the others up to {peers:.0%}"
    if peers is not None and busy - peers < STANDS_OUT:
        said = f"no host stood out: the {device} of {host} was {busy:.0%} busy{others}"
        return NarrowestHost(
            None, device, f"{said}; it was the busiest of all devices in {of_time}"
        )
    said = f"{host} was the narrowest host in {of_time}: its {device} was {busy:.0%} busy{others}"
    return NarrowestHost(host, device, said)


@dataclass(frozen=True, slots=True)
class _Member:
    """One of several hosts: the disks under its folders, the rate of its link for data."""

    name: str
    disks: frozenset[str]
    link_bytes_per_s: float | None


def _members(trial: Trial, series: Sequence[Artifact]) -> list[_Member | None] | None:
    """The host of each series, None being the only host; None if unknown."""
    if len(series) == 1:
        return [None]
    hosts = {host.name: host for host in trial.cluster.hosts}
    names = [host_of(each.name, tuple(hosts)) for each in series]
    return None if set(names) - set(hosts) else [_member(trial, hosts[name]) for name in names]


def _member(trial: Trial, host: Host) -> _Member:
    link = trial.cluster.data_link(host)
    return _Member(host.name, _disks_of(host), None if link is None else link.bytes_per_s)


def _disks_of(host: Host) -> frozenset[str]:
    """The disks under its folders."""
    folders = [folder for folders in host.disks.values() for folder in folders]
    mounts = (mount_of(host.facts, folder) for folder in folders)
    names = (device_of(host.facts, mount).get("name") for mount in mounts if mount is not None)
    return frozenset(str(name) for name in names if name)


def disks_reported(trial: Trial, name: str) -> frozenset[str] | None:
    """The disks of a host that sees those of the trial's other hosts, too, as one of a lab does;
    None: all that it sees are its own.
    """
    host = next((each for each in trial.cluster.hosts if each.name == name), None)
    return None if host is None or not trial.cluster.one_machine else _disks_of(host) or None


def _of_shared_processors(use: HostUse, all_own: float | None) -> HostUse:
    """CPU time of the trial's other hosts on the same machine isn't others' use: `all_own` is the
    sum over all its hosts.
    """
    if all_own is None or use.cpu_own is None or use.cpu_others is None:
        return replace(use, cpu_others=None)
    return replace(use, cpu_others=max(0.0, use.cpu_others - (all_own - use.cpu_own)))


def _narrowest(uses: Sequence[HostUse], *, shared: bool) -> HostUse:
    """The use of the host with the busiest device."""
    if len(uses) == 1:
        return uses[0]
    use = max(uses, key=lambda each: each.busiest[1] if each.busiest else -1.0)
    if use.busiest is None:
        return replace(use, host=None)
    device, _ = use.busiest
    if shared and device == PROCESSOR:
        own = max(uses, key=lambda each: max(each.disk_busy or 0.0, each.network_busy or 0.0))
        return replace(own, host=None, processor_shared=True)
    kind = device.split()[0]
    peers = (
        busy
        for other in uses
        if other is not use
        for named, busy in other.shares
        if named.split()[0] == kind
    )
    return replace(use, peers_busy=max(peers, default=None))


def _watched(path: Path, spans: Sequence[TimeSpan], member: _Member | None) -> WatchedHost:
    """Read the series in `path` around these times; VenturiError if it is too large."""
    from venturi.record.store.frames import pl

    from_s = min((begin for begin, _ in spans), default=math.inf)
    to_s = max((begin + took for begin, took in spans), default=-math.inf)
    values: list[pl.DataFrame] = []
    moments = pl.Series("t_s", [], pl.Float64)
    for part in read_parts(path, ("t_s", "metric", "device", "value")):
        moments = pl.concat([moments, part["t_s"]]).unique()
        # The last part also needs the sample after it.
        values.append(
            part.filter(
                pl.col("metric").is_in(_ASKED)
                & (pl.col("t_s") >= from_s)
                & (pl.col("t_s") <= to_s + _INTERVAL_S_MAX)
            )
        )
        if sum(map(len, values)) > ROWS_MAX or len(moments) > ROWS_MAX:
            raise VenturiError(
                "VEN-RECORD-ARTIFACT", f"the series has more than {ROWS_MAX:,} values in that time"
            )
    if not values:
        raise VenturiError("VEN-RECORD-ARTIFACT", "the series holds no values")
    return WatchedHost(pl.concat(values), moments, member)


class WatchedHost:
    """A host's series; each value is the mean since the sample before."""

    def __init__(self, frame: pl.DataFrame, times: pl.Series, member: _Member | None) -> None:
        from venturi.record.store.frames import pl

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

    @property
    def name(self) -> str | None:
        """The host's name if there are several; else None."""
        return None if self._member is None else self._member.name

    @property
    def interval_s(self) -> float:
        """The usual time between two samples."""
        return self._interval_s

    def lines(self, started_s: float, elapsed_s: float, parts: int) -> HostUseLines:
        """Its use in each of `parts` equal parts of a time span."""
        from venturi.record.store.frames import pl

        place = ((pl.col("t_s") - started_s) / elapsed_s * parts).ceil() - 1
        taken_s = pl.col("t_s") - pl.col("from_s")
        means = (
            self._values.with_columns(place=place.cast(pl.Int32), taken_s=taken_s)
            .filter(pl.col("place").is_between(0, parts - 1))
            .group_by("place", "metric", "device")
            .agg(mean=(pl.col("value") * pl.col("taken_s")).sum() / pl.col("taken_s").sum())
        )

        def by_part(metrics: Sequence[str], join: pl.Expr) -> list[float | None]:
            found = means.filter(pl.col("metric").is_in(metrics)).group_by("place").agg(value=join)
            values: list[float | None] = [None] * parts
            for at, value in found.select("place", "value").iter_rows():
                values[at] = value
            return values

        added, most = pl.col("mean").sum(), pl.col("mean").max()
        ways = zip(by_part([_RECEIVED], added), by_part([_SENT], added), strict=True)
        return HostUseLines(
            processor=tuple(by_part(_WORKING, added)),
            disk_busy=tuple(by_part(["disk_busy"], most)),
            network_bytes_per_s=tuple(
                None if received is None and sent is None else max(received or 0.0, sent or 0.0)
                for received, sent in ways
            ),
        )

    def use(self, started_s: float, elapsed_s: float) -> HostUse | None:
        """The host's use from `started_s` on; None if there are too few samples."""
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
        received, sent = added(_RECEIVED), added(_SENT)
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
            cpu_own=own,
            cpu_python=added("python_cpu"),
        )

    def _means(self, started_s: float, elapsed_s: float) -> dict[tuple[str, str | None], float]:
        """Metric and device -> the mean over that time, weighted by how much of it each covers."""
        from venturi.record.store.frames import pl

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
