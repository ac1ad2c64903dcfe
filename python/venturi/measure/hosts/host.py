"""Where measuring happens: a host has files, and starts processes and streams their output.

The local machine (`local`) is one host among others. One at the far end of a link (`remote`), over
SSH or in a namespace, has the same protocols, and callers don't know which one they have.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from io import BufferedReader, BufferedWriter
from pathlib import Path
from typing import Any, BinaryIO, Literal, Protocol

from venturi.core.errors import VenturiError

MAX_LINE_BYTES = 64 * 2**20  # a sort result lists its files: 100,000 of them still fit
STDERR_LINES = 20
STDERR_LINE_BYTES = 2000


def lines_of(stdout: BinaryIO) -> Iterator[bytes]:
    """Yield the lines of a process as they arrive; VEN-AGENT-PROTOCOL for one too long."""
    while line := stdout.readline(MAX_LINE_BYTES + 1):
        if len(line) > MAX_LINE_BYTES:
            raise VenturiError(
                "VEN-AGENT-PROTOCOL",
                f"a line is longer than {MAX_LINE_BYTES} bytes",
                where={"starts_with": line[:80].decode(errors="replace")},
            )
        yield line


@dataclass(frozen=True, slots=True)
class FileInfo:
    """A file or folder, after following links. `kind` `other`: neither file nor folder, or a broken
    link. `device` identifies the file system.
    """

    path: Path
    kind: Literal["file", "folder", "other"]
    bytes: int
    modified_ns: int
    device: int


class Files(Protocol):
    """The files of a host. Paths are that host's, unless a method says that they are this
    machine's.

    Failures raise OSError with the number and the path from the system there.
    """

    def mkdir(
        self, folder: Path, *, mode: int = 0o777, parents: bool = False, exist_ok: bool = False
    ) -> None:
        """Make a folder; with `parents` those above it, too."""

    def remove(self, path: Path) -> None:
        """Remove a file, a link, or a folder with its content; do nothing if it doesn't exist.

        After an error everything else that can be removed is gone.
        """

    def rmdir(self, folder: Path) -> None:
        """Remove an empty folder; OSError if it contains anything."""

    def rename(self, path: Path, to: Path) -> None:
        """Rename a file or a folder within its file system."""

    def symlink(self, path: Path, to: Path) -> None:
        """Make `path` a link to `to`."""

    def stat(self, path: Path) -> FileInfo:
        """Return the facts of `path`; FileNotFoundError if it doesn't exist."""

    def info(self, path: Path) -> FileInfo | None:
        """Return the facts of `path`; None if it doesn't exist."""
        try:
            return self.stat(path)
        except (FileNotFoundError, NotADirectoryError):
            return None

    def is_file(self, path: Path) -> bool:
        """Return whether a file exists, perhaps behind a link."""
        found = self.info(path)
        return found is not None and found.kind == "file"

    def is_folder(self, path: Path) -> bool:
        """Return whether a folder exists, perhaps behind a link."""
        found = self.info(path)
        return found is not None and found.kind == "folder"

    def resolve(self, path: Path) -> Path:
        """`path` without links."""

    def entries(self, folder: Path) -> tuple[FileInfo, ...]:
        """Return the content of a folder, by name."""

    def find(self, folder: Path, pattern: str) -> tuple[FileInfo, ...]:
        """Return the content of `folder`, at any depth, with names that match `pattern` (as of
        Path.glob), by path; empty if the folder doesn't exist.
        """

    def read(self, path: Path, *, last_bytes: int | None = None) -> bytes:
        """Return the content of a file, or only its `last_bytes`."""

    def write(self, path: Path, data: bytes | str, *, durable: bool = False) -> None:
        """Make `data` (text in UTF-8) the content of a file: completely, or not at all.

        With `durable` the content and the name are on the disk when this returns.
        """

    def open(self, path: Path) -> BufferedReader:
        """A file to read from."""

    def create(self, path: Path) -> BufferedWriter:
        """Open a new, empty file for writing; an existing one is replaced."""

    def sync(self, path: Path) -> None:
        """Make a file, or a folder with its content, and their names durable; do nothing if it
        doesn't exist.
        """

    def put(self, local: Path, path: Path) -> None:
        """Copy a file of this machine there; to another machine completely, or not at all."""

    def get(self, path: Path, local: Path) -> None:
        """Copy a file from there to this machine; from another completely, or not at all."""

    def here(self, *paths: Path) -> AbstractContextManager[tuple[Path, ...]]:
        """Yield the files as files of this machine, for readers that need a path: themselves if
        they are local, else copies that are removed when the context is left.
        """

    def free_bytes(self, path: Path) -> int:
        """Bytes that an ordinary user can still write on the file system of `path`."""

    def require_writable(self, folder: Path) -> None:
        """OSError unless a file can be made in `folder`; it is gone again, and had no name."""

    @property
    def temporaries(self) -> Path:
        """The folder for temporary files."""

    def temporary(self, prefix: str) -> AbstractContextManager[Path]:
        """A folder of our own in `temporaries`, removed when the context is left."""


class Process(Protocol):
    """A started process: its lines, its end, its last words."""

    def lines(self) -> Iterator[bytes]:
        """Yield the lines of its standard output as they arrive; VEN-AGENT-PROTOCOL for one too
        long.
        """

    def wait(self) -> int:
        """Its exit status once it has ended; minus the signal's number if one killed it."""

    def terminate(self) -> None:
        """Ask it to end (SIGTERM) without waiting."""

    def stop(self, grace_s: float) -> int:
        """Interrupt it (SIGINT), let it clean up for `grace_s`, then kill it."""

    def stderr_tail(self) -> list[str]:
        """The last lines of its standard error."""


class Supervised(Protocol):
    """A command that leaves nothing behind: it ends, with all its descendants, once this process
    has ended or released it. `select` can wait for it: it becomes readable once all have ended.
    """

    def fileno(self) -> int:
        """Return the descriptor of the pipe that reports the end."""

    @property
    def ended(self) -> bool:
        """Whether all of it is gone."""

    @property
    def reaped(self) -> bool:
        """Whether `reap` was called."""

    @property
    def report(self) -> Mapping[str, Any]:
        """Wait for the end; return the exit status (`status`, minus the number of a signal) and the
        resource use.

        Only the status, if the rest could not be reported.
        """

    def release(self) -> None:
        """Release it: it begins to end."""

    def reap(self) -> None:
        """Wait until all its processes have ended; after `release`."""


class LiveHost(Protocol):
    """A machine: its files, and processes to start there."""

    @property
    def name(self) -> str:
        """Its host name."""

    @property
    def user(self) -> str:
        """The user's name there."""

    @property
    def cores(self) -> int:
        """Hardware threads that Venturi may use there."""

    @property
    def agent(self) -> str | None:
        """Full path of the agent there, if the host came with one; None: search for it."""

    @property
    def files(self) -> Files:
        """Its files."""

    def unix_time_s(self) -> float:
        """Return the time of its clock."""

    def which(self, program: str, path: str | None = None) -> str | None:
        """Return the full path of `program` on that machine, searching `path` (in PATH's form;
        None: its own PATH); None if no executable has that name.
        """

    def address_towards(self, server: str, port: int, timeout_s: float) -> str | None:
        """Return the address under which `server` sees this host; None if it doesn't answer
        there.
        """

    def lock(self, about: str) -> AbstractContextManager[str | None]:
        """Hold the machine's lock of measurements until the block is left, and write `about` into
        its file. If another process holds it, yield that one's text instead.
        """

    def start(
        self,
        argv: Sequence[str | Path],
        *,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> Process:
        """Start `argv`, with `env` added to the environment; VEN-AGENT-MISSING if it can't be
        executed.
        """

    def supervise(
        self, command: Sequence[str | Path], *, log: Path, cwd: Path, env: Mapping[str, str]
    ) -> Supervised:
        """Start `command`, with `env` added to the environment and its output in `log`.

        A command that can't be executed ends with a status other than 0.
        """
