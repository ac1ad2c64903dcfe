"""Makes columns.txt.xz of ALOJA-ML's data set 4: python make.py aloja-dataset4.csv.

A line a column, its name first; the trials of three workloads, without their numbers, sorted so
that they need little room.
"""

from __future__ import annotations

import csv
import lzma
import sys
from pathlib import Path

WORKLOADS = {"terasort", "prep_terasort", "wordcount"}


def main(source: Path) -> None:
    with source.open(newline="") as file:
        head, *rows = csv.reader(file)
    number, time, work = (head.index(name) for name in ("ID", "Exe.Time", "Benchmark"))
    kept = [row for row in rows if row[work] in WORKLOADS]
    names = ("Cl.Name", "Benchmark", "Bench.Type", "Net", "Disk")
    first = [head.index(name) for name in names]
    kept.sort(key=lambda row: [row[at] for at in first] + row[1:time] + row[time + 1 :])
    columns = [
        ",".join([name, *(row[at].removesuffix(".000") for row in kept)])
        for at, name in enumerate(head)
        if at != number
    ]
    text = "\n".join(columns) + "\n"
    target = Path(__file__).with_name("columns.txt.xz")
    target.write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
