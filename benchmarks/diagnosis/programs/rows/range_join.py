"""Join events to intervals by a range, without an equality."""

from __future__ import annotations

from pyspark.sql import functions as f

from benchmarks.diagnosis.program import FaultyProgram, Run


def run(given: Run) -> None:
    events = given.spark.range(400_000).select((f.col("id") * 0.25).alias("at"))
    start = (f.col("id") * 10).alias("start")
    intervals = given.spark.range(10_000).select(start, (start + 10).alias("end"))
    inside = (f.col("at") >= f.col("start")) & (f.col("at") < f.col("end"))
    if not given.faulty:
        events = events.withColumn("bucket", f.floor(f.col("at") / 10))
        intervals = intervals.withColumn("bucket", f.floor(f.col("start") / 10))
        inside &= events["bucket"] == intervals["bucket"]
    events.join(intervals, inside).agg(f.count("*"), f.sum("start")).collect()


PROGRAM = FaultyProgram(run, "join-without-key")
