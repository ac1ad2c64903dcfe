"""Where measuring happens: a host has files, and starts processes and streams what they say.

The local machine (`local`) is just another host. One at the far end of a link (`remote`), over SSH
or in a namespace, has the same protocols, and nothing above them knows which it is.
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
    """The lines of a process as they come; VEN-AGENT-PROTOCOL for one too long."""
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
    """What there is at a path, or where its links lead. `kind` `other`: neither file nor folder,
    or a link that leads nowhere. `device` tells one file system from another.
    """

    path: Path
    kind: Literal["file", "folder", "other"]
    bytes: int
    modified_ns: int
    device: int


class Files(Protocol):
    """The files of a host. Paths are that host's; but where it says so, none is of this machine.

    What fails raises OSError with the number and the path that the system there gave.
    """

    def mkdir(
        self, folder: Path, *, mode: int = 0o777, parents: bool = False, exist_ok: bool = False
    ) -> None:
        """Makes a folder; with `parents` those above it, too."""

    def remove(self, path: Path) -> None:
        """Removes a file, a link, or a folder with all that is in it; nothing if there is none.

        What can be removed is gone even when something cannot.
        """

    def rmdir(self, folder: Path) -> None:
        """Removes an empty folder; OSError if anything is in it."""

    def rename(self, path: Path, to: Path) -> None:
        """Gives a file or a folder another name on the same file system."""

    def symlink(self, path: Path, to: Path) -> None:
        """Makes `path` a link to `to`."""

    def stat(self, path: Path) -> FileInfo:
        """What is at `path`; FileNotFoundError: nothing."""

    def info(self, path: Path) -> FileInfo | None:
        """What is at `path`; None: nothing."""
        try:
            return self.stat(path)
        except (FileNotFoundError, NotADirectoryError):
            return None

    def is_file(self, path: Path) -> bool:
        """Whether there is a file, perhaps behind a link."""
        found = self.info(path)
        return found is not None and found.kind == "file"

    def is_folder(self, path: Path) -> bool:
        """Whether there is a folder, perhaps behind a link."""
        found = self.info(path)
        return found is not None and found.kind == "folder"

    def resolve(self, path: Path) -> Path:
        """`path` without links."""

    def entries(self, folder: Path) -> tuple[FileInfo, ...]:
        """What is in a folder, by name."""

    def find(self, folder: Path, pattern: str) -> tuple[FileInfo, ...]:
        """What is in or below `folder` and has a name like `pattern` (as of Path.glob), by path;
        nothing if there is no such folder.
        """

    def read(self, path: Path, *, last_bytes: int | None = None) -> bytes:
        """What is in a file; at most its `last_bytes`."""

    def write(self, path: Path, data: bytes | str, *, durable: bool = False) -> None:
        """Makes `data` (text in UTF-8) the content of a file: whole, or not at all.

        With `durable` it is on the disk when this returns, and its name is.
        """

    def open(self, path: Path) -> BufferedReader:
        """A file to read from."""

    def create(self, path: Path) -> BufferedWriter:
        """A file to write to, empty at first; what was there is gone."""

    def sync(self, path: Path) -> None:
        """Makes durable a file, or a folder with all that is in it, and their names; nothing if
        there is none.
        """

    def put(self, local: Path, path: Path) -> None:
        """Copies a file of this machine there; to another machine whole, or not at all."""

    def get(self, path: Path, local: Path) -> None:
        """Copies a file from there to this machine; from another whole, or not at all."""

    def here(self, *paths: Path) -> AbstractContextManager[tuple[Path, ...]]:
        """The files as files of this machine, for what reads them by name: themselves if they are
        that, else copies, which are gone when the context is left.
        """

    def free_bytes(self, path: Path) -> int:
        """Bytes that an ordinary user can still write on the file system of `path`."""

    def require_writable(self, folder: Path) -> None:
        """OSError unless a file can be made in `folder`; it is gone again, and had no name."""

    @property
    def temporaries(self) -> Path:
        """The folder for what is temporary."""

    def temporary(self, prefix: str) -> AbstractContextManager[Path]:
        """A folder of our own in `temporaries`, removed when the context is left."""


class Process(Protocol):
    """A started process: its lines, its end, its last words."""

    def lines(self) -> Iterator[bytes]:
        """The lines of its standard output as they come; VEN-AGENT-PROTOCOL for one too long."""

    def wait(self) -> int:
        """Its exit status once it has ended; minus the signal's number if one killed it."""

    def terminate(self) -> None:
        """Asks it to end (SIGTERM) and does not wait."""

    def stop(self, grace_s: float) -> int:
        """Interrupts it (SIGINT), lets it clean up for `grace_s`, then kills it."""

    def stderr_tail(self) -> list[str]:
        """The last lines of its standard error."""


class Supervised(Protocol):
    """A command that leaves nothing behind: it ends, with all that it started, once we are gone or
    let go. It can be waited for with `select`: there is something to read once all has ended.
    """

    def fileno(self) -> int:
        """Of the pipe on which the end is reported."""

    @property
    def ended(self) -> bool:
        """Whether all of it is gone."""

    @property
    def reaped(self) -> bool:
        """Whether `reap` was called."""

    @property
    def report(self) -> Mapping[str, Any]:
        """How it ended (`status`, minus the number of a signal), what it used; waits for the end.

        The status alone, if the rest could not be reported.
        """

    def release(self) -> None:
        """Lets go: it begins to end."""

    def reap(self) -> None:
        """Returns once nothing of it is left; after `release`."""


class LiveHost(Protocol):
    """A machine: its files, and the processes that can be started there."""

    @property
    def name(self) -> str:
        """Its host name."""

    @property
    def user(self) -> str:
        """Who we are there."""

    @property
    def cores(self) -> int:
        """Processor threads that we may use there."""

    @property
    def agent(self) -> str | None:
        """Full path of the agent there, if the host came with one; None: it is to be looked for."""

    @property
    def files(self) -> Files:
        """Its files."""

    def unix_time_s(self) -> float:
        """What its clock says."""

    def which(self, program: str, path: str | None = None) -> str | None:
        """Full path of `program` on that machine, looked for in `path` (as PATH has it; None: in
        its PATH); None if it has none that can be executed.
        """

    def address_towards(self, server: str, port: int, timeout_s: float) -> str | None:
        """The address under which `server` sees this host; None if it does not answer there."""

    def lock(self, about: str) -> AbstractContextManager[str | None]:
        """Holds the machine's lock of measurements until the block is left, and writes `about` into
        its file. If another holds it: gives what that one wrote, and holds nothing.
        """

    def start(
        self,
        argv: Sequence[str | Path],
        *,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> Process:
        """Starts `argv`, with `env` added to the environment; VEN-AGENT-MISSING if it cannot be
        executed.
        """

    def supervise(
        self, command: Sequence[str | Path], *, log: Path, cwd: Path, env: Mapping[str, str]
    ) -> Supervised:
        """Starts `command`, with `env` added to the environment, and what it says goes to `log`.

        One that cannot be executed has ended with a status other than 0.
        """
