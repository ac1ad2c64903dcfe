"""Your own table in JSON or Parquet, as the CSV that `table` reads.

Decisions:

- JSON: a list of objects, one object per line or one after another, or an object with one list of
  objects; its other values that aren't lists or objects become columns of each row.
- An object in a row becomes columns called `outer.inner`. Lists are left out.
- A row with a key that occurs twice, and text after an object that isn't JSON, are refused.
- A missing value is an empty cell. A time in a column of durations is in seconds.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, timedelta
from pathlib import Path
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
        rows = list(_of_json(file, source, refused))
        if refused and not rows:
            raise source.malformed(f"no row is usable: {refused[0].reason}", line=refused[0].line)
        return _csv(rows, source), refused
    return file, []


def _of_json(
    file: BinaryIO, source: ImportSource, refused: list[Refusal]
) -> Iterator[Mapping[str, Any]]:
    found: list[tuple[int, Mapping[str, Any]]] = []
    for document in documents(file, source, _LIMITS, _pairs):
        if document.problem:
            refused.append(Refusal(document.line, "", document.text[:100], document.problem))
        else:
            found.append((document.line, document.value))
        if document.after:
            line = document.line + document.text.count("\n")
            refused.append(Refusal(line, "", document.after[:100], "text that isn't JSON"))
    if len(found) == 1:
        line, only = found[0]
        named = {name: value for name, value in only.items() if _is_list_of_rows(value)}
        lists = list(named.values())
        if len(lists) > 1:
            shown = ", ".join(map(_line, named))[:200]
            raise source.malformed(f"several lists of rows: {shown}; keep one of them", line=line)
        if lists and not _twice(only, with_lists=False):
            above = {k: v for k, v in only.items() if not isinstance(v, dict | list)}
            found = [(line, row if _twice(row) else {**above, **row}) for row in lists[0]]
    for line, row in found:
        if (key := _twice(row)) is not None:
            refused.append(Refusal(line, key[:100], key[:100], "the key occurs twice"))
        else:
            yield row


class _Ambiguous(dict[str, Any]):
    """An object with a key that occurs twice."""

    key = ""


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    ambiguous, seen = _Ambiguous(found), set[str]()
    for key, _ in pairs:
        if key in seen:
            ambiguous.key = key
        seen.add(key)
    return ambiguous


def _twice(row: Mapping[str, Any], *, with_lists: bool = True, depth: int = 0) -> str | None:
    """The key that occurs twice in a row or an object in it, or None."""
    if isinstance(row, _Ambiguous):
        return row.key
    for value in row.values() if depth < _DEPTH and with_lists else ():
        if isinstance(value, dict) and (key := _twice(value, depth=depth + 1)) is not None:
            return key
    return None


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


def header_of_parquet(path: Path) -> bytes:
    """The names of the columns with numbers, texts or durations in a Parquet file, as CSV.

    Empty if it is damaged.
    """
    from venturi.record.store.frames import pl

    try:
        schema = pl.read_parquet_schema(path)
    except (pl.exceptions.PolarsError, OSError, ValueError):
        return b""
    names = [
        _line(name)
        for name, kind in schema.items()
        if kind.is_numeric() or isinstance(kind, pl.Duration | pl.String)
    ]
    return ",".join(["", *names]).encode("utf-8", "replace") + b"\n0"


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
