"""Selections as files: tables, and the stored records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from venturi.record.query.paging import pages, records_of
from venturi.record.query.selection import PAGE_ROWS_MAX, Query
from venturi.record.query.table_files import columns_of, content
from venturi.record.query.trial_table import trial_table
from venturi.record.store.repository import TrialRepository

DownloadFormat = Literal["ndjson", "csv", "parquet", "records"]
_NDJSON = "application/x-ndjson"
MEDIA_TYPES: Mapping[DownloadFormat, str] = {
    "ndjson": _NDJSON,
    "csv": "text/csv; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
    "records": _NDJSON,
}
FILE_NAMES: Mapping[DownloadFormat, str] = {
    "ndjson": "venturi-trials.ndjson",
    "csv": "venturi-trials.csv",
    "parquet": "venturi-trials.parquet",
    "records": "venturi-records.ndjson",
}


def stream(
    repository: TrialRepository, query: Query, format_: DownloadFormat, columns: Sequence[str]
) -> tuple[Iterator[bytes], tuple[str, ...]]:
    """The trials of `query` in `format_`, and the ids of those that cannot be read and have no row;
    `columns` (default: all) are those of a table.
    """
    if format_ == "records":
        # By id, so that no trial is missed or sent twice while others are added.
        by_id = replace(query, sort="id", descending=False, limit=PAGE_ROWS_MAX)
        whole = (
            "".join(f"{record}\n" for record in records_of(repository, page)).encode()
            for page in pages(repository, by_id)
        )
        return whole, ()
    table = trial_table(repository, query, columns=columns_of(format_, columns))
    return content(table, format_), table.unreadable
