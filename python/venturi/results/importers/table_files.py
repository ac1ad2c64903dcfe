"""Your own table in JSON or Parquet, as the CSV that `table` reads.

Decisions:

- JSON: a list of objects, one object per line or one after another, or an object with one list of
  objects; its other values that aren't lists or objects become columns of each row.
- An object in a row becomes columns called `outer.inner`. Lists are left out.
- A missing value is an empty cell. A time in a column of durations is in seconds.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, timedelta
from typing import Any, BinaryIO

from venturi.record.importing.items import ImportSource
from venturi.record.importing.json_text import JsonLimits, documents
from venturi.record.importing.text import Refusal

PARQUET = b"PAR1"
_LIMITS = JsonLimits(file_bytes=256 << 20, records=1_000_000)
_ROWS, _COLUMNS, _DEPTH = 1_000_000, 2_000, 8
_HEAD_BYTES = 64


def as_csv(file: BinaryIO, source: ImportSource) -> tuple[BinaryIO, list[Refusal]]:
    """Return the table in `file` as CSV, and its unreadable records; CSV is returned as it is.

    VEN-IMPORT-FORMAT if a Parquet file is damaged, or JSON has no rows.
    """
    head = file.read(_HEAD_BYTES)
    file.seek(0)
    if head.startswith(PARQUET):
        return _csv(_of_parquet(file, source), source), []
    if head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"["):
        refused: list[Refusal] = []
        return _csv(_of_json(file, source, refused), source), refused
    return file, []


def _of_json(
    file: BinaryIO, source: ImportSource, refused: list[Refusal]
) -> Iterator[Mapping[str, Any]]:
    found: list[Mapping[str, Any]] = []
    for document in documents(file, source, _LIMITS):
        if document.problem:
            refused.append(Refusal(document.line, "", document.text[:100], document.problem))
        else:
            found.append(document.value)
    if len(found) == 1:
        lists = [value for value in found[0].values() if _is_list_of_rows(value)]
        if len(lists) == 1:
            above = {k: v for k, v in found[0].items() if not isinstance(v, dict | list)}
            return ({**above, **row} for row in lists[0])
    return iter(found)


def _is_list_of_rows(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(row, dict) for row in value)


def _of_parquet(file: BinaryIO, source: ImportSource) -> Iterator[Mapping[str, Any]]:
    from venturi.record.store.frames import pl

    try:
        schema = pl.read_parquet_schema(file)
        if len(schema) > _COLUMNS:
            raise source.malformed(f"more than {_COLUMNS:,} columns")
        file.seek(0)
        frame = pl.read_parquet(file, n_rows=_ROWS + 1)
    except (pl.exceptions.PolarsError, OSError, ValueError) as error:
        raise source.malformed(f"damaged Parquet: {error}") from error
    if frame.height > _ROWS:
        raise source.malformed(f"more than {_ROWS:,} rows")
    names = {
        name: f"{name} (s)" for name, kind in frame.schema.items() if isinstance(kind, pl.Duration)
    }
    return frame.rename(names).iter_rows(named=True)


def _csv(rows: Iterable[Mapping[str, Any]], source: ImportSource) -> BinaryIO:
    flat = [dict(_cells(row, "", 0)) for row in rows]
    header = list(dict.fromkeys(name for row in flat for name in row))
    if not header:
        raise source.malformed("no row has a column")
    if len(header) > _COLUMNS:
        raise source.malformed(f"more than {_COLUMNS:,} columns")
    written = io.StringIO()
    writer = csv.DictWriter(written, header, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(flat)
    return io.BytesIO(written.getvalue().encode("utf-8", "replace"))


def _cells(row: Mapping[str, Any], above: str, depth: int) -> Iterator[tuple[str, str]]:
    for name, value in row.items():
        column = above + _line(str(name))
        if isinstance(value, dict):
            if depth < _DEPTH:
                yield from _cells(value, f"{column}.", depth + 1)
        elif not isinstance(value, list):
            yield column, _cell(value)


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, timedelta):
        return repr(value.total_seconds())
    return _line(str(value))


def _line(text: str) -> str:
    return " ".join(text.split())
