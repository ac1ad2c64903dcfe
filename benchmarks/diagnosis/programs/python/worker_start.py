"""Start a new Python worker for every task."""

from __future__ import annotations

from pyspark.sql import functions as f

from benchmarks.diagnosis.program import FaultyProgram, Run


def run(given: Run) -> None:
    own = f.udf(lambda n: n * n % 7, "long", useArrow=False)
    rows = given.spark.range(0, 40_000, 1, 80)
    rows.agg(f.sum(own("id"))).collect()


PROGRAM = FaultyProgram(run, "python-start", faulty={"spark.python.worker.reuse": "false"})
