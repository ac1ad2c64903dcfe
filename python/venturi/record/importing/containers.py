"""Logs in zip and tar files, as history servers and `tar` make them: recognized and unpacked.

A container is known by its contents, never by its name. It is unpacked into a temporary folder,
with limits: the number of files, and the bytes in relation to those of the container.
"""

from __future__ import annotations

import bz2
import codecs
import gzip
import lzma
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, Any

from venturi.core.errors import VenturiError, unreadable
from venturi.record.importing.formats import FormatKind
from venturi.record.importing.streams import LIMITS, STREAMED, LogLimits

_CHUNK = 1 << 20
_MEMBERS = 100_000
_DEPTH = 2
_ENCRYPTED = 0x1  # a bit of a zip member's flags
# Text of at least this size is read from the container as it is needed, not unpacked before.
_STREAMED_BYTES = 64 << 20
_HEAD_BYTES = 64 << 10
_MANIFEST = "manifest.json"  # of an archive that `venturi export` wrote
_ZIP_MAGIC = (b"PK\x03\x04", b"PK\x05\x06")
_TAR_AT, _TAR_MAGIC = 257, b"ustar"
_PACKED: tuple[tuple[bytes, Callable[[IO[bytes]], Any]], ...] = (
    (b"\x1f\x8b", lambda file: gzip.GzipFile(fileobj=file)),
    (b"BZh", bz2.BZ2File),
    (b"\xfd7zXZ\x00", lzma.LZMAFile),
)
_DAMAGED = (zipfile.BadZipFile, tarfile.TarError, lzma.LZMAError, zlib.error, EOFError)
Member = tuple[str, int, Callable[[], IO[bytes] | None]]
"""The name of a file in a container, its size as the container says, and how to open it."""


@contextmanager
def errors_name(path: Path, folder: Path) -> Iterator[None]:
    """Errors about files in `folder` name the container `path`, of which they were unpacked."""
    try:
        yield
    except VenturiError as error:
        error.message = error.message.replace(str(folder), str(path))
        error.where = {
            name: str(value).replace(str(folder), str(path)) if name == "file" else value
            for name, value in error.where.items()
        }
        error.hint = error.hint.replace(str(folder), str(path)) if error.hint else error.hint
        raise


def require_depth(path: Path, depth: int) -> None:
    """VEN-INGEST-LIMIT if the container `path` lies in more than `_DEPTH` others."""
    if depth > _DEPTH:
        raise VenturiError(
            "VEN-INGEST-LIMIT",
            f"{path.name} lies in more than {_DEPTH} containers, one in another",
            where={"file": path.name},
            hint="unpack it with its own tool if you trust it, and import the folder",
        )


def is_container(path: Path) -> bool:
    """Whether `path` is a tar file, or a zip file other than an archive of trials."""
    if not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            if file.read(4).startswith(_ZIP_MAGIC):
                file.seek(0)
                return _is_zip_of_files(file)
            file.seek(0)
            return _is_tar(file)
    except OSError as error:
        raise unreadable(path, error, FormatKind.LOG.value) from error


def _is_zip_of_files(file: IO[bytes]) -> bool:
    try:
        with zipfile.ZipFile(file) as archive:
            return bool(archive.namelist()) and _MANIFEST not in archive.namelist()
    except zipfile.BadZipFile:
        return False


def _is_tar(file: IO[bytes]) -> bool:
    head = file.read(8)
    file.seek(0)
    unpack = next((each for magic, each in _PACKED if head.startswith(magic)), None)
    try:
        data = (unpack(file) if unpack else file).read(_TAR_AT + len(_TAR_MAGIC))
    except (OSError, *_DAMAGED):
        return False
    return data[_TAR_AT:] == _TAR_MAGIC


@contextmanager
def unpacked(
    path: Path, limits: LogLimits = LIMITS, head_bytes: int | None = None
) -> Iterator[Path]:
    """A temporary folder with the files of the container `path`, which is removed afterwards.

    With `head_bytes`, only the beginning of each file: enough to recognize it.

    VEN-INGEST-LIMIT if they are too many or too large, VEN-INGEST-FORMAT if it is damaged.
    """
    left = min(limits.text_bytes, limits.free_bytes + limits.expansion * path.stat().st_size)
    with tempfile.TemporaryDirectory(prefix="venturi-logs-") as made:
        try:
            _fill_or_refuse(Path(made), path, left, head_bytes)
            yield Path(made)
        finally:
            for place in [each for each in STREAMED if each.is_relative_to(made)]:
                del STREAMED[place]


def _fill_or_refuse(folder: Path, path: Path, left: int, head_bytes: int | None) -> None:
    try:
        _fill(folder, path, left, head_bytes)
    except _DAMAGED as error:
        raise VenturiError(
            FormatKind.LOG.value,
            f"{path} is damaged or cut off: {error}",
            where={"file": str(path)},
            hint="copy it again, or unpack what is left of it and import that",
        ) from error


def _fill(folder: Path, path: Path, left: int, head_bytes: int | None) -> None:
    """Unpack the container `path` into `folder`, of long text in a zip file the beginning."""
    for count, (name, size, opened) in enumerate(_members(path)):
        place = _place(folder, name, path)
        if (source := opened()) is not None:
            streamed = head_bytes is None and size >= _STREAMED_BYTES and _is_json(opened)
            head = _HEAD_BYTES if streamed else head_bytes
            done = _unpack(source, place, min(left, size), path, head)
            left -= size if streamed else done
            if streamed:
                STREAMED[place] = partial(_member, path, name), size
        if count >= _MEMBERS or left < 0:
            raise _too_much(path)


def _is_json(opened: Callable[[], IO[bytes] | None]) -> bool:
    """Whether a member is lines of JSON and of a zip file; those of a tar file are read in turn."""
    source = opened()
    if not isinstance(source, zipfile.ZipExtFile):
        return False
    with source:
        return source.read(8).removeprefix(codecs.BOM_UTF8).startswith(b"{")


@contextmanager
def _member(path: Path, name: str) -> Iterator[IO[bytes]]:
    with zipfile.ZipFile(path) as archive, archive.open(name) as file:
        yield file


def _members(path: Path) -> Iterator[Member]:
    """Files only: no folder, link or device."""
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            for info in archive.infolist():
                if info.flag_bits & _ENCRYPTED:
                    raise _encrypted(path, info.filename)
                if not info.is_dir():
                    yield info.filename, info.file_size, partial(archive.open, info)
        return
    with tarfile.open(path) as tar:
        for member in tar:
            if member.isreg():
                yield member.name, member.size, partial(tar.extractfile, member)


def _encrypted(path: Path, name: str) -> VenturiError:
    return VenturiError(
        FormatKind.LOG.value,
        f"{path} is protected by a password: {name[:100]!r} cannot be read",
        where={"file": str(path), "name": name[:100]},
        hint="unpack it with its password, and import the folder",
    )


def _place(folder: Path, name: str, path: Path) -> Path:
    """Return where the member `name` goes below `folder`; an unsafe name is an error."""
    parts = PurePosixPath(name).parts
    if PurePosixPath(name).is_absolute() or ".." in parts or "\0" in name:
        raise VenturiError(
            FormatKind.LOG.value,
            f"{path} contains a file with an unsafe name: {name[:100]!r}",
            where={"file": str(path), "name": name[:100]},
            hint="unpack it with its own tool if you trust it, and import the folder",
        )
    return folder.joinpath(*parts)


def _unpack(source: IO[bytes], place: Path, most: int, path: Path, head_bytes: int | None) -> int:
    """Write a member, or its first `head_bytes`, to `place` and return its bytes."""
    place.parent.mkdir(parents=True, exist_ok=True)
    done = 0
    with source, place.open("wb") as file:
        while chunk := source.read(head_bytes or _CHUNK):
            done += len(chunk)
            if done > most:
                raise _too_much(path)
            file.write(chunk)
            # The beginning of a container in it doesn't tell what that contains.
            if done == len(chunk) and head_bytes and not chunk.startswith(_ZIP_MAGIC):
                break
    return done


def _too_much(path: Path) -> VenturiError:
    return VenturiError(
        "VEN-INGEST-LIMIT",
        f"{path} unpacks to more than its size allows",
        where={"file": str(path)},
        hint="unpack it with its own tool if you trust it, and import the folder",
    )
