"""Read a table of a database in a single partition."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import functions as f

from benchmarks.diagnosis.program import LOCAL, FaultyProgram, Run, payload, session, sink

_ROWS, _TABLE = 1_500_000, "numbers"
_DRIVER = {"driver": "org.apache.derby.jdbc.EmbeddedDriver"}


def _url(data: Path) -> str:
    return f"jdbc:derby:{data}/database;create=true"


def prepare(data: Path) -> None:
    spark = session(LOCAL, "prepare", {"spark.ui.enabled": "false"})
    types = {"createTableColumnTypes": "payload VARCHAR(64)"}
    rows = payload(spark.range(_ROWS)).coalesce(1)
    rows.write.options(**types).jdbc(_url(data), _TABLE, properties=_DRIVER)
    spark.stop()


def run(given: Run) -> None:
    if given.faulty:
        rows = given.spark.read.jdbc(_url(given.data), _TABLE, properties=_DRIVER)
    else:
        rows = given.spark.read.jdbc(
            _url(given.data), _TABLE, "id", 0, _ROWS, 4, properties=_DRIVER
        )
    text = f.col("payload")
    for _ in range(12):
        text = f.sha2(f.concat(text, f.col("payload")), 512)
    sink(rows.select("id", text.alias("text")))


PROGRAM = FaultyProgram(run, "one-task", prepare=prepare)
