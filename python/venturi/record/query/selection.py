"""Which trials a query is about: those that meet its conditions and that no exclusion covers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import sqlalchemy as sa

from venturi.record.query.conditions import (
    COLUMNS,
    Condition,
    at_most,
    clause,
    conditions_of,
    refused,
    setting_of,
)
from venturi.record.store.tables import CONFIGURATION, EXCLUSIONS, TRIALS, shown_moment, storable

CONDITIONS_MAX = 50
PAGE_ROWS_MAX = 1_000
_IDS_A_STEP = 1_000


@dataclass(frozen=True, slots=True)
class Query:
    """The trials that meet all `conditions`, in the order of `sort`, `limit` at a time.

    Those that an exclusion in force covers are left out, unless it is `with_excluded`. Numbers come
    before texts, missing values come last in either direction, and equal ones go by id. `cursor` is
    the `next_cursor` of a page of the same query; only `rows` looks at it, at `sort` and at
    `limit`.
    """

    conditions: tuple[Condition, ...] = ()
    sort: str = "started_at"
    descending: bool = True
    limit: int = 50
    cursor: str | None = None
    with_excluded: bool = False

    def __post_init__(self) -> None:
        at_most("conditions", len(self.conditions), CONDITIONS_MAX)
        at_most("rows of a page", self.limit, PAGE_ROWS_MAX)
        if self.limit < 1:
            raise refused(f"a page of {self.limit} rows", "limit")
        source_of([self.sort])


@dataclass(frozen=True, slots=True)
class ExclusionRule:
    """An exclusion in force: it covers the trials that meet all `conditions`."""

    id: str
    conditions: tuple[Condition, ...]


def rules_of(connection: sa.Connection) -> tuple[ExclusionRule, ...]:
    """The exclusions in force, the oldest first."""
    statement = (
        sa.select(EXCLUSIONS.c.id, EXCLUSIONS.c.conditions)
        .where(EXCLUSIONS.c.revoked_at_us.is_(None))
        .order_by(EXCLUSIONS.c.created_at_us, EXCLUSIONS.c.id)
    )
    return tuple(ExclusionRule(id_, _parsed(texts)) for id_, texts in connection.execute(statement))


@lru_cache(1_000)
def _parsed(texts: str) -> tuple[Condition, ...]:
    return conditions_of(json.loads(texts))


def rules_for(connection: sa.Connection, query: Query) -> tuple[ExclusionRule, ...]:
    """The exclusions that `query` heeds."""
    return () if query.with_excluded else rules_of(connection)


def where(
    conditions: Iterable[Condition], rules: Sequence[ExclusionRule]
) -> list[sa.ColumnElement[bool]]:
    """Return the SQL for trials that meet all `conditions` and that none of `rules` covers."""
    chosen = [clause(condition) for condition in conditions]
    if rules:
        chosen.append(_one_covers(rules).is_not(sa.true()))  # NULL does not cover either
    return chosen


def covered(rules: Sequence[ExclusionRule]) -> sa.Select[tuple[int]]:
    """The serial numbers of the trials that one of `rules` covers."""
    return sa.select(TRIALS.c.serial).where(_one_covers(rules))


def covering(
    connection: sa.Connection, rules: Sequence[ExclusionRule], ids: Sequence[str]
) -> Mapping[str, tuple[str, ...]]:
    """For each trial of `ids` that one of `rules` covers, the ids of those that do, in order."""
    if not rules:
        return {}
    flags = [_covers(rule).label(f"rule_{number}") for number, rule in enumerate(rules)]
    found = {}
    for begin in range(0, len(ids), _IDS_A_STEP):
        here = TRIALS.c.id.in_(ids[begin : begin + _IDS_A_STEP])
        for id_, *covers in connection.execute(sa.select(TRIALS.c.id, *flags).where(here)):
            if any(covers):
                found[id_] = tuple(rule.id for rule, c in zip(rules, covers, strict=True) if c)
    return found


def _one_covers(rules: Sequence[ExclusionRule]) -> sa.ColumnElement[bool]:
    return sa.or_(*map(_covers, rules))


def _covers(rule: ExclusionRule) -> sa.ColumnElement[bool]:
    return sa.and_(*map(clause, rule.conditions))


def source_of(keys: Sequence[str]) -> tuple[sa.FromClause, list[list[sa.ColumnElement[Any]]]]:
    """The trials with the configuration keys among `keys`, and the sort expression for each key."""
    source: sa.FromClause = TRIALS
    terms: list[list[sa.ColumnElement[Any]]] = []
    for key in keys:
        if (column := COLUMNS.get(key)) is not None:
            terms.append([column])
            continue
        if not storable(setting_of(key)):
            raise refused("a key that no trial can have", key)
        setting = CONFIGURATION.alias()
        here = (setting.c.trial == TRIALS.c.serial) & (setting.c.key == setting_of(key))
        source = source.outerjoin(setting, here)
        terms.append([setting.c.number, setting.c.text])
    return source, terms


def fetch(connection: sa.Connection, statement: sa.Select[Any]) -> list[tuple[Any, ...]]:
    """The driver's own rows: SQLAlchemy's would take twice as long."""
    with connection.execute(statement) as result:
        assert result.cursor is not None
        return list(result.cursor.fetchall())


def publisher(column: sa.Column[Any] | None) -> Callable[[Any], Any]:
    """How a value of `column` (of a configuration key if None), or None, is shown."""
    if column is TRIALS.c.started_at_us:
        return shown_moment
    if column is TRIALS.c.warm_up:
        return bool
    if column is TRIALS.c.disturbed:
        return lambda value: None if value is None else bool(value)
    return lambda value: value
