"""Sort data that don't fit into the available memory."""

from __future__ import annotations

from benchmarks.diagnosis.program import FaultyProgram, Run, payload, sink


def run(given: Run) -> None:
    rows = payload(given.spark.range(7_000_000)).repartition(4)
    sink(rows.sortWithinPartitions("payload"))


PROGRAM = FaultyProgram(run, "spill", faulty={"spark.memory.fraction": "0.03"})
