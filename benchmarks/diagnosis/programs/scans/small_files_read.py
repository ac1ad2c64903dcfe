"""Read a table of thousands of small files."""

from __future__ import annotations

from pathlib import Path

import pyarrow
from pyarrow import parquet
from pyspark.sql import functions as f

from benchmarks.diagnosis.program import FaultyProgram, Run

_ROWS, _MANY, _FEW = 1_200_000, 4_000, 4


def prepare(data: Path) -> None:
    for folder, n_files in (("faulty", _MANY), ("fixed", _FEW)):
        (data / folder).mkdir()
        each = _ROWS // n_files
        for n in range(n_files):
            ids = range(n * each, (n + 1) * each)
            table = pyarrow.table({"id": ids, "text": [f"text {id_ * 7919}" for id_ in ids]})
            parquet.write_table(table, data / folder / f"{n}.parquet")


def run(given: Run) -> None:
    folder = given.data / ("faulty" if given.faulty else "fixed")
    rows = given.spark.read.parquet(str(folder))
    rows.agg(f.max("text"), f.sum("id")).collect()


PROGRAM = FaultyProgram(run, "small-files-read", prepare=prepare)
