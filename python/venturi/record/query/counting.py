"""How many trials there are, and how many of them are left out."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import sqlalchemy as sa

from venturi.record.query.conditions import Condition
from venturi.record.query.selection import ExclusionRule, Query, covered, rules_for, rules_of, where
from venturi.record.store.repository import TrialRepository
from venturi.record.store.tables import TRIALS, microseconds

_FIRST, _LAST = (each.replace(tzinfo=UTC) for each in (datetime.min, datetime.max))


def count(repository: TrialRepository, query: Query) -> int:
    """How many trials meet the conditions of `query`."""
    with repository.reading() as connection:
        return _count(connection, query.conditions, rules_for(connection, query))


def undated(repository: TrialRepository, most: int = 10) -> tuple[str, ...]:
    """The ids of at most `most` trials with a stored start that is no date: lists can't show it.

    `record.upkeep` finds all unreadable records; this check is quick.
    """
    start = TRIALS.c.started_at_us
    bounds = (start < microseconds(_FIRST)) | (start > microseconds(_LAST))
    with repository.reading() as connection:
        return tuple(connection.execute(sa.select(TRIALS.c.id).where(bounds).limit(most)).scalars())


def excluded_count(repository: TrialRepository, query: Query) -> int:
    """How many trials meet the conditions of `query` and are covered by an exclusion in force."""
    with repository.reading() as connection:
        rules = rules_of(connection)
        if not rules:
            return 0
        chosen = covered(rules).where(*where(query.conditions, ()))
        statement = sa.select(sa.func.count()).select_from(chosen.subquery())
        return int(connection.execute(statement).scalar_one())


ID_LENGTHS = (7, 9, 12, 16)


def id_length(repository: TrialRepository) -> int | None:
    """Return how many characters at its end name any trial: the least of `ID_LENGTHS`.

    None if only whole ids are unique. Ids may begin with the same format's name or time; they end
    in a checksum or random characters.
    """
    length = sa.func.length(TRIALS.c.id)
    endings = (
        sa.func.substr(TRIALS.c.id, sa.case((length > n, length - n + 1), else_=1)).distinct()
        for n in ID_LENGTHS
    )
    statement = sa.select(sa.func.count(), *map(sa.func.count, endings)).select_from(TRIALS)
    with repository.reading() as connection:
        every, *unique = connection.execute(statement).one()
    return next((n for n, found in zip(ID_LENGTHS, unique, strict=True) if found == every), None)


def short_id(repository: TrialRepository, id_: str) -> str:
    """Return the end of `id_` that is unique in the repository."""
    length = id_length(repository)
    return id_ if length is None else id_[-length:]


def _count(
    connection: sa.Connection, conditions: Sequence[Condition], rules: Sequence[ExclusionRule]
) -> int:
    chosen = where(conditions, rules)
    statement = sa.select(sa.func.count()).select_from(TRIALS).where(*chosen)
    return int(connection.execute(statement).scalar_one())
