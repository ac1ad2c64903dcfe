"""Send a large table of the driver with a function, which every task unpacks again."""

from __future__ import annotations

from pyspark.sql import functions as f

from benchmarks.diagnosis.program import FaultyProgram, Run


def run(given: Run) -> None:
    names = {n: f"name {n}" for n in range(1_200_000)}
    if given.faulty:
        own = f.udf(lambda n: len(names[n * 3]), "long", useArrow=False)
    else:
        table = given.spark.sparkContext.broadcast(names)
        own = f.udf(lambda n: len(table.value[n * 3]), "long", useArrow=False)
    given.spark.range(0, 40_000, 1, 40).agg(f.sum(own("id"))).collect()


PROGRAM = FaultyProgram(run, "python-start")
