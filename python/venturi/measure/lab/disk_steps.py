"""The steps that make the disks of a lab's hosts: files, loop devices, limits, mounts, pools."""

from __future__ import annotations

import errno
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from venturi.measure.lab import loops, machine
from venturi.measure.lab.lab_spec import FOLDER
from venturi.measure.lab.steps import SERVER, Note, World

_READ_AHEAD_KIB = 1024


@dataclass(frozen=True, slots=True)
class Image:
    """The file of a disk: sparse, with an ext4 file system that was made before any limit held."""

    name: str
    path: str
    size_bytes: int
    kind: ClassVar[str] = "image"

    @property
    def key(self) -> str:
        return self.name

    def do(self, world: World, note: Note) -> None:
        with Path(self.path).open("xb") as file:
            file.truncate(self.size_bytes)
        lazy = "lazy_itable_init=1,lazy_journal_init=1,nodiscard"
        machine.run(
            *("mkfs.ext4", "-q", "-F", "-m", "0", "-E", lazy, self.path),
            held=world.held,
            what=f"the file system of {self.name}",
        )

    def undo(self, world: World, notes: Mapping[str, Any]) -> bool:
        Path(self.path).unlink(missing_ok=True)  # its folder has the lab's id
        return True


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop device over a file, `over` another loop device, or over a disk that is `served`."""

    name: str
    backing: str = ""
    over: str = ""
    served: str = ""
    dirty_bytes: int = 0
    kind: ClassVar[str] = "loop"

    @property
    def key(self) -> str:
        return self.name

    def do(self, world: World, note: Note) -> None:
        backing = Path(self.backing)
        if self.over:
            backing = loops.device(world.loop(self.over))
        elif self.served:  # seen in the mounts of the server alone
            server = world.process(SERVER).pid
            backing = Path(f"/proc/{server}/root{world.served}/{self.served}")
        while True:
            number = loops.free_number()
            note({"number": number})
            try:
                loops.attach(number, backing, world.marker(self.name))
                break
            except OSError as error:
                if error.errno not in {errno.EEXIST, errno.EBUSY}:  # another was faster
                    raise
        if self.dirty_bytes:
            bdi = Path(f"/sys/block/loop{number}/bdi")
            for name, value in (
                ("strict_limit", 1),
                ("max_bytes", self.dirty_bytes),
                ("read_ahead_kb", _READ_AHEAD_KIB),
            ):
                (bdi / name).write_text(str(value))

    def undo(self, world: World, notes: Mapping[str, Any]) -> bool:
        return "number" not in notes or loops.detach(notes["number"], world.marker(self.name))


@dataclass(frozen=True, slots=True)
class Throttle:
    """The limits of a loop device, by file of the root group of blkio.

    They are of the root group because that is where the kernel writes pages back: a limit of any
    other group holds neither for buffered writes nor for processes outside it.
    """

    name: str
    limits: Mapping[str, int]
    kind: ClassVar[str] = "throttle"

    @property
    def key(self) -> str:
        return self.name

    def do(self, world: World, note: Note) -> None:
        self._write(world, {name: max(1, value) for name, value in self.limits.items()})

    def undo(self, world: World, notes: Mapping[str, Any]) -> bool:
        with suppress(KeyError):  # without a device there is no limit
            number = world.loop(self.name)
            if loops.attached(number) == world.marker(self.name)[:63]:
                self._write(world, dict.fromkeys(self.limits, 0))
        return True

    def _write(self, world: World, limits: Mapping[str, int]) -> None:
        root = machine.blkio_root()
        assert root is not None, "the lab checks for it before it starts"
        device = Path(f"/sys/block/loop{world.loop(self.name)}/dev").read_text().strip()
        for name, value in limits.items():
            (root / f"blkio.throttle.{name}_device").write_text(f"{device} {value}")


@dataclass(frozen=True, slots=True)
class Mount:
    """A host's disks, in its namespace of mounts alone: they go with its last process."""

    host: str
    disks: tuple[str, ...]
    kind: ClassVar[str] = "mount"

    @property
    def key(self) -> str:
        return self.host

    def do(self, world: World, note: Note) -> None:
        commands = ["set -eu"]
        for disk in self.disks:
            device, place = loops.device(world.loop(f"{self.host}/{disk}")), FOLDER / disk
            commands += [
                f"mkdir {place}",
                f"mount -t ext4 -o noatime,nodiscard,noinit_itable {device} {place}",
                f"chmod 1777 {place}",
            ]
        machine.run(
            *("nsenter", "-t", str(world.holder(self.host).pid), "-m"),
            *("sh", "-c", "\n".join(commands)),
            held=world.held,
            what=f"the disks of {self.host}",
        )

    def undo(self, world: World, notes: Mapping[str, Any]) -> bool:
        return True


_MERGED = "category.create=ff,moveonenospc=true,cache.files=auto-full"  # dropcacheonclose is slower


@dataclass(frozen=True, slots=True)
class Merge:
    """Disks of a host merged into one folder by mergerfs, in the host's mount namespace, with which
    it ends, and in its `groups`, so that the pages it reads count there.

    It has its own folder on each disk. It keeps running, so it doesn't get the lock's descriptor.
    """

    host: str
    name: str
    disks: tuple[str, ...]
    free_bytes: int
    groups: tuple[str, ...]
    kind: ClassVar[str] = "merge"

    @property
    def key(self) -> str:
        return f"{self.host}/{self.name}"

    def do(self, world: World, note: Note) -> None:
        place = FOLDER / self.name
        own = [FOLDER / disk / self.name for disk in self.disks]
        *before, last = (f"{each}=RW" for each in own)
        branches = ":".join((*(f"{each},{self.free_bytes}" for each in before), f"{last},0"))
        commands = [
            "set -eu",
            *(f"echo $$ > {group}/cgroup.procs" for group in self.groups),
            f"mkdir -m 1777 {place} {' '.join(map(str, own))}",
            f"mergerfs -o {_MERGED},fsname={world.marker(self.key)} {branches} {place}",
        ]
        machine.run(
            *("nsenter", "-t", str(world.holder(self.host).pid), "--net", "--uts", "--mount"),
            *("sh", "-c", "\n".join(commands)),
            what=f"the pool {self.key}",
        )

    def undo(self, world: World, notes: Mapping[str, Any]) -> bool:
        return True
