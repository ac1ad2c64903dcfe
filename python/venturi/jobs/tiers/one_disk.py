"""Whether folders of a trial's hosts lie on one disk, by what those hosts' facts tell."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePath

from venturi.machines.health.devices import Facts, device_of, mount_of
from venturi.record.trial import Trial

_SCRATCH, _SPARK_FOLDERS = "scratch", "spark.local.dir"
# Facts have no file systems in memory below these.
_SYSTEM = ("/dev", "/proc", "/run", "/sys")


def local_folders(trial: Trial) -> tuple[str, ...]:
    """The local folders of the trial's engine, as far as the trial says; of a cluster, a host's."""
    told = trial.cluster.disks_by_role.get(_SCRATCH)
    if told:
        hosts = {host.name for host in trial.cluster.hosts}
        split = [(each, *each.partition(":")) for each in told]
        return tuple(
            dict.fromkeys(path if host in hosts else each for each, host, _, path in split)
        )
    setting = str(trial.configuration.get(_SPARK_FOLDERS) or "")
    return tuple(filter(None, (each.strip() for each in setting.split(","))))


def folders_probed(probe: Trial) -> set[str]:
    """The folders that a probe of disks measured."""
    return {str(label) for each in probe.samples if (label := each.labels.get("dir")) is not None}


@dataclass(frozen=True)
class DiskMap:
    """Where folders of a trial's hosts lie, by the facts of the trial and of `probes` of its hosts
    (newest first), which may know a disk that was not there yet.
    """

    trial: Trial
    probes: Sequence[Trial]

    @cached_property
    def _seen(self) -> tuple[tuple[Trial, set[str]], ...]:
        """Whose facts are asked, and the folders that were there."""
        probes = ((each, folders_probed(each)) for each in self.probes)
        return *probes, (self.trial, {*local_folders(self.trial)})

    def is_one(self, folder: str, other: str) -> bool:
        """Whether two folders lie on one file system, or one block device (a logical volume is one
        of its own). Where no facts tell, whether one folder is in the other.
        """
        if folder == other:
            return True
        for each, there in self._seen:
            told = [_is_one(host.facts, there, folder, other) for host in each.cluster.hosts]
            if known := [one for one in told if one is not None]:
                return all(known)
        first, second = PurePath(folder), PurePath(other)
        return first.is_relative_to(second) or second.is_relative_to(first)

    def is_on(self, folder: str, others: Iterable[str]) -> bool:
        """Whether a folder lies on the disk of one of others."""
        return any(self.is_one(each, folder) for each in others)


def _is_one(facts: Facts, there: Collection[str], folder: str, other: str) -> bool | None:
    """Whether one disk is behind two folders of a host; None: its facts do not tell."""
    first, second = (_mount_of(facts, there, each) for each in (folder, other))
    if first is None or second is None:
        return None
    if first["mount_point"] == second["mount_point"]:
        return True
    device = device_of(facts, first).get("name")
    return device is not None and device == device_of(facts, second).get("name")


def _mount_of(facts: Facts, there: Collection[str], folder: str) -> Facts | None:
    """The file system of a folder. That of the root is told only of folders that were `there`, and
    of those above and below: of others it may be that nothing was mounted yet.
    """
    mount, path = mount_of(facts, folder), PurePath(folder)
    if mount is None:
        return None
    point = PurePath(str(mount["mount_point"]))
    if any(path.is_relative_to(each) and not point.is_relative_to(each) for each in _SYSTEM):
        return None
    if point == PurePath("/") and not any(
        PurePath(each).is_relative_to(path) or path.is_relative_to(each) for each in there
    ):
        return None
    return mount
