"""Coalesce to one partition before a write, and with it the work before."""

from __future__ import annotations

from pyspark.sql import functions as f

from benchmarks.diagnosis.program import FaultyProgram, Run


def run(given: Run) -> None:
    text = f.col("id").cast("string")
    for _ in range(5):
        text = f.sha2(text, 512)
    rows = given.spark.range(0, 6_000_000, 1, 8).select("id", text.alias("text"))
    rows = rows.filter(f.col("text").startswith("0"))
    if given.faulty:
        rows = rows.coalesce(1)
    rows.write.parquet(str(given.folder / "table"))


PROGRAM = FaultyProgram(run, "one-task")
