"""The exchange archive: trials and their artifacts in one file.

A zip, so that you can reach and check every file in it separately:

- `manifest.json`: `{"format": "venturi-export", "version": 1, "trials": [{"id", "sha256"}, ...]}`
- `trials.ndjson`: one record per line, in the manifest's order; `sha256` is the line's digest
- `artifacts/<trial id>/<name>`: the files, with their digests in the records

Equal trials give equal archives, byte for byte. An imported archive isn't trusted: its names are
never used as paths, sizes are limited, and a damaged trial is rejected without the others.
"""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic_core import from_json

from venturi.core.errors import VenturiError
from venturi.record.access.authors import Author
from venturi.record.account_tables import ACCOUNT_TABLES
from venturi.record.dropped_tables import (
    RESTORED,
    SUMMARY_NAME,
    differ_in_tables_only,
    remove_tables,
    table_artifacts,
    tables_dropped,
)
from venturi.record.importing.containers import MANIFEST, RECORDS
from venturi.record.importing.formats import Format
from venturi.record.importing.tally import ArrivalKind, ImportReport, Tally
from venturi.record.importing.text import Refusal
from venturi.record.limits import check
from venturi.record.store.files import refuse_existing, replacing
from venturi.record.store.repository import NEWEST, TrialRepository
from venturi.record.store.table_check import TableChecker
from venturi.record.trial import TERMINAL, Artifact, Trial
from venturi.record.trial_json import decode, encode
from venturi.record.upkeep.locks import import_lock, trial_lock

FORMAT = Format(
    "archive",
    "trials that `venturi export` wrote",
    pattern=r"PK(\x03\x04|\x05\x06)",
    suffix="trials.ndjson",
)

ARCHIVE = "venturi-export"
VERSION = 1
_DIRECTORY_BYTES_A_MEMBER = 160  # 46 and a name: artifacts/, 26 characters of an id, /, the file's
_COMPRESSION = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}
Progress = Callable[[int, int], None]
"""Called with the number of trials done, and their total."""


@dataclass(frozen=True, slots=True)
class ArchiveLimits:
    """Limits of the resources that an archive may use.

    Digests do not compress, so no manifest unpacks to more than `manifest_times` the bytes of its
    archive. Records resemble one another and unpack to at most `records_times`. Small ones may
    unpack to `free_bytes`. A trial has a line in the manifest of at most `manifest_line_bytes`.
    """

    members: int = 1_000_000
    total_bytes: int = 1 << 40
    manifest_times: int = 8
    manifest_line_bytes: int = 200
    records_times: int = 250
    free_bytes: int = 1 << 20


def export_trials(
    repository: TrialRepository,
    trials: Sequence[Trial],
    path: Path,
    *,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> None:
    """Writes `trials`, which must have ended, and their artifacts to the archive `path`.

    Each artifact is checked against its digest on the way (VEN-RECORD-ARTIFACT).
    """
    refuse_existing(path, overwrite=overwrite)
    for trial in trials:
        if trial.state not in TERMINAL:
            raise VenturiError(
                "VEN-RECORD-STATE",
                f"trial {trial.id} is still {trial.state}",
                where={"trial": trial.id},
                hint="export it after it has ended",
            )
    trials = sorted({trial.id: trial for trial in trials}.values(), key=lambda trial: trial.id)
    lines = [encode(trial).encode() for trial in trials]
    manifest = {
        "format": ARCHIVE,
        "version": VERSION,
        "trials": [
            {"id": trial.id, "sha256": hashlib.sha256(line).hexdigest()}
            for trial, line in zip(trials, lines, strict=True)
        ],
    }
    try:
        with replacing(path) as file, zipfile.ZipFile(file, "w") as archive:
            archive.writestr(_member(MANIFEST), json.dumps(manifest))
            archive.writestr(_member(RECORDS), b"".join(line + b"\n" for line in lines))
            for done, trial in enumerate(trials, start=1):
                for artifact in trial.artifacts:
                    _write_artifact(archive, repository, artifact)
                if progress:
                    progress(done, len(trials))
    except OSError as error:
        raise VenturiError(
            "VEN-EXCHANGE-FORMAT",
            f"the archive cannot be written: {error.strerror}",
            where={"file": str(path)},
        ) from error


def import_archive(
    repository: TrialRepository,
    path: Path,
    *,
    limits: ArchiveLimits | None = None,
    storing: AbstractContextManager[object] | None = None,
    progress: Progress | None = None,
    by: Author | None = None,
) -> ImportReport:
    """Import the trials of the archive `path`; existing ones are left unchanged.

    Only task tables that were dropped here are restored, and not from an upload.

    Each new trial records that it was imported `by` this author. `storing` is entered while a trial
    that was read and checked is being stored.

    Raises VEN-EXCHANGE-FORMAT for a damaged or unknown archive. A trial that is damaged or beyond
    the limits is rejected, and the others are imported. Stops at VEN-SYSTEM.
    """
    limits = limits or ArchiveLimits()
    tally = Tally()
    try:
        with (
            _BoundedArchive(path, limits) as file,
            zipfile.ZipFile(file) as archive,
            TableChecker() as tables,
        ):
            size_bytes = path.stat().st_size
            _check_members(archive, size_bytes, limits)
            _check_expansion(archive, size_bytes, limits)
            expected = _read_manifest(archive, limits)
            most = repository.limits.record_bytes
            for number, line in enumerate(_lines(archive, len(expected), most), start=1):
                id_, sha256 = expected[number - 1]
                try:
                    trial = _read_trial(line, id_, sha256, number)
                    check(trial, repository.limits)
                    with storing or nullcontext(), import_lock(repository.artifacts_dir.parent):
                        kind, note = _take_in(repository, archive, trial, tables, by)
                    tally.arrive(trial, kind, note=note)
                except VenturiError as error:
                    if error.code == "VEN-SYSTEM":
                        raise  # no trial is at fault, and the next would wait as long
                    tally.refuse(Refusal(number, "trial", id_, error.message, error.code))
                if progress:
                    progress(number, len(expected))
    # NotImplementedError: of a version or a way of packing that is not read.
    except (zipfile.BadZipFile, zlib.error, EOFError, ValueError, NotImplementedError) as error:
        why = "not an archive of `venturi export`, or damaged or truncated: "
        raise _damaged(why + (str(error) or type(error).__name__), path) from error
    except OSError as error:
        raise VenturiError(
            "VEN-EXCHANGE-FORMAT",
            f"cannot be read, or the repository cannot be written: {error.strerror}",
            where={"file": str(path), "writing": str(repository.artifacts_dir)},
        ) from error
    except VenturiError as error:
        error.where.setdefault("file", str(path))
        raise
    return tally.done()


def _member(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)  # dated 1980: the archive says nothing about when it was written
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = (stat.S_IFREG | 0o644) << 16
    return info


def _write_artifact(
    archive: zipfile.ZipFile, repository: TrialRepository, artifact: Artifact
) -> None:
    path = repository.artifact_path(artifact)
    with path.open("rb") as source:
        if hashlib.file_digest(source, "sha256").hexdigest() != artifact.sha256:
            raise VenturiError(
                "VEN-RECORD-ARTIFACT",
                "the artifact's file differs from the recorded one (digest)",
                where={"artifact": artifact.path, "file": str(path)},
            )
        source.seek(0)
        with archive.open(_member(f"artifacts/{artifact.path}"), "w", force_zip64=True) as target:
            shutil.copyfileobj(source, target, 1 << 20)


class _BoundedArchive(io.BufferedReader):
    """The archive `path`, with a directory no larger than its number of files allows.

    zipfile reads the whole directory when it opens an archive, and turns each entry into an object
    of ten times the bytes, regardless of the number of entries that the archive states.
    """

    def __init__(self, path: Path, limits: ArchiveLimits) -> None:
        super().__init__(io.FileIO(path))
        self._most = limits.free_bytes + limits.members * _DIRECTORY_BYTES_A_MEMBER

    def read(self, size: int | None = -1, /) -> bytes:
        """Read as any file does; raises VEN-EXCHANGE-FORMAT for a read of too many bytes."""
        if size is not None and size > self._most:
            raise _damaged(f"its directory has {size} bytes; at most {self._most} are read")
        return super().read(size)


def _check_members(archive: zipfile.ZipFile, size_bytes: int, limits: ArchiveLimits) -> None:
    """Reject contents that no export has, before anything is read."""
    members = archive.infolist()
    if len(members) > limits.members:
        raise _damaged(f"{len(members)} files in it; at most {limits.members} are read")
    total_bytes = sum(info.file_size for info in members)
    if total_bytes > limits.total_bytes:
        raise _damaged(f"{total_bytes} bytes unpacked; at most {limits.total_bytes} are read")
    seen: set[str] = set()
    for info in members:
        name = info.orig_filename
        parts = name.split("/")
        if "\\" in name or "\0" in name or any(part in {"", ".", ".."} for part in parts):
            raise _damaged(f"a file in it is named {name!r}, which leads outside")
        kind = stat.S_IFMT(info.external_attr >> 16)
        if kind not in {0, stat.S_IFREG}:
            raise _damaged(f"{name!r} is a link or another special file")
        if info.flag_bits & 1 or info.compress_type not in _COMPRESSION:
            raise _damaged(f"{name!r} is encrypted or packed in an unusual way")
        if info.compress_size > size_bytes:  # as much would be reserved to read it
            raise _damaged(f"{name!r} has {info.compress_size} bytes, more than the archive")
        if name in seen:
            raise _damaged(f"it contains {name!r} twice")
        if name not in {MANIFEST, RECORDS} and parts[0] != "artifacts":
            raise _damaged(f"{name!r} does not belong to an export")
        seen.add(name)


def _check_expansion(archive: zipfile.ZipFile, size_bytes: int, limits: ArchiveLimits) -> None:
    """Reject files that unpack to more than an export does, before they are unpacked."""
    for name, times in ((MANIFEST, limits.manifest_times), (RECORDS, limits.records_times)):
        if name not in archive.NameToInfo:
            raise _damaged(f"it has no {MANIFEST} or no {RECORDS}")
        most = limits.free_bytes + times * size_bytes
        if (unpacked := archive.getinfo(name).file_size) > most:
            raise _damaged(
                f"its {name} unpacks to {unpacked} bytes; at most {most} are read of an archive of "
                f"{size_bytes} bytes"
            )


def _read_manifest(archive: zipfile.ZipFile, limits: ArchiveLimits) -> list[tuple[str, str]]:
    """Id and digest of each trial, in order."""
    most = limits.free_bytes + limits.members * limits.manifest_line_bytes
    if archive.getinfo(MANIFEST).file_size > most:
        raise _damaged(f"its {MANIFEST} unpacks to more than {most} bytes")
    manifest: Any = from_json(archive.read(MANIFEST))
    if not isinstance(manifest, dict) or manifest.get("format") != ARCHIVE:
        raise _damaged(f'its {MANIFEST} does not say "format": "{ARCHIVE}"')
    if manifest.get("version") != VERSION:
        raise VenturiError(
            "VEN-EXCHANGE-FORMAT",
            f"an export of version {manifest.get('version')!r}; this Venturi reads {VERSION}",
            hint="export it again, or update the older of the two Venturis",
        )
    try:
        return [(str(trial["id"]), str(trial["sha256"])) for trial in manifest["trials"]]
    except (KeyError, TypeError) as error:
        raise _damaged(f"its {MANIFEST} lacks trials, ids or digests") from error


def _lines(archive: zipfile.ZipFile, count: int, most: int) -> Iterator[bytes]:
    """The `count` lines of the records, without their ends; none has more than `most` bytes."""
    with archive.open(RECORDS) as file:
        for number in range(1, count + 1):
            line = file.readline(most + 1)
            if not line.endswith(b"\n"):
                long = len(line) > most
                raise _damaged(
                    f"line {number} of {RECORDS} is {'too long' if long else 'truncated'}"
                )
            yield line[:-1]
        if file.read(1):
            raise _damaged(f"{RECORDS} has more lines than the manifest")


def _read_trial(line: bytes, id_: str, sha256: str, number: int) -> Trial:
    if hashlib.sha256(line).hexdigest() != sha256:
        raise _damaged("the record differs from its digest in the manifest")
    trial = decode(line, where={"line": number})
    if NEWEST.fullmatch(trial.id):
        raise _damaged(
            f"{trial.id!r} stands for the newest trial here, so it can't be a trial's ID"
        )
    if trial.id != id_:
        raise _damaged(f"the record's id is {trial.id}, the manifest says {id_}")
    if trial.state not in TERMINAL:
        raise VenturiError("VEN-RECORD-STATE", f"it was still {trial.state} when it was exported")
    for artifact in trial.artifacts:
        if artifact.path != f"{trial.id}/{artifact.name}":
            raise _damaged(f"artifact {artifact.name!r} has the path {artifact.path!r}")
    return trial


def _take_in(
    repository: TrialRepository,
    archive: zipfile.ZipFile,
    trial: Trial,
    tables: TableChecker,
    by: Author | None,
) -> tuple[ArrivalKind, str]:
    """Whether `trial` is new here, and a note; a different one with its id is an error.

    An existing trial without its files (shared database, separate folders) gets them.
    """
    stored = _stored(repository, trial)
    if stored is not None and stored != trial:
        restores = tables_dropped(stored) is not None and tables_dropped(trial) is None
        if not restores or by is not None:  # nothing proves that uploaded tables are the same
            return ArrivalKind.PRESENT, ""
        return _restore_tables(repository, archive, stored, trial, tables)
    if stored is None:
        repository.require_admitted(trial.id)
    missing = [
        artifact
        for artifact in trial.artifacts
        if not (repository.artifacts_dir / artifact.path).is_file()
    ]
    if stored is None:
        missing = list(trial.artifacts)
    kept: list[Path] = []
    try:
        for artifact in missing:
            kept.append(repository.artifacts_dir / artifact.path)
            _keep(repository, archive, trial, artifact, tables)
        if stored is None:
            repository.add(trial, by)
    except VenturiError as error:
        if error.code == "VEN-RECORD-DUPLICATE" and _stored(repository, trial):
            return ArrivalKind.PRESENT, ""  # another import of the same trial was faster
        for path in kept:
            path.unlink(missing_ok=True)
            with suppress(OSError):  # it holds others, or was never made
                path.parent.rmdir()
        raise
    return (ArrivalKind.ADDED if stored is None else ArrivalKind.PRESENT), ""


def _restore_tables(
    repository: TrialRepository,
    archive: zipfile.ZipFile,
    stored: Trial,
    trial: Trial,
    tables: TableChecker,
) -> tuple[ArrivalKind, str]:
    """Put `trial`, which has task tables, in place of `stored`, which lost them."""
    folder = repository.artifacts_dir / trial.id
    with trial_lock(repository.artifacts_dir.parent, trial.id):
        if repository.stored(trial.id) != stored:
            return ArrivalKind.PRESENT, ""  # another import was faster
        try:
            for artifact in table_artifacts(trial):
                _keep(repository, archive, trial, artifact, tables)
        except VenturiError:
            remove_tables(folder)
            raise
        if not repository.supersede(stored, trial):
            return ArrivalKind.PRESENT, ""  # another machine was faster
        (folder / SUMMARY_NAME).unlink(missing_ok=True)
    return ArrivalKind.UPDATED, RESTORED


def _stored(repository: TrialRepository, trial: Trial) -> Trial | None:
    """The trial with the id of `trial`, equal or with other task tables; None if it is new."""
    try:
        stored = repository.get(trial.id)
    except VenturiError as error:
        if error.code == "VEN-RECORD-UNKNOWN":
            return None
        raise
    if stored.id != trial.id:
        return None  # a longer id that begins with this one
    if stored != trial and not differ_in_tables_only(stored, trial):
        raise VenturiError(
            "VEN-RECORD-DUPLICATE", f"a different trial with the ID {trial.id} is recorded here"
        )
    return stored


def _keep(
    repository: TrialRepository,
    archive: zipfile.ZipFile,
    trial: Trial,
    artifact: Artifact,
    tables: TableChecker,
) -> None:
    """Import one artifact; its content must match the record."""
    member = f"artifacts/{artifact.path}"
    try:
        info = archive.getinfo(member)
        if info.file_size != artifact.size_bytes:
            raise _damaged(f"{member} has {info.file_size} bytes, not {artifact.size_bytes}")
        with archive.open(info) as source:
            kept = repository.keep(trial, artifact.kind, artifact.name, source)
    except (KeyError, zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise _damaged(f"{member} is missing or damaged") from error
    if kept != artifact:
        raise VenturiError("VEN-RECORD-ARTIFACT", f"{member} differs from its digest")
    if artifact.kind == "series" or artifact.name in ACCOUNT_TABLES:
        path = repository.artifacts_dir / artifact.path
        tables.check(path, trial.id, repository.limits, series=artifact.kind == "series")


def _damaged(message: str, path: Path | None = None) -> VenturiError:
    return VenturiError(
        "VEN-EXCHANGE-FORMAT",
        message,
        where={} if path is None else {"file": str(path)},
        hint="export it again with `venturi export`",
    )
