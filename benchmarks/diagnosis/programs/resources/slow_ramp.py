"""Start with one executor, and wait long before asking for more."""

from __future__ import annotations

import time

from benchmarks.diagnosis.program import EXECUTORS, FaultyProgram, Run


def run(given: Run) -> None:
    def work(rows):  # type: ignore[no-untyped-def]
        time.sleep(1.0)
        return rows

    assert given.spark.sparkContext.range(0, 240, numSlices=24).mapPartitions(work).sum() > 0


PROGRAM = FaultyProgram(
    run,
    "allocation-lag",
    "RDD",
    settings={
        "spark.dynamicAllocation.enabled": "true",
        "spark.dynamicAllocation.shuffleTracking.enabled": "true",
        "spark.dynamicAllocation.maxExecutors": "2",
    },
    faulty={
        "spark.dynamicAllocation.initialExecutors": "1",
        "spark.dynamicAllocation.schedulerBacklogTimeout": "10s",
    },
    fixed={"spark.dynamicAllocation.initialExecutors": "2"},
    master=EXECUTORS,
)
