"""One memory limit for every contender, enforced by the kernel if possible.

cgroup v1, as root: each timed process gets a fresh memory group under the group we run in. Its own
memory and the page cache that its reads and writes fill are both charged to it. Under pressure the
kernel drops the cache, but not the process's own memory: a process that still exceeds the limit is
killed and reported. Elsewhere (cgroup v2, or not root) the limit is the tool's own setting.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

_REMOVE_TRIES = 50
_PREFIX = "venturi-bench-"


@dataclass(frozen=True, slots=True)
class MemoryGroup:
    """A cgroup v1 memory group with a limit; exists inside `memory_group` only."""

    path: Path
    limit_bytes: int

    @property
    def enter(self) -> tuple[str, ...]:
        """A command prefix: joins the group, then becomes the command (same process id)."""
        script = 'echo $$ > "$0/cgroup.procs" && exec "$@"'
        return ("/bin/sh", "-c", script, str(self.path))

    def oom_kills(self) -> int:
        """Return the number of the group's processes that the kernel has killed for memory."""
        text = (self.path / "memory.oom_control").read_text()
        counts = dict(line.split() for line in text.splitlines())
        return int(counts.get("oom_kill", 0))

    def peak_bytes(self) -> int:
        """Return the peak charge: anonymous memory and page cache together."""
        return int((self.path / "memory.max_usage_in_bytes").read_text())


def own_memory_group(cgroup_text: str, root: Path = Path("/sys/fs/cgroup/memory")) -> Path | None:
    """The v1 memory group named in `cgroup_text` (/proc/self/cgroup); None without a v1 one."""
    for line in cgroup_text.splitlines():
        _, controllers, path = line.split(":", 2)
        if "memory" in controllers.split(","):
            return root / path.lstrip("/")
    return None


def why_not_enforced() -> str | None:
    """None when `memory_group` works here, otherwise the reason."""
    if os.geteuid() != 0:
        return "not root: each tool's own memory setting is the limit"
    own = own_memory_group(Path("/proc/self/cgroup").read_text())
    if own is None or not os.access(own, os.W_OK):
        return "no cgroup v1 memory controller: each tool's own memory setting is the limit"
    return None


@contextmanager
def memory_group(limit_bytes: int) -> Iterator[MemoryGroup]:
    """A fresh group with `limit_bytes`, swap included; removed at the end."""
    own = own_memory_group(Path("/proc/self/cgroup").read_text())
    assert own is not None, "ask why_not_enforced first"
    for old in own.glob(f"{_PREFIX}*"):
        if not Path("/proc", old.name.removeprefix(_PREFIX)).exists():
            with suppress(OSError):  # its contender outlived the benchmark that was killed
                old.rmdir()
    path = own / f"{_PREFIX}{os.getpid()}"
    path.mkdir()
    try:
        (path / "memory.limit_in_bytes").write_text(str(limit_bytes))
        # Absent when the kernel does not account swap; without swap it limits nothing more.
        with suppress(OSError):
            (path / "memory.memsw.limit_in_bytes").write_text(str(limit_bytes))
        yield MemoryGroup(path, limit_bytes)
    finally:
        _remove(path)


def _remove(path: Path) -> None:
    # A process that has just exited may still be counted briefly.
    for _ in range(_REMOVE_TRIES):
        try:
            path.rmdir()
            return
        except OSError:
            time.sleep(0.02)
    path.rmdir()
