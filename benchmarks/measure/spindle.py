"""`python -m benchmarks.measure.spindle`: emulated disks against configured and predicted rates.

For each kind and rate a disk of `venturi-agent spindle` with a loop device and ext4 on it, as in a
lab: buffered writing (with its fsync) and cold reading of a file, direct writing and reading of
one with requests of 1 MiB one at a time, and random reads of 4 KiB of the device at some depths.
As root; needs the agent, /dev/fuse and a loop device. `docs/method/disk-model.md` has the figures.
"""

from __future__ import annotations

import json
import mmap
import os
import random
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from benchmarks.bench import REPOSITORY, find_agent
from venturi.measure.lab import loops

MIB = 1 << 20
DISK_BYTES = 4 << 30
"""Sparse: unwritten parts take no space."""
MECHANISMS: dict[str, dict[str, Any]] = {
    "hdd": {
        "seek_average_ms": 8.5,
        "seek_track_ms": 0.8,
        "seek_full_ms": 16,
        "revolution_ms": 8.33,
    },
    "ssd": {"iops": 5000, "channels": 4},
}


@dataclass(frozen=True)
class ServedDisk:
    """A served disk with its loop device and file system."""

    device: Path
    files: Path
    predicted: dict[str, Any]
    pid: int

    def cpu_s(self) -> float:
        """Processor seconds of the server so far."""
        fields = Path(f"/proc/{self.pid}/stat").read_text("ascii").rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def served(agent: Path, folder: Path, kind: str, rate: float) -> Iterator[ServedDisk]:
    """A disk of this kind and rate in bytes a second; nothing is left of it."""
    mount, files = folder / "disks", folder / "files"
    mount.mkdir()
    files.mkdir()
    spec = {
        "name": "d1",
        "image": str(folder / "d1.img"),
        "size_bytes": DISK_BYTES,
        "mechanism": {"kind": kind, "rate_bytes_per_s": rate, **MECHANISMS[kind]},
    }
    command = [str(agent), "--end-with-parent", "spindle", "--mount", str(mount)]
    command += ["--disk", json.dumps(spec)]
    with ExitStack() as stack:
        server = stack.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE))
        stack.callback(server.terminate)
        assert server.stdout is not None
        events = (json.loads(line) for line in server.stdout)
        ready = next(event for event in events if event["event"] == "ready")
        number = loops.free_number()
        name = f"venturi-bench-{os.getpid()}"
        loops.attach(number, mount / "d1", name)
        stack.callback(loops.detach, number, name)
        device = loops.device(number)
        # As in a lab: writers are held to the disk's pace and do not run ahead of it.
        bdi = Path(f"/sys/block/{device.name}/bdi")
        (bdi / "strict_limit").write_text("1")
        (bdi / "max_bytes").write_text(str(max(16 * MIB, int(rate / 10))))
        (bdi / "read_ahead_kb").write_text("1024")
        make = [
            "mkfs.ext4",
            "-q",
            "-F",
            "-E",
            "lazy_itable_init=0,lazy_journal_init=0",
            str(device),
        ]
        subprocess.run(make, check=True)
        subprocess.run(["mount", "-o", "noatime", device, files], check=True)
        stack.callback(subprocess.run, ["umount", str(files)], check=True)
        yield ServedDisk(device, files, ready["disks"][0]["predicted"], server.pid)


def fill(path: Path, size_bytes: int) -> None:
    """Write a file of this size, so that the image gets its blocks beforehand."""
    block = random.Random(1).randbytes(MIB)
    with path.open("wb", buffering=0) as file:
        for _ in range(size_bytes // MIB):
            file.write(block)
        os.fsync(file.fileno())


def buffered_bytes_per_s(path: Path, size_bytes: int) -> tuple[float, float]:
    """Return the rates of writing a file with its fsync, and of reading it without the page
    cache.
    """
    block = random.Random(2).randbytes(MIB)
    with path.open("r+b", buffering=0) as file:
        began_s = time.monotonic()
        for _ in range(size_bytes // MIB):
            file.write(block)
        os.fsync(file.fileno())
        wrote_s = time.monotonic() - began_s
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        file.seek(0)
        began_s = time.monotonic()
        while file.read(MIB):
            pass
        read_s = time.monotonic() - began_s
    return size_bytes / wrote_s, size_bytes / read_s


def direct_bytes_per_s(path: Path, size_bytes: int) -> tuple[float, float]:
    """Writing and reading a file without the page cache, 1 MiB at a time."""
    buffer = mmap.mmap(-1, MIB)
    opened = os.open(path, os.O_RDWR | os.O_DIRECT)
    try:
        rates = []
        for move in (os.pwritev, os.preadv):
            began_s = time.monotonic()
            for at in range(0, size_bytes, MIB):
                move(opened, [buffer], at)
            rates.append(size_bytes / (time.monotonic() - began_s))
    finally:
        os.close(opened)
    return rates[0], rates[1]


def random_iops(disk: ServedDisk, depth: int, seconds: float) -> float:
    """Return the direct reads of 4 KiB a second over the whole device, by `depth` threads."""
    until_s = time.monotonic() + seconds
    done = [0] * depth

    def read(thread: int) -> None:
        draw, buffer = random.Random(thread), mmap.mmap(-1, 4096)
        opened = os.open(disk.device, os.O_RDONLY | os.O_DIRECT)
        try:
            while time.monotonic() < until_s:
                os.preadv(opened, [buffer], draw.randrange(DISK_BYTES // 4096) * 4096)
                done[thread] += 1
        finally:
            os.close(opened)

    began_s = time.monotonic()
    threads = [threading.Thread(target=read, args=(thread,)) for thread in range(depth)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(done) / (time.monotonic() - began_s)


def measured(disk: ServedDisk, rate: float, seconds: float) -> Iterator[tuple[str, float, float]]:
    """Yield a figure's name, its value, and the expected value."""
    size_bytes = int(max(rate * seconds, 8 * MIB)) // MIB * MIB
    path = disk.files / "data"
    fill(path, size_bytes)
    for kind, move in (("buffered", buffered_bytes_per_s), ("direct", direct_bytes_per_s)):
        began_s = disk.cpu_s()
        wrote, read = move(path, size_bytes)
        yield f"{kind} write", wrote, rate
        yield f"{kind} read", read, rate
        yield f"{kind}: processor s/GB", (disk.cpu_s() - began_s) / (2 * size_bytes / 1e9), 0.0
    foretold = disk.predicted["random_4_kib_iops"]
    for depth in sorted(map(int, foretold)):
        iops = random_iops(disk, depth, seconds)
        yield f"random 4 KiB, {depth} at a time", iops, foretold[str(depth)]


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--rates", default="20,100,300,1000", show_default=True, help="MB/s, with commas.")
@click.option("--kinds", default="hdd,ssd", show_default=True, help="Kinds of disks, with commas.")
@click.option("--seconds", default=2.0, show_default=True, help="Length of each measurement.")
@click.option(
    "--dir",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    default=REPOSITORY / "target",
    show_default="target",
    help="Where the images are.",
)
def main(rates: str, kinds: str, seconds: float, folder: Path) -> None:
    """Compare emulated disks with their set rates, and random reads with the prediction."""
    agent, reason = find_agent(os.environ)
    if agent is None or os.geteuid() != 0:
        raise click.ClickException(reason or "loop devices and mounts need root")
    click.echo(f"load {os.getloadavg()[0]:.1f}")
    click.echo(
        f"{'kind':4} {'MB/s':>6}  {'figure':28} {'measured':>10} {'expected':>10} {'ratio':>6}"
    )
    for kind in kinds.split(","):
        for rate in map(float, rates.split(",")):
            with (
                tempfile.TemporaryDirectory(prefix="spindle-", dir=folder) as made,
                served(agent, Path(made), kind, rate * 1e6) as disk,
            ):
                for figure, value, expected in measured(disk, rate * 1e6, seconds):
                    scale = 1e6 if expected >= 1e6 else 1.0
                    beside = f"{expected / scale:10.1f} {value / expected:6.3f}" if expected else ""
                    click.echo(f"{kind:4} {rate:6.0f}  {figure:28} {value / scale:10.2f} {beside}")


if __name__ == "__main__":
    main()
