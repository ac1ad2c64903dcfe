"""A function of Python's for each row, where Spark has its own."""

from __future__ import annotations

from pyspark.sql import functions as f
from pyspark.sql.types import StringType

from benchmarks.diagnosis.program import FaultyProgram, Run


def run(given: Run) -> None:
    own = f.udf(lambda text: text[::-1].upper(), StringType(), useArrow=False)
    rows = given.spark.range(3_000_000).select(f.col("id").cast("string").alias("text"))
    changed = own("text") if given.faulty else f.upper(f.reverse("text"))
    rows.select(changed.alias("text")).agg(f.sum(f.length("text"))).collect()


PROGRAM = FaultyProgram(run, "python-rows")
