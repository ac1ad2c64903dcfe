"""Cache more than fits into memory, and compute the rest again."""

from __future__ import annotations

from pyspark import StorageLevel
from pyspark.sql import functions as f

from benchmarks.diagnosis.program import FaultyProgram, Run


def run(given: Run) -> None:
    text = f.col("id").cast("string")
    for _ in range(4):
        text = f.sha2(text, 512)
    rows = given.spark.range(0, 1_800_000, 1, 12).select("id", text.alias("text"))
    rows.persist(StorageLevel.MEMORY_ONLY if given.faulty else StorageLevel.MEMORY_AND_DISK)
    for n in range(4):
        rows.filter(f.col("id") % 7 == n).agg(f.max("text")).collect()


PROGRAM = FaultyProgram(run, "cache-incomplete", settings={"spark.driver.memory": "550m"})
