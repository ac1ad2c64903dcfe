"""The programs, each with and without its fault.

`python programs.py NAME faulty|sound FOLDER [KEY=VALUE]...`: FOLDER gets the event log and all
other output; settings given as KEY=VALUE override the program's own. Everything else in a program
is the same with and without its fault, so that findings are due to the fault.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as f
from pyspark.sql.types import StringType

_NO_BROADCAST = {"spark.sql.autoBroadcastJoinThreshold": "-1"}
_NOT_ADAPTIVE = {"spark.sql.adaptive.enabled": "false"}
LOCAL = "local[2,4]"


@dataclass(frozen=True, slots=True)
class FaultyProgram:
    """`run` gets a session, whether to be faulty, and a folder; `finding` names the fault.

    `settings` are those of both variants, then there are those of the faulty one and of the sound
    one.
    """

    run: Callable[[SparkSession, bool, Path], None]
    finding: str
    settings: Mapping[str, str] = field(default_factory=dict)
    faulty: Mapping[str, str] = field(default_factory=dict)
    sound: Mapping[str, str] = field(default_factory=dict)
    master: str = LOCAL


def _payload(rows: DataFrame) -> DataFrame:
    return rows.withColumn("payload", f.sha2(f.col("id").cast("string"), 256))


def _sink(rows: DataFrame) -> None:
    """Compute every column of every row and keep none."""
    rows.write.format("noop").mode("overwrite").save()


def skewed_join(spark: SparkSession, faulty: bool, _: Path) -> None:
    """Most rows have one key."""
    spread = (f.col("id") % 1_000_000).alias("k")
    key = f.when(f.col("id") % 10 < 8, 7).otherwise(spread).alias("k") if faulty else spread
    left = _payload(spark.range(6_000_000)).select(key, "payload")
    right = _payload(spark.range(1_000_000)).select(
        f.col("id").alias("k"), f.col("payload").alias("other")
    )
    _sink(left.join(right, "k").select("k", f.sha2(f.concat("payload", "other"), 256)))


def one_task_window(spark: SparkSession, faulty: bool, _: Path) -> None:
    """A window over everything."""
    rows = spark.range(5_000_000).select(
        (f.col("id") % 64).alias("k"), f.rand(1).alias("x"), f.rand(2).alias("y")
    )
    window = Window.orderBy("x") if faulty else Window.partitionBy("k").orderBy("x")
    _sink(
        rows.select(
            "k",
            f.row_number().over(window).alias("place"),
            f.avg("y").over(window.rowsBetween(-100, 0)).alias("mean"),
        )
    )


def python_udf(spark: SparkSession, faulty: bool, _: Path) -> None:
    """A function of Python's for each row, where Spark has its own."""
    own = f.udf(lambda text: text[::-1].upper(), StringType(), useArrow=False)
    rows = spark.range(3_000_000).select(f.col("id").cast("string").alias("text"))
    changed = own("text") if faulty else f.upper(f.reverse("text"))
    rows.select(changed.alias("text")).agg(f.sum(f.length("text"))).collect()


def driver_loop(spark: SparkSession, faulty: bool, _: Path) -> None:
    """A query for each value, and the program's own work between them."""
    rows = spark.range(2_000_000).select((f.col("id") % 60).alias("k"), f.rand(1).alias("x"))
    if not faulty:
        for row in rows.groupBy("k").agg(f.avg("x")).collect():
            assert row[1] > 0
        return
    for key in range(60):
        (found,) = rows.filter(f.col("k") == key).agg(f.avg("x")).collect()
        until = time.monotonic() + 0.3
        while time.monotonic() < until:
            sum(range(10_000))
        assert found[0] > 0


def small_files(spark: SparkSession, faulty: bool, folder: Path) -> None:
    """A table in many files of some kilobytes."""
    table = str(folder / "table")
    n = 1_000 if faulty else 2
    _payload(spark.range(1_000_000)).repartition(n).write.mode("overwrite").parquet(table)
    spark.read.parquet(table).agg(f.max("payload"), f.sum("id")).collect()


def spill(spark: SparkSession, _faulty: bool, _: Path) -> None:
    """Sort data that don't fit into the available memory."""
    rows = _payload(spark.range(4_000_000)).repartition(4)
    _sink(rows.sortWithinPartitions("payload"))


def executor_killed(spark: SparkSession, faulty: bool, folder: Path) -> None:
    """Kill an executor, and with it its shuffle output."""
    mark = folder / "killed"

    def work(rows):  # type: ignore[no-untyped-def]
        task = TaskContext.get().partitionId()  # type: ignore[union-attr]
        time.sleep(1.5)
        if faulty and task == 13 and not mark.exists():
            mark.touch()
            _kill_jvm()
        return ((task % 4, row) for row in rows)

    rows = spark.sparkContext.parallelize(range(160), 16).mapPartitions(work)
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


def retried_failures(spark: SparkSession, faulty: bool, _: Path) -> None:
    """A task fails three times before it succeeds."""

    def work(rows):  # type: ignore[no-untyped-def]
        context = TaskContext.get()
        assert context is not None
        time.sleep(3.0)
        if faulty and context.partitionId() == 5 and context.attemptNumber() < 3:
            raise ValueError("no such record")
        return rows

    spark.sparkContext.parallelize(range(80), 8).mapPartitions(work).count()


def partition_count(spark: SparkSession, _faulty: bool, _: Path) -> None:
    """Thousands of partitions for a few megabytes."""
    rows = spark.range(2_000_000).select((f.col("id") % 1_000).alias("k"), f.rand(1).alias("x"))
    first = rows.groupBy("k").agg(f.avg("x").alias("mean"))
    first.groupBy((f.col("k") % 10).alias("k")).agg(f.sum("mean")).collect()


def missed_broadcast(spark: SparkSession, _faulty: bool, _: Path) -> None:
    """A large table is shuffled to be joined with a tiny one."""
    left = _payload(spark.range(8_000_000)).select((f.col("id") % 1_000).alias("k"), "payload")
    right = spark.range(1_000).select(f.col("id").alias("k"), f.rand(1).alias("x"))
    _sink(left.join(right, "k").select("k", "payload", "x"))


PROGRAMS = {
    "skewed-join": FaultyProgram(
        skewed_join,
        "skew",
        _NO_BROADCAST
        | {
            "spark.sql.shuffle.partitions": "16",
            "spark.sql.adaptive.skewJoin.enabled": "false",
        },
    ),
    "one-task-window": FaultyProgram(one_task_window, "one-task"),
    "python-udf": FaultyProgram(python_udf, "python-rows"),
    "driver-loop": FaultyProgram(driver_loop, "driver-loop"),
    "small-files": FaultyProgram(small_files, "small-files-written"),
    "spill": FaultyProgram(spill, "spill", faulty={"spark.memory.fraction": "0.03"}),
    "executor-killed": FaultyProgram(
        executor_killed, "executor-lost", master="local-cluster[2,1,1024]"
    ),
    "retried-failures": FaultyProgram(retried_failures, "failed-attempts"),
    "partition-count": FaultyProgram(
        partition_count,
        "too-many-tasks",
        faulty=_NOT_ADAPTIVE | {"spark.sql.shuffle.partitions": "2000"},
    ),
    "missed-broadcast": FaultyProgram(missed_broadcast, "broadcast-missed", faulty=_NO_BROADCAST),
}


def main(name: str, kind: str, folder: Path, chosen: Mapping[str, str]) -> None:
    """Runs the program `name` with the settings `chosen`; it writes its log into `folder`."""
    program = PROGRAMS[name]
    faulty = kind == "faulty"
    settings = {
        "spark.driver.memory": "2g",
        "spark.driver.host": "127.0.0.1",
        "spark.eventLog.compress": "false",
        "spark.eventLog.dir": folder.as_uri(),
        "spark.eventLog.enabled": "true",
        "spark.eventLog.rolling.enabled": "false",
        "spark.local.dir": str(folder / "local"),
        "spark.log.level": "ERROR",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        **program.settings,
        **(program.faulty if faulty else program.sound),
        **chosen,
    }
    master = settings.pop("spark.master", program.master)
    builder = SparkSession.builder.master(master).appName(f"{name}, {kind}")
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    program.run(spark, faulty, folder)
    spark.stop()


if __name__ == "__main__":
    given = dict(each.split("=", 1) for each in sys.argv[4:])
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]), given)
