"""Recognizes the format of a file by its beginning, and of a folder by the logs in it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from venturi.core.errors import VenturiError, unreadable
from venturi.record.importing.containers import (
    MANIFEST,
    RECORDS,
    errors_name,
    is_container,
    plain_file,
    require_depth,
    unpacked,
)
from venturi.record.importing.formats import FORMATS, Format, FormatKind
from venturi.record.importing.streams import head, is_cut_off, is_packed

OWN_TABLE = "table"
"""Users may name the columns of this format."""
_HEAD_BYTES = 64 << 10
_LOOKED_INTO = 1_000  # files of a folder
# Files that aren't imported as they are: a pattern, what they are, and what to do.
_IPERF = (
    rb"(?:Connecting to host |Client connecting to |Accepted connection from "
    rb"|\d{14},[\d.:a-f]+,\d+,[\d.:a-f]+,\d+,-?\d+,)"
)
_PARQUET = b"PAR1"
_OTHER_FILES = (
    (
        _PARQUET,
        "is a Parquet file without a column that is called like a time, or a damaged one",
        "name the column of the time: venturi import FILE --column elapsed_s=COLUMN",
    ),
    (
        rb"Linux \S+ \([^)\n]*\)[^\n]*\(\d+ CPU\)|# hostname;interval;timestamp;|procs -+memory-",
        "is a report of sar, mpstat, sadf -d or vmstat, which isn't read",
        "use JSON: sadf -j FILE, mpstat -o JSON, iostat -o JSON",
    ),
    (
        rb"\d+\+\d+ records in\s",
        "is the text of dd, which isn't read",
        "measure the disk with venturi probe disk, or with fio --output-format=json",
    ),
    (
        rb"sysbench \d",
        "is the text of sysbench, which isn't read",
        "measure disks with venturi probe disk or fio; put times into a CSV file (time_s)",
    ),
    (
        rb"(?:[^\n]*\n){0,9}?" + _IPERF,
        "is the text of iperf, which isn't read",
        "use JSON: iperf3 -c HOST -J > FILE",
    ),
    (
        rb"(?:[^\n]*\n){0,9}?\S+: \(g(?:roupid)?=\d+\): rw=\w+, bs=",
        "is the normal text of fio, which isn't read",
        "use JSON: fio --output-format=json --output=FILE JOB",
    ),
)


def recognise(path: Path) -> Format:
    """Return the only format that fits `path`; if unclear, VEN-IMPORT-FORMAT suggests a command."""
    found = formats_of(path)
    if len(found) == 1:
        return found[0]
    raise _unclear(path, found, "")


def formats_of(path: Path, depth: int = 0) -> list[Format]:
    """Return the formats of the files in the folder or container `path`, or of the file itself.

    VEN-IMPORT-FORMAT if no format fits, or if a single file may be of several. `depth` is how many
    containers it lies in.
    """
    if is_container(path, FormatKind.RESULTS.value):
        require_depth(path, depth)
        with (
            unpacked(path, head_bytes=_HEAD_BYTES, problems=[]) as folder,
            errors_name(path, folder),
        ):
            return formats_of(folder, depth + 1)
    if path.is_dir():
        found: set[Format] = set()
        unread: VenturiError | None = None
        for file in files_in(path):
            try:
                found.update(formats_of(file, depth))
            except VenturiError as error:  # of no known format, unless it is a container
                if error.code != FormatKind.RESULTS.value:
                    unread = unread or error
        none = (
            f"contains no log of an engine and no results among its first {_LOOKED_INTO:,} files; "
            "name the files to import"
        )
        if any(file.name.startswith("appstatus_") for file in files_in(path)):
            none = "contains the appstatus of a rolling event log of Spark, but no part of the log"
        if not found:
            raise unread or _unclear(path, [], none)
        return [each for each in FORMATS.values() if each in found]
    likely = formats_like(path)
    if len(likely) == 1:
        return likely
    raise _unclear(path, likely, *_unknown(path))


def _unknown(path: Path) -> tuple[str, str]:
    """Why a file has no known format, and what to do; "" for the formats there are."""
    beginning = _beginning(path)
    if not beginning.strip(b"\0 \t\r\n"):
        none = "is empty" if not path.stat().st_size else "contains no text"
        if is_packed(path) and not beginning:
            none = (
                "is compressed, and cut off or damaged: nothing of it can be read"
                if is_cut_off(path)
                else "is compressed, and empty"
            )
        return (
            none,
            "copy it again; if its source is empty, too, the program that wrote it may say why",
        )
    for pattern, what, advice in _OTHER_FILES:
        if re.match(pattern, beginning):
            return what, advice
    none = (
        "has an unknown format; name its format, or for your own table the column of the time: "
        "--column elapsed_s=COLUMN"
    )
    return none, ""


def _unclear(path: Path, found: Sequence[Format], none: str, hint: str = "") -> VenturiError:
    typed = [f"venturi import {each.name} {path}" for each in found]
    formats = f"venturi import FORMAT FILE; formats are {', '.join(FORMATS)}"
    return VenturiError(
        "VEN-IMPORT-FORMAT",
        f"{path} may be {' or '.join(each.name for each in found)}" if found else f"{path} {none}",
        where={"file": str(path)},
        hint=hint or " or ".join(typed) or formats,
    )


def refuse_special(path: Path, code: str) -> None:
    """An error by `code` if `path` is neither a file nor a folder: a pipe might never end."""
    if path.exists() and not path.is_file() and not path.is_dir():
        raise VenturiError(
            code,
            f"{path} is neither a file nor a folder",
            where={"file": str(path)},
            hint="write its content to a file first",
        )


def files_in(folder: Path) -> Iterator[Path]:
    """The first files at any depth, without pipes and broken links.

    For an unpacked archive of trials, its records stand for all of its files.
    """
    left = _LOOKED_INTO
    for above, folders, names in os.walk(folder, onerror=_raise):
        folders[:] = sorted(each for each in folders if not each.startswith((".", "_")))
        is_archive = {MANIFEST, RECORDS} <= set(names)
        if is_archive:
            folders.clear()
        for name in [RECORDS] if is_archive else sorted(names):
            path = Path(above, name)
            if not left:
                return
            if not name.startswith((".", "_")) and path.is_file():
                left -= 1
                yield path


def _raise(error: OSError) -> None:
    raise unreadable(error.filename, error, FormatKind.RESULTS.value) from error


def formats_like(path: Path) -> list[Format]:
    """The formats that the beginning of the file `path` fits."""
    data = _beginning(path)
    if data.startswith(_PARQUET):
        own = FORMATS[OWN_TABLE]
        with plain_file(path, FormatKind.RESULTS.value) as plain:
            return [own] if own.begins(own.reader.header_of_parquet(plain), path.name) else []
    likely = [each for each in FORMATS.values() if each.begins(data, path.name)]
    # Any table of times may be the user's own; others are known by more than that.
    return [each for each in likely if each.name != OWN_TABLE] or likely


def may_be(format: Format, path: Path) -> bool:
    """Whether `path` begins like `format`, or is a damaged log without readable text."""
    lost = format.kind is FormatKind.LOG and path.stat().st_size and not _beginning(path)
    return bool(lost) or format in formats_like(path)


def _beginning(path: Path) -> bytes:
    """The first bytes of the text in `path`, decompressed, in UTF-8."""
    refuse_special(path, FormatKind.RESULTS.value)
    try:
        return head(path, _HEAD_BYTES)
    except OSError as error:
        raise unreadable(path, error, FormatKind.RESULTS.value) from error
