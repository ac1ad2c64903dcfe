"""Event logs from a history server of Spark, over HTTP.

Source of its paths: Spark's monitoring page, REST API. A server is not trusted: its answers are
held to bounds, and a log gets the place that its id says, whatever the archive says.
"""

from __future__ import annotations

import hashlib
import json
import re
import urllib.parse
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from venturi.core.errors import FULL, MACHINE, VenturiError, refused
from venturi.record.importing.download import (
    NETWORK_ERRORS,
    copy_bounded,
    opened,
    read_answer,
    require_space,
    save_answer,
)

CODE = "VEN-INGEST-SERVER"
_LIST_BYTES = 64 << 20
_LOG_BYTES = 64 << 30
_MEMBERS = 100_000
_NAME = re.compile(r"[\w.-]{1,200}", re.ASCII)
# zipfile says with RuntimeError that a member is encrypted, with NotImplementedError that it can't
# unpack its method.
_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, ValueError)


@dataclass(frozen=True, slots=True)
class ServerApplication:
    """An application that is over; `stamp` changes when its log does."""

    id: str
    stamp: str


def completed_applications(url: str) -> list[ServerApplication]:
    """The applications that are over on the history server at `url`; VEN-INGEST-SERVER.

    Entries without a usable id are left out.
    """
    try:
        with opened(f"{url}/api/v1/applications?status=completed") as answer:
            listed = json.loads(read_answer(answer, _LIST_BYTES, "its list of applications"))
    except (*NETWORK_ERRORS, RecursionError) as error:
        raise _refused(url, str(error)) from error
    except VenturiError as error:
        raise _refused(url, error.message) from error
    if not isinstance(listed, list):
        raise _refused(url, "its list of applications isn't a list")
    return list(_applications(listed))


def _applications(listed: list[Any]) -> Iterator[ServerApplication]:
    for each in listed:
        id_ = each.get("id") if isinstance(each, dict) else None
        if isinstance(id_, str) and _NAME.fullmatch(id_) and not id_.startswith("."):
            yield ServerApplication(id_, _stamp(each.get("attempts")))


def _stamp(attempts: Any) -> str:
    """A digest of the attempts, which have the time of the last change, as the server writes it."""
    return hashlib.sha256(json.dumps(attempts, sort_keys=True).encode()).hexdigest()[:16]


def download(url: str, application: ServerApplication, folder: Path) -> Path:
    """Puts the logs of an application into a folder of its own in `folder`, and returns that.

    VEN-INGEST-SERVER if the server doesn't give them whole, VEN-IMPORT-FORMAT if the archive is
    damaged (`where` has its digest), VEN-INGEST-LIMIT, VEN-MEASURE-SPACE.
    """
    own = folder / application.id
    own.mkdir()
    packed = folder / f"{application.id}.zip"
    path = urllib.parse.quote(application.id)
    try:
        try:
            with opened(f"{url}/api/v1/applications/{path}/logs") as answer:
                save_answer(answer, packed, _LOG_BYTES, f"the logs of {application.id}")
        except NETWORK_ERRORS as error:
            _require_sound_machine(error)
            raise _refused(url, f"the logs of {application.id}: {error}") from error
        try:
            with zipfile.ZipFile(packed) as archive:
                _unpack(archive, own)
        except (*_DAMAGED, OSError) as error:
            _require_sound_machine(error)
            raise _damaged(application.id, packed, str(error)) from None
    finally:
        packed.unlink(missing_ok=True)
    return own


def _require_sound_machine(error: Exception) -> None:
    """Raise the error of a full disk, or of another fault of this machine, if `error` is one."""
    if isinstance(error, OSError) and error.errno in FULL | MACHINE:
        raise refused(error) from error


def _unpack(archive: zipfile.ZipFile, folder: Path) -> None:
    left = _LOG_BYTES
    members = archive.infolist()
    if len(members) > _MEMBERS:
        raise ValueError(f"it has more than {_MEMBERS:,} files")
    require_space(folder, sum(member.file_size for member in members))
    for member in members:
        # A rolling log is a folder of files; nothing is deeper.
        parts = PurePosixPath(member.filename).parts[-2:]
        if member.is_dir() or not all(_NAME.fullmatch(p) and p.strip(".") for p in parts):
            continue
        place = folder.joinpath(*parts)
        place.parent.mkdir(exist_ok=True)
        with archive.open(member) as packed:
            left -= copy_bounded(packed, place, left, f"the logs of {folder.name}")


def _damaged(application: str, packed: Path, why: str) -> VenturiError:
    with packed.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return VenturiError(
        "VEN-IMPORT-FORMAT",
        f"the logs of {application} are not a usable zip file: {why or 'cut off'}",
        where={"application": application, "sha256": digest},
        hint="open the application in the history server, and see whether it can show it",
    )


def _refused(url: str, why: str) -> VenturiError:
    return VenturiError(
        CODE,
        f"{url} does not answer as a history server of Spark: {why}",
        where={"url": url},
        hint="name its address, as http://HOST:18080",
    )
