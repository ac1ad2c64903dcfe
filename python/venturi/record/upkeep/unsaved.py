"""Measured trials that the repository couldn't store: files, until a later command stores them.

A measurement can't be repeated, so a database that is locked, full, read-only or gone must not cost
one, nor end the run.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

import sqlalchemy as sa

from venturi.core.errors import VenturiError
from venturi.core.retry import is_passing
from venturi.core.settings import TrialLimits
from venturi.record.access.owner import current_owner, is_alive
from venturi.record.limits import fitted
from venturi.record.store.closing import Closing
from venturi.record.store.files import (
    TEMPORARY_SUFFIX,
    make_folder,
    modes_in,
    remove_abandoned,
    replacing,
)
from venturi.record.store.repository import ArtifactKind, TrialRepository
from venturi.record.store.rows import insert_new, update
from venturi.record.store.tables import RECORDS
from venturi.record.trial import Artifact, Trial
from venturi.record.trial_json import encode, stored_trial

_RESERVE_BYTES = 4 << 20


class MeasuringStore(Closing):
    """A repository for a command that measures: it keeps trials that can't be stored at the moment.

    `warn` gets a sentence about each trial that is kept in a file.
    """

    def __init__(self, repository: TrialRepository, warn: Callable[[str], None]) -> None:
        self._repository = repository
        self._warn = warn
        self._unsaved: dict[str, Trial] = {}
        self._known: dict[str, list[Trial]] = {}
        self._reserve: tuple[Path, IO[bytes]] | None = None

    def close(self) -> None:
        """Store the kept trials if that works by now, and close the repository."""
        if self._unsaved:
            with suppress(VenturiError):
                store_unsaved(self._repository)
        self._give_back()
        self._repository.close()

    @property
    def limits(self) -> TrialLimits:
        """Those of the repository."""
        return self._repository.limits

    def add(self, trial: Trial) -> Trial:
        """As `TrialRepository.add`; a trial that can't be stored at the moment is kept."""
        if self._reserve is None and not self._unsaved:
            self._reserve = _reserved(self._repository.artifacts_dir)
        try:
            return self._repository.add(trial)
        except VenturiError as error:
            return self._keep(fitted(self._repository.labelled(trial), self.limits), error)

    def save(self, trial: Trial) -> Trial:
        """As `TrialRepository.save`; a trial that can't be stored at the moment is kept."""
        if trial.id in self._unsaved:
            return self._keep(fitted(trial, self.limits), None)
        try:
            return self._repository.save(trial)
        except VenturiError as error:
            return self._keep(fitted(trial, self.limits), error)

    def trials_of(self, experiment: str) -> Sequence[Trial]:
        """As `TrialRepository.trials_of`, with the kept ones; while the database is gone, those
        known before.
        """
        try:
            self._known[experiment] = self._repository.trials_of(experiment)
        except VenturiError:
            if experiment not in self._known:
                raise
        kept = [trial for trial in self._unsaved.values() if trial.experiment == experiment]
        ids = {trial.id for trial in kept}
        return [*kept, *(each for each in self._known[experiment] if each.id not in ids)]

    def attach(self, trial: Trial, kind: ArtifactKind, name: str, source: Path | bytes) -> Trial:
        """As `TrialRepository.attach`."""
        return self._repository.attach(trial, kind, name, source)

    def artifact_path(self, artifact: Artifact) -> Path:
        """As `TrialRepository.artifact_path`."""
        return self._repository.artifact_path(artifact)

    def _keep(self, trial: Trial, error: VenturiError | None) -> Trial:
        if error is not None and not is_passing(error):
            raise error
        folder = _folder(self._repository)
        self._give_back()  # the disk may be full
        try:
            make_folder(folder, modes_in(folder.parent)[0])
            with replacing(folder / f"{trial.id}.json", mode=modes_in(folder.parent)[1]) as file:
                file.write(encode(trial).encode())
        except OSError as failed:
            if error is not None:
                raise error from failed
            raise VenturiError(
                "VEN-RECORD-DATABASE",
                f"trial {trial.id} can't be stored: {failed.strerror}",
                where={"folder": str(folder)},
                hint="free some space, or set VENTURI_HOME to a folder that you can write to",
            ) from failed
        if error is not None:
            self._warn(
                f"trial {trial.id} is kept in {folder} until a later command can store it: "
                f"[{error.code}] {error.message}"
            )
        self._unsaved[trial.id] = trial
        return trial

    def _give_back(self) -> None:
        """Free the reserved space."""
        if self._reserve is not None:
            path, file = self._reserve
            self._reserve = None
            with suppress(OSError):
                path.unlink()
            file.close()


def store_unsaved(repository: TrialRepository) -> list[Trial]:
    """Store the kept trials of this process and of ended ones; return them.

    Raises the database's error; the files of trials that aren't stored stay.
    """
    folder = _folder(repository)
    if not folder.is_dir():
        return []
    remove_abandoned(folder)
    stored = []
    for path in sorted(folder.glob("*.json")):
        trial = _read(path)
        if trial is None or not _may_store(trial):
            continue
        _store(repository, trial)
        path.unlink(missing_ok=True)
        stored.append(trial)
    with suppress(OSError):  # others are kept there
        folder.rmdir()
    return stored


def _read(path: Path) -> Trial | None:
    """The trial in `path`; None if there is none by now, or a damaged one."""
    try:
        return stored_trial(path.read_text())
    except (OSError, ValueError, VenturiError):
        return None


def _may_store(trial: Trial) -> bool:
    owner = trial.owner
    return owner is None or owner == current_owner() or not is_alive(owner)


def _store(repository: TrialRepository, trial: Trial) -> None:
    query = sa.select(RECORDS.c.record).where(RECORDS.c.id == trial.id)
    with repository.writing() as connection:
        record = connection.execute(query).scalar_one_or_none()
        if record is None:
            insert_new(connection, [trial], repository.limits)
        else:
            update(connection, stored_trial(record, trial.id), trial)


def _folder(repository: TrialRepository) -> Path:
    return repository.artifacts_dir.parent / "unsaved"


def _reserved(folder: Path) -> tuple[Path, IO[bytes]] | None:
    """A locked file in `folder` that holds space for trials; None if the disk is full already."""
    path = folder / f".reserve.{os.getpid()}{TEMPORARY_SUFFIX}"
    try:
        make_folder(folder, modes_in(folder.parent)[0])
        file = path.open("wb")
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            os.posix_fallocate(file.fileno(), 0, _RESERVE_BYTES)
        except OSError:
            path.unlink(missing_ok=True)
            file.close()
            raise
    except OSError:
        return None
    return path, file
