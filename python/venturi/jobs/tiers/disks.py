"""The local disks of a trial: which of its folders share one, and which disks are the fast ones."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePath

from venturi.jobs.tiers.fast_storage import DiskClassRates
from venturi.jobs.tiers.measured import MeasuredJob, cannot_tell
from venturi.jobs.tiers.recorded_tiers import tier_uses
from venturi.machines.health.devices import Facts, device_of, mount_of
from venturi.record.job_account import TIERS_SETTING
from venturi.record.trial import Trial

SLOW_EXAMPLE = "read=150MB/s,write=140MB/s,iops=120"
_FAST_EXAMPLE = "--fast read=2GB/s,write=1.5GB/s,iops=90000"
_SCRATCH, _SPARK_FOLDERS = "scratch", "spark.local.dir"
# Facts don't list in-memory file systems below these.
_SYSTEM = ("/dev", "/proc", "/run", "/sys")


@dataclass(frozen=True, slots=True)
class TierDisks:
    """The fast or the slow disks: folders of the trial's hosts, and rates that the user gave."""

    name: str
    folders: tuple[str, ...] = ()
    given: tuple[DiskClassRates, ...] = ()

    @property
    def title(self) -> str:
        """Such as "fast disks (/ssd0)"."""
        return f"{self.name} disks" + (f" ({', '.join(self.folders)})" if self.folders else "")


@dataclass(frozen=True, slots=True)
class LocalDisks:
    """The disks with the local `folders` of a trial, divided into fast and slow ones.

    `tier` is the name of the trial's fast tier, None without tiers. Then its files were spread
    evenly, and `fast_share` of its folders lie on fast disks.
    """

    map: DiskMap
    folders: tuple[str, ...]
    fast: TierDisks
    slow: TierDisks
    tier: str | None
    fast_share: float


def local_disks(measured: MeasuredJob, fast: TierDisks, slow: TierDisks) -> LocalDisks:
    """The disks of a trial. Fast ones that the user didn't name are those of the trial's first
    tier, slow ones all others; VEN-MODEL-INPUT if that leaves none, or one disk for both.
    """
    trial = measured.trial
    disk_map, folders = DiskMap(trial, measured.probes), local_folders(trial)
    tier, own = None, fast.folders
    if uses := tier_uses(measured.account):
        # If nothing fit into the first tier, no file names it, but the setting does.
        tier = uses[0].tier if uses[0].order == 0 else _first_tier(trial)
        own = tuple(each for each in folders if tier and tier.lower() in each.lower())
        if not fast.folders and not fast.given:
            fast = TierDisks("fast", own)
    if not fast.folders and not fast.given:
        raise cannot_tell(
            trial,
            "it does not say where its fast disks are",
            "name them: --fast FOLDER (measured by venturi probe disk --dir FOLDER), or their "
            f"rates: {_FAST_EXAMPLE}",
        )
    others = slow.folders
    if not slow.folders and not slow.given:
        others = tuple(each for each in folders if each not in {*own, *fast.folders})
        alone = tuple(each for each in others if not disk_map.is_on(each, fast.folders))
        slow = TierDisks("slow", alone)
    shared = any(disk_map.is_on(each, fast.folders) for each in slow.folders)
    if shared or (others and not slow.folders):
        raise cannot_tell(
            trial,
            f"the fast folders ({', '.join(fast.folders)}) and the slow ones "
            f"({', '.join(others)}) are on the same disk",
            f"give different disks, or their rates:  {_FAST_EXAMPLE} --slow {SLOW_EXAMPLE}",
        )
    on_fast = sum(disk_map.is_on(each, fast.folders) for each in folders)
    return LocalDisks(disk_map, folders, fast, slow, tier, on_fast / max(len(folders), 1))


def _first_tier(trial: Trial) -> str | None:
    """The keyword that the trial's setting begins with."""
    words = str(trial.configuration.get(TIERS_SETTING) or "").split()
    return words[0] if words else None


def local_folders(trial: Trial) -> tuple[str, ...]:
    """The local folders of the trial's engine; of a cluster, those of one host."""
    scratch = trial.cluster.disks_by_role.get(_SCRATCH)
    if scratch:
        hosts = {host.name for host in trial.cluster.hosts}
        split = [(each, *each.partition(":")) for each in scratch]
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
    """The disk of each folder, by the facts of the trial's hosts and of `probes` of them (newest
    first), which may have seen a disk that was added later.
    """

    trial: Trial
    probes: Sequence[Trial]

    @cached_property
    def _seen(self) -> tuple[tuple[Trial, set[str]], ...]:
        """Trials with facts, each with the folders that existed then."""
        probes = ((each, folders_probed(each)) for each in self.probes)
        return *probes, (self.trial, {*local_folders(self.trial)})

    def is_one(self, folder: str, other: str) -> bool:
        """Whether two folders lie on one file system or block device; a logical volume counts as
        one device. Without facts, whether one folder contains the other.
        """
        if folder == other:
            return True
        for each, there in self._seen:
            by_host = [_is_one(host.facts, there, folder, other) for host in each.cluster.hosts]
            if known := [one for one in by_host if one is not None]:
                return all(known)
        first, second = PurePath(folder), PurePath(other)
        return first.is_relative_to(second) or second.is_relative_to(first)

    def is_on(self, folder: str, others: Iterable[str]) -> bool:
        """Whether a folder shares a disk with one of `others`."""
        return any(self.is_one(each, folder) for each in others)


def _is_one(facts: Facts, there: Collection[str], folder: str, other: str) -> bool | None:
    """Whether two folders of a host share a disk; None if its facts don't show that."""
    first, second = (_mount_of(facts, there, each) for each in (folder, other))
    if first is None or second is None:
        return None
    if first["mount_point"] == second["mount_point"]:
        return True
    device = device_of(facts, first).get("name")
    return device is not None and device == device_of(facts, second).get("name")


def _mount_of(facts: Facts, there: Collection[str], folder: str) -> Facts | None:
    """The file system of a folder. The root's counts only for folders that were `there`, and those
    above and below them: others may have got a mount of their own later.
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
