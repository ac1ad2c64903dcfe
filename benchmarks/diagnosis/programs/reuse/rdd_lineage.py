"""Iterate over an RDD without a cache, which repeats all earlier steps."""

from __future__ import annotations

from benchmarks.diagnosis.program import FaultyProgram, Run


def run(given: Run) -> None:
    def step(pair: tuple[int, float]) -> tuple[int, float]:
        key, value = pair
        for _ in range(20):
            value = (value * 1.1 + key) % 1_000
        return key, value

    rows = given.spark.sparkContext.range(0, 750_000, numSlices=4).map(lambda n: (n, float(n)))
    for _ in range(6):
        rows = rows.map(step)
        if not given.faulty:
            rows = rows.cache()
        rows.values().max()


PROGRAM = FaultyProgram(run, "recomputed", "RDD")
