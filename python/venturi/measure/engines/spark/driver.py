"""`spark-submit driver.py TASK.json`: one workload. Its findings go to the file that TASK names.

All times are from the monotonic clock, which all processes of a machine share.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from venturi.measure.workloads.shared.spark_storage import storage_of

DriverProgram = Callable[[SparkSession, dict[str, Any]], dict[str, Any] | None]


def program(task: dict[str, Any]) -> DriverProgram:
    """Return the function that runs the workload of `task`."""
    own: DriverProgram = import_module(task["programs"]).PROGRAMS[task["workload"]]
    return own


def main() -> None:
    """Session, program, fsync; then the result, before the session is stopped."""
    task = json.loads(Path(sys.argv[1]).read_text())
    spark = SparkSession.builder.getOrCreate()
    ready_s = time.monotonic()
    answer = program(task)(spark, task) or {}
    done_s = time.monotonic()
    storage_of(task).sync(task["output"])
    result = {
        "ready_s": ready_s,
        "done_s": done_s,
        "synced_s": time.monotonic(),
        "samples": answer.pop("samples", []),
        "answer": answer,
        "application": spark.sparkContext.applicationId,
        "configuration": dict(spark.sparkContext.getConf().getAll()),
    }
    Path(task["result"]).write_text(json.dumps(result))
    spark.stop()


if __name__ == "__main__":
    main()
