"""One of two executors has a slow disk."""

from __future__ import annotations

import time
from pathlib import Path

from benchmarks.diagnosis.program import EXECUTORS, FaultyProgram, Run


def run(given: Run) -> None:
    faulty = given.faulty

    def work(rows):  # type: ignore[no-untyped-def]
        # Executors of a local cluster have folders .../APPLICATION/EXECUTOR.
        slow = faulty and Path.cwd().name == "1"
        time.sleep(2.0 if slow else 0.5)
        return rows

    assert given.spark.sparkContext.range(0, 240, numSlices=24).mapPartitions(work).sum() > 0


PROGRAM = FaultyProgram(run, "slow-executor", "RDD", master=EXECUTORS)
