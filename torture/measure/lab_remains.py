"""Finds remains of a lab on this machine, independent of Venturi's own records."""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from venturi.measure.lab import journal, lab, loops, machine
from venturi.measure.lab.lab_file import lab_of
from venturi.measure.lab.lab_spec import LabSpec

OWN_LOOPS = 256
MOUNT_POINT = "folder /venturi"
NEEDS = [] if os.geteuid() == 0 else ["makes namespaces, mounts and loop devices, which needs root"]
NEEDS += [each.what for each in machine.lacks(disks=True, throttle=True, groups=True)]
NAME = f"t{os.getpid()}"
"""Prefix of labs and networks of this process: others may have labs, too."""
ADDRESSES = f"10.{200 + os.getpid() % 50}.{os.getpid() // 50 % 250}.0/24"
SMALL = """
name = "NAME"
[network]
rate = "1Gbit/s"
addresses = "ADDRESSES"
[disks.ssd]
size = "64MiB"
rate = "100MB/s"
iops = 5000
[[hosts]]
name = "h1"
disks = { ssd = 1 }
memory = "256MiB"
cpus = 1
"""


def small(name: str = "", text: str = SMALL, network: str = "") -> LabSpec:
    """A lab of one host and one disk, with a name and addresses of this process's own."""
    text = text.replace("NAME", name or NAME).replace("ADDRESSES", network or ADDRESSES)
    return lab_of(text, Path("lab.toml"))


def remains() -> set[str]:
    """Return everything on this machine that looks like a part of a lab, by kind and name."""
    return set(_remains())


def _remains() -> Iterator[str]:
    for name in machine.links():
        if re.match(r"vl[0-9a-f]{8}$", name):
            yield f"link {name}"
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        if "venturi-lab" in line or " /venturi" in line:
            yield f"mount {line}"
    for block in Path("/sys/block").glob("loop*"):
        number = int(block.name.removeprefix("loop"))
        if number >= OWN_LOOPS:
            yield f"loop {number} {loops.attached(number)}"
    for controller in ("memory", "cpu", "blkio"):
        root = machine.controller(controller)
        for path in root.glob("*venturi-lab*/**") if root else ():
            yield f"group {path}"
    if blkio := machine.blkio_root():
        for limit in blkio.glob("blkio.throttle.*_device"):
            for line in limit.read_text().splitlines():
                major, _, minor = line.split()[0].partition(":")
                if major == "7" and int(minor) >= OWN_LOOPS:
                    yield f"limit {limit.name} {line} {loops.attached(int(minor))}"
    for pid in machine.processes():
        with suppress(OSError):
            command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
            mounts = Path(f"/proc/{pid}/mountinfo").read_text()
            if whose := re.search(r"venturi-lab-[0-9a-f]{8}", mounts + command):
                yield f"process {pid} {whose[0]} {command[:80]}"
    if Path("/venturi").exists():
        yield MOUNT_POINT


def left(before: set[str], ours: set[str]) -> list[str]:
    """Return the parts that did not exist `before`, of labs with the ids `ours` or without an id.

    Ignores other labs of this machine, which may come and go.
    """
    until_s = time.monotonic() + 60
    while True:
        new = remains() - before
        found = [each for each in sorted(new) if _is_of(each, ours)]
        if any(not _is_of(each, ours) for each in new):
            found = [each for each in found if each != MOUNT_POINT]  # another lab is in it
        if not found or time.monotonic() > until_s:
            return found
        time.sleep(0.1)


def _is_of(what: str, ids: set[str]) -> bool:
    found = re.search(r"venturi-lab-([0-9a-f]{8})|link vl([0-9a-f]{8})$", what)
    return found is None or bool({found[1], found[2]} & ids)


def id_of(home: Path, name: str) -> set[str]:
    """The id of a lab, if its journal has begun."""
    written = journal.read(lab.folder_of(home, name))
    return set() if written is None else {written.about["id"]}


def inside(home: Path, name: str, host: str, *command: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a host of a lab."""
    return subprocess.run(
        [*lab.enter(home, name, host), *command],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
