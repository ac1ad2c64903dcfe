"""A small Spark inside the tests' own process, for programs that are called directly."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUICK = "-XX:TieredStopAtLevel=1"  # a JVM of seconds does not repay its second compiler


@contextmanager
def local_spark(folder: Path) -> Iterator[SparkSession]:
    """A session with two threads whose files are in `folder`; its JVM is gone in the end."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    settings = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "768m",
        "spark.driver.extraJavaOptions": QUICK,
        "spark.local.dir": str(folder),
        "spark.log.level": "ERROR",
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    builder = SparkSession.builder.master("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    gateway = SparkContext._gateway
    assert gateway is not None
    try:
        yield session
    finally:
        session.stop()
        gateway.shutdown()
        gateway.proc.stdin.close()  # the JVM ends when its input does
        gateway.proc.wait(30)
        SparkContext._gateway = SparkContext._jvm = None
