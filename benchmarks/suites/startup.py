"""Time of `venturi --help`: process start to exit, warm page cache."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from benchmarks import rows
from benchmarks.bench import Bench, Unavailable
from benchmarks.figures import Figure, figure

_TIMES = 10


def find_cli() -> Path:
    """The `venturi` command of this Python, then of PATH."""
    beside = Path(sys.executable).parent / "venturi"
    found = str(beside) if beside.is_file() else shutil.which("venturi")
    if found is None:
        raise Unavailable("the venturi command is not installed: make setup")
    return Path(found)


def run(bench: Bench) -> list[Figure]:
    """One start to warm the cache, then ten."""
    times_s = []
    for turn in range(-1, _TIMES):
        label = ("startup", "help", "venturi", turn)
        iteration = bench.run(label, [find_cli(), "--help"])
        if iteration.problem is not None:
            raise Unavailable(f"venturi --help: {iteration.problem}")
        if turn >= 0:
            times_s.append(iteration.time_s)
    return [figure(rows.STARTUP, times_s, "warm page cache")]
