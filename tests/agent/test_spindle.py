"""`venturi-agent spindle`: disks that are as slow as real ones, on a real mount."""

from __future__ import annotations

import json
import mmap
import os
import random
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(os.geteuid() != 0, reason="mounts a file system, which needs root"),
    pytest.mark.skipif(not Path("/dev/fuse").exists(), reason="there is no /dev/fuse"),
]

MIB = 1 << 20
SIZE = 64 * MIB
HANG_S = 60.0
FAST = {"kind": "ssd", "rate_bytes_per_s": 2e9, "iops": 200_000, "channels": 16}
HDD = {"kind": "hdd", "rate_bytes_per_s": 1e8, "seek_average_ms": 2, "revolution_ms": 2}


def mounts(folder: Path) -> int:
    """Mounts on the folder."""
    lines = Path("/proc/self/mounts").read_text("utf-8").splitlines()
    return sum(line.split()[1] == str(folder) for line in lines)


def fill(file: int, places: range) -> None:
    """Writes a step of `places` at each of them."""
    for place in places:
        os.pwrite(file, b"x" * places.step, place)


class Spindle:
    """Disks of a test, served; unmounted at its end whatever happens."""

    def __init__(self, agent: Any, folder: Path) -> None:
        self._agent = agent
        self.mount = folder / "disks"
        self.mount.mkdir()
        self.folder = folder
        self.process: subprocess.Popen[bytes] | None = None
        self.ready: dict[str, Any] = {}

    def disk(self, name: str, **changes: Any) -> dict[str, Any]:
        image = str(self.folder / f"{name}.img")
        return {"name": name, "image": image, "size_bytes": SIZE, "mechanism": FAST} | changes

    def arguments(self, *disks: dict[str, Any]) -> list[object]:
        options = [part for disk in disks for part in ("--disk", json.dumps(disk))]
        return ["spindle", "--mount", self.mount, *options]

    def serve(self, *disks: dict[str, Any]) -> Path:
        """Start it; return the folder once the disks are mounted."""
        self.process = self._agent.start(*self.arguments(*disks))
        assert self.process.stdout is not None
        for line in self.process.stdout:
            event = json.loads(line)
            if event["event"] == "ready":
                self.ready = event
                return self.mount
            assert event["event"] == "started", event
        raise AssertionError(self.process.stderr and self.process.stderr.read())

    def stats(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.mount / f"{name}.stats").read_text("ascii"))
        return found

    def end(self, number: int = signal.SIGTERM) -> dict[str, Any]:
        """Ends it by a signal; its last event and exit status."""
        assert self.process is not None
        self.process.send_signal(number)
        ended = self._agent.end(self.process, time.monotonic())
        assert mounts(self.mount) == 0
        return {"status": ended.status, "events": ended.events, "stderr": ended.stderr}

    def clean_up(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.communicate()
        for _ in range(mounts(self.mount)):
            subprocess.run(["umount", "--lazy", self.mount], check=True)


@pytest.fixture
def spindle(agent: Any, tmp_path: Path) -> Iterator[Spindle]:
    """Disks of this test."""
    made = Spindle(agent, tmp_path)
    yield made
    made.clean_up()


def test_a_disk_holds_what_was_written(spindle: Spindle) -> None:
    folder = spindle.serve(spindle.disk("d1"), spindle.disk("d2", mechanism=HDD))
    assert sorted(path.name for path in folder.iterdir()) == ["d1", "d1.stats", "d2", "d2.stats"]
    for disk in ("d1", "d2"):
        content = random.Random(disk).randbytes(3 * MIB)
        with (folder / disk).open("r+b", buffering=0) as file:
            assert file.seek(0, os.SEEK_END) == SIZE
            file.seek(5000)
            assert file.write(content) == len(content)
            os.fsync(file.fileno())
            assert os.pread(file.fileno(), len(content), 5000) == content
            assert os.pread(file.fileno(), 100, SIZE - 40) == bytes(40)
            assert os.pread(file.fileno(), 100, SIZE) == b""
        stats = spindle.stats(disk)
        assert stats["written_bytes"] == len(content)
        assert stats["read_bytes"] == len(content) + 40
        assert (stats["flushes"], stats["failed"], stats["queued"]) == (1, 0, 0)
    ended = spindle.end()
    assert ended["status"] == 0
    result = ended["events"][-1]["data"]
    assert [disk["name"] for disk in result["disks"]] == ["d1", "d2"]
    assert result["disks"][0]["written_bytes"] == 3 * MIB
    # The image has it, and serves it again.
    folder = spindle.serve(spindle.disk("d1"))
    content = random.Random("d1").randbytes(3 * MIB)
    assert (folder / "d1").read_bytes()[5000 : 5000 + 3 * MIB] == content


@pytest.mark.parametrize(
    "mechanism", [FAST, {**HDD, "seek_average_ms": 0.01, "revolution_ms": 0.1}]
)
def test_senders_at_once_find_what_a_plain_file_would_hold(
    spindle: Spindle, tmp_path: Path, mechanism: dict[str, Any]
) -> None:
    folder = spindle.serve(spindle.disk("d1", mechanism=mechanism))
    plain = tmp_path / "plain"
    plain.write_bytes(bytes(SIZE))
    # Each sender has blocks of its own between those of the others, so that order does not matter.
    senders, block = 6, 4096
    wrong: list[str] = []

    def send(sender: int) -> None:
        draw = random.Random(sender)
        with (
            (folder / "d1").open("r+b", buffering=0) as disk,
            plain.open("r+b", buffering=0) as file,
        ):
            for _ in range(250):
                place = draw.randrange(SIZE // block // senders) * senders + sender
                at, length = place * block + draw.randrange(64), draw.randrange(1, block - 64)
                if draw.random() < 0.5:
                    data = draw.randbytes(length)
                    for to in (disk, file):
                        assert os.pwrite(to.fileno(), data, at) == length
                elif os.pread(disk.fileno(), length, at) != os.pread(file.fileno(), length, at):
                    wrong.append(f"{length} bytes at {at}")

    threads = [threading.Thread(target=send, args=(sender,)) for sender in range(senders)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(HANG_S)
    assert not wrong
    assert (folder / "d1").read_bytes() == plain.read_bytes()
    assert spindle.stats("d1")["failed"] == 0


def test_a_disk_takes_the_time_that_it_says(spindle: Spindle) -> None:
    folder = spindle.serve(spindle.disk("d1", mechanism=HDD))
    buffer = mmap.mmap(-1, MIB)
    with os.fdopen(os.open(folder / "d1", os.O_RDWR | os.O_DIRECT), "r+b", 0) as disk:
        began = time.monotonic()
        for place in range(20):
            os.pwritev(disk.fileno(), [buffer], place * MIB)
        elapsed = time.monotonic() - began
        # Never early; how late is a matter of the machine.
        assert elapsed >= 20 * MIB / 1e8 * 0.99
        before = spindle.stats("d1")
        assert before["busy_s"] == pytest.approx(20 * MIB / 1e8, rel=0.01)
        assert before["seeks"] == 0
        for place in (7, 60, 1, 33):
            os.preadv(disk.fileno(), [buffer], place * MIB)
        after = spindle.stats("d1")
        assert after["seeks"] == 4
        assert after["busy_s"] - before["busy_s"] > 4 * MIB / 1e8
    predicted = spindle.ready["disks"][0]["predicted"]
    assert predicted["sequential_bytes_per_s"] == 1e8
    assert predicted["random_4_kib_iops"]["1"] == pytest.approx(1 / 0.003, rel=0.1)


def test_a_file_system_on_a_loop_device_gives_space_back(spindle: Spindle, tmp_path: Path) -> None:
    missing = [tool for tool in ("losetup", "mkfs.ext4", "fstrim") if shutil.which(tool) is None]
    if missing:
        pytest.skip(f"{missing[0]} is not installed")
    folder = spindle.serve(spindle.disk("d1"))
    inner = tmp_path / "inner"
    inner.mkdir()
    run = subprocess.run(
        ["losetup", "--find", "--show", "--direct-io=on", folder / "d1"],
        capture_output=True,
        text=True,
        check=False,
    )
    if run.returncode:
        pytest.skip(f"no loop device: {run.stderr.strip()}")
    loop = run.stdout.strip()
    try:
        subprocess.run(["mkfs.ext4", "-q", "-F", loop], check=True)
        subprocess.run(["mount", loop, inner], check=True)
        try:
            (inner / "data").write_bytes(os.urandom(20 * MIB))
            os.sync()
            full = spindle.stats("d1")
            assert full["allocated_bytes"] >= 20 * MIB
            assert full["flushes"] > 0
            (inner / "data").unlink()
            os.sync()
            subprocess.run(["fstrim", inner], check=True, capture_output=True)
            assert spindle.stats("d1")["allocated_bytes"] < 10 * MIB
        finally:
            subprocess.run(["umount", inner], check=True)
    finally:
        subprocess.run(["losetup", "--detach", loop], check=True)
    assert spindle.end()["status"] == 0


def test_a_full_file_system_below_is_an_error_of_the_disk(spindle: Spindle, tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", small], check=True)
    try:
        folder = spindle.serve(spindle.disk("d1", image=str(small / "d1.img")))
        with (folder / "d1").open("r+b", buffering=0) as disk:
            os.pwrite(disk.fileno(), b"x" * MIB, 0)
            with pytest.raises(OSError, match="Input/output error"):
                fill(disk.fileno(), range(MIB, 16 * MIB, MIB))
            assert os.pread(disk.fileno(), MIB, 0) == b"x" * MIB
        assert spindle.stats("d1")["failed"] > 0
        assert spindle.end()["status"] == 0
    finally:
        spindle.clean_up()
        subprocess.run(["umount", small], check=True)


def test_an_image_that_is_cut_meanwhile_fails(spindle: Spindle) -> None:
    disk = spindle.disk("d1")
    folder = spindle.serve(disk)
    os.truncate(disk["image"], MIB)
    with (folder / "d1").open("r+b", buffering=0) as file:
        for access in (
            lambda: os.pread(file.fileno(), 4096, 2 * MIB),
            lambda: os.pwrite(file.fileno(), bytes(4096), 2 * MIB),
        ):
            with pytest.raises(OSError, match="Input/output error"):
                access()
    assert spindle.stats("d1")["failed"] == 2


def test_a_disk_keeps_its_size(spindle: Spindle) -> None:
    folder = spindle.serve(spindle.disk("d1"))
    with pytest.raises(PermissionError):
        os.truncate(folder / "d1", MIB)
    with pytest.raises(OSError, match="No space"), (folder / "d1").open("r+b", buffering=0) as file:
        os.pwrite(file.fileno(), bytes(4096), SIZE - 1000)
    with pytest.raises(OSError, match=r"."):
        (folder / "other").write_bytes(b"")
    with pytest.raises(PermissionError):
        (folder / "d1.stats").open("r+b")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_who_uses_a_disk_that_ends_gets_errors_and_no_hang(spindle: Spindle, number: int) -> None:
    slow = {**HDD, "rate_bytes_per_s": 1000, "seek_average_ms": 1000}
    folder = spindle.serve(spindle.disk("d1", mechanism=slow))
    failures: list[int | None] = []

    def read() -> None:
        try:
            (folder / "d1").read_bytes()
        except OSError as error:
            failures.append(error.errno)

    reader = threading.Thread(target=read)
    reader.start()
    while spindle.stats("d1")["queued"] == 0:
        assert reader.is_alive()
        time.sleep(0.01)
    if number == signal.SIGTERM:
        ended = spindle.end()
        assert ended["status"] == 0
        assert ended["events"][-2]["code"] == "VEN-SPINDLE-BUSY"
    else:
        assert spindle.process is not None
        spindle.process.kill()
        spindle.process.communicate(timeout=HANG_S)
    reader.join(HANG_S)
    assert failures, "the reader hangs"
    if number == signal.SIGKILL:
        with pytest.raises(OSError, match="not connected"):
            (folder / "d1").read_bytes()
        subprocess.run(["umount", "--lazy", folder], check=True)
    # Nothing of the dead one is in the way of the next.
    spindle.serve(spindle.disk("d1"))


def test_unmounting_it_ends_it(spindle: Spindle) -> None:
    folder = spindle.serve(spindle.disk("d1"))
    subprocess.run(["umount", folder], check=True)
    assert spindle.process is not None
    spindle.process.communicate(timeout=HANG_S)
    assert spindle.process.returncode == 0


def test_what_cannot_be_served_is_refused(spindle: Spindle, agent: Any, tmp_path: Path) -> None:
    disk = spindle.disk
    zero = disk("d1", mechanism={**HDD, "rate_bytes_per_s": 0})
    refused = agent.run(*spindle.arguments(zero)).refused("VEN-SPINDLE-SETTING")
    assert refused["where"] == {"disk": "d1", "field": "rate_bytes_per_s", "value": "0"}
    assert "above 0" in refused["message"]
    shared = disk("d2", image=disk("d1")["image"])
    for code, disks in {
        "VEN-SPINDLE-IMAGE-SHARED": [disk("d1"), shared],
        "VEN-SPINDLE-NAME": [disk("d1"), disk("d1")],
        "VEN-SPINDLE-SPEC": [disk("d1", colour="blue")],
        "VEN-SPINDLE-IMAGE": [disk("d1", image=str(tmp_path / "none" / "d1.img"))],
        "VEN-SPINDLE-IMAGE-SIZE": [disk("d1"), disk("d2", image=__file__)],
    }.items():
        assert agent.run(*spindle.arguments(*disks)).refused(code)["hint"]
    elsewhere = ["spindle", "--mount", tmp_path / "none", "--disk", json.dumps(disk("d3"))]
    agent.run(*elsewhere).refused("VEN-SPINDLE-MOUNT")
    # Another process serves the image.
    spindle.serve(disk("d1"))
    other = tmp_path / "other"
    other.mkdir()
    again = ["spindle", "--mount", other, "--disk", json.dumps(disk("d1"))]
    agent.run(*again).refused("VEN-SPINDLE-IMAGE-SHARED")
    assert mounts(other) == 0
