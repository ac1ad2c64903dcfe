"""The starter set: tables of publications, so that an empty repository shows something real.

One file per publication, in the format of `results.importers.published`; README.md in the same
folder describes each. Like all imports, they are marked as published, never as measured.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import sqlalchemy as sa

from venturi.record.importing.formats import FORMATS
from venturi.record.importing.importer import results, store
from venturi.record.importing.items import ImportedItem
from venturi.record.importing.tally import ImportReport
from venturi.record.store.repository import TrialRepository
from venturi.record.store.tables import TRIALS
from venturi.record.trial import Trial

FORMAT = "published"
TABLES = tuple(sorted(Path(__file__).parent.glob("*.csv")))


def import_starter(repository: TrialRepository) -> ImportReport:
    """Imports the shipped tables; a second time adds nothing."""
    return store(repository, _items())


def starter_present(repository: TrialRepository) -> bool:
    """Whether every trial of the shipped tables is in the repository."""
    ids = _ids()
    statement = sa.select(sa.func.count()).where(TRIALS.c.id.in_(ids))
    with repository.reading() as connection:
        return int(connection.execute(statement).scalar_one()) == len(ids)


@cache
def _ids() -> frozenset[str]:
    return frozenset(item.id for item in _items() if isinstance(item, Trial))


def _items() -> Iterator[ImportedItem]:
    for table in TABLES:
        yield from results(FORMATS[FORMAT], table, lambda done, total: None)
