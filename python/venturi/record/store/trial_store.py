"""Stores for the trials of a command: a repository, or none."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from venturi.core.errors import VenturiError
from venturi.core.settings import TrialLimits
from venturi.record.trial import Artifact, Trial

if TYPE_CHECKING:
    from venturi.record.store.repository import ArtifactKind


class TrialStore(Protocol):
    """The part of a repository that measuring needs; `TrialRepository` describes each method."""

    @property
    def limits(self) -> TrialLimits: ...
    def add(self, trial: Trial) -> Trial: ...
    def save(self, trial: Trial) -> Trial: ...
    def trials_of(self, experiment: str) -> Sequence[Trial]: ...

    def attach(
        self, trial: Trial, kind: ArtifactKind, name: str, source: Path | bytes
    ) -> Trial: ...
    def artifact_path(self, artifact: Artifact) -> Path: ...


class NullRepository:
    """Stores nothing, for trials that are only shown; opens no file and no database."""

    limits = TrialLimits()

    def add(self, trial: Trial) -> Trial:
        """`trial` as it is."""
        return trial

    def save(self, trial: Trial) -> Trial:
        """`trial` as it is."""
        return trial

    def trials_of(self, experiment: str) -> Sequence[Trial]:
        """No trial."""
        return ()

    def attach(self, trial: Trial, kind: ArtifactKind, name: str, source: Path | bytes) -> Trial:
        """`trial` as it is: the file is not kept."""
        return trial

    def artifact_path(self, artifact: Artifact) -> Path:
        """An error: no file was kept."""
        raise VenturiError(
            "VEN-RECORD-ARTIFACT",
            "the artifact's file was not stored",
            where={"artifact": artifact.path},
            hint="record the trial: leave out --no-record",
        )
