"""A host at the far end of a link, however that was opened."""

from __future__ import annotations

import fnmatch
import io
import json
import math
import os
import re
import signal
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property, partial
from pathlib import Path
from typing import Any, TypeVar

from venturi.core.errors import VenturiError
from venturi.measure.hosts.far_end import FarEnd
from venturi.measure.hosts.host import FileInfo, Files, Process, Supervised, lines_of
from venturi.measure.hosts.link import (
    HELLO_S,
    PIECE_BYTES,
    SILENCE_S,
    WINDOW_BYTES,
    AgentLink,
    Channel,
    name_of,
    text_of,
)
from venturi.measure.hosts.local import HERE
from venturi.measure.hosts.owned_folders import COPY_PREFIX, temporary
from venturi.record.store.files import replacing

BUFFER_BYTES = 1 << 20
"""Bytes per request of an open file: each request costs a round trip."""
_PIECES_AHEAD = WINDOW_BYTES // BUFFER_BYTES
CLEAN_UP_S = 30.0
T = TypeVar("T")


@contextmanager
def connected(
    command: Sequence[str | Path],
    name: str,
    *,
    hello_s: float = HELLO_S,
    silence_s: float = SILENCE_S,
) -> Iterator[RemoteHost]:
    """Yield the host of the agent that `command` starts (it ends in `AGENT host`), until the block
    is left; `name` is its display name. VEN-HOST-START, -TIMEOUT, -VERSION.
    """
    with linked(FarEnd(command, name), name, hello_s=hello_s, silence_s=silence_s) as host:
        yield host


@contextmanager
def linked(
    far: FarEnd, name: str, *, hello_s: float = HELLO_S, silence_s: float = SILENCE_S
) -> Iterator[RemoteHost]:
    """Yield the host of the agent at the `far` end, which ends with the block."""
    try:
        link = AgentLink(far, name, hello_s=hello_s, silence_s=silence_s)
        try:
            yield RemoteHost(link)
        finally:
            link.close()
    finally:
        far.close()


class RemoteFiles(Files):
    """Its files."""

    def __init__(self, link: AgentLink) -> None:
        self._link = link

    def mkdir(
        self, folder: Path, *, mode: int = 0o777, parents: bool = False, exist_ok: bool = False
    ) -> None:
        self._ask("mkdir", folder, mode=mode, parents=parents, exist_ok=exist_ok)

    def remove(self, path: Path) -> None:
        self._ask("remove", path)

    def rmdir(self, folder: Path) -> None:
        self._ask("rmdir", folder)

    def rename(self, path: Path, to: Path) -> None:
        self._ask("rename", path, to=text_of(to))

    def symlink(self, path: Path, to: Path) -> None:
        self._ask("symlink", path, to=text_of(to))

    def stat(self, path: Path) -> FileInfo:
        return self._told(partial(_info, path), "stat", path)

    def resolve(self, path: Path) -> Path:
        return self._told(_path, "resolve", path)

    def entries(self, folder: Path) -> tuple[FileInfo, ...]:
        return self._listed("entries", folder)

    def find(self, folder: Path, pattern: str) -> tuple[FileInfo, ...]:
        parts = Path(pattern).parts
        anywhere = "**" in parts
        depth = None if anywhere else len(parts)
        found = self._listed("walk", folder, depth=depth, follow=not anywhere)
        names = [re.compile(fnmatch.translate(part)).match for part in parts]
        below = len(folder.parts)
        return tuple(each for each in found if _fits(each.path.parts[below:], parts, names))

    def read(self, path: Path, *, last_bytes: int | None = None) -> bytes:
        return self._whole("read", path, last_bytes=last_bytes)

    def write(self, path: Path, data: bytes | str, *, durable: bool = False) -> None:
        data = data.encode() if isinstance(data, str) else data
        with self._link.calling("write", path=text_of(path), durable=durable) as channel:
            if channel.send(data):
                channel.end()
            channel.answer()

    def open(self, path: Path) -> io.BufferedReader:
        handle = self._told(int, "open", path)
        return io.BufferedReader(_RemoteReader(self._link, handle), BUFFER_BYTES)

    def create(self, path: Path) -> io.BufferedWriter:
        handle = self._told(int, "create", path)
        return io.BufferedWriter(_RemoteWriter(self._link, handle), BUFFER_BYTES)

    def sync(self, path: Path) -> None:
        self._ask("sync", path)

    def put(self, local: Path, path: Path) -> None:
        with (
            local.open("rb") as file,
            self._link.calling("write", path=text_of(path), durable=False) as channel,
        ):
            while (piece := file.read(PIECE_BYTES)) and channel.send(piece):
                pass
            channel.end()
            channel.answer()

    def get(self, path: Path, local: Path) -> None:
        with (
            self._link.calling("read", path=text_of(path), last_bytes=None) as channel,
            replacing(local, durable=False) as file,
        ):
            for piece in iter(channel.receive, b""):
                file.write(piece)
            channel.answer()

    @contextmanager
    def here(self, *paths: Path) -> Iterator[tuple[Path, ...]]:
        with temporary(HERE, COPY_PREFIX) as folder:
            copies = []
            for number, path in enumerate(paths):
                copies.append(folder / str(number) / path.name)
                copies[-1].parent.mkdir()
                self.get(path, copies[-1])
            yield tuple(copies)

    def free_bytes(self, path: Path) -> int:
        return self._told(int, "free_bytes", path)

    def require_writable(self, folder: Path) -> None:
        self._ask("require_writable", folder)

    @property
    def temporaries(self) -> Path:
        return Path(name_of(self._link.hello["temporaries"]))

    @contextmanager
    def temporary(self, prefix: str) -> Iterator[Path]:
        folder = self._link.told(_path, "temporary", prefix=prefix)
        try:
            yield folder
        finally:
            _unless_lost(lambda: self.remove(folder))  # else the far end does it

    def _ask(self, call: str, path: Path, **more: Any) -> None:
        self._link.ask(call, path=text_of(path), **more)

    def _told(self, shape: Callable[[Any], T], call: str, path: Path) -> T:
        return self._link.told(shape, call, path=text_of(path))

    def _listed(self, call: str, folder: Path, **more: Any) -> tuple[FileInfo, ...]:
        said = self._whole(call, folder, **more)
        return self._link.fitting(lambda said: _infos(folder, json.loads(said)), call, said)

    def _whole(self, call: str, path: Path, **more: Any) -> bytes:
        with self._link.calling(call, path=text_of(path), **more) as channel:
            data = b"".join(iter(channel.receive, b""))
            channel.answer()
            return data


class RemoteProcess:
    """A process there, in its own process group."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._stdout = io.BufferedReader(_RemoteOutput(channel))

    def lines(self) -> Iterator[bytes]:
        return lines_of(self._stdout)

    def wait(self) -> int:
        return self._status(discarding=False)

    def terminate(self) -> None:
        self._channel.note("terminate")

    def stop(self, grace_s: float) -> int:
        self._channel.note({"stop": grace_s})
        try:
            # It may still be writing: read on, or it would wait for ever.
            return self._status(discarding=True)
        except KeyboardInterrupt:
            self._channel.note({"stop": 0.0})
            return self._status(discarding=True)
        except VenturiError:  # the link is lost: the far end ends it
            return -signal.SIGKILL

    def stderr_tail(self) -> list[str]:
        if not self._channel.has_noted("stderr"):
            return []
        return list(self._channel.noted("stderr"))

    def _status(self, *, discarding: bool) -> int:
        status = self._channel.noted("ended", discarding=discarding)
        if status is None:
            self._channel.answer()  # raises the reason for the missing status
        self._channel.cancel()
        return int(status)


class RemoteSupervised:
    """A command there, under its own supervisor."""

    def __init__(self, link: AgentLink, channel: Channel) -> None:
        self._link = link
        self._channel = channel
        ends, held = os.pipe()
        self._end, self._held = io.FileIO(ends), io.FileIO(held, "wb")
        channel.at_end(self._held.close)

    def fileno(self) -> int:
        return self._end.fileno()

    @property
    def ended(self) -> bool:
        return self._channel.ended

    @property
    def reaped(self) -> bool:
        return self._end.closed

    @cached_property
    def report(self) -> Mapping[str, Any]:
        return self._link.fitting(_report, "supervise", self._channel.answer())

    def release(self) -> None:
        self._channel.note("release")

    def reap(self) -> None:
        try:
            self._channel.answer(CLEAN_UP_S)
        except TimeoutError:
            self._channel.note({"stop": 0.0})
            _unless_lost(self._channel.answer)
        except VenturiError:  # the link is lost: the far end ends it
            pass
        finally:
            self._end.close()


class RemoteHost:
    """A machine at the far end of a link."""

    def __init__(self, link: AgentLink) -> None:
        self._link = link
        self._files = RemoteFiles(link)

    @property
    def name(self) -> str:
        return str(self._link.hello["name"])

    @property
    def user(self) -> str:
        return str(self._link.hello["user"])

    @property
    def cores(self) -> int:
        return int(self._link.hello["cores"])

    @property
    def agent(self) -> str | None:
        return name_of(self._link.hello["agent"])

    @property
    def files(self) -> Files:
        return self._files

    def which(self, program: str, path: str | None = None) -> str | None:
        looked = None if path is None else text_of(path)
        return self._link.told(_or_none(name_of), "which", program=text_of(program), path=looked)

    def unix_time_s(self) -> float:
        return self._link.told(_finite, "unix_time")

    def address_towards(self, server: str, port: int, timeout_s: float) -> str | None:
        if port not in range(1 << 16):
            return None
        return self._link.told(
            _or_none(str), "address_towards", server=server, port=port, timeout_s=timeout_s
        )

    @contextmanager
    def lock(self, about: str) -> Iterator[str | None]:
        holder, handle = self._link.told(_taken, "lock", about=about)
        if handle is None:
            yield holder
            return
        try:
            yield None
        finally:
            _unless_lost(lambda: self._link.ask("close", handle=handle))

    def start(
        self,
        argv: Sequence[str | Path],
        *,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> Process:
        channel = self._link.call("start", **_command(argv, cwd, env or {}))
        try:
            if channel.noted("started") is None:
                channel.answer()
        except OSError as error:
            raise VenturiError(
                "VEN-AGENT-MISSING",
                f"{argv[0]} cannot be started: {error.strerror}",
                where={"path": str(argv[0])},
                hint="the path is on that host: check that it exists and is executable",
            ) from error
        return RemoteProcess(channel)

    def supervise(
        self, command: Sequence[str | Path], *, log: Path, cwd: Path, env: Mapping[str, str]
    ) -> Supervised:
        given = _command(command, cwd, env)
        channel = self._link.call("supervise", log=text_of(log), **given)
        if channel.noted("started") is None:
            channel.answer()
        return RemoteSupervised(self._link, channel)


class _RemoteReader(io.RawIOBase):
    """A file of that host, opened to read.

    Sequential reads request the next WINDOW_BYTES ahead; otherwise each piece would wait for the
    previous one and for its own request.
    """

    def __init__(self, link: AgentLink, handle: int) -> None:
        self._link = link
        self._handle = handle
        self._position = 0
        self._in_order = False
        self._asked: deque[Channel] = deque()
        """Requests of BUFFER_BYTES each, from `position` plus the bytes left."""
        self._left = memoryview(b"")

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        into = memoryview(buffer).cast("B")
        if not self._left:
            self._left = memoryview(self._following())
        count = min(len(self._left), len(into))
        into[:count] = self._left[:count]
        self._left = self._left[count:]
        self._position += count
        return count

    def _following(self) -> bytes:
        """The piece at the position; nothing at the end."""
        while len(self._asked) < (_PIECES_AHEAD if self._in_order else 1):
            offset = self._position + len(self._asked) * BUFFER_BYTES
            self._asked.append(
                self._link.call("read_at", handle=self._handle, offset=offset, bytes=BUFFER_BYTES)
            )
        data = b""
        try:
            data = b"".join(iter(self._asked[0].receive, b""))
            self._asked[0].answer()
        finally:
            self._asked.popleft().cancel()
            if len(data) == BUFFER_BYTES:
                self._in_order = True
            else:  # the requests after it no longer follow
                self._forget()
        return data

    def _forget(self) -> None:
        while self._asked:
            self._asked.popleft().cancel()
        self._left = memoryview(b"")
        self._in_order = False

    def readall(self) -> bytes:
        return b"".join(iter(lambda: self.read(BUFFER_BYTES) or b"", b""))

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        if whence == os.SEEK_CUR:
            offset += self._position
        elif whence == os.SEEK_END:
            offset += self._link.told(int, "length", handle=self._handle)
        if offset < 0:
            raise ValueError(f"negative seek position {offset}")
        if offset != self._position:
            self._forget()
            self._position = offset
        return offset

    def tell(self) -> int:
        return self._position

    def close(self) -> None:
        self._forget()
        _close(self, self._link, self._handle)
        super().close()


class _RemoteWriter(io.RawIOBase):
    """A file on that host, opened to write; data have arrived there when a call returns."""

    def __init__(self, link: AgentLink, handle: int) -> None:
        self._link = link
        self._handle = handle
        self._position = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        with self._link.calling("append", handle=self._handle) as channel:
            if channel.send(bytes(data)):
                channel.end()
            count = self._link.fitting(int, "append", channel.answer())
        self._position += count
        return count

    def tell(self) -> int:
        return self._position

    def close(self) -> None:
        _close(self, self._link, self._handle)
        super().close()


class _RemoteOutput(io.RawIOBase):
    """The standard output of a process there."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._left = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._left:
            self._left = memoryview(self._channel.receive())
        count = min(len(self._left), len(buffer))
        buffer[:count] = self._left[:count]
        self._left = self._left[count:]
        return count


def _close(file: io.RawIOBase, link: AgentLink, handle: int) -> None:
    if not file.closed:
        link.call("close", handle=handle)  # don't wait for the answer


def _unless_lost(act: Callable[[], object]) -> None:
    try:
        act()
    except VenturiError as error:
        if error.code != "VEN-HOST-LOST":
            raise


def _command(
    argv: Sequence[str | Path], cwd: Path | None, env: Mapping[str, str]
) -> dict[str, Any]:
    return {
        "argv": [text_of(each) for each in argv],
        "cwd": None if cwd is None else text_of(cwd),
        "env": [(text_of(name), text_of(value)) for name, value in env.items()],
    }


def _path(told: str) -> Path:
    return Path(name_of(told))


def _or_none(shape: Callable[[Any], T]) -> Callable[[Any], T | None]:
    return lambda told: None if told is None else shape(told)


def _finite(told: Any) -> float:
    found = float(told)
    if not math.isfinite(found):
        raise ValueError(told)
    return found


def _taken(told: Mapping[str, Any]) -> tuple[str, int | None]:
    """Return the holder of a lock, or else our handle of it."""
    return (str(told["holder"]), None) if "holder" in told else ("", int(told["handle"]))


def _report(told: Mapping[str, Any]) -> Mapping[str, Any]:
    return {**told, "status": int(told["status"])}


def _info(path: Path, told: Mapping[str, Any]) -> FileInfo:
    size, modified_ns, device = (int(told[name]) for name in ("bytes", "modified_ns", "device"))
    return FileInfo(path, told["kind"], size, modified_ns, device)


def _infos(folder: Path, told: Sequence[Mapping[str, Any]]) -> tuple[FileInfo, ...]:
    found = (_info(folder / name_of(each["name"]), each) for each in told)
    return tuple(sorted(found, key=lambda info: info.path))


def _fits(
    path: Sequence[str], parts: Sequence[str], names: Sequence[Callable[[str], object]]
) -> bool:
    """Whether the names of `path` are like `parts`, as Path.glob has it."""
    if not parts:
        return not path
    if parts[0] == "**":
        return any(_fits(path[skipped:], parts[1:], names[1:]) for skipped in range(len(path) + 1))
    return bool(path and names[0](path[0])) and _fits(path[1:], parts[1:], names[1:])
