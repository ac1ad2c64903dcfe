"""Thousands of partitions for a few megabytes."""

from __future__ import annotations

from pyspark.sql import functions as f

from benchmarks.diagnosis.program import NOT_ADAPTIVE, FaultyProgram, Run


def run(given: Run) -> None:
    rows = given.spark.range(2_000_000).select(
        (f.col("id") % 1_000).alias("k"), f.rand(1).alias("x")
    )
    first = rows.groupBy("k").agg(f.avg("x").alias("mean"))
    first.groupBy((f.col("k") % 10).alias("k")).agg(f.sum("mean")).collect()


PROGRAM = FaultyProgram(
    run,
    "too-many-tasks",
    faulty=NOT_ADAPTIVE | {"spark.sql.shuffle.partitions": "1000"},
)
