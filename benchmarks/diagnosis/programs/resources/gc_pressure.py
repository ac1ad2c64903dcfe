"""Hold millions of objects in a heap that is too small for them."""

from __future__ import annotations

from pyspark.sql import functions as f

from benchmarks.diagnosis.program import FaultyProgram, Run


def run(given: Run) -> None:
    rows = given.spark.range(0, 2_400_000, 1, 4).select(
        (f.col("id") % 400_000).alias("k"), f.hash("id").cast("string").alias("text")
    )
    lists = rows.groupBy("k").agg(f.collect_list("text").alias("texts"))
    lists.agg(f.sum(f.size("texts"))).collect()


PROGRAM = FaultyProgram(
    run,
    "garbage-collection",
    settings={
        "spark.sql.objectHashAggregate.sortBased.fallbackThreshold": "10000000",
        "spark.driver.extraJavaOptions": "-XX:+UseParallelGC",
    },
    faulty={"spark.driver.memory": "620m"},
    # From the start: a heap that grows collects as often as a small one.
    fixed={
        "spark.driver.memory": "8g",
        "spark.driver.extraJavaOptions": "-XX:+UseParallelGC -Xms8g -Xmn6g",
    },
)
