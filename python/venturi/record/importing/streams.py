"""The text of an engine's log, decompressed: streamed, bounded, digested.

The compression is recognized by the first bytes, never by the name. Besides the common framings,
Spark's own are read: lz4 as blocks of lz4-java (`LZ4Block`), zstd as one or several frames, snappy
as written by snappy-java or by Hadoop, LZF as compress-lzf does. A truncated file yields the text
before the cut, and the truncation is reported. Text in UTF-16 is read as UTF-8.
"""

from __future__ import annotations

import bz2
import codecs
import gzip
import hashlib
import io
import lzma
import re
import struct
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import Full, Queue
from threading import Event, Thread
from typing import IO, Any

import cramjam

from venturi.core.errors import VenturiError, unreadable
from venturi.record.importing.formats import FormatKind

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

_CHUNK = 1 << 20
# Reads are small because after each frame the rest of the buffer is copied; frames may be short.
_ZSTD_READ_BYTES = 1 << 16
# Source: net.jpountz.lz4.LZ4BlockOutputStream. Magic, token, compressed and plain length, checksum.
_LZ4_MAGIC = b"LZ4Block"
_LZ4_HEAD = struct.Struct("<8sBiiI")
_LZ4_RAW, _LZ4_COMPRESSED = 0x10, 0x20
_ZSTD_BLOCK_BYTES = 128 << 10  # at most; a damaged block takes no more than itself along
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_GZIP_MAGIC = b"\x1f\x8b"
_BZIP2_MAGIC = b"BZh"
_XZ_MAGIC = b"\xfd7zXZ\x00"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
# Source: org.xerial.snappy.SnappyOutputStream. Magic, version, oldest version that can read it.
_SNAPPY_MAGIC = b"\x82SNAPPY\x00"
_SNAPPY_HEAD_BYTES = 16
# Source: com.ning.compress.lzf.LZFChunk: magic, kind (0 plain, 1 packed), lengths of 2 bytes each.
_LZF_HEAD = re.compile(rb"ZV[\x00\x01]", re.DOTALL)
_BLOCK_BYTES = 64 << 20  # more than any writer puts into a block
_UNNAMED = Path()
_Decompressor = gzip.GzipFile | bz2.BZ2File | lzma.LZMAFile
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


class CutOffError(Exception):
    """The data ends, or is damaged, before its framing ends; the data before that is good."""


class OversizedLine(bytes):
    """The beginning of a line that exceeds the limit; the rest is dropped."""


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
            self.truncated = self.truncated or "the last line has no end"
            yield from self._bounded(b"".join(parts), size)

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
        head = file.read(_SNAPPY_HEAD_BYTES)
        file.seek(0)
        name, read = _codec(head, path)
        if self.compression is None or name is not None:
            self.compression = name
        self.disk_bytes += path.stat().st_size if size_bytes is None else size_bytes
        allowed = self.limits.free_bytes + self.limits.expansion * self.disk_bytes
        allowed = min(allowed, self.limits.text_bytes)
        try:
            packed = name is not None or size_bytes is not None
            for chunk in _ahead(_cut(read(file))) if packed else _cut(read(file)):
                self.text_bytes += len(chunk)
                if self.text_bytes > allowed:
                    raise VenturiError(
                        "VEN-INGEST-LIMIT",
                        f"{path} unpacks to more than a log of {self.disk_bytes:,} bytes can hold",
                        where={"file": str(path), "text_bytes": self.text_bytes},
                        hint="if you trust it, unpack it with its own tool and import the text",
                    )
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
        return _codec(file.read(_SNAPPY_HEAD_BYTES), path)[0] is not None


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
        yield io.BufferedReader(_ChunkReader(LogText([path]).chunks(file, path)), _CHUNK)


def _codec(head: bytes, path: Path) -> tuple[str | None, Callable[[IO[bytes]], Iterator[bytes]]]:
    for magic, name, read in (
        (_LZ4_MAGIC, "lz4", _lz4),
        (_ZSTD_MAGIC, "zstd", _zstd),
        (_SNAPPY_MAGIC, "snappy", _xerial_snappy),
        (_GZIP_MAGIC, "gzip", _gzip),
        (_BZIP2_MAGIC, "bzip2", _bzip2),
        (_XZ_MAGIC, "xz", _xz),
        (codecs.BOM_UTF16_LE, "utf-16", _utf_16),
        (codecs.BOM_UTF16_BE, "utf-16", _utf_16),
    ):
        if head.startswith(magic):
            return name, read
    if path.suffix == ".snappy":
        return "snappy", _hadoop_snappy
    return ("lzf", _lzf) if _LZF_HEAD.match(head) else (None, _plain)


def _cut(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Split the blocks: a block of only line ends would become millions of lines in memory."""
    for block in blocks:
        if len(block) <= _CHUNK:
            yield block
        else:
            yield from (block[at : at + _CHUNK] for at in range(0, len(block), _CHUNK))


def _plain(file: IO[bytes]) -> Iterator[bytes]:
    try:
        while chunk := file.read(_CHUNK):
            yield chunk
    except (EOFError, zipfile.BadZipFile, zlib.error) as error:  # of a member of a container
        raise CutOffError(f"damaged or cut off: {error}") from error


def _utf_16(file: IO[bytes]) -> Iterator[bytes]:
    """Text that a shell on Windows wrote, in UTF-8."""
    decoder = codecs.getincrementaldecoder("utf-16")("replace")
    while chunk := file.read(_CHUNK):
        yield decoder.decode(chunk).encode("utf-8", "replace")


def _gzip(file: IO[bytes]) -> Iterator[bytes]:
    with gzip.GzipFile(fileobj=file, mode="rb") as unpacked:
        yield from _chunks_of(unpacked, file)


def _bzip2(file: IO[bytes]) -> Iterator[bytes]:
    with bz2.BZ2File(file) as unpacked:
        yield from _chunks_of(unpacked, file)


def _xz(file: IO[bytes]) -> Iterator[bytes]:
    with lzma.LZMAFile(file) as unpacked:
        yield from _chunks_of(unpacked, file)


def _chunks_of(unpacked: _Decompressor, file: IO[bytes]) -> Iterator[bytes]:
    """The text, decompressed once more if Spark had compressed it before the user did."""
    text = False
    try:
        _, read = _codec(unpacked.peek(_SNAPPY_HEAD_BYTES)[:_SNAPPY_HEAD_BYTES], _UNNAMED)
        if read is not _plain and not isinstance(file, _Decompressor):
            yield from read(unpacked)  # type: ignore[arg-type]
            return
        while chunk := unpacked.read1(_CHUNK):
            text = True
            yield chunk
    except (EOFError, OSError, zlib.error, lzma.LZMAError) as error:
        # gunzip ignores garbage after the last member, too.
        if not (text and isinstance(error, gzip.BadGzipFile) and "Not a gzipped" in str(error)):
            raise CutOffError(f"damaged or cut off: {error}") from error


def _zstd(file: IO[bytes]) -> Iterator[bytes]:
    """Frames, one after another; of a cut one, every byte before the cut."""
    frame, begun, packed = zstd.ZstdDecompressor(), False, b""
    while True:
        if frame.eof:
            packed, frame, begun = frame.unused_data, zstd.ZstdDecompressor(), False
        if not packed and frame.needs_input and not (packed := file.read(_ZSTD_READ_BYTES)):
            break
        try:
            plain = frame.decompress(packed, _ZSTD_BLOCK_BYTES)
        except zstd.ZstdError as error:
            raise CutOffError(f"damaged or truncated: {error}") from error
        packed, begun = b"", True
        if plain:
            yield plain
    if begun:
        raise CutOffError("truncated in the middle of a zstd frame")


def _lz4(file: IO[bytes]) -> Iterator[bytes]:
    """Blocks as lz4-java writes them. Checksums are not compared: no library here has xxHash."""
    while head := file.read(_LZ4_HEAD.size):
        if len(head) < _LZ4_HEAD.size:
            raise CutOffError("truncated in the head of an lz4 block")
        magic, token, packed_bytes, plain_bytes, _ = _LZ4_HEAD.unpack(head)
        method = token & 0xF0
        sound = (
            magic == _LZ4_MAGIC
            and method in (_LZ4_RAW, _LZ4_COMPRESSED)
            and 0 <= packed_bytes <= _BLOCK_BYTES
            and 0 <= plain_bytes <= _BLOCK_BYTES
        )
        if not sound:
            raise CutOffError("damaged lz4 block")
        if not plain_bytes:  # the end of a stream; another may follow
            continue
        packed = _exactly(file, packed_bytes, "lz4")
        if method == _LZ4_RAW:
            yield packed
        else:
            yield _unpacked("lz4", cramjam.lz4.decompress_block_into, packed, plain_bytes)


def _xerial_snappy(file: IO[bytes]) -> Iterator[bytes]:
    while head := file.read(4):
        if len(head) == 4 and head == _SNAPPY_MAGIC[:4]:  # another stream begins
            _exactly(file, _SNAPPY_HEAD_BYTES - 4, "snappy")
            continue
        packed = _exactly(file, _length(head), "snappy")
        yield _unsnapped(packed, _snappy_length(packed))


def _hadoop_snappy(file: IO[bytes]) -> Iterator[bytes]:
    """Hadoop's BlockCompressorStream: plain length, then parts with their own packed lengths."""
    while head := file.read(4):
        missing = _length(head)
        while missing > 0:
            packed = _exactly(file, _length(file.read(4)), "snappy")
            plain_bytes = _snappy_length(packed)
            missing -= plain_bytes
            if plain_bytes <= 0 or missing < 0:
                raise CutOffError("damaged snappy block")
            yield _unsnapped(packed, plain_bytes)


def _lzf(file: IO[bytes]) -> Iterator[bytes]:
    """Chunks as compress-lzf writes them."""
    while head := file.read(5):
        if len(head) < 5 or not _LZF_HEAD.match(head):
            raise CutOffError("damaged lzf chunk")
        packed_bytes = int.from_bytes(head[3:], "big")
        if head[2] == 0:
            yield _exactly(file, packed_bytes, "lzf")
            continue
        plain_bytes = int.from_bytes(_exactly(file, 2, "lzf"), "big")
        yield _unlzf(_exactly(file, packed_bytes, "lzf"), plain_bytes)


def _unlzf(packed: bytes, plain_bytes: int) -> bytes:
    """Decompress LZF. A byte below 32 announces that many literals plus one; others announce a copy
    of earlier output.

    Source: liblzf's lzf_d.c.
    """
    plain, at = bytearray(), 0
    try:
        while at < len(packed) and len(plain) <= plain_bytes:
            control = packed[at]
            if control < 32:
                plain += packed[at + 1 : at + 2 + control]
                at += 2 + control
                continue
            length = control >> 5
            if length == 7:
                at += 1
                length += packed[at]
            back = ((control & 31) << 8 | packed[at + 1]) + 1
            at += 2
            length += 2
            start = len(plain) - back
            if start < 0:
                raise CutOffError("damaged lzf chunk")
            # The copied range may overlap its own output, and so repeats.
            part = plain[start : start + length]
            plain += (part * (length // len(part) + 1))[:length]
    except IndexError as error:
        raise CutOffError("damaged lzf chunk") from error
    if len(plain) != plain_bytes:
        raise CutOffError("damaged lzf chunk")
    return bytes(plain)


def _length(head: bytes) -> int:
    if len(head) < 4:
        raise CutOffError("truncated in the head of a snappy block")
    length = int.from_bytes(head, "big")
    if length > _BLOCK_BYTES:
        raise CutOffError("damaged snappy block")
    return length


def _snappy_length(packed: bytes) -> int:
    """The plain length that a snappy block begins with, as a varint."""
    length = 0
    for place, byte in enumerate(packed[:5]):
        length |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            if length > _BLOCK_BYTES:
                break
            return length
    raise CutOffError("damaged snappy block")


def _exactly(file: IO[bytes], size: int, what: str) -> bytes:
    data = file.read(size)
    if len(data) < size:
        raise CutOffError(f"truncated in the middle of a {what} block")
    return data


def _unsnapped(packed: bytes, plain_bytes: int) -> bytes:
    into = cramjam.snappy.decompress_raw_into
    return _unpacked("snappy", into, packed, plain_bytes)


def _unpacked(
    codec: str, into: Callable[[bytes, bytearray], int], packed: bytes, plain_bytes: int
) -> bytes:
    """The block `packed`, which says that it has `plain_bytes`, and gets no byte more."""
    plain = bytearray(plain_bytes)
    try:
        written = into(packed, plain)
    except cramjam.DecompressionError as error:
        raise CutOffError(f"damaged {codec} block") from error
    if written != plain_bytes:
        raise CutOffError(f"damaged {codec} block")
    return bytes(plain)
