"""Recognizes the format of a file by its beginning, and of a folder by the logs in it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from venturi.core.errors import VenturiError, unreadable
from venturi.record.importing.containers import (
    errors_name,
    is_container,
    require_depth,
    unpacked,
)
from venturi.record.importing.formats import FORMATS, Format, FormatKind
from venturi.record.importing.streams import head

_HEAD_BYTES = 64 << 10
_LOOKED_INTO = 1_000  # files of a folder
_PACKED = (
    b"LZ4Block",
    b"\x28\xb5\x2f\xfd",
    b"\x82SNAPPY\x00",
    b"\x1f\x8b",
    b"BZh",
    b"\xfd7zXZ\x00",
    b"ZV",
)


def recognise(path: Path, depth: int = 0) -> Format:
    """Return the only format that fits `path`; if unclear, VEN-IMPORT-FORMAT suggests a command.

    `depth` is how many containers it lies in.
    """
    if is_container(path):
        require_depth(path, depth)
        with unpacked(path, head_bytes=_HEAD_BYTES) as folder:
            return _renamed(folder, path, depth + 1)
    if path.is_dir():
        logs = (each for file in _files(path) for each in _logs_like(file, depth))
        found = list(dict.fromkeys(logs))
        none = (
            f"contains no log of an engine among its first {_LOOKED_INTO:,} files; name the "
            "files to import"
        )
        if any(file.name.startswith("appstatus_") for file in _files(path)):
            none = "contains the appstatus of a rolling event log of Spark, but no part of the log"
    else:
        found = _like(path)
        none = (
            "has an unknown format; name its format, or import your own table as `table` with "
            "--column elapsed_s=COLUMN"
        )
    if len(found) == 1:
        return found[0]
    typed = [f"venturi import {each.name} {path}" for each in found]
    raise VenturiError(
        "VEN-IMPORT-FORMAT",
        f"{path} may be {' or '.join(each.name for each in found)}" if found else f"{path} {none}",
        where={"file": str(path)},
        hint=" or ".join(typed) or f"venturi import FORMAT FILE; formats are {', '.join(FORMATS)}",
    )


def _renamed(folder: Path, path: Path, depth: int) -> Format:
    """Return the format of the logs in `folder`; an error names the container `path`."""
    with errors_name(path, folder):
        return recognise(folder, depth)


def refuse_special(path: Path, code: str) -> None:
    """An error by `code` if `path` is neither a file nor a folder: a pipe might never end."""
    if path.exists() and not path.is_file() and not path.is_dir():
        raise VenturiError(
            code,
            f"{path} is neither a file nor a folder",
            where={"file": str(path)},
            hint="write its content to a file first",
        )


def _files(folder: Path) -> Iterable[Path]:
    """The first files at any depth, without pipes and broken links."""
    left = _LOOKED_INTO
    for above, folders, names in os.walk(folder, onerror=_raise):
        folders.sort()
        for name in sorted(names):
            path = Path(above, name)
            if not left:
                return
            if not name.startswith((".", "_")) and path.is_file():
                left -= 1
                yield path


def _raise(error: OSError) -> None:
    raise unreadable(error.filename, error, FormatKind.RESULTS.value) from error


def _logs_like(path: Path, depth: int) -> list[Format]:
    """The log formats that fit; none if the file can't be read."""
    try:
        if is_container(path):
            return [recognise(path, depth)]
        return [each for each in _like(path) if each.kind is FormatKind.LOG]
    except VenturiError:
        return []


def _like(path: Path) -> list[Format]:
    refuse_special(path, FormatKind.RESULTS.value)
    try:
        with path.open("rb") as file:
            data = file.read(_HEAD_BYTES)
    except OSError as error:
        raise unreadable(path, error, FormatKind.RESULTS.value) from error
    formats = list(FORMATS.values())
    if data.startswith(_PACKED) or path.suffix == ".snappy":
        # Loaded only for compressed files.

        data = head(path, _HEAD_BYTES)
        formats = [each for each in formats if each.kind is FormatKind.LOG]
    return [each for each in formats if each.begins(data, path.name)]
