"""The steps that make a lab, each with its undo.

A step is plain data, so that the journal can hold it. `do` notes how to find a thing before making
it; `undo` finds it by the note or by names with the lab's id, ignores a missing one, and may be
repeated. Things with other names are left alone.
"""

from __future__ import annotations

import fcntl
import os
import select
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any, ClassVar, Protocol

from venturi.core.errors import VenturiError
from venturi.measure.lab import machine, network
from venturi.measure.lab.lab_spec import FOLDER, LabSpec

Note = Callable[[Mapping[str, Any]], None]
SWITCHES = ".switches"
"""The holder of the namespace that all switches are in; no host can be called so."""
SERVER = "spindle server"
"""The step of the server of spinning disks."""
_GONE_S = 10.0
_TURN_S = 0.01


@dataclass(frozen=True, slots=True)
class World:
    """The context of a step: the lab (dilated), its id, the lock's descriptor, and the notes of
    earlier steps by their keys. `same_boot` is False if the machine has been rebooted since.
    """

    spec: LabSpec
    id: str
    folder: Path
    held: int
    notes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    same_boot: bool = True

    def holder(self, name: str) -> machine.ProcessId:
        """The process that keeps a host's namespaces."""
        return self.process(f"holder {name}")

    def process(self, key: str) -> machine.ProcessId:
        """A process that the step `key` started."""
        return machine.ProcessId(self.notes[key]["pid"], self.notes[key]["ticks"])

    @property
    def served(self) -> Path:
        """The folder in which the disks of the spindle server appear, to itself."""
        return self.folder / "spindle"

    def loop(self, name: str) -> int:
        """The number of a loop device."""
        return int(self.notes[f"loop {name}"]["number"])

    def marker(self, name: str) -> str:
        """Return the full name of a part of the lab, for places without a short limit."""
        return f"venturi-lab-{self.id}/{name}"

    @property
    def machine_link(self) -> str:
        """The lab's link on the machine itself; at most 15 characters."""
        return f"vl{self.id}"


class LabStep(Protocol):
    """A step, identified by `kind`, its class, and `key`, the thing to make."""

    kind: ClassVar[str]

    @property
    def key(self) -> str:
        """The thing to make, such as `h1/ssd0`."""

    def do(self, world: World, note: Note) -> None:
        """Make it."""

    def undo(self, world: World, notes: Mapping[str, Any]) -> bool:
        """Remove everything of it; False: something is still in use."""


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder of the lab, with all its later content."""

    path: str
    kind: ClassVar[str] = "folder"

    @property
    def key(self) -> str:
        return self.path

    def do(self, world: World, note: Note) -> None:
        path = Path(self.path)
        note({"above": [str(each) for each in path.parents if not each.exists()]})
        path.mkdir(mode=0o700, parents=True)

    def undo(self, world: World, notes: Mapping[str, Any]) -> bool:
        if world.id in Path(self.path).name:
            shutil.rmtree(self.path, ignore_errors=True)
        with suppress(OSError):  # in use by another process
            for each in notes.get("above", ()):
                Path(each).rmdir()
        return not Path(self.path).exists()


@dataclass(frozen=True, slots=True)
class MountPoint:
    """The empty folder in which every host has its disks. All labs of a machine share it: each
    holder of a lab has a lock on it, and the last one removes it, if a lab had made it."""

    path: str
    kind: ClassVar[str] = "mount-point"

    @property
    def key(self) -> str:
        return self.path

    def do(self, world: World, note: Note) -> None:
        mark = "trusted.venturi.lab"  # set on folders that labs make; optional
        made = not Path(self.path).exists()
        with suppress(OSError):
            made |= bool(os.getxattr(self.path, mark))
        if made:
            note({"made": True})
            Path(self.path).mkdir(mode=0o755, exist_ok=True)
            with suppress(OSError):
                os.setxattr(self.path, mark, b"1")

    def undo(self, world: World, notes: Mapping[str, Any]) -> bool:
        if not notes.get("made"):
            return True
        with suppress(OSError):  # gone, in use by another lab, or no longer empty
            folder = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
            try:
                fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
                Path(self.path).rmdir()
            finally:
                os.close(folder)
        return True


@dataclass(frozen=True, slots=True)
class ControlGroup:
    """A control group of cgroup v1 for a host's processes, or for the lab's groups."""

    path: str
    values: Mapping[str, str] = field(default_factory=dict)
    kind: ClassVar[str] = "group"

    @property
    def key(self) -> str:
        return self.path

    def do(self, world: World, note: Note) -> None:
        Path(self.path).mkdir()
        for name, value in self.values.items():
            (Path(self.path) / name).write_text(value)

    def undo(self, world: World, notes: Mapping[str, Any]) -> bool:
        path = Path(self.path)
        until_s = time.monotonic() + _GONE_S
        while world.id in self.path and path.exists():
            for folder, _, _ in os.walk(path, topdown=False):  # a program may have made some in it
                with suppress(OSError):
                    group = Path(folder)
                    machine.kill(map(int, (group / "cgroup.procs").read_text().split()))
                    group.rmdir()
            if path.exists():
                if time.monotonic() > until_s:
                    return False
                time.sleep(_TURN_S)
        return True


@dataclass(frozen=True, slots=True)
class Spindle:
    """The server of all disks that seek and rotate, in its own mount namespace."""

    agent: str
    disks: tuple[str, ...]
    kind: ClassVar[str] = "spindle"

    @property
    def key(self) -> str:
        return "server"

    def do(self, world: World, note: Note) -> None:
        world.served.mkdir()
        said, words = world.folder / "spindle.ndjson", world.folder / "spindle.log"
        disks = [word for disk in self.disks for word in ("--disk", disk)]
        with said.open("wb") as out, words.open("wb") as err:
            server = subprocess.Popen(
                [
                    *("unshare", "--mount", "--", "sh", "-c", 'read -r go && exec "$@"', "sh"),
                    *(self.agent, "spindle", "--mount", str(world.served), *disks),
                ],
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=err,
                cwd="/",
                env={"PATH": machine.programs_path()},
                start_new_session=True,
            )
        assert server.stdin
        with server.stdin:
            note({"pid": server.pid, "ticks": machine.started_ticks(server.pid)})
            server.stdin.write(b"go\n")
        until_s = time.monotonic() + _GONE_S
        while b'"event":"ready"' not in said.read_bytes():
            if server.poll() is not None or time.monotonic() > until_s:
                why = words.read_text(errors="replace").strip() or "it did not become ready"
                raise VenturiError("VEN-LAB-STEP", f"the server of the disks: {why}")
            time.sleep(0.02)
        server.returncode = 0  # not waited for: it outlives this process

    def undo(self, world: World, notes: Mapping[str, Any]) -> bool:
        if "pid" not in notes or not world.same_boot:
            return True
        server = machine.ProcessId(notes["pid"], notes["ticks"])
        if not _kill_until_gone(lambda: [server.pid] if server.alive else []):
            return False
        machine.reap(server.pid)
        return True


_HOLDER = """
set -eu
marker=$1 name=$2 etc=$3 place=$4
echo "$name" > /proc/sys/kernel/hostname
if [ -e /proc/sys/net/ipv6/conf/all/disable_ipv6 ]; then
  echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6
fi
mount -t tmpfs -o mode=755,size=1m "$marker" "$place"
for file in hosts nsswitch.conf resolv.conf hostname; do
  if [ -e "$etc/$file" ] && [ -e "/etc/$file" ]; then mount --bind "$etc/$file" "/etc/$file"; fi
done
mkdir -m 700 "$place/.sys"
mount -t sysfs "$marker" "$place/.sys"
for folder in class/net devices/virtual/net; do
  mount --bind "$place/.sys/$folder" "/sys/$folder"
done
umount "$place/.sys"
rmdir "$place/.sys"
echo ready
read -r go
exec sleep infinity < /dev/null > /dev/null 2>&1
"""


@dataclass(frozen=True, slots=True)
class Holder:
    """A process that keeps the namespaces (network, host name, mounts) of a host, or of the
    switches. It ends with us until the journal records it and it gets the signal to continue.
    """

    name: str
    host_name: str
    kind: ClassVar[str] = "holder"

    @property
    def key(self) -> str:
        return self.name

    def do(self, world: World, note: Note) -> None:
        held = _locked_mount_point()
        try:
            holder = subprocess.Popen(
                [
                    *("unshare", "--net", "--uts", "--mount", "--", "sh", "-c", _HOLDER, "sh"),
                    *(world.marker(self.name), self.host_name),
                    *(str(world.folder / "etc" / self.name), str(FOLDER)),
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd="/",
                env={"PATH": machine.programs_path()},
                start_new_session=True,
                pass_fds=(held,),
            )
        finally:
            os.close(held)
        assert holder.stdin
        assert holder.stdout
        assert holder.stderr
        with holder.stdin, holder.stdout, holder.stderr:
            if holder.stdout.readline() != b"ready\n":
                said = holder.stderr.read().decode(errors="replace").strip()
                holder.wait()
                raise VenturiError("VEN-LAB-STEP", f"the namespaces of {self.host_name}: {said}")
            note({"pid": holder.pid, "ticks": machine.started_ticks(holder.pid)})
            holder.stdin.write(b"go\n")
        holder.returncode = 0  # not waited for: it outlives this process

    def undo(self, world: World, notes: Mapping[str, Any]) -> bool:
        if not world.same_boot:
            return True
        if not _kill_until_gone(lambda: _inhabitants(world, self.name, notes)):
            return False
        if "pid" in notes:
            machine.reap(notes["pid"])
        return True


def _locked_mount_point() -> int:
    """A descriptor of the folder of all hosts' disks that keeps other labs from removing it."""
    while True:
        folder = os.open(FOLDER, os.O_RDONLY | os.O_DIRECTORY)
        fcntl.flock(folder, fcntl.LOCK_SH)
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(folder), FOLDER.stat()):
                return folder
        os.close(folder)
        FOLDER.mkdir(mode=0o755, exist_ok=True)


def _inhabitants(world: World, name: str, notes: Mapping[str, Any]) -> list[int]:
    """Return the processes in a host's namespaces: those that see its marked mounts, and those that
    share a namespace with its holder. Excludes this process, which may look into them, and
    namespaces of the machine itself, which all its processes share.
    """
    found = {pid for pid in machine.processes() if machine.sees_mount_of(pid, world.marker(name))}
    if "pid" in notes and machine.ProcessId(notes["pid"], notes["ticks"]).alive:
        found.add(notes["pid"])
        own = machine.namespaces(notes["pid"])
        own -= machine.namespaces(os.getpid()) | machine.namespaces(1)
        found |= {pid for pid in machine.processes() if machine.namespaces(pid) & own}
    return sorted(pid for pid in found - {os.getpid()} if machine.started_ticks(pid) is not None)


def kill_all(world: World) -> None:
    """Kill the processes of all hosts without waiting, to free their disks immediately."""
    if world.same_boot:
        for key, notes in world.notes.items():
            kind, _, name = key.partition(" ")
            if kind == Holder.kind:
                machine.kill(_inhabitants(world, name, notes))


def inhabitants(world: World, name: str) -> list[int]:
    """The processes in a host, its holder among them."""
    return _inhabitants(world, name, world.notes.get(f"holder {name}", {}))


def _kill_until_gone(find: Callable[[], list[int]]) -> bool:
    """Kill the processes that `find` lists until it lists none. False: some do not end."""
    until_s = time.monotonic() + _GONE_S
    while found := find():
        machine.kill(found)
        if time.monotonic() > until_s:
            return False
        _wait_for_end(found)
    return True


def _wait_for_end(pids: list[int]) -> None:
    """Wait for the end of killed processes, some of which may write to a disk first."""
    for pid in pids:
        with suppress(ProcessLookupError):
            opened = os.pidfd_open(pid)
            try:
                select.select([opened], [], [], 1.0)
            finally:
                os.close(opened)


@dataclass(frozen=True, slots=True)
class LabNetwork:
    """All switches and links. They go with the holders; the machine's own end has the lab's id."""

    kind: ClassVar[str] = "network"

    @property
    def key(self) -> str:
        return "links"

    def do(self, world: World, note: Note) -> None:
        spec = world.spec
        pids = {host.name: world.holder(host.name).pid for host in spec.hosts}
        switches = world.holder(SWITCHES).pid
        _batch(
            world, switches, "ip", network.switch_ip(spec, pids, world.machine_link, os.getpid())
        )
        _batch(world, switches, "tc", network.switch_tc(spec))
        for host in spec.hosts:
            _batch(world, pids[host.name], "ip", network.host_ip(spec, host))
            _batch(world, pids[host.name], "tc", network.host_tc(host))
        machine.run(
            *("ip", "-batch", "-"),
            text=network.machine_ip(spec, world.machine_link),
            held=world.held,
            what="the machine's own link",
        )

    def undo(self, world: World, notes: Mapping[str, Any]) -> bool:
        until_s = time.monotonic() + _GONE_S
        while world.machine_link in machine.links():
            with suppress(VenturiError):  # it may go by itself, with its other end
                machine.run("ip", "link", "del", world.machine_link, held=world.held)
            if time.monotonic() > until_s:
                return False
        return True


def _batch(world: World, pid: int, program: str, commands: str) -> None:
    if commands:
        machine.run(
            *("nsenter", "-t", str(pid), "-n", program, "-batch", "-"),
            text=commands,
            held=world.held,
            what="the lab's network",
        )


def require_free_addresses(spec: LabSpec, held: int) -> None:
    """VEN-LAB-ADDRESS if the machine has a network that overlaps the lab's."""
    wanted = IPv4Network(spec.network)
    in_use = machine.networks_in_use(held=held)
    used = next((said for said, network in in_use if network.overlaps(wanted)), None)
    if used is not None:
        raise VenturiError(
            "VEN-LAB-ADDRESS",
            f"the lab's addresses {spec.network} overlap this machine's network {used}",
            where={"key": "network.addresses"},
            hint='set others in [network], such as addresses = "10.78.0.0/24"',
        )
