"""More task slots than cores."""

from __future__ import annotations

from pyspark.sql import functions as f

from benchmarks.diagnosis.program import FaultyProgram, Run, payload, sink


def run(given: Run) -> None:
    rows = payload(given.spark.range(0, 6_000_000, 1, 16))
    sink(rows.select("id", f.sha2(f.concat("payload", "id"), 512).alias("text")))


PROGRAM = FaultyProgram(run, "too-few-cores", faulty={"spark.master": "local[12]"})
