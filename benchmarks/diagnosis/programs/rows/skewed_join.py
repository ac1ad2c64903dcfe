"""Most rows have one key."""

from __future__ import annotations

from pyspark.sql import functions as f

from benchmarks.diagnosis.program import NO_BROADCAST, FaultyProgram, Run, payload, sink


def run(given: Run) -> None:
    spread = (f.col("id") % 1_000_000).alias("k")
    key = f.when(f.col("id") % 10 < 8, 7).otherwise(spread).alias("k") if given.faulty else spread
    left = payload(given.spark.range(6_000_000)).select(key, "payload")
    right = payload(given.spark.range(1_000_000)).select(
        f.col("id").alias("k"), f.col("payload").alias("other")
    )
    sink(left.join(right, "k").select("k", f.sha2(f.concat("payload", "other"), 256)))


PROGRAM = FaultyProgram(
    run,
    "skew",
    settings=NO_BROADCAST
    | {
        "spark.sql.shuffle.partitions": "16",
        "spark.sql.adaptive.skewJoin.enabled": "false",
    },
)
