"""Send a large table of the driver with the function of every task."""

from __future__ import annotations

from benchmarks.diagnosis.program import FaultyProgram, Run


def run(given: Run) -> None:
    context = given.spark.sparkContext
    names = {n: f"name {n}" for n in range(700_000)}
    rows = context.range(0, 4_000, numSlices=40)
    if given.faulty:
        found = rows.map(lambda n: len(names[n * 3]))
    else:
        table = context.broadcast(names)
        found = rows.map(lambda n: len(table.value[n * 3]))
    assert found.sum() > 0


PROGRAM = FaultyProgram(run, "large-closure", "RDD")
