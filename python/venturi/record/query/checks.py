"""Whether a question asks for something that any trial has: what it may have meant if not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import sqlalchemy as sa

from venturi.record.query.conditions import COLUMNS, Condition, Op, refused, setting_of
from venturi.record.repository import Repository
from venturi.record.tables import CONFIGURATION, storable
from venturi.wording import did_you_mean, near

VALUES_MAX = 10_000  # of a key, among which near ones are looked for


def keys_of(conditions: Iterable[Condition]) -> list[str]:
    """The keys of conditions that ask for a value; that of KEY= may well be of no trial."""
    return [each.key for each in conditions if each.op is not Op.MISSING]


def require_keys(repository: Repository, keys: Iterable[str]) -> None:
    """VEN-QUERY-VALUE, with names that are near, for a key that is no column and of no trial.

    A repository without any configuration knows no keys, and refuses none.
    """
    setting = CONFIGURATION.c.key
    with repository.reading() as connection:
        for key in dict.fromkeys(keys):
            if key in COLUMNS or not storable(setting_of(key)):
                continue
            here = sa.select(sa.literal(1)).where(setting == setting_of(key)).limit(1)
            if connection.execute(here).first() is not None:
                continue
            known = list(connection.execute(sa.select(setting).distinct()).scalars())
            if known:
                error = refused(f"no trial has a value of {key!r}", key)
                error.hint = did_you_mean(key, (*COLUMNS, *sorted(known)), "keys are")
                raise error


def near_values(repository: Repository, conditions: Sequence[Condition]) -> Iterator[str]:
    """For each condition on one text that no trial has, a sentence with those that are near."""
    with repository.reading() as connection:
        for condition in conditions:
            if condition.op is not Op.ONE_OF or not isinstance(condition.values[0], str):
                continue
            column = COLUMNS.get(condition.key)
            statement = (
                sa.select(column).distinct()
                if column is not None
                else sa.select(CONFIGURATION.c.text)
                .where(CONFIGURATION.c.key == setting_of(condition.key))
                .distinct()
            )
            found = connection.execute(statement.limit(VALUES_MAX)).scalars()
            known = [str(value) for value in found if value is not None]
            for value in map(str, condition.values):
                if value not in known:
                    close = near(value, known)
                    meant = f"; did you mean {' or '.join(close)}?" if close else ""
                    yield f"no trial has {condition.key}={value}{meant}"
