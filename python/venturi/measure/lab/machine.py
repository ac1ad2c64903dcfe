"""The kernel's and programs' services for a lab on this machine, and those that are missing."""

from __future__ import annotations

import ctypes
import fcntl
import os
import shutil
import signal
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any

from venturi.core.errors import VenturiError
from venturi.core.units import size_text

PROGRAMS = {
    "ip": "iproute2",
    "tc": "iproute2",
    "nsenter": "util-linux",
    "unshare": "util-linux",
    "mount": "mount",
    "sleep": "coreutils",
    "mkfs.ext4": "e2fsprogs",
    "mergerfs": "mergerfs",
}
"""Program -> Debian's package of it."""
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_PR_SET_PDEATHSIG = 1
_MOUNTS = Path("/proc/self/mountinfo")
_PROC = Path("/proc")
_LINKS = Path("/sys/class/net")
_CAPABILITIES = 1 << 21 | 1 << 12  # CAP_SYS_ADMIN, CAP_NET_ADMIN
_LIBC = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, slots=True)
class MissingPrerequisite:
    """A prerequisite of a lab that this machine lacks, and the remedy."""

    what: str
    mend: str


def programs_path() -> str:
    """Return a search path that includes the administrators' programs, which a user's PATH may
    lack.
    """
    return os.pathsep.join((os.environ.get("PATH", ""), _PATH)).strip(os.pathsep)


def lacks(
    *,
    disks: bool,
    throttle: bool,
    groups: bool,
    pools: bool = False,
    memory_bytes: int = 0,
    cpus: float = 0.0,
) -> Iterator[MissingPrerequisite]:
    """Yield the prerequisites of such a lab that this machine lacks; `memory_bytes` and `cpus` are
    the largest of one host.
    """
    if os.geteuid() != 0:
        yield MissingPrerequisite(
            "only root can make network namespaces, mounts and loop devices",
            'run `sudo -E env "PATH=$PATH" venturi lab ...`',
        )
    elif not _may_make_namespaces():
        yield MissingPrerequisite(
            "root lacks the capabilities SYS_ADMIN and NET_ADMIN, as in a container",
            "start a privileged container, or use a virtual machine",
        )
    there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if memory_bytes > there:
        yield MissingPrerequisite(
            f"{size_text(memory_bytes)} of memory for one host: the machine has {size_text(there)}",
            "use less memory",
        )
    if cpus > (cores := os.cpu_count() or 1):
        yield MissingPrerequisite(
            f"{cpus:g} CPUs for one host: the machine has {cores}", "use fewer cpus"
        )
    spared = {"mkfs.ext4": not disks, "mergerfs": not pools}
    needed = [name for name in PROGRAMS if not spared.get(name)]
    if missing := [name for name in needed if not shutil.which(name, path=programs_path())]:
        packages = " ".join(dict.fromkeys(PROGRAMS[name] for name in missing))
        yield MissingPrerequisite(
            f"{', '.join(missing)}: not installed", f"run `apt install {packages}`"
        )
    if disks and not Path("/dev/loop-control").exists():
        yield MissingPrerequisite(
            "/dev/loop-control: the kernel has no loop devices", "run `modprobe loop`"
        )
    if throttle and blkio_root() is None:
        yield MissingPrerequisite(
            "the root group of the blkio controller of cgroup v1, which disks of the model "
            "throttle need (cgroup v2 does not limit its root group)",
            'write model = "spindle", or start the kernel with '
            "systemd.unified_cgroup_hierarchy=0 cgroup_no_v1=none",
        )
    if groups:
        for name in ("memory", "cpu"):
            if controller(name) is None:
                yield MissingPrerequisite(
                    f"the {name} controller of cgroup v1, which hosts' memory and cpus need",
                    "leave out memory, cpus and dilate_cpu, or start the kernel with "
                    "systemd.unified_cgroup_hierarchy=0",
                )


def _may_make_namespaces() -> bool:
    status = (_PROC / "self" / "status").read_text()
    effective = int(status.partition("CapEff:")[2].split()[0], 16)
    return effective & _CAPABILITIES == _CAPABILITIES


def require(**parts: Any) -> None:
    """Raise VEN-LAB-NEEDS with everything that `lacks` finds."""
    if found := list(lacks(**parts)):
        raise VenturiError(
            "VEN-LAB-NEEDS",
            "a lab cannot be created here: " + "; ".join(each.what for each in found),
            hint="; ".join(each.mend for each in found),
        )


def run(*argv: str | Path, text: str | None = None, held: int | None = None, what: str = "") -> str:
    """Run a program of the system, `text` as its input, and return its output.

    It is killed if we are, and holds the descriptor `held` until it ends. VEN-LAB-STEP if it fails,
    with its own message and its purpose, `what`.
    """
    done = subprocess.run(
        [str(each) for each in argv],
        input=text,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PATH": programs_path(), "LC_ALL": "C"},
        pass_fds=() if held is None else (held,),
        preexec_fn=_die_with_us,
    )
    if done.returncode != 0:
        said = (done.stderr.strip() or f"exit status {done.returncode}").splitlines()
        raise VenturiError(
            "VEN-LAB-STEP",
            f"{what or argv[0]}: {'; '.join(said[:5])}",
            where={"command": " ".join(str(each) for each in argv[:8])},
        )
    return done.stdout


def _die_with_us() -> None:
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def controller(name: str) -> Path | None:
    """Return the root group of a controller of cgroup v1; None if it isn't visible."""
    for line in _MOUNTS.read_text().splitlines():
        place, _, kind = line.partition(" - ")
        fields, (fs_type, _, options) = place.split(), kind.split(maxsplit=2)
        if fs_type == "cgroup" and name in options.split(",") and fields[3] == "/":
            return Path(fields[4])
    return None


def blkio_root() -> Path | None:
    """The root group of blkio if disks can be throttled in it."""
    root = controller("blkio")
    usable = root is not None and (root / "blkio.throttle.read_bps_device").exists()
    return root if usable else None


@dataclass(frozen=True, slots=True)
class ProcessId:
    """A process of this boot, distinct from a later one with the same number."""

    pid: int
    started_ticks: int

    @property
    def alive(self) -> bool:
        """Whether it has not ended."""
        return started_ticks(self.pid) == self.started_ticks


def started_ticks(pid: int) -> int | None:
    """When a process started (clock ticks since boot); None: it has ended."""
    try:
        stat = (_PROC / str(pid) / "stat").read_text(errors="replace")
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else int(fields[19])


def processes() -> Iterator[int]:
    """The number of every process."""
    return (int(each.name) for each in _PROC.iterdir() if each.name.isdigit())


def namespaces(pid: int) -> frozenset[str]:
    """A process's namespaces of network, names and mounts; none once it has ended."""
    found = set()
    for kind in ("net", "uts", "mnt"):
        try:
            found.add(str((_PROC / str(pid) / "ns" / kind).readlink()))
        except OSError:
            return frozenset()
    return frozenset(found)


def sees_mount_of(pid: int, source: str) -> bool:
    """Whether a process sees a mount of `source`."""
    try:
        lines = (_PROC / str(pid) / "mountinfo").read_text(errors="replace").splitlines()
    except OSError:
        return False
    return any(line.partition(" - ")[2].split()[1:2] == [source] for line in lines)


def kill(pids: Iterable[int]) -> None:
    """Kill processes; they may still exist when this returns."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def reap(pid: int) -> None:
    """Collect the status of an ended child, which would remain a zombie."""
    with suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


@contextmanager
def choosing_addresses() -> Iterator[None]:
    """One lab of this network namespace at a time chooses addresses and makes the link that has
    them: others would choose the same.
    """
    folder = os.open(_LINKS, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def links() -> frozenset[str]:
    """The names of this machine's network links."""
    return frozenset(each.name for each in _LINKS.iterdir())


def networks_in_use(*, held: int | None) -> Iterator[tuple[str, IPv4Network]]:
    """The addresses and routes of this machine, as it says them, and the networks they are of."""
    for command in (("addr", "show"), ("route", "show", "table", "all")):
        for word in run("ip", "-4", "-o", *command, held=held).split():
            try:
                used = IPv4Network(word, strict=False)
            except ValueError:
                continue
            if used.prefixlen > 0:
                yield word, used
