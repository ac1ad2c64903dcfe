"""Whole selections as files: tables, and the records as they are stored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal

import sqlalchemy as sa

from venturi.record.query.paging import Page, rows
from venturi.record.query.selection import PAGE_ROWS_MAX, Query
from venturi.record.repository import Repository
from venturi.record.table_files import content
from venturi.record.tables import RECORDS
from venturi.record.trial_table import trial_table

Format = Literal["ndjson", "csv", "parquet", "records"]
_NDJSON = "application/x-ndjson"
MEDIA_TYPES: Mapping[Format, str] = {
    "ndjson": _NDJSON,
    "csv": "text/csv; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
    "records": _NDJSON,
}
FILE_NAMES: Mapping[Format, str] = {
    "ndjson": "venturi-trials.ndjson",
    "csv": "venturi-trials.csv",
    "parquet": "venturi-trials.parquet",
    "records": "venturi-records.ndjson",
}


def stream(
    repository: Repository, query: Query, format_: Format, columns: Sequence[str]
) -> Iterator[bytes]:
    """The trials of `query` in `format_`; `columns` (default: all) are those of a table."""
    if format_ == "records":
        pages = _pages(repository, replace(query, sort="id", descending=False, limit=PAGE_ROWS_MAX))
        return (_records(repository, page) for page in pages)
    return content(trial_table(repository, query, columns=columns), format_)


def _pages(repository: Repository, query: Query) -> Iterator[Page]:
    """By id, so that no trial is missed or sent twice while others are added."""
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
