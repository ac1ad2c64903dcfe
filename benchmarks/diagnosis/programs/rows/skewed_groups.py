"""One group holds most rows of a window."""

from __future__ import annotations

from pyspark.sql import Window
from pyspark.sql import functions as f

from benchmarks.diagnosis.program import FaultyProgram, Run, sink


def run(given: Run) -> None:
    spread = f.col("id") % 200
    key = f.when(f.col("id") % 10 < 8, 7).otherwise(spread) if given.faulty else spread
    rows = given.spark.range(4_000_000).select(key.alias("k"), f.rand(1).alias("x"))
    window = Window.partitionBy("k").orderBy("x")
    sink(rows.select("k", f.avg("x").over(window.rowsBetween(-50, 0)).alias("mean")))


PROGRAM = FaultyProgram(run, "skew", settings={"spark.sql.shuffle.partitions": "8"})
