"""`spark-submit main.py TASK.json`: one workload. What it found goes to the file TASK names.

All times are of the monotonic clock, which all processes of a machine share.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession, functions

from venturi.measure.engines.spark_programs.storage import storage_of

Program = Callable[[SparkSession, dict[str, Any]], dict[str, Any] | None]


def terasort(spark: SparkSession, task: dict[str, Any]) -> None:
    """Range partitioning by sampling, then a sort in each partition: what orderBy is."""
    from venturi.measure.engines.spark_programs.records import read_records, write_records

    write_records(read_records(spark, task).orderBy("value"), task)


def sort(spark: SparkSession, task: dict[str, Any]) -> None:
    """Text lines in the order of their bytes."""
    spark.read.text(task["input"]).orderBy("value").write.text(task["output"])


def wordcount(spark: SparkSession, task: dict[str, Any]) -> None:
    """`word<TAB>count` in the order of the words."""
    lines = spark.read.text(task["input"])
    words = lines.select(functions.explode(functions.split("value", " ")).alias("word"))
    counts = words.where("word != ''").groupBy("word").count().orderBy("word")
    counts.select(functions.concat_ws("\t", "word", "count")).write.text(task["output"])


def pi(spark: SparkSession, task: dict[str, Any]) -> dict[str, Any]:
    """Points of the Halton sequence, counted in vectors."""
    from venturi.measure.engines.halton import points_inside

    points, parts = task["records"], task["parts"]
    bounds = [points * part // parts for part in range(parts + 1)]
    ranges = list(pairwise(bounds))
    counted = spark.sparkContext.parallelize(ranges, parts).map(
        lambda each: points_inside(each[1] - each[0], each[0])
    )
    return {"inside": counted.sum()}


PROGRAMS: dict[str, Program] = {
    "terasort": terasort,
    "terasort-skewed": terasort,
    "sort": sort,
    "wordcount": wordcount,
    "pi": pi,
}


def program(task: dict[str, Any]) -> Program:
    """What runs the workload of `task`: here, or in the module of its family."""
    if (found := PROGRAMS.get(task["workload"])) is not None:
        return found
    family = import_module(f"venturi.measure.engines.spark_programs.{task['family']}")
    own: Program = family.PROGRAMS[task["workload"]]
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
