"""Kill an executor, and with it its shuffle output."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from pyspark import TaskContext

from benchmarks.diagnosis.program import EXECUTORS, FaultyProgram, Run


def run(given: Run) -> None:
    faulty, mark = given.faulty, given.folder / "killed"

    def work(rows):  # type: ignore[no-untyped-def]
        task = TaskContext.get().partitionId()  # type: ignore[union-attr]
        time.sleep(1.5)
        if faulty and task == 13 and not mark.exists():
            mark.touch()
            _kill_jvm()
        return ((task % 4, row) for row in rows)

    rows = given.spark.sparkContext.parallelize(range(160), 16).mapPartitions(work)
    rows.reduceByKey(lambda a, b: a + b, 4).collect()


def _kill_jvm() -> None:
    """Kill the JVM above this Python process."""
    pid = os.getpid()
    while pid > 1:
        status = Path(f"/proc/{pid}/stat").read_text()
        if "(java)" in status:
            os.kill(pid, signal.SIGKILL)
            return
        pid = int(status.rpartition(")")[2].split()[1])


PROGRAM = FaultyProgram(run, "executor-lost", "RDD", master=EXECUTORS)
