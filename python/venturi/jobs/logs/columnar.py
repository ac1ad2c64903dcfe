"""Building a table row by row with bounded memory: rows become columns every few thousand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from venturi.record.account_kind import AccountKind
from venturi.record.limits import UNPRINTABLE

if TYPE_CHECKING:
    import polars as pl

Key = TypeVar("Key")
Row = TypeVar("Row")
TOO_MANY = " (too many)"
"""Suffix of the name of an event that no longer fit into its table, in the counts of
`AccountReading.damaged`.
"""
_ROWS_A_CHUNK = 16_384
_INT64 = 1 << 63


class TableBuilder:
    """A table of `record.account_tables`, appended to row by row."""

    def __init__(self, table: str, kind: AccountKind) -> None:
        self._schema = kind.schema(table)
        self._rows: list[tuple[Any, ...]] = []
        self._chunks: list[pl.DataFrame] = []

    def append(self, row: tuple[Any, ...]) -> None:
        """Adds a row: a value for each column, None for absent values."""
        self._rows.append(row)
        if len(self._rows) >= _ROWS_A_CHUNK:
            self._flush()

    def finish(self) -> pl.DataFrame:
        """The table of all rows."""
        from venturi.record.store.frames import pl

        self._flush()
        return pl.concat(self._chunks)

    def _flush(self) -> None:
        from venturi.record.store.frames import pl

        columns = zip(*self._rows, strict=True) if self._rows else ((),) * len(self._schema)
        self._chunks.append(
            pl.DataFrame(
                [
                    pl.Series(name, list(values), type_, strict=True)
                    for (name, type_), values in zip(self._schema.items(), columns, strict=True)
                ]
            )
        )
        self._rows.clear()


class TooManyError(Exception):
    """A table has no room left for an event."""


def row_of(rows: dict[Key, Row], key: Key, most: int, new: Row) -> Row:
    """The row of `key`, a new one if there is room for it."""
    if key not in rows and len(rows) >= most:
        raise TooManyError
    return rows.setdefault(key, new)


def whole(value: object) -> int | None:
    """`value` if it is a whole number that a table can hold; a log may hold anything."""
    if isinstance(value, int) and not isinstance(value, bool) and -_INT64 <= value < _INT64:
        return value
    return None


def number(value: object) -> int:
    """`value` as `whole` has it; TypeError if it isn't a whole number."""
    found = whole(value)
    if found is None:
        raise TypeError("not a whole number")
    return found


def moment(value: object) -> int | None:
    """Milliseconds since 1970; engines write 0 or less for a time that has not come."""
    found = whole(value)
    return found if found is not None and found > 0 else None


def amount(value: object) -> int | None:
    """A time or size; engines write a negative one where it is not known."""
    found = whole(value)
    return found if found is not None and found >= 0 else None


def word(value: object, characters: int = 500) -> str | None:
    """At most `characters` of a text; None if it is missing or empty.

    Replaces characters that can't be stored and control characters that a terminal would obey.
    """
    if not isinstance(value, str) or not value:
        return None
    value = value[:characters]
    return value if value.isprintable() else UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", value)
