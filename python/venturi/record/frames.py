"""Polars, imported so that Ctrl-C still ends whatever this process waits for.

Polars puts a handler of its own before Python's, with SA_RESTART: a blocking read would go on after
SIGINT, and Python's handler wait until it ends. It is imported from here and nowhere else.
"""

from __future__ import annotations

import signal
from collections.abc import Sequence
from pathlib import Path

import polars as pl
from polars.io.plugins import register_io_source

__all__ = ["pl", "read_rows", "register_io_source"]

signal.siginterrupt(signal.SIGINT, True)


def read_rows(path: Path, columns: Sequence[str]) -> pl.DataFrame:
    """`columns` of the table in `path`: as many rows as its end says, which says what was checked.

    A file may say in one place that it has few rows, and in another that these are many.
    """
    rows = pl.scan_parquet(path).select(pl.len()).collect().item()
    return pl.scan_parquet(path, n_rows=rows).select(columns).collect()
