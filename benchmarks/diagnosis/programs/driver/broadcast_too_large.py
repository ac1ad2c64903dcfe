"""Broadcast the large side of a join."""

from __future__ import annotations

from pyspark.sql import functions as f

from benchmarks.diagnosis.program import FaultyProgram, Run, payload


def run(given: Run) -> None:
    large = payload(given.spark.range(3_000_000))
    small = given.spark.range(100_000).select((f.col("id") * 7).alias("id"), f.rand(1).alias("x"))
    joined = (
        small.join(f.broadcast(large), "id")
        if given.faulty
        else large.join(f.broadcast(small), "id")
    )
    joined.agg(f.max("payload"), f.avg("x")).collect()


PROGRAM = FaultyProgram(run, "broadcast-large", settings={"spark.driver.memory": "3g"})
