"""Aggregate rows with functions of Python, where Spark SQL can."""

from __future__ import annotations

from pyspark.sql import functions as f

from benchmarks.diagnosis.program import FaultyProgram, Run


def run(given: Run) -> None:
    rows = given.spark.range(2_000_000).select((f.col("id") % 500).alias("k"), f.rand(1).alias("x"))
    if given.faulty:
        pairs = rows.rdd.map(lambda row: (row.k, (row.x * 2.0, 1)))
        sums = pairs.reduceByKey(lambda a, b: (a[0] + b[0], a[1] + b[1]))
        assert len(sums.mapValues(lambda pair: pair[0] / pair[1]).collect()) == 500
    else:
        means = rows.groupBy("k").agg(f.avg(f.col("x") * 2.0))
        assert len(means.collect()) == 500


PROGRAM = FaultyProgram(run, "python-rows", "RDD")
