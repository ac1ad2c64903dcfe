"""Questions about many trials, answered from columns and never by decoding whole records.

A key names a column (`COLUMNS`) or else a configuration key; `configuration.KEY` is always the
latter. Configuration values are compared by `tables.text_of`: 2, 2.0 and "2" are one value; a
range takes every value that writes a number. A key that a trial lacks, or that is None, is missing.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

import sqlalchemy as sa

from venturi.errors import ExitCode, VenturiError
from venturi.record.repository import Repository
from venturi.record.tables import (
    CONFIGURATION,
    RECORDS,
    TRIALS,
    microseconds,
    moment,
    number_of,
    text_of,
)
from venturi.record.trial import Scalar, State

Value = str | int | float | bool | datetime

PAGE_ROWS_MAX = 1_000
CONDITIONS_MAX = 50
CONDITION_VALUES_MAX = 1_000
FACET_KEYS_MAX = 50
FACET_VALUES_MAX = 1_000
GROUP_KEYS_MAX = 8
GROUPS_MAX = 10_000
_CURSOR_LENGTH_MAX = 1 << 16

PREFIX = "configuration."
COLUMNS: Mapping[str, sa.Column[Any]] = {
    {"group_key": "group", "started_at_us": "started_at"}.get(column.name, column.name): column
    for column in TRIALS.c
    if column is not TRIALS.c.serial
}
_CONDITION = re.compile(r"([^=<>]+)(<=|>=|=|<|>)(.*)", re.DOTALL)
_CHECKSUM_BYTES = 8


class Op(StrEnum):
    """How a condition compares; the orders are for numbers and moments."""

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
            raise _refused(f"{len(self.values)} values for {self.op}, not 1 to {most}", self.key)
        _clause(self)


@dataclass(frozen=True, slots=True)
class Query:
    """The trials that meet all `conditions`, in the order of `sort`, `limit` at a time.

    Numbers come before texts, what is missing comes last in either direction, and equal ones go by
    id. `cursor` is the `next_cursor` of a page of the same query; only `rows` looks at it, at
    `sort` and at `limit`.
    """

    conditions: tuple[Condition, ...] = ()
    sort: str = "started_at"
    descending: bool = True
    limit: int = 50
    cursor: str | None = None

    def __post_init__(self) -> None:
        _at_most("conditions", len(self.conditions), CONDITIONS_MAX)
        _at_most("rows of a page", self.limit, PAGE_ROWS_MAX)
        if self.limit < 1:
            raise _refused(f"a page of {self.limit} rows", "limit")
        _source([self.sort])


@dataclass(frozen=True, slots=True)
class Row:
    """What the columns hold of a trial; names as in `Trial`, `failure` is the code."""

    id: str
    workload: str
    workload_version: str
    scale: str | None
    input_bytes: int | None
    engine: str
    engine_version: str
    state: str
    failure_kind: str | None
    failure: str | None
    experiment: str | None
    group: str
    repetition: int
    warm_up: bool
    provenance: str
    source: str
    instance_type: str | None
    network: str | None
    hosts: int
    started_at: datetime | None
    elapsed_s: float | None
    warnings: int
    configuration: Mapping[str, Scalar]


@dataclass(frozen=True, slots=True)
class Page:
    """Some rows of a query; `next_cursor` is None on the last page."""

    rows: tuple[Row, ...]
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class Facet:
    """How many trials have which value of a key, under the conditions on all other keys.

    `values` holds the 1,000 most frequent of `distinct` values, as a column's type or as the text
    of a configuration value; `missing` counts the trials without one.
    """

    key: str
    values: tuple[tuple[Value, int], ...]
    distinct: int
    missing: int


@dataclass(frozen=True, slots=True)
class Group:
    """The trials with the same `values` of the keys that were asked for (None: missing).

    `n` counts them all, `by_state` by their state; `elapsed_s` are the sorted times of those that
    succeeded and are no warm-ups.
    """

    values: tuple[Value | None, ...]
    n: int
    by_state: Mapping[str, int]
    elapsed_s: tuple[float, ...]


def parse_condition(text: str) -> Condition:
    """The condition that `text` writes: KEY=VALUE, KEY<N, <=, >, >=; KEY= is a missing value."""
    parts = _CONDITION.fullmatch(text)
    if parts is None:
        raise _refused(f"{text!r} is no condition", text)
    key, op, value = parts[1].strip(), Op(parts[2]), parts[3]
    if op is Op.ONE_OF and not value:
        return Condition(key, Op.MISSING)
    column = COLUMNS.get(key)
    if column is TRIALS.c.started_at_us:
        try:
            return Condition(key, op, (datetime.fromisoformat(value),))
        except ValueError as error:
            raise _refused(f"{value!r} is no moment", key) from error
    kind = str if column is None else column.type.python_type
    if kind is bool:
        return Condition(key, op, ({"true": True, "false": False}.get(value, value),))
    number = number_of(value)
    if number is not None and (kind is not str or (column is None and op is not Op.ONE_OF)):
        return Condition(key, op, (number,))
    return Condition(key, op, (value,))


def rows(repository: Repository, query: Query) -> Page:
    """The rows of one page of `query`.

    A cursor that is damaged or of another query is an error (VEN-QUERY-CURSOR).
    """
    source, keys = _source([query.sort])
    terms = keys[0] if keys[0][0] is TRIALS.c.id else [*keys[0], TRIALS.c.id]
    where = _where(query.conditions)
    if query.cursor is not None:
        where.append(_after(terms, _open_cursor(query, terms), query.descending))
    ordered = [(term.desc() if query.descending else term.asc()).nulls_last() for term in terms]
    labelled = [term.label(f"term_{number}") for number, term in enumerate(terms)]
    statement = (
        sa.select(*COLUMNS.values(), *labelled)
        .select_from(source)
        .where(*where)
        .order_by(*ordered)
        .limit(query.limit + 1)
    )
    with repository.reading() as connection:
        found = connection.execute(statement).all()
        page = found[: query.limit]
        chosen = sa.select(RECORDS.c.id, RECORDS.c.configuration).where(
            RECORDS.c.id.in_([row.id for row in page])
        )
        configuration = {row.id: row.configuration for row in connection.execute(chosen)}
    more = len(found) > len(page)
    return Page(
        tuple(_row(row, configuration[row.id]) for row in page),
        _make_cursor(query, page[-1][len(COLUMNS) :]) if more else None,
    )


def count(repository: Repository, query: Query) -> int:
    """How many trials meet the conditions of `query`."""
    with repository.reading() as connection:
        return _count(connection, query.conditions)


def facets(repository: Repository, query: Query, keys: Sequence[str]) -> tuple[Facet, ...]:
    """For each of `keys` (at most 50), how many trials have which value.

    The conditions on a key do not narrow its own facet, so that it shows what else could be chosen.
    """
    _at_most("facets", len(keys), FACET_KEYS_MAX)
    _source(keys)
    # Keys under the same conditions are counted together.
    together: dict[tuple[Condition, ...], list[str]] = {}
    for key in keys:
        others = tuple(c for c in query.conditions if _canonical(c.key) != _canonical(key))
        together.setdefault(others, []).append(key)
    found: dict[str, Facet] = {}
    with repository.reading() as connection:
        for conditions, of in together.items():
            columns = [key for key in of if key in COLUMNS]
            if columns:
                found |= _column_facets(connection, conditions, columns)
            settings = [key for key in of if key not in COLUMNS]
            if settings:
                found |= _configuration_facets(connection, conditions, settings)
    return tuple(found[key] for key in keys)


def group_by(repository: Repository, query: Query, keys: Sequence[str]) -> list[Group]:
    """The trials of `query`, grouped by `keys` (at most 8); the biggest groups come first.

    More than 10,000 groups are an error (VEN-QUERY-VALUE).
    """
    _at_most("keys to group by", len(keys), GROUP_KEYS_MAX)
    source, terms = _source(keys)
    # The text of a configuration value, which its number goes with, comes last among its terms.
    chosen = [of_key[-1].label(f"key_{number}") for number, of_key in enumerate(terms)]
    counts = (TRIALS.c.state == State.SUCCEEDED.value) & ~TRIALS.c.warm_up
    time_s = sa.case((counts, TRIALS.c.elapsed_s))
    statement = (
        sa.select(time_s, TRIALS.c.state, *chosen)
        .select_from(source)
        .where(*_where(query.conditions))
    )
    times: defaultdict[tuple[Any, ...], list[float | None]] = defaultdict(list)
    with repository.reading() as connection:
        for row in _fetch(connection, statement):
            times[row[1:]].append(row[0])
    by_state: defaultdict[tuple[Any, ...], dict[str, list[float | None]]] = defaultdict(dict)
    for (state, *values), times_s in times.items():
        by_state[tuple(values)][state] = times_s
    _at_most("groups", len(by_state), GROUPS_MAX)
    shown = [_publisher(COLUMNS.get(key)) for key in keys]
    groups = [
        Group(
            tuple(show(value) for show, value in zip(shown, values, strict=True)),
            sum(map(len, of.values())),
            {state: len(times_s) for state, times_s in of.items()},
            tuple(sorted(t for times_s in of.values() for t in times_s if t is not None)),
        )
        for values, of in by_state.items()
    ]
    return sorted(groups, key=lambda group: (-group.n, str(group.values)))


def _fetch(connection: sa.Connection, statement: sa.Select[Any]) -> list[tuple[Any, ...]]:
    """The rows as the driver has them: SQLAlchemy's own would take as long again to make."""
    with connection.execute(statement) as result:
        assert result.cursor is not None
        return list(result.cursor.fetchall())


def _canonical(key: str) -> str:
    """The one name of a key that has several."""
    return key if key in COLUMNS else PREFIX + _setting(key)


def _setting(key: str) -> str:
    """The configuration key that `key` names, as the table has it."""
    return text_of(key.removeprefix(PREFIX))


def _source(keys: Sequence[str]) -> tuple[sa.FromClause, list[list[sa.ColumnElement[Any]]]]:
    """The trials with the configuration keys among `keys`, and for each key what it sorts by."""
    source: sa.FromClause = TRIALS
    terms: list[list[sa.ColumnElement[Any]]] = []
    for key in keys:
        if (column := COLUMNS.get(key)) is not None:
            terms.append([column])
            continue
        if not _storable(_setting(key)):
            raise _refused("a key that no trial can have", key)
        setting = CONFIGURATION.alias()
        here = (setting.c.trial == TRIALS.c.serial) & (setting.c.key == _setting(key))
        source = source.outerjoin(setting, here)
        terms.append([setting.c.number, setting.c.text])
    return source, terms


def _where(conditions: Iterable[Condition]) -> list[sa.ColumnElement[bool]]:
    return [_clause(condition) for condition in conditions]


def _clause(condition: Condition) -> sa.ColumnElement[bool]:
    column, op = COLUMNS.get(condition.key), condition.op
    if column is not None:
        if op is Op.MISSING:
            return column.is_(None)
        if op is not Op.ONE_OF and column.type.python_type in {str, bool}:
            raise _refused(f"{condition.key} has no order to compare by", condition.key)
        return _compare(column, op, [_bound(column, condition, v) for v in condition.values])
    setting = CONFIGURATION.c
    if not _storable(_setting(condition.key)):
        raise _refused("a key that no trial can have", condition.key)
    tests = [setting.key == _setting(condition.key)]
    if op is Op.ONE_OF:
        texts = [_text(condition, value) for value in condition.values]
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
            raise _refused(f"{value!r} is no moment with a time zone", condition.key)
        return sa.literal(microseconds(value), column.type)
    if kind is str and isinstance(value, str) and _storable(value):
        return sa.literal(str(value), column.type)
    if kind is bool and isinstance(value, bool):
        return sa.literal(value, column.type)
    if kind in {int, float}:
        if kind is int and type(value) is int and -(2**63) <= value < 2**63:
            return sa.literal(value, column.type)
        return sa.literal(_number(condition, value), sa.Double)
    raise _refused(f"{value!r} is no {kind.__name__}", condition.key)


def _number(condition: Condition, value: Value) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            if math.isfinite(value):
                return float(value)
        except OverflowError:
            pass
    raise _refused(f"{value!r} is no number that can be compared", condition.key)


def _text(condition: Condition, value: Value) -> str:
    if isinstance(value, datetime) or not _storable(text_of(value)):
        raise _refused(f"{value!r} is no configuration value", condition.key)
    return text_of(value)


def _storable(text: str) -> bool:
    """Whether a database can hold `text`: no NUL, no half of a surrogate pair."""
    return "\0" not in text and not any("\ud800" <= character <= "\udfff" for character in text)


def _count(connection: sa.Connection, conditions: Iterable[Condition]) -> int:
    statement = sa.select(sa.func.count()).select_from(TRIALS).where(*_where(conditions))
    return int(connection.execute(statement).scalar_one())


def _column_facets(
    connection: sa.Connection, conditions: Iterable[Condition], keys: Sequence[str]
) -> dict[str, Facet]:
    """The facets of columns: one pass over the trials for all of them."""
    columns = [COLUMNS[key] for key in keys]
    found = _fetch(connection, sa.select(*columns).where(*_where(conditions)))
    facets_ = {}
    for key, column, values in zip(keys, columns, zip(*found, strict=True), strict=False):
        counts = Counter(values)
        missing = counts.pop(None, 0)
        ranked = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:FACET_VALUES_MAX]
        show = _publisher(column)
        shown = tuple((show(value), n) for value, n in ranked)
        facets_[key] = Facet(key, shown, len(counts), missing)
    return facets_ or {key: Facet(key, (), 0, 0) for key in keys}


def _configuration_facets(
    connection: sa.Connection, conditions: Sequence[Condition], keys: Sequence[str]
) -> dict[str, Facet]:
    """The facets of configuration keys, counted by the database."""
    setting = CONFIGURATION.c
    counted = (
        sa.select(setting.key, setting.text, sa.func.count().label("n"))
        .where(setting.key.in_([_setting(key) for key in keys]))
        .group_by(setting.key, setting.text)
    )
    if conditions:
        trials = sa.select(TRIALS.c.serial).where(*_where(conditions))
        counted = counted.where(setting.trial.in_(trials))
    each = counted.subquery().c
    rank = sa.func.row_number().over(partition_by=each.key, order_by=(each.n.desc(), each.text))
    ranked = sa.select(
        *each,
        rank.label("rank"),
        sa.func.count().over(partition_by=each.key).label("distinct"),
        sa.func.sum(each.n).over(partition_by=each.key).label("present"),
    ).subquery()
    statement = sa.select(ranked).where(ranked.c.rank <= FACET_VALUES_MAX).order_by(ranked.c.rank)
    found: dict[str, list[Any]] = {}
    for row in connection.execute(statement):
        found.setdefault(row.key, []).append(row)
    total = _count(connection, conditions)
    facets_ = {}
    for key in keys:
        of_key = found.get(_setting(key), [])
        distinct, present = (of_key[0].distinct, int(of_key[0].present)) if of_key else (0, 0)
        values = tuple((row.text, row.n) for row in of_key)
        facets_[key] = Facet(key, values, distinct, total - present)
    return facets_


def _publisher(column: sa.Column[Any] | None) -> Callable[[Any], Any]:
    """How a value of `column` (of a configuration key if None), or None, is shown."""
    if column is TRIALS.c.started_at_us:
        return lambda value: None if value is None else moment(value)
    if column is TRIALS.c.warm_up:
        return bool
    return lambda value: value


def _row(row: Any, configuration: str) -> Row:
    values = dict(zip(COLUMNS, row, strict=False))  # the terms of the order follow the columns
    if values["started_at"] is not None:
        values["started_at"] = moment(values["started_at"])
    return Row(**values, configuration=json.loads(configuration))


def _after(
    terms: Sequence[sa.ColumnElement[Any]], values: Sequence[Any], descending: bool
) -> sa.ColumnElement[bool]:
    """What comes after `values` in the order of `terms`, missing ones last."""
    after: sa.ColumnElement[bool] = sa.false()
    for term, value in reversed(list(zip(terms, values, strict=True))):
        if value is None:
            after = term.is_(None) & after
            continue
        bound = sa.literal(value, term.type)
        beyond = term < bound if descending else term > bound
        if term is not TRIALS.c.id:
            beyond |= term.is_(None)
        after = beyond | ((term == bound) & after)
    return after


def _digest(query: Query) -> str:
    """Tells queries apart whose pages do not fit together."""
    conditions = sorted([c.key, c.op, sorted(map(str, c.values))] for c in query.conditions)
    text = json.dumps([conditions, _canonical(query.sort), query.descending])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _make_cursor(query: Query, values: Sequence[Any]) -> str:
    payload = json.dumps([_digest(query), *values]).encode()
    return base64.urlsafe_b64encode(_checksum(payload) + payload).decode()


def _open_cursor(query: Query, terms: Sequence[sa.ColumnElement[Any]]) -> list[Any]:
    """The values of `terms` at which the page before ended."""
    problem = "damaged"
    try:
        if len(query.cursor or "") > _CURSOR_LENGTH_MAX:
            raise ValueError("too long")
        content = base64.b64decode(query.cursor or "", altchars=b"-_", validate=True)
        checksum, payload = content[:_CHECKSUM_BYTES], content[_CHECKSUM_BYTES:]
        if not hmac.compare_digest(checksum, _checksum(payload)):
            raise ValueError("checksum")
        digest, *values = json.loads(payload)
        if digest != _digest(query):
            problem = "of another query"
            raise ValueError(problem)
        if len(values) != len(terms) or not all(map(_fits, terms, values)):
            raise ValueError("values")
    except (ValueError, TypeError, binascii.Error, RecursionError) as error:
        raise VenturiError(
            "VEN-QUERY-CURSOR",
            f"the cursor is {problem}",
            where={"cursor": (query.cursor or "")[:100]},
            hint="begin again with the first page",
            exit_code=ExitCode.USAGE,
        ) from error
    return list(values)


def _checksum(payload: bytes) -> bytes:
    # Against accidents and guessing; a cursor gives no rights, so that no secret is needed.
    return hashlib.blake2b(payload, digest_size=_CHECKSUM_BYTES, person=b"venturi cursor").digest()


def _fits(term: sa.ColumnElement[Any], value: Any) -> bool:
    """Whether `value` may be one of `term`."""
    kind = term.type.python_type
    if value is None:
        return term is not TRIALS.c.id
    if kind is float:
        return type(value) is float and math.isfinite(value)
    if kind is int:
        return type(value) is int and -(2**63) <= value < 2**63
    return type(value) is kind and (kind is not str or _storable(value))


def _at_most(what: str, given: int, most: int) -> None:
    if given > most:
        raise _refused(f"{given:,} {what}; at most {most:,} are possible", what)


def _refused(message: str, key: str) -> VenturiError:
    return VenturiError(
        "VEN-QUERY-VALUE",
        message,
        where={"field": key[:100]},
        hint="conditions are KEY=VALUE, KEY<N, KEY<=N, KEY>N, KEY>=N, or KEY= for a missing value; "
        f"columns are {', '.join(COLUMNS)}, and any other KEY is of the configuration",
        exit_code=ExitCode.USAGE,
    )
