"""A query for each value, and the program's own work between them."""

from __future__ import annotations

import time

from pyspark.sql import functions as f

from benchmarks.diagnosis.program import FaultyProgram, Run


def run(given: Run) -> None:
    rows = given.spark.range(2_000_000).select((f.col("id") % 40).alias("k"), f.rand(1).alias("x"))
    if not given.faulty:
        for row in rows.groupBy("k").agg(f.avg("x")).collect():
            assert row[1] > 0
        return
    for key in range(40):
        (found,) = rows.filter(f.col("k") == key).agg(f.avg("x")).collect()
        until = time.monotonic() + 0.2
        while time.monotonic() < until:
            sum(range(10_000))
        assert found[0] > 0


PROGRAM = FaultyProgram(run, "driver-loop")
