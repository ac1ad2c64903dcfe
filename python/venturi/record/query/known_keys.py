"""The keys by which trials can be filtered, sorted and grouped, and the kinds of their values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal
from weakref import WeakKeyDictionary

import numpy as np
import sqlalchemy as sa

from venturi.record.query.columns import read
from venturi.record.query.conditions import COLUMNS, PREFIX
from venturi.record.store.repository import TrialRepository
from venturi.record.store.tables import CHANGES, CONFIGURATION, TRIALS

KEYS_MAX = 2_000
Kind = Literal["column", "configuration"]
Type = Literal["text", "number", "moment", "flag", "mixed"]


@dataclass(frozen=True, slots=True)
class KeyInfo:
    """A key: `n` trials have a value of it, `distinct` different ones.

    `type` is the type that all values of a configuration key share. It is "mixed" if some are
    numbers and some are not.
    """

    key: str
    kind: Kind
    type: Type
    n: int
    distinct: int


# Counting reads the whole repository; nothing changes between two requests of one page.
_KNOWN: WeakKeyDictionary[TrialRepository, tuple[int, tuple[KeyInfo, ...]]] = WeakKeyDictionary()


def keys(repository: TrialRepository) -> tuple[KeyInfo, ...]:
    """The keys of all trials, excluded ones too: columns, then the 2,000 most frequent others.

    A configuration key that is called like a column has the name that reaches it,
    `configuration.KEY`.
    """
    with repository.reading() as connection:
        change = connection.execute(sa.select(CHANGES.c.made)).scalar_one()
        known = _KNOWN.get(repository)
        if known is None or known[0] != change:
            known = (change, (*_columns(connection), *_settings(connection)))
            _KNOWN[repository] = known
    return known[1]


def _columns(connection: sa.Connection) -> Iterator[KeyInfo]:
    # An id is of one trial; to read it would take as long as all else.
    found = read(connection, (), [key for key in COLUMNS if key != "id"])
    trials = len(found["state"].codes)
    for key, column in COLUMNS.items():
        if key == "id":
            yield KeyInfo(key, "column", _type(column), trials, trials)
            continue
        values, codes = found[key].values, found[key].codes
        without = [code for code, value in enumerate(values) if value is None]
        n = int(np.isin(codes, without, invert=True).sum())
        yield KeyInfo(key, "column", _type(column), n, len(values) - len(without))


def _type(column: sa.Column[object]) -> Type:
    if column is TRIALS.c.started_at_us:
        return "moment"
    kinds: dict[type, Type] = {str: "text", bool: "flag"}
    return kinds.get(column.type.python_type, "number")


def _settings(connection: sa.Connection) -> Iterator[KeyInfo]:
    setting = CONFIGURATION.c
    # In the order of the index, so that nothing is sorted.
    each = (
        sa.select(
            setting.key,
            setting.text,
            sa.func.count().label("n"),
            sa.func.count(setting.number).label("numbers"),
        )
        .group_by(setting.key, setting.text)
        .subquery()
        .c
    )
    flags = sa.func.sum(sa.case((each.text.in_(("true", "false")), each.n), else_=0))
    total = sa.func.sum(each.n)
    statement = (
        sa.select(each.key, total, sa.func.count(), sa.func.sum(each.numbers), flags)
        .group_by(each.key)
        .order_by(total.desc(), each.key)
        .limit(KEYS_MAX)
    )
    for key, n, distinct, numbers, truths in connection.execute(statement):
        type_: Type = "mixed"
        if n in (numbers, truths):
            type_ = "number" if n == numbers else "flag"
        elif not numbers:
            type_ = "text"
        hidden = key in COLUMNS or key.startswith(PREFIX)
        name = PREFIX + key if hidden else key
        yield KeyInfo(name, "configuration", type_, int(n), distinct)
