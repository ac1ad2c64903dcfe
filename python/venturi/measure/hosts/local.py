"""This machine as a host."""

from __future__ import annotations

import getpass
import io
import os
import select
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Literal

from venturi.core import settings
from venturi.core.errors import MACHINE, VenturiError, refused
from venturi.measure.hosts import durable, threads
from venturi.measure.hosts.host import (
    STDERR_LINE_BYTES,
    STDERR_LINES,
    FileInfo,
    Files,
    Process,
    Supervised,
    lines_of,
)
from venturi.measure.hosts.supervised import LocalSupervised
from venturi.record.store import file_lock
from venturi.record.store.files import replacing

AGENT = "venturi-agent"


class LocalFiles(Files):
    """The files of this machine."""

    def mkdir(
        self, folder: Path, *, mode: int = 0o777, parents: bool = False, exist_ok: bool = False
    ) -> None:
        folder.mkdir(mode, parents, exist_ok)

    def remove(self, path: Path) -> None:
        if not path.is_dir() or path.is_symlink():
            with suppress(FileNotFoundError, NotADirectoryError):
                path.unlink()
            return
        shutil.rmtree(path, ignore_errors=True)
        if path.exists():
            shutil.rmtree(path)  # raises for files that can't be removed

    def rmdir(self, folder: Path) -> None:
        folder.rmdir()

    def rename(self, path: Path, to: Path) -> None:
        path.rename(to)

    def symlink(self, path: Path, to: Path) -> None:
        path.symlink_to(to)

    def stat(self, path: Path) -> FileInfo:
        return _info(path, path.stat())

    def resolve(self, path: Path) -> Path:
        return path.resolve()

    def entries(self, folder: Path) -> tuple[FileInfo, ...]:
        return _infos(folder.iterdir())

    def find(self, folder: Path, pattern: str) -> tuple[FileInfo, ...]:
        return _infos(folder.glob(pattern))

    def read(self, path: Path, *, last_bytes: int | None = None) -> bytes:
        with path.open("rb") as file:
            if last_bytes is not None:
                file.seek(max(0, os.fstat(file.fileno()).st_size - last_bytes))
            return file.read()

    def write(self, path: Path, data: bytes | str, *, durable: bool = False) -> None:
        with replacing(path, durable=durable) as file:
            file.write(data.encode() if isinstance(data, str) else data)

    def open(self, path: Path) -> io.BufferedReader:
        return path.open("rb")

    def create(self, path: Path) -> io.BufferedWriter:
        return path.open("wb")

    def sync(self, path: Path) -> None:
        durable.sync(path)

    def put(self, local: Path, path: Path) -> None:
        shutil.copyfile(local, path)

    def get(self, path: Path, local: Path) -> None:
        shutil.copyfile(path, local)

    @contextmanager
    def here(self, *paths: Path) -> Iterator[tuple[Path, ...]]:
        yield paths

    def free_bytes(self, path: Path) -> int:
        return shutil.disk_usage(path).free

    def require_writable(self, folder: Path) -> None:
        with tempfile.TemporaryFile(dir=folder):
            pass

    @property
    def temporaries(self) -> Path:
        return settings.temporary_folder(os.environ)

    @contextmanager
    def temporary(self, prefix: str) -> Iterator[Path]:
        with tempfile.TemporaryDirectory(prefix=prefix, dir=self.temporaries) as folder:
            yield Path(folder)


@contextmanager
def locked(path: Path, about: str) -> Iterator[str | None]:
    """Hold the lock in the file `path` until the block is left: see `LiveHost.lock`.

    All users of the host share the file. Links aren't followed, because all users may write to the
    folder, and only the first user creates the file.
    """
    flags = os.O_RDWR | os.O_NOFOLLOW
    try:
        file = os.open(path, flags)
    except FileNotFoundError:
        file = os.open(path, flags | os.O_CREAT, 0o666)
        os.fchmod(file, 0o666)  # whatever the umask
    try:
        yield file_lock.take(file, about)
    finally:
        os.close(file)


def ipv4_of(name: str) -> str:
    """The IPv4 address that this machine knows a host by; OSError if it knows none."""
    found = socket.getaddrinfo(name, None, socket.AF_INET, socket.SOCK_STREAM)
    return str(found[0][4][0])


HERE: Files = LocalFiles()
"""The files of the machine on which Venturi runs, whichever host it measures: those of its package,
and those that it keeps until the record has them.
"""


def _info(path: Path, found: os.stat_result) -> FileInfo:
    kind: Literal["file", "folder", "other"] = "other"
    if stat.S_ISREG(found.st_mode):
        kind = "file"
    elif stat.S_ISDIR(found.st_mode):
        kind = "folder"
    return FileInfo(path, kind, found.st_size, found.st_mtime_ns, found.st_dev)


def _infos(paths: Iterator[Path]) -> tuple[FileInfo, ...]:
    found = []
    for path in sorted(paths):
        try:
            found.append(_info(path, path.stat()))
        except OSError:  # a link that leads nowhere, or gone by now
            with suppress(FileNotFoundError):
                found.append(_info(path, path.lstat()))
    return tuple(found)


class _PolledPipe(io.RawIOBase):
    """A pipe that is polled twice a second until it has data.

    A signal that arrives just before a blocking read would be handled only after it: Ctrl-C would
    wait for the next line.
    """

    def __init__(self, pipe: IO[bytes]) -> None:
        self._pipe = pipe
        self._poll = select.poll()
        self._poll.register(pipe, select.POLLIN)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        while not self._poll.poll(500):
            pass
        count: int | None = self._pipe.readinto(buffer)  # type: ignore[attr-defined]
        return count

    def close(self) -> None:
        self._pipe.close()
        super().close()


class LocalProcess:
    """A child of this process, in its own process group.

    Ctrl-C in a terminal reaches a whole group. The child must receive it once, from us, because a
    second interrupt means "exit now, without cleaning up".
    """

    def __init__(
        self, argv: Sequence[str | Path], cwd: Path | None, env: Mapping[str, str] | None
    ) -> None:
        self._popen = subprocess.Popen(
            list(argv),
            cwd=cwd,
            env=None if env is None else {**os.environ, **env},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            process_group=0,
            bufsize=0,
        )
        assert self._popen.stdout is not None
        assert isinstance(self._popen.stderr, io.FileIO)
        self._stdout = io.BufferedReader(_PolledPipe(self._popen.stdout))
        self._stderr = io.BufferedReader(self._popen.stderr)
        self._tail: deque[str] = deque(maxlen=STDERR_LINES)
        self._listener = threading.Thread(target=self._listen, daemon=True)
        try:
            threads.start(self._listener)
        except OSError:
            with self._popen as process:  # waits for it, and closes its pipes
                process.kill()
            raise

    def _listen(self) -> None:
        with suppress(ValueError, OSError):  # closed under us, or it cannot be read
            while line := self._stderr.readline(STDERR_LINE_BYTES):
                self._tail.append(line.decode(errors="replace").rstrip())

    def lines(self) -> Iterator[bytes]:
        return lines_of(self._stdout)

    def wait(self) -> int:
        status = self._popen.wait()
        self._listener.join(timeout=5)
        self._stdout.close()
        if not self._listener.is_alive():
            self._stderr.close()
        return status

    def terminate(self) -> None:
        self._popen.terminate()

    def stop(self, grace_s: float) -> int:
        if self._popen.poll() is None:
            self._popen.send_signal(signal.SIGINT)
        killer = threading.Timer(grace_s, self._popen.kill)
        killer.daemon = True
        try:
            threads.start(killer)
        except OSError:  # then it has no grace
            self._popen.kill()
        try:
            # It may still be writing: read on, or it would block on a full pipe and never end.
            with suppress(ValueError):
                while self._stdout.read(65536):
                    pass
            return self.wait()
        except KeyboardInterrupt:
            self._popen.kill()
            return self.wait()
        finally:
            killer.cancel()

    def stderr_tail(self) -> list[str]:
        return list(self._tail)


def own_agent(chosen: Path | None = None) -> str:
    """Return this machine's agent: the `chosen` one, else the one next to the Python program, else
    the one on PATH. VEN-AGENT-MISSING.
    """
    beside = Path(sys.executable).parent / AGENT
    if chosen is not None:
        path: str | None = str(chosen)
    else:
        path = str(beside) if beside.is_file() else shutil.which(AGENT)
    if path is None or (chosen is not None and not chosen.is_file()):
        raise VenturiError(
            "VEN-AGENT-MISSING",
            f"{path or AGENT} was not found",
            where={"looked": path or f"{beside}, then PATH"},
            hint="install the wheel (`pip install venturi`) or set VENTURI_AGENT to its path",
        )
    return path


def _supervisor() -> str:
    """Return this package's agent if it has one: that of the settings may be any program that
    implements the agent's protocol.
    """
    try:
        return own_agent()
    except VenturiError:
        return own_agent(settings.load().agent)


class LocalHost:
    """This machine."""

    @property
    def name(self) -> str:
        return socket.gethostname()

    @property
    def user(self) -> str:
        return getpass.getuser()

    @property
    def cores(self) -> int:
        return len(os.sched_getaffinity(0))

    @property
    def agent(self) -> None:
        return None

    @property
    def files(self) -> Files:
        return HERE

    def unix_time_s(self) -> float:
        return time.time()

    def which(self, program: str, path: str | None = None) -> str | None:
        return shutil.which(program, path=path)

    def address_towards(self, server: str, port: int, timeout_s: float) -> str | None:
        try:
            with socket.create_connection((server, port), timeout_s) as connection:
                return str(connection.getsockname()[0])
        except (OSError, OverflowError):  # a port that cannot be
            return None

    def lock(self, about: str) -> AbstractContextManager[str | None]:
        return locked(settings.load().lock, about)

    def start(
        self,
        argv: Sequence[str | Path],
        *,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> Process:
        try:
            return LocalProcess(argv, cwd, env)
        except OSError as error:
            if error.errno in MACHINE:
                raise refused(error, f"{argv[0]} cannot be started") from error
            raise VenturiError(
                "VEN-AGENT-MISSING",
                f"{argv[0]} cannot be started: {error.strerror or error}",
                where={"path": str(argv[0])},
                hint="set VENTURI_AGENT to the agent's path, or install Venturi again",
            ) from error

    def supervise(
        self, command: Sequence[str | Path], *, log: Path, cwd: Path, env: Mapping[str, str]
    ) -> Supervised:
        return LocalSupervised(_supervisor(), command, log=log, cwd=cwd, env=env)
