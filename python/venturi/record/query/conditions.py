"""Conditions on trials: parses their text, and makes SQL of them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

import sqlalchemy as sa

from venturi.core.errors import UsageError, VenturiError
from venturi.core.units import parse_bytes, size_text
from venturi.record.store.tables import (
    CONFIGURATION,
    TRIALS,
    microseconds,
    number_of,
    storable,
    text_of,
)

Value = str | int | float | bool | datetime

CONDITION_VALUES_MAX = 1_000

PREFIX = "configuration."
OF_RECORDS = ("host_names", "disk_folders", "cluster_name")
"""Facts of a record about its machines besides its keys; conditions can't use them."""
COLUMNS: Mapping[str, sa.Column[Any]] = {
    {"group_key": "group", "started_at_us": "started_at"}.get(column.name, column.name): column
    for column in TRIALS.c
    if column.name not in {"serial", *OF_RECORDS}  # Venturi's own
}
_CONDITION = re.compile(r"([^=<>]+)(<=|>=|=|<|>)(.*)", re.DOTALL)


class Op(StrEnum):
    """Comparison operators; the order operators accept numbers and timestamps."""

    ONE_OF = "="
    BELOW = "<"
    AT_MOST = "<="
    ABOVE = ">"
    AT_LEAST = ">="
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class Condition:
    """`key` is one of `values`, is below (above, ...) the only one of them, or is missing.

    A value that the key's column cannot hold is an error (VEN-QUERY-VALUE).
    """

    key: str
    op: Op
    values: tuple[Value, ...] = ()

    def __post_init__(self) -> None:
        most = {Op.ONE_OF: CONDITION_VALUES_MAX, Op.MISSING: 0}.get(self.op, 1)
        if not min(most, 1) <= len(self.values) <= most:
            raise refused(f"{len(self.values)} values for {self.op}, not 1 to {most}", self.key)
        clause(self)

    @classmethod
    def equal(cls, key: str, value: Value) -> Condition:
        """`key` is `value`."""
        return cls(key, Op.ONE_OF, (value,))


def parse_condition(text: str) -> Condition:
    """The condition that `text` writes: KEY=VALUE, KEY<N, <=, >, >=; KEY= is a missing value."""
    parts = _CONDITION.fullmatch(text)
    if parts is None:
        raise refused(f"{text!r} is not a condition", text)
    key, op, value = parts[1].strip(), Op(parts[2]), parts[3]
    if op is Op.ONE_OF and not value:
        return Condition(key, Op.MISSING)
    column = COLUMNS.get(key)
    if column is TRIALS.c.started_at_us:
        try:
            return Condition(key, op, (datetime.fromisoformat(value),))
        except ValueError as error:
            raise refused(f"{value!r} is not a date or time", key) from error
    kind = str if column is None else column.type.python_type
    if kind is bool:
        return Condition(key, op, ({"true": True, "false": False}.get(value, value),))
    number = number_of(value)
    if number is None and is_size(key):
        number = _bytes_of(value)
    if number is not None and (kind is not str or (column is None and op is not Op.ONE_OF)):
        return Condition(key, op, (number,))
    return Condition(key, op, (value,))


def conditions_of(texts: Sequence[str]) -> tuple[Condition, ...]:
    """The conditions that `texts` write; several values of one key are alternatives."""
    values: dict[str, list[Value]] = {}
    others: list[Condition] = []
    for text in texts:
        condition = parse_condition(text)
        if condition.op is Op.ONE_OF:
            values.setdefault(condition.key, []).extend(condition.values)
        else:
            others.append(condition)
    return (*(Condition(key, Op.ONE_OF, tuple(each)) for key, each in values.items()), *others)


def canonical(key: str) -> str:
    """The one name of a key that has several."""
    return key if key in COLUMNS else PREFIX + setting_of(key)


def plain(key: str) -> str:
    """Return the key's name for display, without prefix unless another key has that name."""
    setting = key.removeprefix(PREFIX)
    return key if is_hidden(setting) else setting


def is_hidden(setting: str) -> bool:
    """Whether another key has the plain name of this configuration key."""
    return setting in COLUMNS or setting in OF_RECORDS or setting.startswith(PREFIX)


def setting_of(key: str) -> str:
    """The configuration key that `key` names, as stored."""
    return text_of(key.removeprefix(PREFIX))


def is_size(key: str) -> bool:
    """Whether the values of `key` are numbers of bytes, which may be written with a unit."""
    return key.endswith("_bytes")


def spellings(key: str, text: str) -> tuple[str, ...]:
    """The texts under which `text` may be recorded: `64MiB` also as 67108864."""
    size = _bytes_of(text) if is_size(key) and number_of(text) is None else None
    return (text,) if size is None else (text, str(size))


def written_size(text: str) -> str:
    """A recorded number of bytes as it can be typed: `64MiB`; else `text` itself."""
    number = number_of(text)
    written = text if number is None else size_text(number).replace(" ", "")
    return written if number is not None and _bytes_of(written) == number else text


def _bytes_of(text: str) -> int | None:
    try:
        return parse_bytes(text)
    except VenturiError:
        return None


def clause(condition: Condition) -> sa.ColumnElement[bool]:
    """Return the SQL for rows of `TRIALS` that meet `condition`; NULL for some that do not."""
    column, op = COLUMNS.get(condition.key), condition.op
    if column is not None:
        if op is Op.MISSING:
            return column.is_(None)
        if op is not Op.ONE_OF and column.type.python_type in {str, bool}:
            raise refused(f"{condition.key} has no order to compare by", condition.key)
        return _compare(column, op, [_bound(column, condition, v) for v in condition.values])
    setting = CONFIGURATION.c
    if not storable(setting_of(condition.key)):
        raise refused("a key that no trial can have", condition.key)
    tests = [setting.key == setting_of(condition.key)]
    if op is Op.ONE_OF:
        texts = [
            text
            for value in condition.values
            for text in spellings(condition.key, _text(condition, value))
        ]
        tests.append(setting.text.in_(texts))
    elif op is not Op.MISSING:
        number = _number(condition, condition.values[0])
        tests.append(_compare(setting.number, op, [sa.literal(number, sa.Double)]))
    having = TRIALS.c.serial.in_(sa.select(setting.trial).where(*tests))
    return ~having if op is Op.MISSING else having


def _compare(
    column: sa.ColumnElement[Any], op: Op, values: Sequence[sa.ColumnElement[Any]]
) -> sa.ColumnElement[bool]:
    if op is Op.ONE_OF:
        return sa.or_(*(column == value for value in values))
    (value,) = values
    compared: Mapping[Op, Callable[[], sa.ColumnElement[bool]]] = {
        Op.BELOW: lambda: column < value,
        Op.AT_MOST: lambda: column <= value,
        Op.ABOVE: lambda: column > value,
        Op.AT_LEAST: lambda: column >= value,
    }
    return compared[op]()


def _bound(column: sa.Column[Any], condition: Condition, value: Value) -> sa.ColumnElement[Any]:
    """`value` as `column` can be compared with it."""
    kind = column.type.python_type
    if column is TRIALS.c.started_at_us:
        if not isinstance(value, datetime) or value.tzinfo is None:
            raise refused(f"{value!r} is not a date and time with a time zone", condition.key)
        return sa.literal(microseconds(value), column.type)
    if kind is str and isinstance(value, str) and storable(value):
        return sa.literal(str(value), column.type)
    if kind is bool and isinstance(value, bool):
        return sa.literal(value, column.type)
    if kind in {int, float}:
        if kind is int and type(value) is int and -(2**63) <= value < 2**63:
            return sa.literal(value, column.type)
        return sa.literal(_number(condition, value), sa.Double)
    raise refused(f"{value!r} is not a valid {kind.__name__}", condition.key)


def _number(condition: Condition, value: Value) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            if math.isfinite(value):
                return float(value)
        except OverflowError:
            pass
    raise refused(f"{value!r} is not a number that can be compared", condition.key)


def _text(condition: Condition, value: Value) -> str:
    if isinstance(value, datetime) or not storable(text_of(value)):
        raise refused(f"{value!r} is not a value of a configuration", condition.key)
    return text_of(value)


def at_most(what: str, given: int, most: int) -> None:
    """Refuses more than `most` of something."""
    if given > most:
        raise refused(f"{given:,} {what}; at most {most:,} are possible", what)


_CONDITIONS = (
    "conditions are KEY=VALUE, KEY<N, KEY<=N, KEY>N, KEY>=N, or KEY= for a missing value; "
    f"columns are {', '.join(COLUMNS)}, and any other KEY is a configuration key"
)


def refused(message: str, field: str, hint: str = _CONDITIONS) -> VenturiError:
    """The error of a question that makes no sense, at a `field` of it: by default a key."""
    where = {"field": field[:100]}
    return UsageError("VEN-QUERY-VALUE", message, where=where, hint=hint)
