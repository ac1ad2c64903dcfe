"""A window over everything."""

from __future__ import annotations

from pyspark.sql import Window
from pyspark.sql import functions as f

from benchmarks.diagnosis.program import FaultyProgram, Run, sink


def run(given: Run) -> None:
    rows = given.spark.range(12_000_000).select(
        (f.col("id") % 64).alias("k"), f.rand(1).alias("x"), f.rand(2).alias("y")
    )
    window = Window.orderBy("x") if given.faulty else Window.partitionBy("k").orderBy("x")
    sink(
        rows.select(
            "k",
            f.row_number().over(window).alias("place"),
            f.avg("y").over(window.rowsBetween(-100, 0)).alias("mean"),
        )
    )


PROGRAM = FaultyProgram(run, "one-task")
