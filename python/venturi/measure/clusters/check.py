"""Check a surveyed cluster for problems and for differences between its hosts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from venturi.core.errors import VenturiError
from venturi.core.units import format_duration, format_offset
from venturi.core.wording import count_of
from venturi.measure.clusters.cluster_spec import ClusterSpec
from venturi.measure.clusters.names import names_of
from venturi.measure.clusters.survey import HostSurvey
from venturi.measure.clusters.traits import (
    TraitDifference,
    differences,
    disk_of,
    sentence,
    traits_of,
)

CLOCK_LIMIT_S = 0.1
"""A tenth of the sampling interval of series; larger clock offsets make concurrent events on two
hosts look sequential.
"""

CLOCK = "VEN-CLUSTER-CLOCK"
DIFFERS = "VEN-CLUSTER-DIFFERS"

_NETWORK_FILE_SYSTEMS = ("nfs", "cifs", "smb", "ceph", "lustre", "gluster", "beegfs", "gpfs")


@dataclass(frozen=True, slots=True)
class Remark:
    """A problem, or a possible problem, of some hosts. `fix` is the remedy, if known. `failed`: the
    host couldn't be surveyed.
    """

    severity: Literal["problem", "advice"]
    code: str
    hosts: tuple[str, ...]
    text: str
    fix: str = ""
    failed: bool = False

    @property
    def whole(self) -> str:
        """The sentence with the remedy."""
        return f"{self.text}: {self.fix}" if self.fix else self.text


@dataclass(frozen=True, slots=True)
class ClockSpread:
    """The largest difference between two clocks; the true value is within `error_s` of
    `apart_s`.
    """

    ahead: str
    behind: str
    apart_s: float
    error_s: float

    @property
    def text(self) -> str:
        """`1.2 s ± 0.3 ms`."""
        return format_offset(self.apart_s, self.error_s)


@dataclass(frozen=True, slots=True)
class ClusterCheck:
    """All remarks, the worst first; `differences` by the roles of the hosts that were compared."""

    hosts: int
    remarks: tuple[Remark, ...]
    differences: tuple[tuple[str, TraitDifference], ...]
    spread: ClockSpread | None

    @property
    def wrong(self) -> bool:
        """Whether a host is not to be used as it is."""
        return any(each.severity == "problem" for each in self.remarks)

    @property
    def verdict(self) -> str:
        """The verdict in a sentence, with the first remedy."""
        failed = self._hosts(lambda each: each.failed)
        wrong = self._hosts(lambda each: each.severity == "problem") - failed
        unusual = {host for _, each in self.differences if each.usual for host in each.odd}
        # Where no value is the usual one, any of the hosts may be the odd one.
        odd = (unusual or self._hosts(lambda each: each.code == DIFFERS)) - failed - wrong
        told = [count_of(self.hosts, "host")]
        for hosts, one, several in (
            (failed, "did not answer", "did not answer"),
            (wrong, "has a problem", "have problems"),
            (odd, "differs", "differ"),
        ):
            if hosts:
                told.append(f"{len(hosts)} {one if len(hosts) == 1 else several}")
        if len(told) == 1:
            told.append("reachable and equal" if self.hosts > 1 else "reachable")
        if not self.remarks:
            clocks = f", clocks within {self.spread.text}" if self.spread else ""
            return ", ".join(told) + clocks
        first, *more = self.remarks
        rest = f" (and {len(more)} more)" if more else ""
        return f"{', '.join(told)}: {first.whole}{rest}"

    def _hosts(self, chosen: Callable[[Remark], bool]) -> set[str]:
        return {host for each in self.remarks if chosen(each) for host in each.hosts}


def judge(
    spec: ClusterSpec,
    surveys: Mapping[str, HostSurvey],
    failures: Mapping[str, VenturiError],
    others: Sequence[Remark] = (),
) -> ClusterCheck:
    """Judge a cluster from the `surveys` of its hosts and the `failures` of the others. `others`
    are remarks about settings from elsewhere.
    """
    spread = spread_of(surveys)
    found = tuple(
        (" and ".join(roles), each)
        for roles, names in _hosts_by_role(spec, surveys).items()
        for each in sorted(
            differences({n: traits_of(spec.host(n), surveys[n]) for n in names}),
            key=lambda each: each.usual is None,
        )
    )
    remarks = [
        *(_failed(name, error) for name, error in failures.items()),
        *_one_machine(spec, surveys),
        *_folders(spec, surveys),
        *_network(spec, surveys),
        *_clocks(spread),
        *others,
        *(Remark("advice", DIFFERS, tuple(each.odd), sentence(each)) for _, each in found),
        *_names(spec, surveys),
    ]
    remarks.sort(key=lambda each: each.severity != "problem")
    return ClusterCheck(len(spec.hosts), tuple(remarks), found, spread)


def spread_of(surveys: Mapping[str, HostSurvey]) -> ClockSpread | None:
    """The two clocks that are furthest apart; None of fewer than two."""
    if len(surveys) < 2:
        return None
    by_offset = sorted(surveys, key=lambda name: surveys[name].clock.offset_s)
    behind, ahead = by_offset[0], by_offset[-1]
    early, late = surveys[behind].clock, surveys[ahead].clock
    return ClockSpread(ahead, behind, late.offset_s - early.offset_s, late.error_s + early.error_s)


def _hosts_by_role(
    spec: ClusterSpec, surveys: Mapping[str, HostSurvey]
) -> Mapping[tuple[str, ...], list[str]]:
    """Return the surveyed hosts by their roles. Hosts with the same roles should have the same
    hardware.
    """
    groups: dict[tuple[str, ...], list[str]] = {}
    for host in spec.hosts:
        if host.name in surveys:
            groups.setdefault(tuple(sorted(host.roles)), []).append(host.name)
    return groups


def _failed(name: str, error: VenturiError) -> Remark:
    return Remark("problem", error.code, (name,), f"{name}: {error.message}", error.hint, True)


def _one_machine(spec: ClusterSpec, surveys: Mapping[str, HostSurvey]) -> Iterator[Remark]:
    machines: dict[tuple[object, object], list[str]] = {}
    for name, said in surveys.items():
        boot, hostname = said.facts.get("boot_id"), said.facts.get("hostname")
        if boot is not None and not spec.host(name).reached.emulated:
            machines.setdefault((boot, hostname), []).append(name)
    for (_, hostname), names in machines.items():
        if len(names) > 1:
            yield Remark(
                "problem",
                "VEN-CLUSTER-SAME",
                tuple(names),
                f"{names_of(names)} are the same machine, {hostname}",
                "keep one of them in the file, or correct their addresses",
            )


def _folders(spec: ClusterSpec, surveys: Mapping[str, HostSurvey]) -> Iterator[Remark]:
    for name, said in surveys.items():
        for folder in said.folders:
            if folder.problem is not None:
                yield Remark(
                    "problem",
                    "VEN-CLUSTER-FOLDER",
                    (name,),
                    f"{name} cannot use {folder.path}: {folder.problem}",
                    "mount the disk, create the folder there, or correct the file",
                )
    yield from _shared_folders(surveys)
    yield from _shared_disks(spec, surveys)


def _shared_folders(surveys: Mapping[str, HostSurvey]) -> Iterator[Remark]:
    told: set[str] = set()
    for name, said in surveys.items():
        for folder in said.folders:
            hosts = tuple(sorted({name, *folder.shared_with}))
            if len(hosts) > 1 and (key := f"{hosts}") not in told:
                told.add(key)
                yield Remark(
                    "problem",
                    "VEN-CLUSTER-SHARED",
                    hosts,
                    f"{names_of(hosts)} share one folder: {folder.path} of {name}",
                    "give each host a folder on its own disk",
                )


def _shared_disks(spec: ClusterSpec, surveys: Mapping[str, HostSurvey]) -> Iterator[Remark]:
    """Yield folders that the file lists as several disks although they share one."""
    places: dict[tuple[object, ...], list[tuple[str, str]]] = {}
    for name, said in surveys.items():
        classes = spec.host(name).disks.values()
        disks = {folder for folders in classes for folder in folders}
        for folder in said.folders:
            if folder.path not in disks or folder.device is None:
                continue
            if any(other < name for other in folder.shared_with):  # one folder, already reported
                continue
            file_system, _ = disk_of(said.facts, folder.path)
            kind = str(file_system.get("kind", ""))
            if kind.startswith(_NETWORK_FILE_SYSTEMS):
                where: tuple[object, ...] = (kind, file_system.get("device"))
            else:
                where = (said.facts.get("boot_id") or name, folder.device)
            places.setdefault(where, []).append((name, str(folder.path)))
    for found in places.values():
        if len(found) > 1:
            told = ", ".join(f"{path} of {name}" for name, path in found[:4])
            more = f" and {len(found) - 4} more" if len(found) > 4 else ""
            yield Remark(
                "advice",
                "VEN-CLUSTER-ONE-DISK",
                tuple(dict.fromkeys(name for name, _ in found)),
                f"{told}{more} are on one file system and share its speed",
                "give one folder per disk",
            )


def _network(spec: ClusterSpec, surveys: Mapping[str, HostSurvey]) -> Iterator[Remark]:
    for name, said in surveys.items():
        address = spec.address(spec.host(name))
        if said.listen_problem is not None:
            yield Remark(
                "problem",
                "VEN-CLUSTER-ADDRESS",
                (name,),
                f"{name} cannot listen at {address}: {said.listen_problem}",
                "set its own address with address = in the file",
            )
    reaching: dict[str, list[str]] = {}
    for name, said in surveys.items():
        for other in said.unreached:
            reaching.setdefault(other, []).append(name)
    for name, others in reaching.items():
        address = spec.address(spec.host(name))
        yield Remark(
            "problem",
            "VEN-CLUSTER-ADDRESS",
            (name,),
            f"{names_of(others)} cannot reach {name} at {address}",
            _way(name, address, [surveys[each].names.get(name) for each in others]),
        )


def _way(name: str, address: str, found: Sequence[str | None]) -> str:
    """Return a fix for an unreachable address; `found` is how the other hosts resolve the name."""
    if address != name:
        return "check for a firewall, or an address of a different network"
    if None in found or not found:
        return f"they can't resolve that name: set address = for {name} in the file"
    return f"they resolve it to {found[0]}: correct /etc/hosts there, or set address = in the file"


def _clocks(spread: ClockSpread | None) -> Iterator[Remark]:
    if spread is None:
        return
    hosts = (spread.ahead, spread.behind)
    if spread.apart_s - spread.error_s > CLOCK_LIMIT_S:
        yield Remark(
            "problem",
            CLOCK,
            hosts,
            f"clocks differ by up to {spread.text} ({spread.ahead} is ahead of {spread.behind})",
            "series would not align; run chronyd on all hosts",
        )
    elif spread.apart_s + spread.error_s > CLOCK_LIMIT_S:
        yield Remark(
            "advice",
            CLOCK,
            hosts,
            f"clocks differ by {spread.text}: hosts answer too slowly to tell whether that "
            f"is below {format_duration(CLOCK_LIMIT_S)}",
            "check again when hosts and network are quiet",
        )


def _names(spec: ClusterSpec, surveys: Mapping[str, HostSurvey]) -> Iterator[Remark]:
    for name, said in surveys.items():
        if said.names_problem is not None:
            yield Remark(
                "advice",
                "VEN-CLUSTER-NAMES",
                (name,),
                f"cannot check whether {name} resolves the others' names: {said.names_problem}",
            )
    blind = {
        name: [other for other in said.names if said.names[other] is None]
        for name, said in surveys.items()
    }
    for hosts, missing in _grouped(blind):
        if missing:
            yield Remark(
                "advice",
                "VEN-CLUSTER-NAMES",
                hosts,
                f"{names_of(hosts)} cannot resolve {names_of(missing)}",
                "Hadoop and Spark need every host's name on all hosts: in DNS or in /etc/hosts",
            )
    for name, said in surveys.items():
        own = said.names.get(name) or ""
        if own.startswith(("127.", "::1")) and len(spec.hosts) > 1:
            yield Remark(
                "advice",
                "VEN-CLUSTER-NAMES",
                (name,),
                f"{name} resolves its own name to {own}, where the others cannot reach it",
                "daemons that listen under their name are unreachable: correct /etc/hosts there",
            )


def _grouped(lists: Mapping[str, list[str]]) -> Iterator[tuple[tuple[str, ...], list[str]]]:
    """The hosts that have the same list, together."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for host, each in lists.items():
        groups.setdefault(tuple(each), []).append(host)
    for key, hosts in groups.items():
        yield tuple(hosts), list(key)
