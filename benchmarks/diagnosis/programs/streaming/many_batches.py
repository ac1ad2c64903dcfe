"""Process a backlog in many batches of a few rows."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import functions as f

from benchmarks.diagnosis.program import FaultyProgram, Run

_FILES, _LINES = 40, 500


def prepare(data: Path) -> None:
    for n in range(_FILES):
        lines = "".join(f"{n * _LINES + line},{line % 100}\n" for line in range(_LINES))
        (data / f"{n:03}.csv").write_text(lines, encoding="ascii")


def run(given: Run) -> None:
    reader = given.spark.readStream.schema("id LONG, k LONG")
    rows = reader.option("maxFilesPerTrigger", 1 if given.faulty else 20).csv(str(given.data))
    query = (
        rows.withColumn("text", f.sha2(f.col("id").cast("string"), 256))
        .writeStream.format("parquet")
        .option("path", str(given.folder / "table"))
        .option("checkpointLocation", str(given.folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()


PROGRAM = FaultyProgram(run, "small-batches", "streaming", prepare=prepare)
