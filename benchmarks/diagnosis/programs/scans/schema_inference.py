"""Let Spark read a whole table of text to infer its schema."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

from pyspark.sql import functions as f

from benchmarks.diagnosis.program import FaultyProgram, Run

_LINES, _FILES = 500_000, 4


def prepare(data: Path) -> None:
    for n in range(_FILES):
        with (data / f"{n}.csv").open("w", encoding="ascii") as file:
            file.write("id,price,at,text\n")
            for line in range(n, _FILES * _LINES, _FILES):
                text = sha256(b"%d" % line).hexdigest()
                file.write(f"{line},{line % 977}.5,2026-01-{line % 28 + 1:02} 10:00:00,{text}\n")


def run(given: Run) -> None:
    reader = given.spark.read.option("header", True)
    if given.faulty:
        reader = reader.option("inferSchema", True)
    else:
        reader = reader.schema("id LONG, price DOUBLE, at TIMESTAMP, text STRING")
    rows = reader.csv(str(given.data))
    rows.agg(f.sum("price"), f.max("text"), f.max("at")).collect()


PROGRAM = FaultyProgram(run, "schema-inferred", prepare=prepare)
