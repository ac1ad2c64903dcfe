"""The order in which trials were stored."""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa

from venturi.record.store.repository import Repository
from venturi.record.store.tables import TRIALS

_AT_ONCE = 5_000  # ids in one statement


def stored_order(repository: Repository, ids: Sequence[str]) -> list[str]:
    """`ids` in the order in which the trials were stored."""
    found: list[tuple[int, str]] = []
    with repository.reading() as connection:
        for start in range(0, len(ids), _AT_ONCE):
            statement = sa.select(TRIALS.c.serial, TRIALS.c.id).where(
                TRIALS.c.id.in_(ids[start : start + _AT_ONCE])
            )
            found += [(row.serial, row.id) for row in connection.execute(statement)]
    return [trial for _, trial in sorted(found)]
