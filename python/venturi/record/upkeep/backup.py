"""Backs up the whole repository to one file, and restores it, on any database.

A zip of

- `tables/NAME.ndjson`: a JSON object a row, of every table but those that are derived (`trials`,
  `configuration`, `changes`) and the sessions of browsers,
- `artifacts/<trial id>/<name>`: the files,
- `manifest.json`, last: `{"format": "venturi-backup", "version": 1, "revision": ..., "members":
  [{"name", "size_bytes", "sha256"}, ...], ...}`.

The rows are read in one transaction, which sees one state of the tables and keeps no writer
waiting. A trial's files exist before the trial is recorded with them, so all files of these rows
exist. They are copied unchanged, even damaged ones.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import zipfile
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from venturi.core.errors import VenturiError
from venturi.core.settings import TrialLimits
from venturi.record.access import tokens
from venturi.record.limits import fitted
from venturi.record.store.files import (
    TEMPORARY_SUFFIX,
    is_abandoned,
    make_folder,
    modes_in,
    refuse_existing,
    replacing,
)
from venturi.record.store.repository import TrialRepository
from venturi.record.store.rows import insert_new, insert_rows
from venturi.record.store.tables import (
    CHANGES,
    CONFIGURATION,
    JOBS,
    METADATA,
    QUARANTINE,
    RECORDS,
    REVISION,
    SESSIONS,
    TRIALS,
)
from venturi.record.trial import ID, TERMINAL, Failure, State, Trial, now
from venturi.record.trial_json import decode
from venturi.record.upkeep import quarantine
from venturi.record.upkeep.check import RESTORING, why_unreadable, widest
from venturi.record.upkeep.locks import exclusive_files_lock, upkeep_lock

FORMAT, VERSION, FIRST_REVISION = "venturi-backup", 1, "0009"
_MANIFEST = "manifest.json"
_MANIFEST_BYTES_MAX = 1 << 30
_LINE_BYTES_MAX = 1 << 30
_ROWS_A_STEP = 1_000
_NAME = re.compile(r"[0-9A-Za-z][0-9A-Za-z._+-]{0,199}")
_NOT_COPIED = (TRIALS, CONFIGURATION, CHANGES, SESSIONS, JOBS)
COPIED = tuple(table for table in METADATA.sorted_tables if table not in _NOT_COPIED)
Progress = Callable[[int, int | None], None]
"""Called with the bytes done and, where it is known, the bytes in all."""


@dataclass(frozen=True, slots=True)
class BackupReport:
    """The contents of a backup. `damaged` and `missing` are artifacts that were so before; damaged
    ones are in the backup as they are.
    """

    trials: int
    artifacts: int
    artifact_bytes: int
    damaged: tuple[str, ...]
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RestoreReport:
    """The result of restoring a backup: how many trials were unfinished (`interrupted` now), and
    how many could not be read (`quarantined`); `revoked` counts the tokens that ended.
    """

    trials: int
    artifacts: int
    interrupted: int
    quarantined: int
    revoked: int = 0


@dataclass(frozen=True, slots=True)
class BackupFile:
    """A file of the backup."""

    name: str
    size_bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """The contents of a backup, as its manifest lists them."""

    revision: str
    made_at: str
    members: tuple[BackupFile, ...]


def back_up(
    repository: TrialRepository,
    path: Path,
    *,
    overwrite: bool = False,
    progress: Progress = lambda _done, _all: None,
) -> BackupReport:
    """Writes everything to `path`, which appears when it is complete, for its owner's eyes only."""
    refuse_existing(path, overwrite=overwrite)
    home = repository.artifacts_dir.parent
    with upkeep_lock(home, f"venturi backup {path.name}"):
        _remove_dead(path)
        with replacing(path, mode=0o600) as file, zipfile.ZipFile(file, "w") as archive:
            return _Writer(repository, archive, progress).write()


def _remove_dead(path: Path) -> None:
    """Remove the partly written file of a killed backup to `path`."""
    begun = re.compile(rf"\.{re.escape(path.name)}\.\d+{re.escape(TEMPORARY_SUFFIX)}")
    for each in path.parent.iterdir() if path.parent.is_dir() else ():
        if begun.fullmatch(each.name):
            is_abandoned(each, remove=True)


class _Writer:
    """Writes one backup."""

    def __init__(
        self, repository: TrialRepository, archive: zipfile.ZipFile, progress: Progress
    ) -> None:
        self._repository, self._archive, self._progress = repository, archive, progress
        self._members: list[BackupFile] = []
        self._sizes: dict[str, tuple[int | None, str | None]] = {}
        """The recorded size and digest of each artifact, by path; None where unknown."""
        self._trials = 0

    def write(self) -> BackupReport:
        with self._repository.reading() as connection:
            for table in COPIED:
                self._table(connection, table)
        damaged: list[str] = []
        missing: list[str] = []
        done, total = 0, sum(size or 0 for size, _ in self._sizes.values())
        for path, recorded in self._sizes.items():
            try:
                with (self._repository.artifacts_dir / path).open("rb") as source:
                    parts = iter(partial(source.read, 1 << 20), b"")
                    member = self._member(f"artifacts/{path}", parts)
            except OSError as error:
                if not isinstance(error, FileNotFoundError | IsADirectoryError):
                    raise
                missing.append(path)
                continue
            if recorded[1] is not None and recorded != (member.size_bytes, member.sha256):
                damaged.append(path)
            done += member.size_bytes
            self._progress(done, max(done, total))
        manifest = {
            "format": FORMAT,
            "version": VERSION,
            "revision": REVISION,
            "made_at": now().isoformat(),
            "trials": self._trials,
            "members": [
                {"name": each.name, "size_bytes": each.size_bytes, "sha256": each.sha256}
                for each in self._members
            ],
        }
        self._archive.writestr(_info(_MANIFEST, packed=True), json.dumps(manifest))
        copied = len(self._sizes) - len(missing)
        return BackupReport(self._trials, copied, done, tuple(damaged), tuple(missing))

    def _table(self, connection: sa.Connection, table: sa.Table) -> None:
        statement = sa.select(table).order_by(*table.primary_key.columns)
        rows = connection.execution_options(yield_per=_ROWS_A_STEP).execute(statement).mappings()
        self._member(f"tables/{table.name}.ndjson", self._lines(table, rows), packed=True)

    def _lines(self, table: sa.Table, rows: Iterable[Mapping[Any, Any]]) -> Iterator[bytes]:
        for row in rows:
            if table is RECORDS:
                self._trials += 1
                self._note(row["id"], row["record"])
            elif table is QUARANTINE and row["kind"] == "trial":
                self._note_all(row["subject"])
            yield json.dumps(dict(row)).encode() + b"\n"

    def _note(self, id_: str, record: str) -> None:
        """The artifacts of a trial; for an unreadable one, all files in its folder."""
        if why_unreadable(id_, record) is not None:
            self._note_all(id_)
            return
        for artifact in decode(record).artifacts:
            if _is_artifact(artifact.path):
                self._sizes[artifact.path] = (artifact.size_bytes, artifact.sha256)

    def _note_all(self, id_: str) -> None:
        folder = self._repository.artifacts_dir / id_
        if ID.fullmatch(id_) and folder.is_dir():
            for path in sorted(folder.iterdir()):
                name = f"{id_}/{path.name}"
                if path.is_file() and not path.is_symlink() and _is_artifact(name):
                    self._sizes.setdefault(name, (None, None))

    def _member(self, name: str, parts: Iterable[bytes], *, packed: bool = False) -> BackupFile:
        digest, size_bytes = hashlib.sha256(), 0
        with self._archive.open(_info(name, packed=packed), "w", force_zip64=True) as target:
            for part in parts:
                target.write(part)
                digest.update(part)
                size_bytes += len(part)
        self._members.append(BackupFile(name, size_bytes, digest.hexdigest()))
        return self._members[-1]


def _info(name: str, *, packed: bool) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.compress_type = zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED
    info.external_attr = 0o600 << 16
    return info


def _is_artifact(path: str) -> bool:
    folder, _, name = path.partition("/")
    return bool(ID.fullmatch(folder) and _NAME.fullmatch(name))


# ---- the way back ----


def read_manifest(path: Path) -> Manifest:
    """Read the manifest of the backup `path`.

    VEN-BACKUP-FORMAT if it isn't a backup, is truncated, or is of a newer Venturi.
    """
    with _reading(path), zipfile.ZipFile(path) as archive:
        return _manifest(archive)


def restore(
    repository: TrialRepository,
    path: Path,
    *,
    keep_tokens: bool = False,
    progress: Progress = lambda _done, _all: None,
) -> RestoreReport:
    """Fill `repository` from the backup `path`: all of it, or nothing.

    VEN-REPOSITORY-NOT-EMPTY if anything is recorded in it. Unfinished trials become interrupted: if
    their process still runs, then elsewhere. Tokens are revoked unless `keep_tokens`: the backup
    doesn't know which ones were revoked after it was made.
    """
    home = repository.artifacts_dir.parent
    # It stays until the rows exist, too: it identifies the files that a killed restore put in
    # place.
    staging = home / f"{RESTORING}{os.getpid()}"
    unpacked = staging / "artifacts"
    with upkeep_lock(home, f"venturi restore {path.name}"), exclusive_files_lock(home):
        _require_empty(repository)
        try:
            with _reading(path), zipfile.ZipFile(path) as archive:
                manifest = _manifest(archive)
                files = [each for each in manifest.members if each.name.startswith("artifacts/")]
                make_folder(staging, modes_in(home)[0])
                _unpack(archive, files, unpacked, modes_in(home), progress)
                with repository.writing(alone=True) as connection:
                    _require_rowless(connection, home)
                    told = _fill(connection, archive, manifest, widest(repository.limits))
                    if not keep_tokens:
                        told = replace(told, revoked=tokens.revoke_all(connection))
                    if unpacked.is_dir():
                        if repository.artifacts_dir.is_dir():
                            repository.artifacts_dir.rmdir()
                        unpacked.rename(repository.artifacts_dir)
        except BaseException:
            shutil.rmtree(staging, ignore_errors=True)
            if _is_rowless(repository):  # its files were in place, its rows are not
                shutil.rmtree(repository.artifacts_dir, ignore_errors=True)
            raise
        staging.rmdir()
    return replace(told, artifacts=len(files))


def _require_empty(repository: TrialRepository) -> None:
    home = repository.artifacts_dir.parent
    with repository.reading() as connection:
        _require_rowless(connection, home)
    if repository.artifacts_dir.is_dir() and any(repository.artifacts_dir.iterdir()):
        raise VenturiError(
            "VEN-REPOSITORY-NOT-EMPTY",
            "the repository is not empty: its folder of artifacts has files, though no trial "
            "is recorded",
            where={"folder": str(repository.artifacts_dir)},
            hint="set VENTURI_HOME to a new folder, or remove leftovers of a killed `venturi "
            "restore` with `venturi repository check --mend`",
        )


def _require_rowless(connection: sa.Connection, home: Path) -> None:
    for table in COPIED:
        if connection.execute(sa.select(sa.literal(1)).select_from(table).limit(1)).first():
            raise VenturiError(
                "VEN-REPOSITORY-NOT-EMPTY",
                f"the repository is not empty: it has {table.name}",
                where={"folder": str(home)},
                hint="set VENTURI_HOME to a new folder (VENTURI_DATABASE_URL to a new database)",
            )


def _is_rowless(repository: TrialRepository) -> bool:
    try:
        with repository.reading() as connection:
            _require_rowless(connection, repository.artifacts_dir.parent)
    except VenturiError:
        return False
    return True


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        ValueError,
        KeyError,
        TypeError,
        NotImplementedError,
        RecursionError,
    ) as error:
        raise _damaged(f"not a Venturi backup, or damaged or truncated: {error}", path) from error
    except VenturiError as error:
        error.where.setdefault("file", str(path))
        raise


def _manifest(archive: zipfile.ZipFile) -> Manifest:
    if archive.getinfo(_MANIFEST).file_size > _MANIFEST_BYTES_MAX:
        raise _damaged(f"its {_MANIFEST} is too big")
    said = json.loads(archive.read(_MANIFEST))
    if said["format"] != FORMAT:
        raise _damaged(f'its {_MANIFEST} does not say "format": "{FORMAT}"')
    revision = str(said["revision"])
    if said["version"] != VERSION or not FIRST_REVISION <= revision <= REVISION:
        raise VenturiError(
            "VEN-BACKUP-FORMAT",
            f"a backup of version {said['version']}, revision {revision}; this Venturi restores "
            f"version {VERSION}, revisions {FIRST_REVISION} to {REVISION}",
            hint="restore it with the Venturi that wrote it, or update this one",
        )
    members = tuple(
        BackupFile(str(each["name"]), int(each["size_bytes"]), str(each["sha256"]))
        for each in said["members"]
    )
    tables = {f"tables/{table.name}.ndjson" for table in COPIED}
    names = [each.name for each in members]
    for name in names:
        if name not in tables and not (
            name.startswith("artifacts/") and _is_artifact(name.removeprefix("artifacts/"))
        ):
            raise _damaged(f"{name!r} does not belong to a backup")
    # Artifacts are in it as they are, so that no file unpacks to more than itself.
    kept = [each.size_bytes for each in members if each.name.startswith("artifacts/")]
    if min(kept, default=0) < 0 or sum(kept) > archive.start_dir:
        raise _damaged("its artifacts have more bytes than the file")
    if sorted([*names, _MANIFEST]) != sorted(archive.namelist()):
        raise _damaged(f"its files are not those of its {_MANIFEST}")
    return Manifest(revision, str(said["made_at"]), members)


def _unpack(
    archive: zipfile.ZipFile,
    members: Iterable[BackupFile],
    staging: Path,
    modes: tuple[int, int],
    progress: Progress,
) -> None:
    """Writes the artifacts into `staging`, on the disk when it returns."""
    members = list(members)
    done, total = 0, sum(each.size_bytes for each in members)
    for member in members:
        target = staging / member.name.removeprefix("artifacts/")
        make_folder(staging, modes[0])
        make_folder(target.parent, modes[0])
        with open(target, "xb", opener=_private) as file:
            os.fchmod(file.fileno(), modes[1])
            for part in _parts(archive, member):
                file.write(part)
        done += member.size_bytes
        progress(done, total)
    if members:
        os.sync()


def _private(name: str, flags: int) -> int:
    return os.open(name, flags, 0o600)


def _parts(archive: zipfile.ZipFile, member: BackupFile) -> Generator[bytes, None, None]:
    """Yield the content of `member`; an error if it differs from the manifest."""
    digest, size_bytes = hashlib.sha256(), 0
    with archive.open(member.name) as source:
        while part := source.read(1 << 20):
            digest.update(part)
            size_bytes += len(part)
            if size_bytes > member.size_bytes:
                break
            yield part
    if size_bytes != member.size_bytes or digest.hexdigest() != member.sha256:
        raise _damaged(f"{member.name} differs from its size or digest in {_MANIFEST}")


def _fill(
    connection: sa.Connection, archive: zipfile.ZipFile, manifest: Manifest, limits: TrialLimits
) -> RestoreReport:
    told = RestoreReport(0, 0, 0, 0)
    tables = {f"tables/{table.name}.ndjson": table for table in COPIED}
    for member in manifest.members:
        table = tables.get(member.name)
        if table is None:
            continue
        with closing(_parts(archive, member)) as parts:
            rows = (_row(table, line) for line in _lines(parts))
            while some := list(islice(rows, _ROWS_A_STEP)):
                if table is RECORDS:
                    told = _add_trials(connection, some, told, limits)
                else:
                    insert_rows(connection, table, some)
    return told


def _row(table: sa.Table, line: bytes) -> dict[str, Any]:
    """A row of `table`. Only column names may be its keys, because they become part
    of a statement.
    """
    row = json.loads(line)
    if not isinstance(row, dict) or not row.keys() <= set(table.columns.keys()):
        raise _damaged(f"a row of {table.name} lacks columns of that table")
    # SQLite stores the character NUL, PostgreSQL doesn't.
    return {
        name: value.replace("\0", "\u2400") if isinstance(value, str) else value
        for name, value in row.items()
    }


def _lines(parts: Iterable[bytes]) -> Iterator[bytes]:
    rest = b""
    for part in parts:
        *whole, rest = (rest + part).split(b"\n")
        yield from whole
        if len(rest) > _LINE_BYTES_MAX:
            raise _damaged("a row is too long")
    if rest:
        raise _damaged("a table is truncated")


def _add_trials(
    connection: sa.Connection, rows: list[dict[str, Any]], told: RestoreReport, limits: TrialLimits
) -> RestoreReport:
    trials: list[Trial] = []
    interrupted = quarantined = 0
    for row in rows:
        reason = why_unreadable(row["id"], row["record"])
        if reason is None:
            try:  # an older version may have stored it, but this database may not hold it
                trial = fitted(decode(row["record"]), limits)
            except VenturiError as error:
                reason = error.message
        if reason is not None:
            quarantine.set_aside(connection, "trial", row["id"], reason, content=row["record"])
            quarantined += 1
            continue
        if trial.owner is not None and trial.state not in TERMINAL:
            failure = Failure(
                kind="interrupted",
                code="VEN-RECORD-ABANDONED",
                message=f"the backup was made while the trial was {trial.state}",
            )
            trial = trial.advance(State.INTERRUPTED, failure=failure)
            interrupted += 1
        trials.append(trial)
    # As they were stored, also where limits have become narrower since.
    insert_new(connection, trials, None)
    return replace(
        told,
        trials=told.trials + len(trials),
        interrupted=told.interrupted + interrupted,
        quarantined=told.quarantined + quarantined,
    )


def _damaged(message: str, path: Path | None = None) -> VenturiError:
    return VenturiError(
        "VEN-BACKUP-FORMAT",
        message,
        where={} if path is None else {"file": str(path)},
        hint="nothing was restored; use another backup",
    )
