"""A large table is shuffled to be joined with a tiny one."""

from __future__ import annotations

from pyspark.sql import functions as f

from benchmarks.diagnosis.program import NO_BROADCAST, FaultyProgram, Run, payload, sink


def run(given: Run) -> None:
    left = payload(given.spark.range(8_000_000)).select((f.col("id") % 1_000).alias("k"), "payload")
    right = given.spark.range(1_000).select(f.col("id").alias("k"), f.rand(1).alias("x"))
    sink(left.join(right, "k").select("k", "payload", "x"))


PROGRAM = FaultyProgram(run, "broadcast-missed", faulty=NO_BROADCAST)
