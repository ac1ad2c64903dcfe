"""Event logs from a history server of Spark, over HTTP.

Source of its paths: Spark's monitoring page, REST API. A server is not trusted: its answers are
held to bounds, and a log gets the place that its id says, whatever the archive says.
"""

from __future__ import annotations

import json
import re
import urllib.parse
import urllib.request
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path, PurePosixPath
from typing import IO, Any
from urllib.error import HTTPError

from venturi.core.errors import VenturiError

CODE = "VEN-INGEST-SERVER"
_TIMEOUT_S = 60
_LIST_BYTES = 64 << 20
_LOG_BYTES = 64 << 30
_MEMBERS = 100_000
_CHUNK = 1 << 20
_NAME = re.compile(r"[\w.-]{1,200}")


@dataclass(frozen=True, slots=True)
class ServerApplication:
    """An application that is over; `stamp` changes when its log does."""

    id: str
    stamp: str


def completed_applications(url: str) -> list[ServerApplication]:
    """The applications that are over on the history server at `url`; VEN-INGEST-SERVER."""
    with _opened(f"{url}/api/v1/applications?status=completed") as answer:
        text = answer.read(_LIST_BYTES + 1)
    if len(text) > _LIST_BYTES:
        raise _refused(url, f"its list is longer than {_LIST_BYTES:,} bytes")
    try:
        return list(_applications(json.loads(text)))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise _refused(url, f"its list of applications cannot be read: {error}") from error


def _applications(listed: Any) -> Iterator[ServerApplication]:
    for each in listed:
        id_ = each["id"]
        if _NAME.fullmatch(id_) and not id_.startswith("."):
            stamps = [int(attempt.get("lastUpdatedEpoch", 0)) for attempt in each["attempts"]]
            yield ServerApplication(id_, str(max(stamps, default=0)))


def download(url: str, application: ServerApplication, folder: Path) -> Path:
    """Puts the logs of an application into a folder of its own in `folder`, and returns that."""
    own = folder / application.id
    own.mkdir()
    packed = folder / f"{application.id}.zip"
    path = urllib.parse.quote(application.id)
    try:
        with _opened(f"{url}/api/v1/applications/{path}/logs") as answer, packed.open("wb") as file:
            _copy(answer, file, _LOG_BYTES, url)
        with zipfile.ZipFile(packed) as archive:
            _unpack(archive, own, url)
    except zipfile.BadZipFile as error:
        raise _refused(url, f"the logs of {application.id} are not a zip file: {error}") from error
    finally:
        packed.unlink(missing_ok=True)
    return own


def _unpack(archive: zipfile.ZipFile, folder: Path, url: str) -> None:
    left = _LOG_BYTES
    members = archive.infolist()
    if len(members) > _MEMBERS:
        raise _refused(url, f"an archive has more than {_MEMBERS:,} files")
    for member in members:
        # A rolling log is a folder of files; nothing is deeper.
        parts = PurePosixPath(member.filename).parts[-2:]
        if member.is_dir() or not all(_NAME.fullmatch(p) and p.strip(".") for p in parts):
            continue
        place = folder.joinpath(*parts)
        place.parent.mkdir(exist_ok=True)
        with archive.open(member) as packed, place.open("wb") as file:
            left -= _copy(packed, file, left, url)


def _copy(source: IO[bytes], target: IO[bytes], most: int, url: str) -> int:
    """Copies all of `source`, which may have `most` bytes; how many it had."""
    done = 0
    while chunk := source.read(_CHUNK):
        done += len(chunk)
        if done > most:
            raise _refused(url, "a log is too large to import")
        target.write(chunk)
    return done


def _opened(url: str) -> Any:
    try:
        return urllib.request.urlopen(url, timeout=_TIMEOUT_S)  # noqa: S310 - http or https
    except (OSError, HTTPException, ValueError) as error:
        if isinstance(error, HTTPError):
            error.close()
        raise _refused(url, str(error)) from error


def _refused(url: str, why: str) -> VenturiError:
    return VenturiError(
        CODE,
        f"{url} does not answer as a history server of Spark: {why}",
        where={"url": url},
        hint="name its address, as http://HOST:18080",
    )
