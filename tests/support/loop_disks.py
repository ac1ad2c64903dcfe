"""Disks that are image files, for tests that record what happens to them: it takes root."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

INSTANCES = Path("/sys/kernel/tracing/instances")
BLOCK_BYTES = 4096
READ_ONLY = (
    "unshare",
    "--mount",
    "sh",
    "-c",
    'mount -o remount,ro,bind /sys/kernel/tracing; umount -lq /sys/kernel/debug; exec "$@"',
    "sh",
)
"""Before a command: tracefs as many containers have it, to be read and not to be changed."""


def _reason() -> str | None:
    if os.geteuid() != 0:
        return "needs root"
    if not INSTANCES.is_dir():  # as on a machine that was just started
        mount = ["mount", "-t", "tracefs", "none", INSTANCES.parent]
        subprocess.run(mount, capture_output=True, check=False)
    if not INSTANCES.is_dir():
        return "needs tracefs: mount -t tracefs none /sys/kernel/tracing"
    if shutil.which("losetup") is None:
        return "needs losetup (Debian: mount)"
    return None


_REFUSED = _reason()
needs_recording = pytest.mark.skipif(_REFUSED is not None, reason=_REFUSED or "")
needs_perf = pytest.mark.skipif(
    shutil.which("perf") is None, reason="needs perf (Debian: linux-perf)"
)


@contextmanager
def loop_disk(image: Path, size_bytes: int) -> Iterator[Path]:
    """A loop device of an image that is made for it; skips if this machine has none."""
    with image.open("wb") as file:
        file.truncate(size_bytes)
    made = subprocess.run(
        ["losetup", "--find", "--show", image], capture_output=True, text=True, check=False
    )
    if made.returncode != 0:
        pytest.skip(f"no loop device here: {made.stderr.strip()}")
    device = Path(made.stdout.strip())
    try:
        yield device
    finally:
        subprocess.run(["losetup", "--detach", device], capture_output=True, check=False)
        image.unlink()


@contextmanager
def mounted(device: Path, folder: Path, kind: str = "ext4") -> Iterator[Path]:
    """A new ext4 or xfs on the device, mounted at `folder`, which is made; skips if nothing makes
    one."""
    package, force = {"ext4": ("e2fsprogs", "-F"), "xfs": ("xfsprogs", "-f")}[kind]
    if shutil.which(f"mkfs.{kind}") is None:
        pytest.skip(f"needs mkfs.{kind} (Debian: {package})")
    folder.mkdir()
    subprocess.run([f"mkfs.{kind}", "-q", force, device], check=True)
    subprocess.run(["mount", device, folder], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


def read_blocks(device: Path, count: int) -> None:
    """Reads the first `count` blocks of 4 KiB, each by a request of its own."""
    words = [f"if={device}", "of=/dev/null", f"bs={BLOCK_BYTES}", f"count={count}", "iflag=direct"]
    subprocess.run(["dd", *words], capture_output=True, check=True)
