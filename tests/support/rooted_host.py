"""A host with other paths than this machine's: its folder ELSEWHERE is a folder here.

Code that bypasses the host finds no such folder on this machine.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from venturi.measure.hosts.host import FileInfo, Supervised
from venturi.measure.hosts.local import LocalHost, LocalProcess

ELSEWHERE = Path("/venturi-elsewhere")


class RootedHost(LocalHost):
    """This machine, but for ELSEWHERE, which lies in `root`."""

    def __init__(self, root: Path) -> None:
        self._root = root

    @property
    def files(self) -> Any:
        return _Files(self)

    def real(self, text: str) -> str:
        """`text` with this machine's paths."""
        return text.replace(str(ELSEWHERE), str(self._root))

    def there(self, text: str) -> str:
        """`text` with the host's paths."""
        return text.replace(str(self._root), str(ELSEWHERE))

    def start(
        self,
        argv: Sequence[str | Path],
        *,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> LocalProcess:
        assert cwd is None
        assert env is None
        return _Process(self, [self.real(str(each)) for each in argv])

    def supervise(
        self, command: Sequence[str | Path], *, log: Path, cwd: Path, env: Mapping[str, str]
    ) -> Supervised:
        return super().supervise(
            [self.real(str(each)) for each in command],
            log=Path(self.real(str(log))),
            cwd=Path(self.real(str(cwd))),
            env={name: self.real(value) for name, value in env.items()},
        )


class _Process(LocalProcess):
    def __init__(self, host: RootedHost, argv: Sequence[str | Path]) -> None:
        super().__init__(argv, None, None)
        self._host = host

    def lines(self) -> Iterator[bytes]:
        return (os.fsencode(self._host.there(os.fsdecode(line))) for line in super().lines())


class _Files:
    """Uses this machine's files: translates paths in arguments and in answers."""

    def __init__(self, host: RootedHost) -> None:
        self._host = host

    @contextmanager
    def here(self, *paths: Path) -> Iterator[tuple[Path, ...]]:
        yield tuple(map(self._real, paths))

    def put(self, local: Path, path: Path) -> None:
        LocalHost().files.put(local, self._real(path))

    def get(self, path: Path, local: Path) -> None:
        LocalHost().files.get(self._real(path), local)

    def __getattr__(self, name: str) -> Any:
        asked = getattr(LocalHost().files, name)
        if not callable(asked):
            return asked
        return lambda *given, **more: self._there(asked(*map(self._real, given), **more))

    def _real(self, value: Any) -> Any:
        return Path(self._host.real(str(value))) if isinstance(value, Path) else value

    def _there(self, value: Any) -> Any:
        match value:
            case Path():
                return Path(self._host.there(str(value)))
            case FileInfo():
                return replace(value, path=self._there(value.path))
            case tuple():
                return tuple(map(self._there, value))
        return value
