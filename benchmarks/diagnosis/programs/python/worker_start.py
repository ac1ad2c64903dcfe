"""Start a new Python worker for every task."""

from __future__ import annotations

from benchmarks.diagnosis.program import FaultyProgram, Run


def run(given: Run) -> None:
    rows = given.spark.sparkContext.range(0, 40_000, numSlices=400)
    assert rows.map(lambda n: n * n % 7).sum() > 0


PROGRAM = FaultyProgram(run, "python-start", "RDD", faulty={"spark.python.worker.reuse": "false"})
