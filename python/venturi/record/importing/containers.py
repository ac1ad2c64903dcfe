"""Zip and tar files, as history servers and `tar` make them: recognized and unpacked.

A container is known by its contents, never by its name. It is unpacked into a temporary folder,
with limits: the number of files, and the bytes in relation to those of the container. A member that
can't be read is a problem of its own; the others are unpacked.
"""

from __future__ import annotations

import codecs
import lzma
import stat
import sys
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO

from venturi.core.errors import VenturiError, unreadable
from venturi.record.importing.formats import FormatKind
from venturi.record.importing.streams import (
    LIMITS,
    STREAMED,
    LogLimits,
    LogText,
    head,
    is_packed,
    plain_text,
)

_CHUNK = 1 << 16  # of a truncated member no more than this is lost
_MEMBERS = 100_000
_DEPTH = 2
_ENCRYPTED = 0x1  # a bit of a zip member's flags
# Text of at least this size is read from the container as it is needed, not unpacked before.
_STREAMED_BYTES = 64 << 20
_HEAD_BYTES = 64 << 10
MANIFEST, RECORDS, ARTIFACTS = "manifest.json", "trials.ndjson", "artifacts/"
"""The members of an archive that `venturi export` wrote."""
_ZIP_MAGIC = (b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08PK")
_AT_THE_END = (*_ZIP_MAGIC, b"PAR1")  # files with their directory at their end
_TAR_AT, _TAR_MAGIC = 257, b"ustar"
# NotImplementedError: of a way of packing that Python doesn't have, such as Deflate64.
_DAMAGED = (
    zipfile.BadZipFile,
    tarfile.TarError,
    lzma.LZMAError,
    zlib.error,
    EOFError,
    NotImplementedError,
)
# A file has the name of a folder.
_CLASHING = (FileExistsError, NotADirectoryError, IsADirectoryError)
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


def is_container(path: Path, code: str = FormatKind.LOG.value) -> bool:
    """Whether `path` is a tar file, or a zip file other than an archive of trials.

    An error by `code` if it is a zip file that is empty, or without its directory.
    """
    if not path.is_file():
        return False
    try:
        if _is_zip(path):
            return _is_zip_of_files(path, code)
        data = head(path, _TAR_AT + len(_TAR_MAGIC))
    except OSError as error:
        raise unreadable(path, error, code) from error
    return data[_TAR_AT:] == _TAR_MAGIC or data.startswith(_ZIP_MAGIC)


def _is_zip(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4).startswith(_ZIP_MAGIC)


def _is_zip_of_files(path: Path, code: str) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            names = set(archive.namelist())
    except _DAMAGED as error:
        raise VenturiError(
            code,
            f"{path} is a zip file that was cut off or damaged: its directory, which stands at the "
            "end, can't be read",
            where={"file": str(path)},
            hint="copy or download it again, or repair it with `zip -FF` and import the result",
        ) from error
    if not names:
        raise VenturiError(
            code,
            f"{path} is an empty zip file",
            where={"file": str(path)},
            hint="name the files to import, or pack them again",
        )
    own = {name for name in names if name.startswith(ARTIFACTS) and not name.endswith("/")}
    return MANIFEST not in names or bool(names - own - {MANIFEST, RECORDS})


@contextmanager
def plain_file(path: Path, code: str) -> Iterator[Path]:
    """`path` itself, or if it is compressed, a temporary file with its text.

    An error by `code` if that is cut off: a part of it may look like the whole.
    """
    if not is_packed(path):
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="venturi-text-") as made:
        place, text = Path(made, path.stem or "text"), LogText([path])
        with path.open("rb") as packed, place.open("wb") as file:
            file.writelines(text.chunks(packed, path))
        if text.truncated:
            hint = "copy or download it again"
            raise VenturiError(code, text.truncated, where={"file": str(path)}, hint=hint)
        yield place


@contextmanager
def zipped_archive(records: Path) -> Iterator[Path]:
    """The unpacked archive of trials around `records`, its trials.ndjson, as an archive again."""
    folder = records.parent
    with tempfile.TemporaryDirectory(prefix="venturi-archive-") as made:
        path = Path(made, "archive.zip")
        files = [folder / MANIFEST, records, *sorted((folder / ARTIFACTS).rglob("*"))]
        with zipfile.ZipFile(path, "w") as archive:
            for file in files:
                hidden = any(part.startswith(".") for part in file.relative_to(folder).parts)
                if file.is_file() and not file.is_symlink() and not hidden:
                    archive.write(file, file.relative_to(folder))
        yield path


@contextmanager
def unpacked(
    path: Path,
    limits: LogLimits = LIMITS,
    head_bytes: int | None = None,
    problems: list[VenturiError] | None = None,
) -> Iterator[Path]:
    """A temporary folder with the files of the container `path`, which is removed afterwards.

    With `head_bytes`, only the beginning of each file: enough to recognize it.

    VEN-INGEST-LIMIT if they are too many or too large. Errors about damage and members with a
    password are added to `problems`; the first is raised if there is no such list, or no file.
    """
    left = min(limits.text_bytes, limits.free_bytes + limits.expansion * path.stat().st_size)
    with tempfile.TemporaryDirectory(prefix="venturi-logs-") as made:
        try:
            found: list[VenturiError] = []
            files = _fill(Path(made), path, left, head_bytes, found)
            if found and (problems is None or not files):
                raise found[0]
            if problems is not None:
                problems += found
            yield Path(made)
        finally:
            for place in [each for each in STREAMED if each.is_relative_to(made)]:
                del STREAMED[place]


def _fill(
    folder: Path, path: Path, left: int, head_bytes: int | None, problems: list[VenturiError]
) -> bool:
    """Unpack the container `path` into `folder`, of long text in a zip file the beginning.

    Return whether it has files.
    """
    count, name = 0, ""
    try:
        for count, (name, size, opened) in enumerate(_members(path, problems), 1):
            place = _place(folder, name, path)
            try:
                source = opened()
                if source is None:
                    continue
                streamed = head_bytes is None and size >= _STREAMED_BYTES and _is_json(opened)
                most = _HEAD_BYTES if streamed else head_bytes
                done = _unpack(source, place, min(left, size), path, most)
            except (*_DAMAGED, *_CLASHING) as error:
                problems.append(_damaged(path, name, error))
                # With a wrong checksum, any byte may be wrong; a cut file is right up to the cut.
                wrong = isinstance(error, zipfile.BadZipFile) and "CRC" in str(error)
                if place.is_file() and (wrong or not place.stat().st_size):
                    place.unlink()
                if not _is_zip(path):
                    break
                continue
            left -= size if streamed else done
            if streamed:
                STREAMED[place] = partial(_member, path, name), size
            if count > _MEMBERS or left < 0:
                raise _too_much(path)
    except _DAMAGED as error:
        problems.append(_damaged(path, name, error))
    return any(each.is_file() for each in folder.rglob("*"))


def _damaged(path: Path, name: str, error: Exception) -> VenturiError:
    place = f", in {name[:100]!r}" if name else ""
    why = error.strerror if isinstance(error, OSError) else error
    what = "is damaged or cut off"
    if isinstance(error, NotImplementedError):
        what = "is packed in a way that is not supported"
    return VenturiError(
        FormatKind.LOG.value,
        f"{path} {what}{place}: {why or type(error).__name__}",
        where={"file": str(path)},
        hint="copy it again, or unpack what is left of it with its own tool and import that",
    )


def _is_json(opened: Callable[[], IO[bytes] | None]) -> bool:
    """Whether a member is lines of JSON and of a zip file; those of a tar file are read in turn."""
    source = opened()
    if not isinstance(source, zipfile.ZipExtFile):
        return False
    with source:
        return source.read(8).removeprefix(codecs.BOM_UTF8).startswith(b"{")


@contextmanager
def _member(path: Path, name: str) -> Iterator[IO[bytes]]:
    with zipfile.ZipFile(path) as archive:
        info = next(each for each in archive.infolist() if _name_of(each) == name)
        with archive.open(info) as file:
            yield file


def _name_of(info: zipfile.ZipInfo) -> str:
    """Its path with `/`: some tools for Windows write a backslash."""
    return info.filename.replace("\\", "/")


def _members(path: Path, problems: list[VenturiError]) -> Iterator[Member]:
    """Files only: no folder, link or device. Those with a password are `problems`."""
    if _is_zip(path):
        with zipfile.ZipFile(path) as archive:
            for info in archive.infolist():
                name = _name_of(info)
                if name.endswith("/") or stat.S_ISLNK(info.external_attr >> 16):
                    continue
                if info.flag_bits & _ENCRYPTED:
                    problems.append(_encrypted(path, name))
                    continue
                yield name, info.file_size, partial(archive.open, info)
        return
    with plain_text(path) as text:
        if text.peek(4)[:4].startswith(_ZIP_MAGIC):
            yield path.stem or "zip", sys.maxsize, lambda: text
            return
        with tarfile.open(fileobj=text, mode="r|") as tar:
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
            # The beginning of a container or of a Parquet file doesn't show what it contains.
            if done == len(chunk) and head_bytes and not chunk.startswith(_AT_THE_END):
                break
    return done


def _too_much(path: Path) -> VenturiError:
    return VenturiError(
        "VEN-INGEST-LIMIT",
        f"{path} unpacks to more than its size allows",
        where={"file": str(path)},
        hint="unpack it with its own tool if you trust it, and import the folder",
    )
