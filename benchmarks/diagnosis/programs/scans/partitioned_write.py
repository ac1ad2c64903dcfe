"""Every task writes a file into every directory of a partitioned table."""

from __future__ import annotations

from pyspark.sql import functions as f

from benchmarks.diagnosis.program import FaultyProgram, Run, payload


def run(given: Run) -> None:
    table = str(given.folder / "table")
    rows = payload(given.spark.range(0, 800_000, 1, 16)).withColumn("k", f.col("id") % 50)
    if given.faulty:
        rows.write.partitionBy("k").parquet(table)
    else:
        rows.repartition(2, "k").write.partitionBy("k").parquet(table)


PROGRAM = FaultyProgram(run, "small-files-written")
