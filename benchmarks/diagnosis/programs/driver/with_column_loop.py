"""Add hundreds of columns one at a time."""

from __future__ import annotations

from pyspark.sql import functions as f

from benchmarks.diagnosis.program import FaultyProgram, Run


def run(given: Run) -> None:
    rows = given.spark.range(10_000)
    assert rows.count() == 10_000
    columns = {f"c{n}": f.col("id") * n for n in range(350)}
    if given.faulty:
        for name, column in columns.items():
            rows = rows.withColumn(name, column)
    else:
        rows = rows.withColumns(columns)
    rows.agg(*(f.max(name) for name in list(columns)[:20])).collect()


PROGRAM = FaultyProgram(run, "driver-gap")
