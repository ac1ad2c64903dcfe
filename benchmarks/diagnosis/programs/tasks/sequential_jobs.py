"""Run independent jobs of one task each one after another."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from pyspark.sql import functions as f

from benchmarks.diagnosis.program import FaultyProgram, Run, sink


def run(given: Run) -> None:
    def job(n: int) -> None:
        text = f.concat("id", f.lit(str(n)))
        for _ in range(4):
            text = f.sha2(text, 512)
        sink(given.spark.range(0, 400_000, 1, 1).select(text.alias("text")))

    with ThreadPoolExecutor(1 if given.faulty else 2) as pool:
        list(pool.map(job, range(10)))


PROGRAM = FaultyProgram(run, "tasks-in-turn")
