"""Conditions on trials: parses their text, and makes SQL of them."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

import sqlalchemy as sa

from venturi.core.errors import UsageError, VenturiError
from venturi.core.units import parse_bytes, parse_duration_s, size_text
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
_CONDITION = re.compile(r"([^=<>]+?)(!=|<=|>=|=|<|>)(.*)", re.DOTALL)


class Op(StrEnum):
    """Comparison operators; the order operators accept numbers and timestamps."""

    ONE_OF = "="
    NONE_OF = "!="
    BELOW = "<"
    AT_MOST = "<="
    ABOVE = ">"
    AT_LEAST = ">="
    MISSING = "missing"
    PRESENT = "present"


LISTS = (Op.ONE_OF, Op.NONE_OF)
"""Operators that take several values."""


@dataclass(frozen=True, slots=True)
class Condition:
    """`key` is (or isn't) one of `values`, is below (above, ...) the only one, or is missing.

    A trial without a value of `key` meets NONE_OF. A value that the key's column cannot hold is an
    error (VEN-QUERY-VALUE).
    """

    key: str
    op: Op
    values: tuple[Value, ...] = ()

    def __post_init__(self) -> None:
        most = CONDITION_VALUES_MAX if self.op in LISTS else int(self.op in _COMPARED)
        if not min(most, 1) <= len(self.values) <= most:
            raise refused(f"{len(self.values)} values for {self.op}, not 1 to {most}", self.key)
        clause(self)

    @classmethod
    def equal(cls, key: str, value: Value) -> Condition:
        """`key` is `value`."""
        return cls(key, Op.ONE_OF, (value,))


def split_condition(text: str) -> tuple[str, Op, str]:
    """The key, operator and value of the condition `text`; VEN-QUERY-VALUE if it isn't one."""
    parts = _CONDITION.fullmatch(text)
    if parts is None:
        raise refused(f"{text!r} is not a condition", text)
    key, op, value = parts[1].strip(), Op(parts[2]), parts[3]
    if not value and op in LISTS:
        op = Op.MISSING if op is Op.ONE_OF else Op.PRESENT
    return key, op, value


def parse_condition(text: str) -> Condition:
    """The condition that `text` writes with the recorded name of a key.

    KEY=VALUE, KEY!=VALUE, KEY<N, <=, >, >=; KEY= is a missing value, KEY!= is any value. Sizes
    and durations may have a unit. A time without a time zone is in UTC.
    """
    return typed_condition(*split_condition(text))


def typed_condition(key: str, op: Op, value: str) -> Condition:
    """The condition that compares `key` (its recorded name) with `value` in the key's own type."""
    if op in (Op.MISSING, Op.PRESENT):
        return Condition(key, op)
    column = COLUMNS.get(key)
    if column is TRIALS.c.started_at_us:
        try:
            given = datetime.fromisoformat(value)
        except ValueError as error:
            raise refused(f"{value!r} is not a date or time", key) from error
        return Condition(key, op, (given if given.tzinfo else given.replace(tzinfo=UTC),))
    kind = str if column is None else column.type.python_type
    if kind is bool:
        return Condition(key, op, ({"true": True, "false": False}.get(value, value),))
    number = number_of(value)
    if number is None:
        number = _with_unit(key, value)
    if number is not None and (kind is not str or (column is None and op not in LISTS)):
        return Condition(key, op, (number,))
    return Condition(key, op, (value,))


def conditions_of(texts: Iterable[str]) -> tuple[Condition, ...]:
    """The conditions that `texts` write with the recorded names of keys; see `joined`."""
    return joined(map(parse_condition, texts))


def joined(conditions: Iterable[Condition]) -> tuple[Condition, ...]:
    """Return `conditions` with several values of one key as alternatives; the rest must all hold.

    So `disk=SSD` with `disk=NVMe` is either, `disk!=SSD` with `disk!=NVMe` is neither.
    """
    values: dict[tuple[str, Op], list[Value]] = {}
    others: list[Condition] = []
    for condition in conditions:
        if condition.op in LISTS:
            values.setdefault((condition.key, condition.op), []).extend(condition.values)
        else:
            others.append(condition)
    return (*(Condition(*key, tuple(each)) for key, each in values.items()), *others)


def written(condition: Condition) -> tuple[str, ...]:
    """The texts that write `condition`: one per value."""
    if condition.op in (Op.MISSING, Op.PRESENT):
        return (condition.key + ("=" if condition.op is Op.MISSING else "!="),)
    return tuple(
        f"{condition.key}{condition.op}"
        f"{value.isoformat() if isinstance(value, datetime) else text_of(value)}"
        for value in condition.values
    )


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


def _with_unit(key: str, text: str) -> float | None:
    """The number that `text` writes with a unit of `key`: bytes or seconds; else None."""
    if is_size(key):
        return _bytes_of(text)
    try:
        return parse_duration_s(text) if key.endswith("_s") else None
    except VenturiError:
        return None


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
        if op is Op.PRESENT:
            return column.is_not(None)
        if op in _COMPARED and column.type.python_type in {str, bool}:
            raise refused(f"{condition.key} has no order to compare by", condition.key)
        return _compare(column, op, [_bound(column, condition, v) for v in condition.values])
    setting = CONFIGURATION.c
    if not storable(setting_of(condition.key)):
        raise refused("a key that no trial can have", condition.key)
    tests = [setting.key == setting_of(condition.key)]
    if op in LISTS:
        texts = [
            text
            for value in condition.values
            for text in spellings(condition.key, _text(condition, value))
        ]
        tests.append(setting.text.in_(texts))
    elif op in _COMPARED:
        number = _number(condition, condition.values[0])
        tests.append(_compare(setting.number, op, [sa.literal(number, sa.Double)]))
    having = TRIALS.c.serial.in_(sa.select(setting.trial).where(*tests))
    return ~having if op in (Op.MISSING, Op.NONE_OF) else having


def _compare(
    column: sa.ColumnElement[Any], op: Op, values: Sequence[sa.ColumnElement[Any]]
) -> sa.ColumnElement[bool]:
    if op in LISTS:
        equal = sa.or_(*(column == value for value in values))
        return equal if op is Op.ONE_OF else sa.or_(column.is_(None), ~equal)
    (value,) = values
    return _COMPARED[op](column, value)


_COMPARED: Mapping[Op, Callable[[Any, Any], sa.ColumnElement[bool]]] = {
    Op.BELOW: operator.lt,
    Op.AT_MOST: operator.le,
    Op.ABOVE: operator.gt,
    Op.AT_LEAST: operator.ge,
}


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
    "conditions are KEY=VALUE, KEY!=VALUE, KEY<N, KEY<=N, KEY>N, KEY>=N, KEY= for a missing value "
    "or KEY!= for any; "
    f"columns are {', '.join(COLUMNS)}, and any other KEY is a configuration key"
)


def refused(message: str, field: str, hint: str = _CONDITIONS) -> VenturiError:
    """The error of a question that makes no sense, at a `field` of it: by default a key."""
    where = {"field": field[:100]}
    return UsageError("VEN-QUERY-VALUE", message, where=where, hint=hint)
