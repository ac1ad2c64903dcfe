"""Whole selections as files: NDJSON and CSV, made page by page while they are sent, and Parquet.

Pages go by id, so that memory is bounded and no trial is missed or sent twice while others are
added. Parquet says at its end where everything is: it is compressed page by page, then sent.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Literal

import sqlalchemy as sa

from venturi.errors import ExitCode, VenturiError
from venturi.record.growing import GrowingTable
from venturi.record.query.conditions import COLUMNS, PREFIX
from venturi.record.query.known_keys import keys
from venturi.record.query.paging import Page, TrialRow, rows
from venturi.record.query.selection import PAGE_ROWS_MAX, Query
from venturi.record.repository import Repository
from venturi.record.tables import RECORDS, TRIALS, text_of

Format = Literal["ndjson", "csv", "parquet"]
MEDIA_TYPES: dict[str, str] = {
    "ndjson": "application/x-ndjson",
    "csv": "text/csv; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
}
COLUMNS_MAX = 1_000
_PIECE_BYTES = 1 << 20
# What a spreadsheet would take for a formula, unless it is a number.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")


def stream(
    repository: Repository, query: Query, format_: Format, columns: Sequence[str]
) -> Iterator[bytes]:
    """The trials of `query` in `format_`; `columns` (default: all) are for CSV and Parquet."""
    pages = _pages(repository, replace(query, sort="id", descending=False, limit=PAGE_ROWS_MAX))
    if format_ == "ndjson":
        return (_records(repository, page) for page in pages)
    chosen = tuple(dict.fromkeys(columns)) or _all_columns(repository)
    if len(chosen) > COLUMNS_MAX:
        raise VenturiError(
            "VEN-QUERY-VALUE", f"{len(chosen)} columns; at most {COLUMNS_MAX} are possible",
            hint="choose some with columns=KEY, or take ndjson", exit_code=ExitCode.USAGE,
        )  # fmt: skip
    return (_csv if format_ == "csv" else _parquet)(pages, chosen)


def guarded(text: str) -> str:
    """`text` as a spreadsheet shows it: what it would take for a formula begins with '."""
    return f"'{text}" if text.startswith(_FORMULA) and not _NUMBER.fullmatch(text) else text


def _pages(repository: Repository, query: Query) -> Iterator[Page]:
    while True:
        page = rows(repository, query)
        yield page
        if page.next_cursor is None:
            return
        query = replace(query, cursor=page.next_cursor)


def _records(repository: Repository, page: Page) -> bytes:
    """The records of `page` as they are stored, one a line."""
    ids = [row.id for row in page.rows]
    chosen = sa.select(RECORDS.c.id, RECORDS.c.record).where(RECORDS.c.id.in_(ids))
    with repository.reading() as connection:
        found = {row.id: row.record for row in connection.execute(chosen)}
    return "".join(f"{found[id_]}\n" for id_ in ids).encode()


def _all_columns(repository: Repository) -> tuple[str, ...]:
    settings = (info.key for info in keys(repository) if info.kind == "configuration")
    return (*COLUMNS, *settings)


def _getter(column: str) -> Callable[[TrialRow], Any]:
    """How a row's value of `column` is found; configuration values are text."""
    if column in COLUMNS:
        return lambda row: getattr(row, column)
    key = text_of(column.removeprefix(PREFIX))

    def setting(row: TrialRow) -> str | None:
        found = row.configuration.get(key)
        if found is None:  # a long key is searched by its digest
            found = next((v for k, v in row.configuration.items() if text_of(k) == key), None)
        if found is None:
            return None
        return text_of(found) if isinstance(found, bool | int | float) else found

    return setting


def _csv(pages: Iterator[Page], columns: Sequence[str]) -> Iterator[bytes]:
    getters = [_getter(column) for column in columns]
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow([guarded(column) for column in columns])
    for page in pages:
        writer.writerows([_cell(get(row)) for get in getters] for row in page.rows)
        yield text.getvalue().encode("utf-8", "replace")
        text.seek(0)
        text.truncate()


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return value.isoformat()
    return guarded(value) if isinstance(value, str) else value


def _parquet(pages: Iterator[Page], columns: Sequence[str]) -> Iterator[bytes]:
    from venturi.record.frames import pl

    def kind(column: str) -> pl.DataType | type[pl.DataType]:
        found = COLUMNS.get(column)
        if found is None:
            return pl.String
        if found is TRIALS.c.started_at_us:
            return pl.Datetime("us", "UTC")
        types = {int: pl.Int64, float: pl.Float64, bool: pl.Boolean}
        return types.get(found.type.python_type, pl.String)

    getters = [_getter(column) for column in columns]
    table = GrowingTable({column: kind(column) for column in columns})
    for page in pages:
        table.append([[get(row) for get in getters] for row in page.rows])
    file = io.BytesIO()
    table.write(file)
    file.seek(0)
    while piece := file.read(_PIECE_BYTES):
        yield piece
