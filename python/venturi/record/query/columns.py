"""Keys of many trials in columns: for each trial a small number in place of its value.

A database is slow to hand over rows and fast to name, for each value, the trials that have it. So
each key is read as one short list a value, in the order of an index, and put together here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import sqlalchemy as sa

from venturi.record.query.conditions import COLUMNS, refused, setting_of
from venturi.record.query.selection import fetch
from venturi.record.store.tables import CONFIGURATION, KIND, TRIALS, storable

FEW = 1_000  # trials that are looked up one by one; the keys of more are read whole

Integers = npt.NDArray[np.int64]
_KINDS = tuple(name for column in KIND for name, each in COLUMNS.items() if each.name == column)


@dataclass(frozen=True, slots=True)
class Column:
    """`values[codes[place]]` is the value of the trial at `place`, or None where it has none."""

    values: Sequence[Any]
    codes: Integers


def select_trials(
    columns: Mapping[str, Column], places: Integers | npt.NDArray[np.bool_]
) -> dict[str, Column]:
    """The columns of the trials at `places` only."""
    return {key: Column(each.values, each.codes[places]) for key, each in columns.items()}


def column_of(values: Iterable[Any]) -> Column:
    """One value a trial as a column."""
    known: dict[Any, int] = {}
    codes = [known.setdefault(value, len(known)) for value in values]
    return Column(list(known), np.array(codes, dtype=np.int64))


def read(
    connection: sa.Connection,
    chosen: Sequence[sa.ColumnElement[bool]],
    keys: Iterable[str],
    check: Callable[[str, Column], None] = lambda _key, _column: None,
) -> dict[str, Column]:
    """The columns of `keys` for the trials that meet all the `chosen` conditions.

    `check` sees those that are read first, and may stop the reading by an exception.
    """
    return read_trials(connection, chosen, keys, check)[1]


def read_trials(
    connection: sa.Connection,
    chosen: Sequence[sa.ColumnElement[bool]],
    keys: Iterable[str],
    check: Callable[[str, Column], None] = lambda _key, _column: None,
    of_records: Sequence[str] = (),
) -> tuple[Integers, dict[str, Column]]:
    """The serial numbers of the trials, in no order, and their columns as `read` gives them;
    `of_records` are names of `OF_RECORDS` to read besides."""
    keys = tuple(dict.fromkeys(keys))
    own = {key: COLUMNS[key] for key in keys if key in COLUMNS and key not in _KINDS}
    own |= {name: TRIALS.c[name] for name in of_records}
    statement = sa.select(TRIALS.c.serial, *own.values()).where(*chosen)
    rows = fetch(connection, statement)
    serials, *values = zip(*rows, strict=True) if rows else [()] * (1 + len(own))
    found = {key: column_of(each) for key, each in zip(own, values, strict=True)}
    for key, column in found.items():
        check(key, column)
    others = [key for key in keys if key not in found]
    numbers = np.array(serials, dtype=np.int64)
    return numbers, found | _rest(connection, numbers, others)


def _rest(connection: sa.Connection, serials: Integers, keys: Iterable[str]) -> dict[str, Column]:
    found: dict[str, Column] = {}
    kinds = [key for key in keys if key in COLUMNS]
    if kinds:
        found |= _of_kinds(connection, serials, kinds)
    settings = {key: setting_of(key) for key in keys if key not in COLUMNS}
    if settings:
        of_setting = _of_settings(connection, serials, sorted(set(settings.values())))
        found |= {key: of_setting[setting] for key, setting in settings.items()}
    return found


def _of_kinds(
    connection: sa.Connection, serials: Integers, keys: Sequence[str]
) -> dict[str, Column]:
    # By a beginning of the index, as far as it is needed: then nothing is sorted.
    names = _KINDS[: 1 + max(map(_KINDS.index, keys))]
    columns = [COLUMNS[name] for name in names]
    statement = sa.select(*columns, _listed(TRIALS.c.serial)).group_by(*columns)
    rows = fetch(connection, _narrowed(statement, TRIALS.c.serial, serials))
    kind = _codes(serials, [row[-1] for row in rows])
    found = {}
    for key in keys:
        place = names.index(key)
        of_key = column_of(row[place] for row in rows)
        found[key] = Column(of_key.values, of_key.codes[kind])
    return found


def _of_settings(
    connection: sa.Connection, serials: Integers, keys: Sequence[str]
) -> dict[str, Column]:
    for key in keys:
        if not storable(key):
            raise refused("a key that no trial can have", key)
    setting = CONFIGURATION.c
    statement = (
        sa.select(setting.key, setting.text, _listed(setting.trial))
        .where(setting.key.in_(keys))
        .group_by(setting.key, setting.text)
    )
    texts: dict[str, list[str]] = {key: [] for key in keys}
    trials: dict[str, list[str]] = {key: [] for key in keys}
    for key, text, listed in fetch(connection, _narrowed(statement, setting.trial, serials)):
        texts[key].append(text)
        trials[key].append(listed)
    # Codes in no list are missing: the last value, which -1 selects from the end.
    return {
        key: Column((*texts[key], None), _codes(serials, trials[key]) % (len(texts[key]) + 1))
        for key in keys
    }


def _listed(serial: sa.ColumnElement[int]) -> sa.ColumnElement[str]:
    return sa.func.aggregate_strings(sa.cast(serial, sa.Text), ",")


def _narrowed(
    statement: sa.Select[Any], serial: sa.ColumnElement[int], serials: Integers
) -> sa.Select[Any]:
    return statement.where(serial.in_(serials.tolist())) if len(serials) <= FEW else statement


def _codes(serials: Integers, lists: Sequence[str]) -> Integers:
    """For each of `serials` which of the comma-separated `lists` it is in; -1 if in none."""
    if not len(serials) or not lists:
        return np.full(len(serials), -1, dtype=np.int64)
    listed = np.fromstring(",".join(lists), dtype=np.int64, sep=",")
    lengths = [text.count(",") + 1 for text in lists]
    found = np.full(max(int(listed.max()), int(serials.max())) + 1, -1, dtype=np.int32)
    found[listed] = np.repeat(np.arange(len(lists), dtype=np.int32), lengths)
    return found[serials].astype(np.int64)


def combined(columns: Sequence[Column], count: int) -> tuple[Integers, Integers]:
    """For each of `count` trials the number of its group, and a trial of each group."""
    index, size = np.zeros(count, dtype=np.int64), 1
    for column in columns:
        if size * len(column.values) >= 2**62:
            values, index = np.unique(index, return_inverse=True)
            size = len(values)
        index, size = index * len(column.values) + column.codes, size * len(column.values)
    _, first, group = np.unique(index, return_index=True, return_inverse=True)
    return group, first
