"""How many trials there are, and how many of them are left out."""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa

from venturi.record.query.conditions import Condition
from venturi.record.query.selection import Query, Rule, covered, rules_for, rules_of, where
from venturi.record.repository import Repository
from venturi.record.tables import TRIALS


def count(repository: Repository, query: Query) -> int:
    """How many trials meet the conditions of `query`."""
    with repository.reading() as connection:
        return _count(connection, query.conditions, rules_for(connection, query))


def excluded_count(repository: Repository, query: Query) -> int:
    """How many trials meet the conditions of `query` and are covered by an exclusion in force."""
    with repository.reading() as connection:
        rules = rules_of(connection)
        if not rules:
            return 0
        chosen = covered(rules).where(*where(query.conditions, ()))
        statement = sa.select(sa.func.count()).select_from(chosen.subquery())
        return int(connection.execute(statement).scalar_one())


def _count(
    connection: sa.Connection, conditions: Sequence[Condition], rules: Sequence[Rule]
) -> int:
    chosen = where(conditions, rules)
    statement = sa.select(sa.func.count()).select_from(TRIALS).where(*chosen)
    return int(connection.execute(statement).scalar_one())
