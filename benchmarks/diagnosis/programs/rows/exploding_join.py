"""Join two tables by keys that repeat on both sides."""

from __future__ import annotations

from pyspark.sql import functions as f

from benchmarks.diagnosis.program import FaultyProgram, Run


def run(given: Run) -> None:
    key = (f.col("id") % 1_500).alias("k")
    sales = given.spark.range(450_000).select(key, f.rand(1).alias("price"))
    rates = given.spark.range(450_000).select(key, f.rand(2).alias("rate"))
    if not given.faulty:
        rates = rates.groupBy("k").agg(f.sum("rate").alias("rate"))
    value = f.sum(f.sqrt(f.col("price")) * f.col("rate"))
    sales.join(rates, "k").groupBy("k").agg(value.alias("value")).agg(f.max("value")).collect()


PROGRAM = FaultyProgram(run, "join-explodes")
