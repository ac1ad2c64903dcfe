"""Generator and validator without a disk: /dev/null and memory. One thread each."""

from __future__ import annotations

import shutil
from pathlib import Path

from benchmarks import rows
from benchmarks.bench import Bench, Unavailable, work_folder
from benchmarks.figures import Figure, figure, gb_per_core_s
from benchmarks.verify import RECORD_BYTES

_GEN_BYTES = 4e9
_VALIDATE_BYTES = 2e9
_MEMORY = Path("/dev/shm")


def run(bench: Bench) -> list[Figure]:
    """Decimal GB per second of CPU (user+sys of the process, kernel's account)."""
    return [_gen(bench), _validate(bench)]


def _count(bench: Bench, size_bytes: float) -> int:
    return bench.options.size(size_bytes) // RECORD_BYTES


def _gen(bench: Bench) -> Figure:
    count = _count(bench, _GEN_BYTES)
    rates = []
    for turn in range(bench.options.pairs):
        label = ("gen", "gen", "venturi", turn)
        arguments = ("gen", "--count", str(count), "--threads", "1", "--output", "/dev/null")
        iteration = bench.run_agent(label, *arguments)
        rates.append(gb_per_core_s(count * RECORD_BYTES, iteration.cpu_s))
    return figure(rows.GEN, rates)


def _validate(bench: Bench) -> Figure:
    count = _count(bench, _VALIDATE_BYTES)
    if not _MEMORY.is_dir() or shutil.disk_usage(_MEMORY).free < 4 * count * RECORD_BYTES:
        raise Unavailable(f"no room in {_MEMORY} for {count * RECORD_BYTES / 1e9:.1f} GB")
    with work_folder(_MEMORY) as folder:
        source, sorted_folder = folder / "records", folder / "sorted"
        label = ("gen", "validate input", "venturi", 0)
        bench.run_agent(label, "gen", "--count", str(count), "--output", source)
        # Sorted, because a validator may do less (or more) work on records out of order.
        sorted_folder.mkdir()
        made = bench.run_agent(
            label,
            "sort",
            "--input",
            source,
            "--output",
            sorted_folder,
            "--memory",
            str(3 * count * RECORD_BYTES + 2**28),
        )
        source.unlink()
        inputs = [part for f in made.data["output"]["files"] for part in ("--input", f["path"])]
        rates = []
        for turn in range(bench.options.pairs):
            label = ("gen", "validate", "venturi", turn)
            iteration = bench.run_agent(label, "validate", *inputs, "--threads", "1")
            rates.append(gb_per_core_s(count * RECORD_BYTES, iteration.cpu_s))
    return figure(rows.VALIDATE, rates, f"from {_MEMORY}")
