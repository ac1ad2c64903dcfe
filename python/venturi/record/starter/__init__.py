"""The starter set: tables of publications, so that an empty repository shows something real.

One file a publication, in the format of `record.importers.published`; README.md beside them says
what each is. They are imports like any other: marked as published, never as measured.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import sqlalchemy as sa

from venturi.record.importing.items import IMPORTERS, Source
from venturi.record.importing.take_in import ImportedResults, import_results
from venturi.record.repository import Repository
from venturi.record.tables import TRIALS
from venturi.record.trial import Trial

FORMAT = "published"
TABLES = tuple(sorted(Path(__file__).parent.glob("*.csv")))


def import_starter(repository: Repository) -> ImportedResults:
    """Imports the shipped tables; a second time adds nothing."""
    each = [import_results(repository, FORMAT, table) for table in TABLES]
    return ImportedResults(
        added=sum(one.added for one in each),
        already_present=sum(one.already_present for one in each),
        repeated=sum(one.repeated for one in each),
        failed=sum(one.failed for one in each),
        alike=sum(one.alike for one in each),
        refused=tuple(refusal for one in each for refusal in one.refused),
        reasons=tuple(reason for one in each for reason in one.reasons),
        spellings=tuple(variant for one in each for variant in one.spellings),
    )


def starter_present(repository: Repository) -> bool:
    """Whether every trial of the shipped tables is in the repository."""
    ids = _ids()
    statement = sa.select(sa.func.count()).where(TRIALS.c.id.in_(ids))
    with repository.reading() as connection:
        return int(connection.execute(statement).scalar_one()) == len(ids)


@cache
def _ids() -> frozenset[str]:
    return frozenset(trial.id for table in TABLES for trial in _trials(table))


def _trials(table: Path) -> Iterator[Trial]:
    with table.open("rb") as file:
        source = Source(str(table), hashlib.file_digest(file, "sha256").hexdigest())
        file.seek(0)
        for item in IMPORTERS[FORMAT].read(file, source):
            if isinstance(item, Trial):
                yield item
