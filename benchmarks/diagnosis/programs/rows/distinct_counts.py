"""Several COUNT DISTINCT in one query, each of which multiplies the rows."""

from __future__ import annotations

from pyspark.sql import functions as f

from benchmarks.diagnosis.program import FaultyProgram, Run


def run(given: Run) -> None:
    columns = [(f.hash("id", f.lit(n)) % 300_000).alias(f"c{n}") for n in range(5)]
    rows = given.spark.range(1_200_000).select(*columns)
    count = f.count_distinct if given.faulty else f.approx_count_distinct
    rows.agg(*(count(name) for name in rows.columns)).collect()


PROGRAM = FaultyProgram(run, "rows-multiplied")
