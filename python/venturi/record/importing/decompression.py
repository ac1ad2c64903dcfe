"""Decompressors of logs, as chunks of their text: by the first bytes, never by the name.

Besides the common framings, Spark's own are read: lz4 as blocks of lz4-java (`LZ4Block`), zstd as
one or several frames, snappy as written by snappy-java or by Hadoop, LZF as compress-lzf does.
"""

from __future__ import annotations

import bz2
import codecs
import gzip
import lzma
import re
import struct
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import cramjam

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

CHUNK_BYTES = 1 << 20
"""The size of reads, and of the largest chunks of plain text."""
# Reads are small because after each frame the rest of the buffer is copied; frames may be short.
_ZSTD_READ_BYTES = 1 << 16
# Source: net.jpountz.lz4.LZ4BlockOutputStream. Magic, token, compressed and plain length, checksum.
_LZ4_MAGIC = b"LZ4Block"
_LZ4_HEAD = struct.Struct("<8sBiiI")
_LZ4_RAW, _LZ4_COMPRESSED = 0x10, 0x20
# Source: lz4_Frame_format.md. Magic, flags, block size; a bit of the flags or of a block's length.
_LZ4_FRAME_MAGIC = b"\x04\x22\x4d\x18"
_LZ4_INDEPENDENT, _LZ4_BLOCK_SUM, _LZ4_SIZE, _LZ4_SUM, _LZ4_DICTIONARY = 0x20, 0x10, 0x08, 0x04, 1
_LZ4_PLAIN_BLOCK = 1 << 31
_LZ4_HISTORY_BYTES = 64 << 10
_ZSTD_BLOCK_BYTES = 128 << 10  # at most; a damaged block takes no more than itself along
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_GZIP_MAGIC = b"\x1f\x8b"
_BZIP2_MAGIC = b"BZh"
_XZ_MAGIC = b"\xfd7zXZ\x00"
# Source: org.xerial.snappy.SnappyOutputStream. Magic, version, oldest version that can read it.
_SNAPPY_MAGIC = b"\x82SNAPPY\x00"
HEAD_BYTES = 16
"""Enough of a text to recognize its compression."""
# Source: com.ning.compress.lzf.LZFChunk: magic, kind (0 plain, 1 packed), lengths of 2 bytes each.
_LZF_HEAD = re.compile(rb"ZV[\x00\x01]", re.DOTALL)
_BLOCK_BYTES = 64 << 20  # more than any writer puts into a block
_Decompressor = gzip.GzipFile | bz2.BZ2File | lzma.LZMAFile


class CutOffError(Exception):
    """The data ends, or is damaged, before its framing ends; the data before that is good."""


def codec_of(head: bytes, path: Path) -> tuple[str | None, Callable[[IO[bytes]], Iterator[bytes]]]:
    """The name of the compression of a file that begins with `head`, and its decompressor."""
    for magic, name, read in (
        (_LZ4_MAGIC, "lz4", _lz4),
        (_LZ4_FRAME_MAGIC, "lz4", _lz4_frames),
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


def _plain(file: IO[bytes]) -> Iterator[bytes]:
    try:
        while chunk := file.read(CHUNK_BYTES):
            yield chunk
    except (EOFError, zipfile.BadZipFile, zlib.error) as error:  # of a member of a container
        raise CutOffError(f"damaged or cut off: {error}") from error


def _utf_16(file: IO[bytes]) -> Iterator[bytes]:
    """Text that a shell on Windows wrote, in UTF-8."""
    decoder = codecs.getincrementaldecoder("utf-16")("replace")
    while chunk := file.read(CHUNK_BYTES):
        yield decoder.decode(chunk).encode("utf-8", "replace")


def _gzip(file: IO[bytes]) -> Iterator[bytes]:
    with gzip.GzipFile(fileobj=file, mode="rb") as unpacked:
        yield from _chunks_of(unpacked)


def _bzip2(file: IO[bytes]) -> Iterator[bytes]:
    with bz2.BZ2File(file) as unpacked:
        yield from _chunks_of(unpacked)


def _xz(file: IO[bytes]) -> Iterator[bytes]:
    with lzma.LZMAFile(file) as unpacked:
        yield from _chunks_of(unpacked)


def _chunks_of(unpacked: _Decompressor) -> Iterator[bytes]:
    text = False
    try:
        while chunk := unpacked.read1(CHUNK_BYTES):
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


def _lz4_frames(file: IO[bytes]) -> Iterator[bytes]:
    """Frames as the lz4 program writes them. Checksums are not compared."""
    while magic := file.read(4):
        if magic != _LZ4_FRAME_MAGIC:
            raise CutOffError("damaged lz4 frame")
        flags, size = _exactly(file, 2, "lz4")
        most = 1 << (8 + 2 * (size >> 4 & 7))
        if most > _BLOCK_BYTES or flags & _LZ4_DICTIONARY:
            raise CutOffError("an lz4 frame with a dictionary, or damaged")
        _exactly(file, 9 if flags & _LZ4_SIZE else 1, "lz4")
        history = b""
        while length := int.from_bytes(_exactly(file, 4, "lz4"), "little"):
            packed = _exactly(file, min(length & ~_LZ4_PLAIN_BLOCK, _BLOCK_BYTES), "lz4")
            plain = packed
            if not length & _LZ4_PLAIN_BLOCK:
                plain = _lz4_block(packed, history, most)
            if flags & _LZ4_BLOCK_SUM:
                _exactly(file, 4, "lz4")
            if not flags & _LZ4_INDEPENDENT:
                history = (history + plain)[-_LZ4_HISTORY_BYTES:]
            yield plain
        if flags & _LZ4_SUM:
            _exactly(file, 4, "lz4")


def _lz4_block(packed: bytes, history: bytes, most: int) -> bytes:
    """A block of at most `most` bytes that may refer to `history`, the text before it.

    The library has no such call, so `history` becomes literals at the block's beginning.
    """
    if history and packed:
        token, at = packed[0], 1
        n = token >> 4
        while n >= 15 and at < len(packed):
            n, at = n + packed[at], at + 1
            if packed[at - 1] != 255:
                break
        more = n + len(history) - 15
        length = b"\xff" * (more // 255) + bytes([more % 255])
        packed = bytes([0xF0 | token & 15]) + length + history + packed[at:]
    plain = bytearray(len(history) + most)
    try:
        written = cramjam.lz4.decompress_block_into(packed, plain)
    except cramjam.DecompressionError as error:
        raise CutOffError("damaged lz4 block") from error
    return bytes(plain[len(history) : written])


def _xerial_snappy(file: IO[bytes]) -> Iterator[bytes]:
    while head := file.read(4):
        if len(head) == 4 and head == _SNAPPY_MAGIC[:4]:  # another stream begins
            _exactly(file, HEAD_BYTES - 4, "snappy")
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
