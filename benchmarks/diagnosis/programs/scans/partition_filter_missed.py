"""Filter by a timestamp, not by the column that partitions the table."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import numpy
import pyarrow
from pyarrow import parquet
from pyspark.sql import functions as f

from benchmarks.diagnosis.program import FaultyProgram, Run

_DAYS, _ROWS = 30, 250_000
_FIRST = datetime(2026, 1, 1)


def prepare(data: Path) -> None:
    draw = numpy.random.default_rng(1)
    for n in range(_DAYS):
        day = _FIRST + timedelta(days=n)
        folder = data / f"day={day:%Y-%m-%d}"
        folder.mkdir()
        at = pyarrow.array(numpy.full(_ROWS, numpy.datetime64(day, "us")))
        body = pyarrow.array([draw.bytes(32) for _ in range(_ROWS)], pyarrow.binary())
        parquet.write_table(pyarrow.table({"at": at, "body": body}), folder / "0.parquet")


def run(given: Run) -> None:
    rows = given.spark.read.parquet(str(given.data))
    wanted = f.date_format("at", "yyyy-MM-dd") if given.faulty else f.col("day").cast("string")
    rows.filter(wanted == "2026-01-07").agg(f.count("*"), f.max("body")).collect()


PROGRAM = FaultyProgram(run, "full-scan", prepare=prepare)
