"""A small client of HDFS over WebHDFS. Standard library only, for it also runs inside engines.

Reading and writing are answered by a DataNode to which the NameNode points; both ask for nothing
but HTTP, so no JVM has to be started to look at a file.
"""

from __future__ import annotations

import errno
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from functools import partial
from http.client import HTTPConnection, HTTPException, HTTPResponse
from pathlib import Path
from threading import Event
from typing import Any, BinaryIO
from urllib.parse import quote, urlencode, urlsplit

from venturi.core.errors import VenturiError
from venturi.measure.hosts.host import Files

TIMEOUT_S = 60.0
_PIECE_BYTES = 1 << 20
# Each file passes through one DataNode's link: concurrent copies use several links.
_COPIES_AT_ONCE = 8
_OF_DISKS = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO}
# No DataNode has room for one more block, or the NameNode's own disk is nearly full.
_FULL = ("could only be written to 0 of", "No space left", "DiskOutOfSpace", "Resources are low")


class Hdfs:
    """Files of an HDFS, with the NameNode's HTTP address `namenode` (`host:port`), as `user`.

    Paths are absolute, without a scheme. Failures raise VenturiError: VEN-ENGINE-SPACE when HDFS is
    full, else VEN-ENGINE-HDFS; failures of a local file raise OSError. `addresses` are those of
    DataNodes with names that this machine can't resolve.
    """

    def __init__(
        self, namenode: str, user: str, addresses: Mapping[str, str] | None = None
    ) -> None:
        self.namenode = namenode
        self.user = user
        self.addresses = addresses or {}

    def put(self, files: Files, source: Path, path: str, *, block_bytes: int | None = None) -> None:
        """Copy one of `files` into HDFS, replacing an existing file."""
        self._put(files, source, path, Event(), block_bytes=block_bytes)

    def put_all(
        self, files: Files, sources: Mapping[str, Path], *, block_bytes: int | None = None
    ) -> None:
        """Copy some of `files` into HDFS concurrently; `sources` are by their paths there."""
        _at_once(
            partial(self._put, files, source, path, block_bytes=block_bytes)
            for path, source in sources.items()
        )

    def get(self, files: Files, path: str, target: Path) -> None:
        """Copy a file out of HDFS into `files`."""
        self._get(files, path, target, Event())

    def get_all(self, files: Files, targets: Mapping[str, Path]) -> None:
        """Copy files out of HDFS concurrently; `targets` are by their paths there."""
        _at_once(partial(self._get, files, path, target) for path, target in targets.items())

    def _put(
        self, files: Files, source: Path, path: str, given_up: Event, *, block_bytes: int | None
    ) -> None:
        with files.open(source) as given, self.create(path, block_bytes=block_bytes) as target:
            _copy(given, target, given_up)

    def _get(self, files: Files, path: str, target: Path, given_up: Event) -> None:
        with self._opened(path) as source, files.create(target) as taken:
            _copy(source, taken, given_up)

    def read(self, path: str, offset: int = 0, length: int | None = None) -> bytes:
        """At most `length` bytes of a file from `offset` on; all the rest if None."""
        size = {} if length is None else {"length": length}
        with self._opened(path, offset=offset, **size) as source:
            return source.read()

    @contextmanager
    def create(self, path: str, *, block_bytes: int | None = None) -> Iterator[Writer]:
        """Open a file for writing, replacing an existing one; it is complete once the block is
        left.
        """
        more = {} if block_bytes is None else {"blocksize": block_bytes}
        address = self._pointed("PUT", path, "CREATE", overwrite="true", **more)
        with _connected(address.netloc, path) as connection:
            writer = Writer(connection, f"{address.path}?{address.query}")
            try:
                yield writer
                answer = writer.end()
            except (BrokenPipeError, ConnectionResetError):
                # A DataNode that cannot go on says why and hangs up, whatever is still to come.
                _checked(connection.getresponse(), path, self.namenode)
                raise
            _checked(answer, path, self.namenode)

    def files(self, path: str) -> list[tuple[str, int]]:
        """Names and bytes of the files directly in a folder, by name."""
        return [
            (entry["pathSuffix"], entry["length"])
            for entry in self._entries(path)
            if entry["type"] == "FILE"
        ]

    def folders(self, path: str) -> list[str]:
        """Names of the folders directly in a folder, by name."""
        return [each["pathSuffix"] for each in self._entries(path) if each["type"] == "DIRECTORY"]

    def exists(self, path: str) -> bool:
        """Return whether a file or folder exists."""
        try:
            self._asked("GET", path, "GETFILESTATUS")
        except FileMissing:
            return False
        return True

    def mkdir(self, path: str) -> None:
        """Make a folder and its parents."""
        self._asked("PUT", path, "MKDIRS")

    def remove(self, path: str) -> None:
        """Remove a file or a folder with its content; do nothing if it doesn't exist."""
        self._asked("DELETE", path, "DELETE", recursive="true")

    def rename(self, path: str, to: str) -> None:
        """Move a file or folder; an error if `to` exists."""
        if not self._asked("PUT", path, "RENAME", destination=to)["boolean"]:
            raise VenturiError(
                "VEN-ENGINE-HDFS", f"{path} cannot be renamed to {to}", where={"path": path}
            )

    def _entries(self, path: str) -> list[dict[str, Any]]:
        listed = self._asked("GET", path, "LISTSTATUS")["FileStatuses"]["FileStatus"]
        return sorted(listed, key=lambda entry: str(entry["pathSuffix"]))

    @contextmanager
    def _opened(self, path: str, **parameters: object) -> Iterator[HTTPResponse]:
        address = self._pointed("GET", path, "OPEN", **parameters)
        with _connected(address.netloc, path) as connection:
            connection.request("GET", f"{address.path}?{address.query}")
            yield _checked(connection.getresponse(), path, self.namenode)

    def _pointed(self, method: str, path: str, operation: str, **parameters: object) -> Any:
        """Where the NameNode sends us: a DataNode."""
        answer = self._asked(method, path, operation, noredirect="true", **parameters)
        found = urlsplit(str(answer["Location"]))
        name, colon, port = found.netloc.rpartition(":")
        return found._replace(netloc=f"{self.addresses.get(name, name)}{colon}{port}")

    def _asked(self, method: str, path: str, operation: str, **parameters: object) -> Any:
        query = urlencode({"op": operation, "user.name": self.user, **parameters})
        with _connected(self.namenode, path) as connection:
            connection.request(method, f"/webhdfs/v1{quote(path)}?{query}")
            response = _checked(connection.getresponse(), path, self.namenode)
            return json.loads(response.read() or b"{}")


class FileMissing(VenturiError):  # noqa: N818 - the name says what happened
    """The file or folder doesn't exist in HDFS."""


class Writer:
    """Sends data to a DataNode as it is written, in chunks."""

    def __init__(self, connection: HTTPConnection, target: str) -> None:
        self._connection = connection
        connection.putrequest("PUT", target)
        connection.putheader("Content-Type", "application/octet-stream")
        connection.putheader("Transfer-Encoding", "chunked")
        connection.endheaders()

    def write(self, data: bytes | bytearray | memoryview) -> int:
        """Write all of `data`."""
        size = len(data)
        if size:
            self._connection.send(b"%x\r\n" % size)
            self._connection.send(data)
            self._connection.send(b"\r\n")
        return size

    def end(self) -> HTTPResponse:
        """Finish the file and return the DataNode's response."""
        self._connection.send(b"0\r\n\r\n")
        return self._connection.getresponse()


def _at_once(copies: Iterable[Callable[[Event], None]]) -> None:
    """Run `copies` concurrently. If one fails, the others are abandoned and have ended before its
    error is raised.
    """
    given_up = Event()
    with ThreadPoolExecutor(_COPIES_AT_ONCE) as threads:
        running = [threads.submit(copy, given_up) for copy in copies]
        try:
            for each in as_completed(running):
                each.result()
        except BaseException:
            given_up.set()
            threads.shutdown(wait=False, cancel_futures=True)
            raise


def _copy(source: BinaryIO | HTTPResponse, target: BinaryIO | Writer, given_up: Event) -> None:
    while not given_up.is_set() and (piece := source.read(_PIECE_BYTES)):
        target.write(piece)


@contextmanager
def _connected(address: str, path: str) -> Iterator[HTTPConnection]:
    connection = HTTPConnection(address, timeout=TIMEOUT_S)
    try:
        yield connection
    except (OSError, HTTPException) as error:
        if isinstance(error, OSError) and (error.filename or error.errno in _OF_DISKS):
            raise  # of the file that is copied
        raise VenturiError(
            "VEN-ENGINE-HDFS",
            f"HDFS at {address} does not answer: {error}",
            where={"address": address, "path": path},
            hint="check that its NameNode and DataNodes are running",
        ) from error
    finally:
        connection.close()


def _checked(response: HTTPResponse, path: str, namenode: str) -> HTTPResponse:
    """`response`, if it is no refusal."""
    if response.status < 400:
        return response
    name, message = _refusal(response.read())
    where = {"address": namenode, "path": path}
    if name == "FileNotFoundException":
        raise FileMissing("VEN-ENGINE-HDFS", f"{path} is not in HDFS", where=where)
    if any(sign in message for sign in _FULL):
        raise VenturiError(
            "VEN-ENGINE-SPACE",
            f"HDFS has no room for {path}",
            where=where,
            hint="free some space, or name another disk with --dir",
        )
    raise VenturiError(
        "VEN-ENGINE-HDFS", f"HDFS refuses {path}: {name or response.status}: {message}", where=where
    )


def _refusal(body: bytes) -> tuple[str, str]:
    """Name and first line of the exception in an answer."""
    try:
        exception: Mapping[str, str] = json.loads(body)["RemoteException"]
    except (ValueError, KeyError, TypeError):
        return "", body.decode(errors="replace")[:300]
    lines: Iterable[str] = exception.get("message", "").splitlines()
    return exception.get("exception", ""), next(iter(lines), "")
