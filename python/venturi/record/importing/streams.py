"""The text of an engine's log, decompressed: streamed, bounded, digested.

Text that was compressed several times is decompressed as often. A truncated file yields the text
before the cut, and the truncation is reported. Text in UTF-16 is read as UTF-8.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from queue import Full, Queue
from threading import Event, Thread
from typing import IO, Any

from venturi.core.errors import VenturiError, unreadable
from venturi.record.importing.decompression import CHUNK_BYTES, HEAD_BYTES, CutOffError, codec_of
from venturi.record.importing.formats import FormatKind

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_LAYERS = 4  # Spark's compression, the user's, an archive's, and one more
_HEAD_BYTES = 512  # kept of a line that is too long: enough to see what it is


@dataclass(frozen=True, slots=True)
class LogLimits:
    """Limits of the resources that a log may use.

    Longer lines are left out and counted. A text of more than `text_bytes` or, beyond the first
    `free_bytes`, of more than `expansion` times the bytes on disk is rejected: no real log is like
    that. All limits are for a whole log, regardless of its number of files.
    """

    line_bytes: int = 16 << 20
    text_bytes: int = 1 << 40
    free_bytes: int = 256 << 20
    expansion: int = 400


LIMITS = LogLimits()
STREAMED: dict[Path, tuple[Callable[[], AbstractContextManager[IO[bytes]]], int]] = {}
"""Files of which only the beginning was unpacked: how to read the whole, and its bytes."""


_CHUNKS_AHEAD = 4
_LOOK_S = 0.05  # how often the thread checks that the reader has stopped


class OversizedLine(bytes):
    """The beginning of a line that exceeds the limit; the rest is dropped."""


def _is_whole(line: bytes) -> bool:
    """Whether a line without an end has all of its JSON."""
    try:
        json.loads(line)
    except ValueError:
        return False
    return True


class LogText:
    """The lines of one log, from its `files` in their order.

    After all lines were read, `sha256` and `text_bytes` describe the whole text, and `truncated`
    says how it ended too early (None: it did not). `reading` is the file of the last line.
    """

    def __init__(self, files: Sequence[Path], limits: LogLimits = LIMITS) -> None:
        self.files = tuple(files)
        self.limits = limits
        self.compression: str | None = None
        self.text_bytes = 0
        self.disk_bytes = 0
        self.truncated: str | None = None
        self.reading: Path | None = None
        self._digest = hashlib.sha256()

    @property
    def sha256(self) -> str:
        """Digest of the text read so far, uncompressed."""
        return self._digest.hexdigest()

    def lines(self) -> Iterator[bytes]:
        """The lines without their ends, blank ones left out, those beyond the limit
        `OversizedLine`.

        VEN-INGEST-LIMIT if the whole text is beyond the limits.
        """
        for path in self.files:
            self.reading = path
            opened, size_bytes = STREAMED.get(path, (None, None))
            try:
                with path.open("rb") if opened is None else opened() as file:
                    yield from self._lines_of(file, path, size_bytes)
            except OSError as error:
                raise unreadable(path, error, FormatKind.LOG.value) from error

    def _lines_of(self, file: IO[bytes], path: Path, size_bytes: int | None) -> Iterator[bytes]:
        parts: list[bytes] = []  # of the line that is not complete yet
        size = 0
        for chunk in self.chunks(file, path, size_bytes):
            first, *others = chunk.split(b"\n")
            size += len(first)
            if size <= self.limits.line_bytes:
                parts.append(first)
            elif len(parts) != 1 or len(parts[0]) > _HEAD_BYTES:
                parts = [b"".join([*parts, first])[:_HEAD_BYTES]]
            if others:
                yield from self._bounded(b"".join(parts), size)
                for line in others[:-1]:
                    yield from self._bounded(line, len(line))
                parts, size = [others[-1]], len(others[-1])
        if size:
            last = b"".join(parts)
            if not _is_whole(last):
                self.truncated = self.truncated or "the last line has no end"
            yield from self._bounded(last, size)

    def _bounded(self, line: bytes, size: int) -> Iterator[bytes]:
        if size > self.limits.line_bytes:
            yield OversizedLine(line[:_HEAD_BYTES])
            return
        if line.endswith(b"\r"):  # a log that went through Windows
            line = line[:-1]
        if line.startswith(_BYTE_ORDER_MARK):
            line = line[len(_BYTE_ORDER_MARK) :]
        if line:
            yield line

    def chunks(self, file: IO[bytes], path: Path, size_bytes: int | None = None) -> Iterator[bytes]:
        """The text of `file`, decompressed."""
        head = file.read(HEAD_BYTES)
        file.seek(0)
        name, _ = codec_of(head, path)
        if self.compression is None or name is not None:
            self.compression = name
        self.disk_bytes += path.stat().st_size if size_bytes is None else size_bytes
        allowed = self.limits.free_bytes + self.limits.expansion * self.disk_bytes
        allowed = min(allowed, self.limits.text_bytes)
        try:
            packed = name is not None or size_bytes is not None
            chunks = _cut(_layers(file, head, path, allowed))
            for chunk in _ahead(chunks) if packed else chunks:
                self.text_bytes += len(chunk)
                if self.text_bytes > allowed:
                    raise _too_much(path, self.text_bytes)
                self._digest.update(chunk)
                yield chunk
        except CutOffError as error:
            self.truncated = f"{path.name}: {error}"


def _ahead(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield `chunks`, which a thread unpacks while the reader works on earlier ones."""
    ready: Queue[bytes | BaseException | None] = Queue(_CHUNKS_AHEAD)
    stopped = Event()

    def put(item: bytes | BaseException | None) -> None:
        while not stopped.is_set():
            try:
                ready.put(item, timeout=_LOOK_S)
            except Full:
                continue
            return

    def unpack() -> None:
        try:
            for chunk in chunks:
                put(chunk)
                if stopped.is_set():
                    return
            put(None)
        except BaseException as error:
            put(error)

    thread = Thread(target=unpack, name="unpack", daemon=True)
    thread.start()
    try:
        while (item := ready.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        stopped.set()
        thread.join()


def head(path: Path, size_bytes: int) -> bytes:
    """About the first `size_bytes` of the text of `path`, unpacked."""
    try:
        with plain_text(path) as text:
            return text.read(size_bytes)
    except OSError as error:
        raise unreadable(path, error, FormatKind.LOG.value) from error


class _ChunkReader(io.RawIOBase):
    """The chunks of a text as a file."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._left = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, into: Any) -> int:
        while not self._left:
            chunk = next(self._chunks, None)
            if chunk is None:
                return 0
            self._left = memoryview(chunk)
        size = min(len(into), len(self._left))
        into[:size], self._left = self._left[:size], self._left[size:]
        return size


def is_packed(path: Path) -> bool:
    """Whether `path` is compressed in one of the ways that are read here."""
    with path.open("rb") as file:
        return codec_of(file.read(HEAD_BYTES), path)[0] is not None


def is_cut_off(path: Path) -> bool:
    """Whether the text of `path` ends, or is damaged, before its framing ends."""
    log = LogText((path,))
    for _ in log.lines():
        pass
    return log.truncated is not None


@contextmanager
def plain_text(path: Path) -> Iterator[io.BufferedReader]:
    """The decompressed text of `path` as a file; a truncated one ends where the text does."""
    with path.open("rb") as file:
        yield io.BufferedReader(_ChunkReader(LogText([path]).chunks(file, path)), CHUNK_BYTES)


def _layers(file: IO[bytes], head: bytes, path: Path, allowed: int) -> Iterator[bytes]:
    """The text of `file`, however often it was compressed; no layer has more than `allowed`."""
    place, below, cut = path, file, list[CutOffError]()
    for _ in range(_LAYERS):
        name, read = codec_of(head, place)
        chunks = _within(read(below), path, allowed)
        if name is None or name == "utf-16":
            yield from chunks
            break
        head, chunks = _peeked(_until_cut(chunks, cut))
        place = Path(place.stem)
        below = io.BufferedReader(_ChunkReader(chunks), CHUNK_BYTES)
        if codec_of(head, place)[0] is None:
            yield from chunks
            break
    else:
        raise VenturiError(
            "VEN-INGEST-LIMIT",
            f"{path} is compressed more than {_LAYERS} times, one layer in another",
            where={"file": str(path)},
            hint="unpack it with its own tool if you trust it, and import the text",
        )
    if cut:
        raise cut[0]


def _within(chunks: Iterator[bytes], path: Path, allowed: int) -> Iterator[bytes]:
    size = 0
    for chunk in chunks:
        size += len(chunk)
        if size > allowed:
            raise _too_much(path, size)
        yield chunk


def _until_cut(chunks: Iterator[bytes], cut: list[CutOffError]) -> Iterator[bytes]:
    """`chunks` up to where they are cut, so that the text inside is read up to there."""
    try:
        yield from chunks
    except CutOffError as error:
        cut.append(error)


def _peeked(chunks: Iterator[bytes]) -> tuple[bytes, Iterator[bytes]]:
    """The first bytes of `chunks`, and all of them."""
    first = b""
    while len(first) < HEAD_BYTES and (chunk := next(chunks, None)) is not None:
        first += chunk
    return first[:HEAD_BYTES], chain([first] if first else [], chunks)


def _too_much(path: Path, size_bytes: int) -> VenturiError:
    return VenturiError(
        "VEN-INGEST-LIMIT",
        f"{path} unpacks to more than a log of {path.stat().st_size:,} bytes can hold",
        where={"file": str(path), "text_bytes": size_bytes},
        hint="if you trust it, unpack it with its own tool and import the text",
    )


def _cut(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Split the blocks: a block of only line ends would become millions of lines in memory."""
    for block in blocks:
        if len(block) <= CHUNK_BYTES:
            yield block
        else:
            yield from (block[at : at + CHUNK_BYTES] for at in range(0, len(block), CHUNK_BYTES))
