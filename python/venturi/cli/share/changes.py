"""The changes that the server's users may make, wired to the repository (see `web.api.context`)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from threading import Lock

from venturi.core.errors import VenturiError
from venturi.record import starter
from venturi.record.access import exclusions, tokens, views
from venturi.record.access.authors import Author
from venturi.record.importing import exchange
from venturi.record.importing.tally import ImportReport
from venturi.record.store.files import remove_abandoned
from venturi.record.store.repository import TrialRepository

# An archive may unpack to this many times the size that an upload may have.
_UNPACKED_TIMES = 8
_MEMBERS_MAX = 200_000


class RepositoryChanges:
    """Changes of one repository, which are durable when a method returns.

    Archives are read concurrently, but their trials are stored one after the other: otherwise two
    archives with the same trial would write its files at the same time.
    """

    def __init__(self, repository: TrialRepository, upload_bytes_max: int) -> None:
        self._repository = repository
        self._limits = exchange.ArchiveLimits(
            members=_MEMBERS_MAX,
            total_bytes=upload_bytes_max * _UNPACKED_TIMES,
        )
        self._storing = Lock()
        remove_abandoned(repository.artifacts_dir)  # of uploads that were killed

    def take_in(self, archive: Path, by: Author) -> ImportReport:
        try:
            return exchange.import_archive(
                self._repository, archive, limits=self._limits, storing=self._storing, by=by
            )
        except VenturiError as error:
            error.where["file"] = "the upload"
            raise

    def exclude(
        self, conditions: Sequence[str], author: Author, reason: str
    ) -> exclusions.Exclusion:
        return exclusions.add(self._repository, conditions, author, reason)

    def revoke(self, id_: str, by: Author) -> exclusions.Exclusion:
        return exclusions.revoke(self._repository, id_, by)

    def save_view(self, name: str, url: str, author: Author) -> views.View:
        return views.save(self._repository, name, url, author)

    def delete_view(self, name: str, by: Author) -> None:
        views.delete(self._repository, name, by)

    def open_session(self, token: tokens.Token) -> str:
        return tokens.open_session(self._repository, token)

    def close_session(self, secret: str) -> None:
        tokens.close_session(self._repository, secret)

    def note_use(self, token: tokens.Token) -> None:
        tokens.note_use(self._repository, token)

    def import_starter(self) -> ImportReport:
        return starter.import_starter(self._repository)
