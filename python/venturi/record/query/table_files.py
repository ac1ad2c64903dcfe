"""Tables as files: CSV (RFC 4180), Parquet and newline-delimited JSON, made piece by piece."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import IO, TYPE_CHECKING, Any, Literal

from venturi.record.query.trial_table import TrialTable

if TYPE_CHECKING:
    import polars as pl

TableFormat = Literal["csv", "parquet", "ndjson"]
_PIECE_BYTES = 1 << 20
_GROUP_ROWS = 2_000  # of a Parquet file; as many are in memory until they are written
# Spreadsheets run text with such a beginning as a formula, unless it is a number.
_FORMULA = r"^[=+\-@\t\r\n]"
_NUMBER = r"^[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?$"
_MOMENT = "%Y-%m-%dT%H:%M:%S%.f%:z"


def columns_of(format_: TableFormat, asked: Sequence[str]) -> tuple[str, ...]:
    """The columns of a file in `format_` for those that were `asked`.

    A CSV of one column gets `id` before it: where its value is missing, the line would be empty,
    which most readers skip.
    """
    alone = format_ == "csv" and len(set(asked)) == 1 and "id" not in asked
    return ("id", *asked) if alone else tuple(asked)


def content(table: TrialTable, format_: TableFormat) -> Iterator[bytes]:
    """The file of `table` in `format_`.

    CSV has nothing where a value is missing, and "" for an empty text; text that a spreadsheet
    would run as a formula begins with '. NDJSON has null, and gives reasons under `missing`.
    Parquet has its index at its end, so it is written to a temporary file first.
    """
    return {"csv": _csv, "parquet": _parquet, "ndjson": _ndjson}[format_](table)


def _csv(table: TrialTable) -> Iterator[bytes]:
    from venturi.record.store.frames import pl

    names = pl.Series("", [column.name for column in table.columns], pl.String)
    shown = pl.DataFrame({"": names}).select(_guarded(pl.col(""))).to_series().to_list()
    header = pl.DataFrame(
        [shown], schema=dict.fromkeys(map(str, range(len(shown))), pl.String), orient="row"
    )
    yield _lines(header)
    for frame, _ in table.parts():
        moments = pl.col(pl.Datetime("us", "UTC")).dt.to_string(_MOMENT)
        yield _lines(frame.with_columns(_guarded(pl.col(pl.String)), moments))


def _lines(frame: pl.DataFrame) -> bytes:
    return frame.write_csv(include_header=False, line_terminator="\r\n").encode()


def _guarded(texts: pl.Expr) -> pl.Expr:
    from venturi.record.store.frames import pl

    formula = texts.str.contains(_FORMULA) & ~texts.str.contains(_NUMBER)
    return pl.when(formula).then("'" + texts).otherwise(texts).name.keep()


def _parquet(table: TrialTable) -> Iterator[bytes]:
    """Written before this returns, to an unnamed temporary file."""
    from venturi.record.store.frames import register_io_source

    def frames(*_asked: object) -> Iterator[pl.DataFrame]:
        return (frame for frame, _ in table.parts())

    file = tempfile.TemporaryFile()  # noqa: SIM115 - what reads it closes it
    register_io_source(frames, schema=table.schema).sink_parquet(
        file, compression="zstd", row_group_size=_GROUP_ROWS
    )
    file.seek(0)
    return _read(file)


def _read(file: IO[bytes]) -> Iterator[bytes]:
    with file:
        while piece := file.read(_PIECE_BYTES):
            yield piece


def _ndjson(table: TrialTable) -> Iterator[bytes]:
    names = [column.name for column in table.columns]
    for frame, reasons in table.parts():
        lines = (
            json.dumps(
                dict(zip(names, map(_plain, row), strict=True)) | {"missing": missing},
                ensure_ascii=False,
            )
            for row, missing in zip(frame.iter_rows(), reasons, strict=True)
        )
        yield "".join(f"{line}\n" for line in lines).encode()


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value
