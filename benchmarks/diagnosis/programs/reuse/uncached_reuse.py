"""Several actions on a table that is computed again for each."""

from __future__ import annotations

from pyspark.sql import functions as f

from benchmarks.diagnosis.program import FaultyProgram, Run


def run(given: Run) -> None:
    text = f.col("id").cast("string")
    for _ in range(6):
        text = f.sha2(text, 512)
    rows = given.spark.range(2_000_000).select("id", f.hash("id").alias("k"), text.alias("text"))
    rows = rows.filter(f.col("text") > "1")
    if not given.faulty:
        rows = rows.cache()
    rows.count()
    rows.agg(f.max("text")).collect()
    rows.filter(f.col("k") % 7 == 3).select("text").count()
    rows.groupBy((f.col("k") % 10).alias("k")).agg(f.min("text")).collect()


PROGRAM = FaultyProgram(run, "recomputed")
