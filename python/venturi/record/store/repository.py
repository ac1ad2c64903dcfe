"""The repository: every trial, and the files kept with it.

It uses SQLite in the same folder, or PostgreSQL, through the same code. A trial is saved at each
step of its life. `save` compares it with the stored one in the transaction that writes, so if two
writers conflict, one wins and the other gets an error.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import IO, Any, Literal

import sqlalchemy as sa

from venturi.core.errors import VenturiError
from venturi.core.settings import Settings, TrialLimits
from venturi.core.wording import NAMES_SHOWN
from venturi.record.access.actions import ADDED, record_action
from venturi.record.access.authors import Author, author_of
from venturi.record.access.owner import is_alive
from venturi.record.limits import Excess, fitted, refused
from venturi.record.store.closing import Closing
from venturi.record.store.database import Database
from venturi.record.store.files import (
    TEMPORARY_SUFFIX,
    make_folder,
    modes_in,
    replacing,
    sync_names,
)
from venturi.record.store.rows import insert_new, removals_of, update
from venturi.record.store.tables import (
    RECORDS,
    REMOVALS,
    TRIALS,
    microseconds,
    moment,
    storable,
)
from venturi.record.trial import (
    SUCCESSORS,
    TERMINAL,
    Artifact,
    Failure,
    ProvenanceKind,
    State,
    Trial,
)
from venturi.record.trial_json import stored_trial

ArtifactKind = Literal["series", "log", "manifest", "other"]
_ARTIFACT_NAME = re.compile(r"[0-9A-Za-z][0-9A-Za-z._+-]{0,199}")
NEWEST = re.compile(r"last(?:~(\d{1,9}))?")
"""Names a trial by how new it is; not an id of a trial."""
_NEWEST_FIRST = (TRIALS.c.started_at_us.desc().nulls_last(), TRIALS.c.id.desc())
_BATCH = 1_000
_DAY_US = 86_400 * 10**6
_PIECE_BYTES = 1 << 20
# A record, to be decoded.
_STORED = sa.select(RECORDS.c.id, RECORDS.c.record)


@dataclass(frozen=True, slots=True)
class AddReport:
    """The result of adding many trials: how many are new, how many had an id that exists, and how
    many were removed here for good and stay so.
    """

    added: int
    already_present: int
    removed: int = 0


class TrialRepository(Closing):
    """Trials in a database and their artifacts in a folder; a context manager.

    It gives `labels` to each trial that it adds; of an undated one they are part of its id.
    """

    def __init__(
        self,
        database: Database,
        artifacts_dir: Path,
        limits: TrialLimits,
        labels: Mapping[str, str] | None = None,
    ) -> None:
        self._database = database
        self._labels = labels or {}
        self.artifacts_dir = artifacts_dir
        self.limits = limits

    @classmethod
    def open(
        cls,
        settings: Settings,
        *,
        read_only: bool = False,
        patience_s: float | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> TrialRepository:
        """Open the repository of `settings`, created or upgraded where needed.

        If it would have to be, and is `read_only`: VEN-RECORD-DATABASE. `patience_s` as in
        `Database`.
        """
        try:
            if not read_only:
                # Private at first; its contents are as open as its owner makes it: see `modes_in`.
                settings.home.mkdir(0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise VenturiError(
                "VEN-RECORD-DATABASE",
                f"cannot create the folder of the repository: {error.strerror}",
                where={"folder": str(settings.home)},
                hint="set VENTURI_HOME to a folder that you can write to",
            ) from error
        # Not as text, in which a ? of the folder's name would end the name.
        file = sa.URL.create("sqlite", database=str(settings.home / "venturi.sqlite"))
        url = settings.database_url or file
        mode = 0o600 if read_only else modes_in(settings.home)[1]
        database = Database(url, read_only=read_only, mode=mode, patience_s=patience_s)
        return cls(database, settings.home / "artifacts", settings.limits, labels)

    def close(self) -> None:
        """Closes the database."""
        self._database.close()

    def add(self, trial: Trial, by: Author | None = None) -> Trial:
        """Store a new trial and return it as stored; an error if its id exists.

        A trial beyond the limits (see `record.limits`) raises VEN-RECORD-LIMIT; if it hasn't ended,
        so is being measured now, it is cut as by `save`. `by` is recorded as the person who brought
        it. A trial that was removed for good raises VEN-RECORD-REMOVED.
        """
        trial = self.labelled(trial)
        if trial.state not in TERMINAL:
            trial = fitted(trial, self.limits)
        with self._database.writing() as connection:
            _require_admitted(connection, trial.id)
            if by is not None:
                record_action(connection, ADDED, trial.id, by)
            if not insert_new(connection, [trial], self.limits):
                raise VenturiError(
                    "VEN-RECORD-DUPLICATE",
                    f"trial {trial.id} is already recorded",
                    where={"trial": trial.id},
                )
        return trial

    def add_many(self, trials: Iterable[Trial]) -> AddReport:
        """Store those of `trials` with new ids, and leave existing ones unchanged.

        All in one transaction: none is stored if `trials` raises, one of them is beyond the limits
        (VEN-RECORD-LIMIT), or this process is killed. During it other writers wait on SQLite; on
        PostgreSQL only other calls of this method do.
        """
        given = added = removed = 0
        remaining = map(self.labelled, trials)
        with self._database.writing(alone=True) as connection:
            while batch := list(islice(remaining, _BATCH)):
                given += len(batch)
                gone = removals_of(connection, [trial.id for trial in batch])
                removed += sum(trial.id in gone for trial in batch)
                kept = [each for each in batch if each.id not in gone]
                added += insert_new(connection, kept, self.limits)
            if added >= _BATCH:
                self._database.analyze(connection)
        if added >= _BATCH:
            self._database.vacuum()
        return AddReport(added, given - added - removed, removed)

    def labelled(self, trial: Trial) -> Trial:
        """`trial` with the labels that each new trial gets."""
        if not self._labels:
            return trial
        id_ = trial.id
        if trial.started_at is None:  # known by its content alone: equal times of two commits
            text = json.dumps(sorted(self._labels.items()))
            id_ = f"{id_[:55]}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"
        return replace(trial, id=id_, labels={**trial.labels, **self._labels})

    def require_admitted(self, id_: str) -> None:
        """VEN-RECORD-REMOVED if the trial `id_` was removed for good."""
        with self._database.reading() as connection:
            _require_admitted(connection, id_)

    def save(self, trial: Trial) -> Trial:
        """Store `trial` in place of its older self, and return it as stored. Excesses are cut with
        a warning, because a measurement can't be repeated.

        Its state must be the stored one or one that may follow it, and an owner, once set, stays
        the same; otherwise VEN-RECORD-STATE, and nothing changes.
        """
        trial = fitted(trial, self.limits)
        with self._locked(trial.id) as (connection, stored):
            if trial.state is not stored.state and trial.state not in SUCCESSORS[stored.state]:
                raise _conflict(stored, f"is {stored.state} and cannot become {trial.state}")
            if stored.owner not in (None, trial.owner):
                raise _conflict(stored, "belongs to another process")
            update(connection, stored, trial)
        return trial

    def supersede(self, stored: Trial, trial: Trial) -> bool:
        """Store `trial`, imported again, in place of `stored`, which has the same id.

        Its state may be any. False, and nothing changes, if `stored` has changed since it was read.
        """
        with self._locked(stored.id) as (connection, now):
            if now != stored:
                return False
            update(connection, stored, trial)
        return True

    def require_ready(self) -> None:
        """VEN-RECORD-DATABASE, unless the database answers and its tables are of this revision."""
        self._database.require_newest()

    def size_bytes(self) -> int:
        """The size of the database, without the artifacts."""
        return self._database.size_bytes()

    def reading(self) -> AbstractContextManager[sa.Connection]:
        """A transaction that sees one state of the tables; `record.query` asks in it."""
        return self._database.reading()

    def writing(
        self, *, alone: bool = False, counts: bool = True
    ) -> AbstractContextManager[sa.Connection]:
        """A transaction that may write; see `Database.writing`."""
        return self._database.writing(alone=alone, counts=counts)

    def get(self, id_: str) -> Trial:
        """Return the trial with the id `id_`, or the only one with an id that begins or ends with
        it.

        `last` is the trial that was recorded last, by a measurement or an import, `last~1` the one
        before it.
        Raises VEN-RECORD-UNKNOWN if no trial or several are found.
        """
        if ago := NEWEST.fullmatch(id_):
            return self._last(int(ago[1] or 0))
        # Every character an id may hold sorts before "~".
        begins = (id_ <= RECORDS.c.id) & (RECORDS.c.id < id_ + "~")
        rows = self._stored_where(begins, id_)
        if not rows:
            rows = self._stored_where(RECORDS.c.id.endswith(id_, autoescape=True), id_)
        # The exact id, if it exists, is the shortest and so comes first.
        if not rows or (len(rows) > 1 and rows[0].id != id_):
            found = "several trials have ids that begin or end" if rows else "no trial has an id"
            raise VenturiError(
                "VEN-RECORD-UNKNOWN",
                f"{found} with {id_!r}" if rows else f"{found} that begins or ends with {id_!r}",
                where={"id": id_},
                hint=f"give more of one of {', '.join(row.id for row in rows)}"
                if rows
                else "`venturi ls` lists the trials",
            )
        return stored_trial(rows[0].record, rows[0].id)

    def _stored_where(
        self, condition: sa.ColumnElement[bool], id_: str
    ) -> Sequence[sa.Row[Any, Any]]:
        """Return the first records that meet `condition`, by id."""
        if not id_ or not storable(id_):
            return ()
        query = _STORED.where(condition).order_by(RECORDS.c.id).limit(NAMES_SHOWN)
        with self._database.reading() as connection:
            return connection.execute(query).all()

    def _last(self, before: int) -> Trial:
        """The trial that was recorded last, or the one that is `before` it by that many trials."""
        query = _STORED.join(TRIALS, TRIALS.c.id == RECORDS.c.id).order_by(TRIALS.c.serial.desc())
        with self._database.reading() as connection:
            row = connection.execute(query.offset(before).limit(1)).one_or_none()
        if row is None:
            name = f"last~{before}" if before else "last"
            raise VenturiError(
                "VEN-RECORD-UNKNOWN",
                f"there is no trial {name}: too few are recorded"
                if before
                else "there is no last trial: none is recorded",
                where={"id": name},
                hint="`venturi ls` lists the trials"
                if before
                else "run `venturi quickstart` to measure, or `venturi import` to import trials",
            )
        return stored_trial(row.record, row.id)

    def stored(self, id_: str) -> Trial | None:
        """Return the trial with exactly the id `id_`, or None."""
        with self._database.reading() as connection:
            row = connection.execute(_STORED.where(RECORDS.c.id == id_)).one_or_none()
        return None if row is None else stored_trial(row.record, row.id)

    def imported_at(self, source: str, started_at: datetime) -> list[Trial]:
        """The trials of `source` that started at `started_at`, in the order of their arrival."""
        query = _STORED.join(TRIALS, TRIALS.c.id == RECORDS.c.id).order_by(TRIALS.c.serial)
        same = (TRIALS.c.started_at_us == microseconds(started_at)) & (TRIALS.c.source == source)
        with self._database.reading() as connection:
            return [
                stored_trial(row.record, row.id) for row in connection.execute(query.where(same))
            ]

    def measured_before(self, engine: str, time: datetime, *, most: int) -> list[Trial]:
        """The last trials of `engine` that Venturi measured, begun in the day before `time`."""
        at_us = microseconds(time)
        query = _STORED.join(TRIALS, TRIALS.c.id == RECORDS.c.id).where(
            TRIALS.c.started_at_us.between(at_us - _DAY_US, at_us),
            TRIALS.c.engine == engine,
            TRIALS.c.provenance == ProvenanceKind.MEASURED.value,
        )
        query = query.order_by(*_NEWEST_FIRST).limit(most)
        with self._database.reading() as connection:
            return [stored_trial(row.record, row.id) for row in connection.execute(query)]

    def trials_of(self, experiment: str) -> list[Trial]:
        """The trials of an experiment, newest first."""
        query = _STORED.join(TRIALS, TRIALS.c.id == RECORDS.c.id).order_by(*_NEWEST_FIRST)
        with self._database.reading() as connection:
            found = connection.execute(query.where(TRIALS.c.experiment == experiment))
            return [stored_trial(row.record, row.id) for row in found]

    def recover(self) -> list[Trial]:
        """Mark unfinished trials as interrupted if their process has ended.

        Returns them as now stored. Trials of a living process, of another host, or that no process
        ever claimed are unchanged.
        """
        unfinished = [state.value for state in State if state not in {*TERMINAL, State.RUNNING}]
        query = (
            _STORED.join(TRIALS, TRIALS.c.id == RECORDS.c.id)
            .where(TRIALS.c.state.in_(unfinished))
            .order_by(TRIALS.c.id)
        )
        with self._database.reading() as connection:
            found = connection.execute(query).all()
        # `record.upkeep` handles unreadable ones; they don't affect the others.
        trials = []
        for row in found:
            with suppress(VenturiError):
                trials.append(stored_trial(row.record, row.id))
        suspects = [trial.id for trial in trials if _is_abandoned(trial)]
        return [trial for id_ in suspects if (trial := self._interrupt(id_)) is not None]

    def _interrupt(self, id_: str) -> Trial | None:
        with self._locked(id_) as (connection, stored):
            if not _is_abandoned(stored):  # it ended, or was recovered, since we looked
                return None
            assert stored.owner is not None
            failure = Failure(
                kind="interrupted",
                code="VEN-RECORD-ABANDONED",
                message=f"process {stored.owner.pid} ended while the trial was {stored.state}",
            )
            trial = stored.advance(State.INTERRUPTED, failure=failure)
            update(connection, stored, trial)
        for remnant in (self.artifacts_dir / id_).glob(f".*{TEMPORARY_SUFFIX}"):
            remnant.unlink(missing_ok=True)
        return trial

    def attach(self, trial: Trial, kind: ArtifactKind, name: str, source: Path | bytes) -> Trial:
        """Copies `source` among the artifacts of `trial` as `name`.

        Returns the trial with the artifact in its list; saving it is the caller's next step.
        """
        return self._attach(trial, kind, name, source, names_durable=True)

    def attach_all(
        self, trial: Trial, kind: ArtifactKind, files: Iterable[tuple[str, bytes]]
    ) -> Trial:
        """Attaches files by name, as `attach` does, and waits for the disk once for their names."""
        for name, content in files:
            trial = self._attach(trial, kind, name, content, names_durable=False)
        sync_names(self.artifacts_dir / trial.id)
        return trial

    def _attach(
        self,
        trial: Trial,
        kind: ArtifactKind,
        name: str,
        source: Path | bytes,
        *,
        names_durable: bool,
    ) -> Trial:
        if any(artifact.name == name for artifact in trial.artifacts):
            raise _artifact_error("the trial has an artifact of this name already", trial, name)
        try:
            with io.BytesIO(source) if isinstance(source, bytes) else source.open("rb") as file:
                artifact = self.keep(trial, kind, name, file, names_durable=names_durable)
        except OSError as error:
            # A full disk names no file.
            place = error.filename or self.artifacts_dir / trial.id
            message = f"cannot be kept: {error.strerror or error} ({place})"
            raise _artifact_error(message, trial, name) from error
        return replace(trial, artifacts=(*trial.artifacts, artifact))

    def keep(
        self,
        trial: Trial,
        kind: ArtifactKind,
        name: str,
        source: IO[bytes],
        *,
        names_durable: bool = True,
    ) -> Artifact:
        """Copies the rest of `source` into the artifact folder of `trial` as `name`.

        See `replacing` for `names_durable`.
        """
        if not _ARTIFACT_NAME.fullmatch(name) or name.endswith(TEMPORARY_SUFFIX):
            raise _artifact_error("not a plain file name", trial, name)
        path = f"{trial.id}/{name}"
        folders, files = modes_in(self.artifacts_dir.parent)
        make_folder(self.artifacts_dir, folders)
        make_folder(self.artifacts_dir / trial.id, folders)
        most = self.limits.artifact_bytes
        target_path = self.artifacts_dir / path
        with replacing(target_path, mode=files, names_durable=names_durable) as target:
            while piece := source.read(_PIECE_BYTES):
                target.write(piece)
                if target.tell() > most:
                    most_bytes = f"more than {most:,} bytes"
                    raise refused(trial.id, Excess(name, "longer", most_bytes, "artifact_bytes"))
            size_bytes = target.tell()
        with target_path.open("rb") as file:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        return Artifact(kind=kind, name=name, path=path, size_bytes=size_bytes, sha256=sha256)

    def artifact_path(self, artifact: Artifact) -> Path:
        """The path of the file of `artifact`; an error if it doesn't exist."""
        relative = PurePosixPath(artifact.path)
        path = self.artifacts_dir / relative
        if relative.is_absolute() or ".." in relative.parts or not path.is_file():
            raise VenturiError(
                "VEN-RECORD-ARTIFACT",
                "the artifact's file is not in this repository",
                where={"artifact": artifact.path, "folder": str(self.artifacts_dir)},
                hint="it is where the trial was recorded; `venturi export` there includes it",
            )
        return path

    @contextmanager
    def _locked(self, id_: str) -> Iterator[tuple[sa.Connection, Trial]]:
        """A writing transaction in which only the caller can change trial `id_`."""
        query = _STORED.where(RECORDS.c.id == id_)
        with self._database.writing() as connection:
            found = connection.execute(query.with_for_update()).one_or_none()
            if found is None:
                raise VenturiError(
                    "VEN-RECORD-UNKNOWN",
                    f"trial {id_} is not recorded",
                    where={"trial": id_},
                    hint="`venturi ls` lists the trials",
                )
            yield connection, stored_trial(found.record, found.id)


def _is_abandoned(trial: Trial) -> bool:
    if trial.state in TERMINAL or trial.owner is None:
        return False
    return not is_alive(trial.owner)


def _require_admitted(connection: sa.Connection, id_: str) -> None:
    removal = removals_of(connection, [id_]).get(id_)
    if removal is None:
        return
    row = connection.execute(sa.select(REMOVALS).where(REMOVALS.c.id == removal)).mappings().one()
    raise VenturiError(
        "VEN-RECORD-REMOVED",
        f"trial {id_} was removed permanently on {moment(row['removed_at_us']):%Y-%m-%d} by "
        f"{author_of(row).text}: {row['reason']}",
        where={"trial": id_, "removal": removal},
        hint=f"`venturi repository readmit {removal}` allows its trials to be imported again",
    )


def _conflict(stored: Trial, what: str) -> VenturiError:
    where: dict[str, object] = {"trial": stored.id, "state": stored.state.value}
    if stored.owner is not None:
        where |= {"host": stored.owner.host, "process": stored.owner.pid}
    return VenturiError("VEN-RECORD-STATE", f"trial {stored.id} {what}", where=where)


def _artifact_error(message: str, trial: Trial, name: str) -> VenturiError:
    where = {"trial": trial.id, "artifact": name}
    return VenturiError("VEN-RECORD-ARTIFACT", f"{name!r}: {message}", where=where)
