"""DiskBench against fio on the same directory: same block size, depth, size, engine and direct I/O.

Both sides: io_uring, O_DIRECT, random data, fsync inside the timer of the write. fio reads its own
file, and so does DiskBench. Mixed: a concurrent reader and writer; fio stops both when one is done,
so both rates are for the combination.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import rows
from benchmarks.bench import Bench, Unavailable, settle_disk
from benchmarks.figures import Figure, ratio_figure, rotated

BLOCK_BYTES = 4 * 2**20
DEPTH = 4
_BYTES = 2 * 2**30
_RANDOM_BLOCK_BYTES = 4096
_RANDOM_S = 3
SHORTEST_S, _LONGEST_S = "0.001", "600"


@dataclass(frozen=True, slots=True)
class Mode:
    """One comparison: DiskBench's mode, and the equivalent fio jobs.

    `figures` maps a row's key to the roles with figures to add up.
    """

    name: str
    agent_mode: str
    jobs: tuple[str, ...]
    figures: Mapping[str, tuple[str, ...]]
    block_bytes: int = BLOCK_BYTES
    depth: int = DEPTH

    @property
    def is_random(self) -> bool:
        """Random reads are timed and counted in operations; the others move a given size."""
        return self.agent_mode == "random_read"


def _random(depth: int) -> Mode:
    figures = {f"random_{depth}": ("read",)}
    name = f"random read, depth {depth}"
    return Mode(name, "random_read", ("randread",), figures, _RANDOM_BLOCK_BYTES, depth)


MODES = (
    Mode("read", "read", ("read",), {"read": ("read",)}),
    Mode("write", "write", ("write",), {"write": ("write",)}),
    Mode(
        "mixed",
        "read_write",
        ("read", "write"),
        {"mixed_read": ("read",), "mixed_write": ("write",), "mixed": ("read", "write")},
    ),
    _random(1),
    _random(32),
)


def fio_command(mode: Mode, folder: Path, size_bytes: int) -> list[str]:
    """fio's command line for `mode`; readers use the file `existing`, writers make a new one."""
    command = [
        "fio",
        "--output-format=json",
        "--ioengine=io_uring",
        "--direct=1",
        "--thread",
        f"--bs={mode.block_bytes}",
        f"--iodepth={mode.depth}",
        f"--size={size_bytes}",
        "--norandommap",
        "--exitall",
        "--fallocate=native",
    ]
    if mode.is_random:
        command += ["--time_based", f"--runtime={_RANDOM_S}"]
    for job in mode.jobs:
        name = "written" if job == "write" else "existing"
        command += [f"--name={job}", f"--rw={job}", f"--filename={folder / name}"]
        if job == "write":
            command += ["--end_fsync=1", "--unlink=1"]
    return command


def fio_rates(text: str) -> dict[str, dict[str, float]]:
    """Bytes and operations per second by role, out of fio's JSON (warnings may precede it)."""
    rates: dict[str, dict[str, float]] = {}
    for job in json.loads(text[text.index("{") :])["jobs"]:
        if job["error"]:
            raise ValueError(f"fio job {job['jobname']} failed with error {job['error']}")
        for role in ("read", "write"):
            if job[role]["io_bytes"]:
                per_s = {"bytes_per_s": float(job[role]["bw_bytes"]), "iops": job[role]["iops"]}
                rates[role] = per_s
    return rates


def disk_arguments(mode: Mode, folder: Path, size_bytes: int) -> list[str | Path]:
    """DiskBench's flags for `mode`."""
    arguments: list[str | Path] = [
        "disk",
        "--dir",
        folder,
        "--mode",
        mode.agent_mode,
        "--bytes",
        str(size_bytes),
        "--iterations",
        "1",
    ]
    if mode.is_random:
        return [
            *arguments,
            "--random-block-bytes",
            str(mode.block_bytes),
            "--random-queue-depth",
            str(mode.depth),
            "--random-seconds",
            str(_RANDOM_S),
        ]
    # Once over the file, as fio does it; left alone, a fast disk would go round again.
    once = ("--min-seconds", SHORTEST_S, "--max-seconds", _LONGEST_S)
    return [
        *arguments,
        *once,
        "--block-bytes",
        str(mode.block_bytes),
        "--queue-depth",
        str(mode.depth),
    ]


def disk_rates(result: Mapping[str, Any], mode: str) -> dict[str, dict[str, float]]:
    """Bytes and operations per second by role of one mode in a DiskBench result of one folder."""
    rates: dict[str, dict[str, float]] = {}
    for item in result["measurements"]:
        # With one folder the row of all together says the same; either may be absent.
        if item["mode"] == mode and (item["role"] not in rates or item["dir"] is None):
            per_s = {"bytes_per_s": item["bytes_per_s"]["mean"], "iops": item["iops"]["mean"]}
            rates[item["role"]] = per_s
    if not rates:
        raise ValueError(f"no {mode} measurement in the result")
    return rates


def run(bench: Bench) -> list[Figure]:
    """Run every mode in pairs of alternating order: fio first, then DiskBench first."""
    size_bytes = bench.options.size(_BYTES, BLOCK_BYTES)
    bench.agent()
    if shutil.which("fio") is None:
        raise Unavailable("fio is not installed (Debian package fio)")
    bench.need(4 * size_bytes)
    figures: list[Figure] = []
    with bench.folder("disk") as folder:
        filler = fio_command(MODES[1], folder, size_bytes)
        filler = [part for part in filler if part != "--unlink=1"]
        made = bench.run(("disk", "prepare", "fio", 0), filler, read=fio_rates)
        if made.problem is not None:
            raise Unavailable(f"fio: {made.problem}")
        (folder / "written").rename(folder / "existing")
        for mode in MODES:
            figures += _compare(bench, mode, folder, size_bytes)
    return figures


def _compare(bench: Bench, mode: Mode, folder: Path, size_bytes: int) -> list[Figure]:
    rates: dict[str, list[dict[str, dict[str, float]]]] = {"fio": [], "venturi": []}
    # Cheap pairs on a restless disk: more of them than of the sorts.
    for turn in range(2 * bench.options.pairs):
        for contender in rotated(("fio", "venturi"), turn):
            label = ("disk", mode.name, contender, turn)
            settle_disk()
            if contender == "fio":
                iteration = bench.run(label, fio_command(mode, folder, size_bytes), read=fio_rates)
                if iteration.problem is not None:
                    raise Unavailable(f"fio {mode.name}: {iteration.problem}")
                rates["fio"].append(dict(iteration.data))
            else:
                # fio's buffers are in small pages: equals are compared.
                iteration = bench.run_agent(
                    label, *disk_arguments(mode, folder, size_bytes), huge_pages=False
                )
                rates["venturi"].append(disk_rates(iteration.data, mode.agent_mode))
    unit = "iops" if mode.is_random else "bytes_per_s"
    figures = []
    for key, roles in mode.figures.items():
        fio = _sums(rates["fio"], roles, unit)
        best = f"{max(fio):,.0f} 1/s" if mode.is_random else f"{max(fio) / 1e6:,.0f} MB/s"
        ours = _sums(rates["venturi"], roles, unit)
        figures.append(ratio_figure(rows.DISK[key], ours, fio, f"fio's best: {best}"))
    return figures


def _sums(
    rates: Sequence[Mapping[str, Mapping[str, float]]], roles: Sequence[str], unit: str
) -> list[float]:
    return [sum(each[role][unit] for role in roles) for each in rates]
