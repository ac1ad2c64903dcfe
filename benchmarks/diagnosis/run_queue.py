"""Time that threads with Spark's tasks waited for a core, by the kernel's own account."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread
from types import TracebackType
from typing import Self

_EVERY_S = 0.5
_PROC = Path("/proc")
_OF_TASKS = "Executor task l"  # "... launch worker for task ...", as much of it as the kernel keeps


class RunQueue:
    """Watches the threads of the JVMs that this process has started, while it is open.

    `waited_s` is the time in which they were ready to run and did not: the second figure of
    `schedstat` (Documentation/scheduler/sched-stats.rst), up to the last look. None if the kernel
    reports no threads.
    """

    def __init__(self) -> None:
        self._ns: dict[Path, int] = {}
        self._over = Event()
        self._thread = Thread(target=self._watch)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        self._thread.join()

    @property
    def waited_s(self) -> float | None:
        """All of it so far."""
        return sum(self._ns.values()) / 1e9 if self._ns else None

    def _watch(self) -> None:
        while not self._over.wait(_EVERY_S):
            for process in _jvms():
                for thread in _listed(process / "task"):
                    with suppress(OSError):  # it has ended
                        if _text(thread / "comm").startswith(_OF_TASKS):
                            self._ns[thread] = int(_text(thread / "schedstat").split()[1])


def _jvms() -> Iterator[Path]:
    """Yield the processes below this one with the name java."""
    for process in _listed(_PROC):
        with suppress(OSError):
            if _text(process / "comm") == "java\n" and _is_ours(process):
                yield process


def _is_ours(process: Path) -> bool:
    while process.name not in {"0", "1"}:
        if process.name == str(os.getpid()):
            return True
        process = _PROC / _text(process / "stat").rpartition(")")[2].split()[1]
    return False


def _listed(folder: Path) -> list[Path]:
    with suppress(OSError):
        return [each for each in folder.iterdir() if each.name.isdigit()]
    return []


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="replace")
