"""Files as Python workers see them: on disks that all hosts see, or in HDFS.

The standard library and Venturi's own modules only: this is sent to hosts without Venturi.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

from venturi.measure.hosts.durable import sync
from venturi.measure.hosts.hdfs import Hdfs

Write = Callable[[memoryview], None]
_STEPS = 8  # read from HDFS together: each read asks two servers


class Storage(Protocol):
    """Where a program's files are. Folders and files are named as in `task`: paths or URIs."""

    def files(self, folder: str) -> list[tuple[str, int]]:
        """Names and bytes of the files in `folder`, by name."""

    def make(self, folder: str) -> None:
        """Make a folder."""

    def read(self, file: str, first: int, last: int, step: int) -> Iterator[bytes]:
        """Bytes `first` to `last` of `file`, `step` at a time."""

    def written(self, file: str, temporary: str) -> Any:
        """Return a context with a function that writes the bytes of a new file. Once the context is
        left, the file is complete and durable under its name; until then it has the `temporary`
        one.
        """

    def sync(self, folder: str) -> None:
        """Make other processes' output in `folder` durable."""


class DiskStorage:
    """Files on disk."""

    def files(self, folder: str) -> list[tuple[str, int]]:
        return [(str(path), path.stat().st_size) for path in sorted(Path(folder).iterdir())]

    def make(self, folder: str) -> None:
        Path(folder).mkdir()

    def read(self, file: str, first: int, last: int, step: int) -> Iterator[bytes]:
        with Path(file).open("rb", buffering=0) as source:
            source.seek(first)
            for at in range(first, last, step):
                yield source.read(min(step, last - at))

    @contextmanager
    def written(self, file: str, temporary: str) -> Iterator[Write]:
        with Path(temporary).open("wb", buffering=0) as target:

            def write(data: memoryview) -> None:
                while data:
                    data = data[os.write(target.fileno(), data) :]

            yield write
            os.fsync(target.fileno())
        Path(temporary).rename(file)

    def sync(self, folder: str) -> None:
        sync(Path(folder))


@dataclass(frozen=True)
class HdfsStorage:
    """Files in HDFS with DataNodes that make a file durable on close (`synconclose`)."""

    hdfs: Hdfs

    def files(self, folder: str) -> list[tuple[str, int]]:
        found = self.hdfs.files(self._path(folder))
        return [(f"{folder}/{name}", size) for name, size in found]

    def make(self, folder: str) -> None:
        self.hdfs.mkdir(self._path(folder))

    def read(self, file: str, first: int, last: int, step: int) -> Iterator[bytes]:
        for at in range(first, last, _STEPS * step):
            data = self.hdfs.read(self._path(file), at, min(_STEPS * step, last - at))
            for begin in range(0, len(data), step):
                yield data[begin : begin + step]

    @contextmanager
    def written(self, file: str, temporary: str) -> Iterator[Write]:
        with self.hdfs.create(self._path(temporary)) as target:

            def write(data: memoryview) -> None:
                target.write(data)

            yield write
        self.hdfs.remove(self._path(file))  # remains of an attempt with an unreported end
        self.hdfs.rename(self._path(temporary), self._path(file))

    def sync(self, folder: str) -> None:
        pass

    def _path(self, uri: str) -> str:
        return urlsplit(uri).path


def storage_of(task: dict[str, Any]) -> Storage:
    """Where the input and the output of `task` are."""
    if (hdfs := task["hdfs"]) is None:
        return DiskStorage()
    return HdfsStorage(Hdfs(hdfs["namenode"], hdfs["user"], hdfs["addresses"]))
