"""The reader of archives, on randomly changed archives.

An archive that is imported in spite of changes is complete, and is removed again.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from random import Random
from typing import ClassVar

from torture import worker
from torture.play import Play, Round
from torture.record.archive_parts import changed, exported
from torture.worker import AttemptFunction
from venturi.core.errors import VenturiError
from venturi.core.settings import Settings
from venturi.record.importing.exchange import ArchiveLimits, import_archive
from venturi.record.store.repository import TrialRepository
from venturi.record.store.rows import delete_trials
from venturi.record.trial import Trial

_LIMITS = ArchiveLimits(members=1_000, total_bytes=1 << 26)


def attempts(folder: Path) -> AttemptFunction:
    """Into a repository that has the trials of the archive already: then only news are stored."""
    archive = exported(folder, 1)
    path = folder / "changed.zip"
    path.write_bytes(archive.data)
    repository = _Remembering.open(Settings(folder / "home", None, None, allow_debug=False))
    import_archive(repository, path)
    _Remembering.known = {id_: repository.get(id_) for id_ in archive.ids}

    def attempt(chance: Random) -> str:
        path.write_bytes(changed(chance, archive))
        try:
            report = import_archive(repository, path, limits=_LIMITS)
        except VenturiError as error:
            return f"refused {error.code}"
        new = [each.trial for each in report.trials if each.added]
        for id_ in new:
            trial = repository.get(id_)
            for artifact in trial.artifacts:
                size_bytes = repository.artifact_path(artifact).stat().st_size
                assert size_bytes == artifact.size_bytes, f"{artifact.path} is not whole"
        if new:
            with repository.writing() as connection:
                delete_trials(connection, new)
            for id_ in new:
                shutil.rmtree(repository.artifacts_dir / id_, ignore_errors=True)
            return "imported"
        return "a trial refused" if report.refused_count else "nothing new"

    return attempt


class _Remembering(TrialRepository):
    """Knows some trials by heart: half of the time would go into asking a database for them."""

    known: ClassVar[dict[str, Trial]] = {}

    def get(self, id_: str) -> Trial:
        return self.known.get(id_) or super().get(id_)


def play(round_: Play) -> None:
    worker.play(round_, __name__)


ROUND = Round(
    name="fuzz-archives",
    question="Archives are changed at random. Is each imported whole, or rejected with a code, "
    "within 10 s and 1 GiB?",
    count=10_000_000,
    few=250,
    run=play,
)
