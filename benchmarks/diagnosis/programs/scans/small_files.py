"""A table in many files of some kilobytes."""

from __future__ import annotations

from pyspark.sql import functions as f

from benchmarks.diagnosis.program import FaultyProgram, Run, payload


def run(given: Run) -> None:
    table = str(given.folder / "table")
    n = 500 if given.faulty else 2
    payload(given.spark.range(1_000_000)).repartition(n).write.mode("overwrite").parquet(table)
    given.spark.read.parquet(table).agg(f.max("payload"), f.sum("id")).collect()


PROGRAM = FaultyProgram(run, "small-files-written")
