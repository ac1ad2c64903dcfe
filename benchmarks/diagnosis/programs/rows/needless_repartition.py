"""Repartition all rows before an aggregation that shuffles them again."""

from __future__ import annotations

from pyspark.sql import functions as f

from benchmarks.diagnosis.program import FaultyProgram, Run, payload


def run(given: Run) -> None:
    rows = payload(given.spark.range(5_000_000)).withColumn("k", f.col("id") % 1_000)
    if given.faulty:
        rows = rows.repartition(8)
    rows.groupBy("k").agg(f.max("payload").alias("most")).agg(f.min("most")).collect()


PROGRAM = FaultyProgram(run, "shuffled-again")
