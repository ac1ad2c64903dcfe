"""Spread a small state over many partitions."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import functions as f

from benchmarks.diagnosis.program import FaultyProgram, Run

_FILES, _LINES = 6, 2_000


def prepare(data: Path) -> None:
    for n in range(_FILES):
        lines = "".join(f"{n * _LINES + line},{line % 100}\n" for line in range(_LINES))
        (data / f"{n:03}.csv").write_text(lines, encoding="ascii")


def run(given: Run) -> None:
    reader = given.spark.readStream.schema("id LONG, k LONG").option("maxFilesPerTrigger", 1)
    counts = reader.csv(str(given.data)).groupBy("k").agg(f.count("*"), f.max("id"))
    query = (
        counts.writeStream.format("noop")
        .outputMode("update")
        .option("checkpointLocation", str(given.folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()


PROGRAM = FaultyProgram(
    run,
    "state-store",
    "streaming",
    prepare=prepare,
    faulty={"spark.sql.shuffle.partitions": "100"},
    fixed={"spark.sql.shuffle.partitions": "2"},
)
