"""Collect all rows to the driver and compute there."""

from __future__ import annotations

from typing import Any

from pyspark.sql import functions as f

from benchmarks.diagnosis.program import FaultyProgram, Run


def run(given: Run) -> None:
    rows = given.spark.range(1_800_000).select(
        (f.col("id") % 60_000).alias("k"), f.rand(1).alias("x"), f.rand(2).alias("y")
    )
    if given.faulty:
        table: Any = rows.toPandas()
        found = table.groupby("k").apply(lambda group: (group["x"] * group["y"]).mean())
        assert len(found) == 60_000
    else:
        means = rows.groupBy("k").agg(f.avg(f.col("x") * f.col("y")).alias("mean"))
        assert len(means.collect()) == 60_000


PROGRAM = FaultyProgram(run, "driver-collect", "pandas")
