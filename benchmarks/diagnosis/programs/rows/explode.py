"""Explode arrays into rows to count a few elements of each."""

from __future__ import annotations

from pyspark.sql import functions as f

from benchmarks.diagnosis.program import FaultyProgram, Run


def run(given: Run) -> None:
    numbers = f.transform(f.sequence(f.lit(1), f.lit(80)), lambda n: (n * f.col("id")) % 1_000)
    rows = given.spark.range(500_000).select("id", numbers.alias("numbers"))
    if given.faulty:
        each = rows.select("id", f.explode("numbers").alias("number"))
        counts = each.groupBy("id").agg(f.sum((f.col("number") > 990).cast("int")).alias("n"))
    else:
        large = f.filter("numbers", lambda number: number > 990)
        counts = rows.select("id", f.size(large).alias("n"))
    counts.agg(f.max("n"), f.avg("n")).collect()


PROGRAM = FaultyProgram(run, "rows-multiplied")
