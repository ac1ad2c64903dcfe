"""Event logs in object storage, and anything else that fsspec reaches: s3://, gs://, abfs://,
hdfs://.

fsspec comes with the extra `remote`, its driver for S3 with `s3`; install those of other stores in
addition. Configure the store's address and credentials as its driver requires. A log is copied here
only while it is read.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from venturi.core.errors import VenturiError
from venturi.jobs.logs.find import unit_of

_FILES = 100_000
_LOG_BYTES = 64 << 30
_WRITTEN = ".inprogress"
# Properties from a driver that change when the file does.
_STAMPS = ("ETag", "etag", "LastModified", "last_modified", "mtime", "created")


@dataclass(frozen=True, slots=True)
class StoredLog:
    """A log of which nothing is written any more, by the paths of its files in the store.

    `url` is that of its file or folder, `stamp` changes when one of its files does.
    """

    url: str
    files: tuple[str, ...]
    is_folder: bool
    stamp: str


def stored_logs(url: str) -> list[StoredLog]:
    """The logs at `url`, a file or a folder that holds some at any depth; VEN-INGEST-SERVER."""
    if url.endswith("://"):
        raise _refused(url, "it names no bucket and no folder")
    with _opened(url) as (store, path):
        store.invalidate_cache()  # it may have been looked at before
        listed = store.find(path, detail=True)
    found = {name: told for name, told in listed.items() if not _marks_folder(name, told)}
    if not found:
        raise _refused(url, "it has no files")
    if len(found) > _FILES:
        raise _refused(url, f"it has more than {_FILES:,} files")
    units: dict[PurePosixPath, dict[str, Any]] = {}
    for name, told in found.items():
        place = PurePosixPath(name)
        unit = unit_of(place)
        # A key may have ".." in it.
        hidden = place.name.startswith(".") or unit.name.startswith(".")
        if place.name and not hidden and place.suffix != ".crc":
            units.setdefault(unit, {})[name] = told
    logs = []
    for unit, files in sorted(units.items()):
        if any(name.endswith(_WRITTEN) for name in files):
            continue
        if sum(each.get("size") or 0 for each in files.values()) > _LOG_BYTES:
            raise _refused(url, f"{unit} is too large to import")
        stamp = " ".join(_stamp(told) for _, told in sorted(files.items()))
        below = unit.relative_to(path).parts if unit.is_relative_to(path) else unit.parts
        own = "/".join([url, *below])
        logs.append(StoredLog(own, tuple(sorted(files)), str(unit) not in files, stamp))
    return logs


def _marks_folder(name: str, told: dict[str, Any]) -> bool:
    """Whether it is an empty object that stands for a folder, as consoles of stores make."""
    return name.endswith("/") or told.get("type") == "directory"


def _stamp(told: dict[str, Any]) -> str:
    changed = next((told[name] for name in _STAMPS if told.get(name)), "")
    return f"{told.get('size')} {changed}"


def fetch(url: str, log: StoredLog, folder: Path) -> Path:
    """Brings the files of a log at `url` into `folder`; its path there."""
    own = folder / PurePosixPath(log.url).name
    if log.is_folder:
        own.mkdir(exist_ok=True)
    with _opened(url) as (store, _):
        for name in log.files:
            store.get_file(name, str(own / PurePosixPath(name).name if log.is_folder else own))
    return own


@contextmanager
def _opened(url: str) -> Iterator[tuple[Any, str]]:
    """The store at `url` and the path in it; whatever its driver raises is VEN-INGEST-SERVER."""
    try:
        from fsspec.core import url_to_fs
    except ImportError as error:
        raise _refused(url, "fsspec is not installed", "pip install 'venturi[remote]'") from error
    try:
        yield url_to_fs(url)
    except ImportError as error:
        raise _refused(url, str(error), "install the driver of that store") from error
    except Exception as error:  # each driver has errors of its own
        said = " ".join(str(error).split()) or type(error).__name__
        raise _refused(url, said) from error


def _refused(
    url: str, why: str, hint: str = "name an existing folder or file that you may read"
) -> VenturiError:
    return VenturiError(
        "VEN-INGEST-SERVER", f"{url} cannot be read: {why}", where={"url": url}, hint=hint
    )
