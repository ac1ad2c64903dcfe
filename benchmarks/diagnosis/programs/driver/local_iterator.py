"""Fetch a result partition by partition, one task after another."""

from __future__ import annotations

from pyspark.sql import functions as f

from benchmarks.diagnosis.program import FaultyProgram, Run


def run(given: Run) -> None:
    text = f.col("id").cast("string")
    for _ in range(5):
        text = f.sha2(text, 512)
    rows = given.spark.range(0, 1_500_000, 1, 20).select("id", text.alias("text"))
    rows = rows.filter(f.col("text").startswith("000"))
    found = rows.toLocalIterator() if given.faulty else rows.collect()
    assert sum(1 for _ in found) > 100


PROGRAM = FaultyProgram(run, "tasks-in-turn")
