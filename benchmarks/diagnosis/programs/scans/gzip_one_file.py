"""Read one large file in a format that cannot be split."""

from __future__ import annotations

import gzip
from hashlib import sha256
from pathlib import Path

from pyspark.sql import functions as f

from benchmarks.diagnosis.program import FaultyProgram, Run

_LINES, _FILES = 2_400_000, 8


def prepare(data: Path) -> None:
    lines = [f"{n},{sha256(b'%d' % n).hexdigest()}\n" for n in range(_LINES)]
    for folder, n_files in (("faulty", 1), ("fixed", _FILES)):
        (data / folder).mkdir()
        for n in range(n_files):
            with gzip.open(data / folder / f"{n}.csv.gz", "wt", compresslevel=1) as file:
                file.writelines(lines[n::n_files])


def run(given: Run) -> None:
    folder = given.data / ("faulty" if given.faulty else "fixed")
    rows = given.spark.read.schema("id LONG, text STRING").csv(str(folder))
    changed = f.sha2(f.concat("id", f.sha2("text", 256)), 256)
    rows.select(changed.alias("text")).agg(f.max("text"), f.count("*")).collect()


PROGRAM = FaultyProgram(run, "one-task", prepare=prepare)
