"""A task fails three times before it succeeds."""

from __future__ import annotations

import time

from pyspark import TaskContext

from benchmarks.diagnosis.program import FaultyProgram, Run


def run(given: Run) -> None:
    faulty = given.faulty

    def work(rows):  # type: ignore[no-untyped-def]
        context = TaskContext.get()
        assert context is not None
        time.sleep(2.0)
        if faulty and context.partitionId() == 5 and context.attemptNumber() < 3:
            raise ValueError("no such record")
        return rows

    given.spark.sparkContext.parallelize(range(80), 8).mapPartitions(work).count()


PROGRAM = FaultyProgram(run, "failed-attempts", "RDD")
