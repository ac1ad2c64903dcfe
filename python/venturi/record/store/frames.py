"""Polars, imported so that Ctrl-C still ends whatever this process waits for.

Polars puts a handler of its own before Python's, with SA_RESTART: a blocking read would go on after
SIGINT, and Python's handler wait until it ends. It is imported from here and nowhere else.
"""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl  # noqa: TID253 - others import it from here
from polars.io.plugins import register_io_source  # noqa: TID253

__all__ = ["pl", "read_rows", "read_table", "register_io_source"]

signal.siginterrupt(signal.SIGINT, True)


def read_table(path: Path, schema: Mapping[str, pl.DataType]) -> pl.DataFrame:
    """The columns of `schema` of the table in `path`, as in `read_rows`; null if the file lacks
    one.
    """
    there = pl.read_parquet_schema(path)
    rows = read_rows(path, [name for name in schema if name in there])
    absent = [
        pl.lit(None, type_).alias(name) for name, type_ in schema.items() if name not in there
    ]
    return rows.with_columns(absent).select(list(schema)) if absent else rows


def read_rows(path: Path, columns: Sequence[str]) -> pl.DataFrame:
    """`columns` of the table in `path`: only the rows that its footer counts, which were checked.

    A file may say in one place that it has few rows, and in another that these are many.
    """
    rows = pl.scan_parquet(path).select(pl.len()).collect().item()
    return pl.scan_parquet(path, n_rows=rows).select(columns).collect()
