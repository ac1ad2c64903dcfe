"""Join on one key or another, which no hash or sort can serve."""

from __future__ import annotations

from pyspark.sql import functions as f

from benchmarks.diagnosis.program import FaultyProgram, Run


def run(given: Run) -> None:
    people = given.spark.range(200_000).select(
        f.col("id").alias("person"), f.hash("id").alias("mail"), f.hash("id", "id").alias("phone")
    )
    calls = given.spark.range(40_000).select(
        f.col("id").alias("call"), f.hash(f.col("id") * 2).alias("m"), f.hash("id", "id").alias("p")
    )
    by_mail, by_phone = people["mail"] == calls["m"], people["phone"] == calls["p"]
    if given.faulty:
        found = people.join(calls, by_mail | by_phone)
    else:
        found = people.join(calls, by_mail).union(people.join(calls, by_phone)).distinct()
    found.agg(f.count("*"), f.max("call")).collect()


PROGRAM = FaultyProgram(run, "join-without-key")
