"""Sizes of measurements that fit the available disk, memory and time.

Pure functions. A step that doesn't fit is skipped with a reason, never shrunk to a meaningless
size.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from venturi.core.errors import VenturiError
from venturi.core.units import format_bytes_decimal, format_duration

MIN_TIME_BUDGET_S = 5.0
# More data shows nothing new about a machine: at 4 GB every phase lasts seconds on the fastest
# disk.
MAX_DATA_BYTES = 4 * 10**9
MIN_DATA_BYTES = 10 * 10**6
GRANULE_BYTES = 10**6  # ten thousand records

# Shares of the time budget. The time that the first steps leave goes to the sorts.
DISK_SHARE = 0.25
NET_SHARE = 0.08
REPORT_SHARE = 0.08
NET_MIN_S = 1.0
NET_MEASUREMENTS = 9  # pairs, all of two and all of four peers, three times each
# A sort may take this much longer than the disk alone would: the machine may have other load.
SAFETY = 1.5

# The input, the partitions of a two-pass sort, and its output are on disk at the same time.
COPIES_AT_PEAK = 3
# Share of the available memory for a sort, and the memory that it needs in addition to its data.
MEMORY_SHARE = 0.7
IN_MEMORY_FACTOR = 1.15
IN_MEMORY_EXTRA_BYTES = 256 * 2**20
TWO_PASS_FRACTION = 0.25

DISK_MEASUREMENTS = 5  # read, write, both, random at two depths
DISK_ITERATIONS = 2
MAX_PROBE_BYTES = 2 * 2**30
MIN_PROBE_BYTES = 16 * 2**20


@dataclass(frozen=True, slots=True)
class SkippedStep:
    """A step that is not taken, and why."""

    step: str
    reason: str


@dataclass(frozen=True, slots=True)
class MeasuredRates:
    """Disk rates in bytes per second; `mixed` is concurrent reading and writing."""

    read_bytes_per_s: float
    write_bytes_per_s: float
    mixed_bytes_per_s: float


@dataclass(frozen=True, slots=True)
class DiskProbeSize:
    """Bytes that DiskBench may write per directory, and the time limit of a measurement."""

    bytes_per_dir: int
    max_seconds: float
    iterations: int


@dataclass(frozen=True, slots=True)
class DataSize:
    """The amount of data to sort, and the factor that limits it."""

    input_bytes: int
    limited_by: str


def require_time(time_budget_s: float) -> None:
    """VEN-MEASURE-BUDGET for a budget in which nothing can be measured."""
    if time_budget_s < MIN_TIME_BUDGET_S:
        raise VenturiError(
            "VEN-MEASURE-BUDGET",
            f"{format_duration(time_budget_s)} is too little time to measure anything",
            where={"time_budget_s": time_budget_s},
            hint=f"give it at least {format_duration(MIN_TIME_BUDGET_S)}",
        )


def disk_probe_size(
    usable_bytes: int, time_budget_s: float, dirs: int = 1
) -> DiskProbeSize | SkippedStep:
    """Return the size of a short DiskBench: `usable_bytes` of disk, its share of the time.

    Every directory holds a file to read and a file to write. Each measurement gets an equal share
    of the time, with one more share for making the file to read.
    """
    share_s = DISK_SHARE * time_budget_s
    seconds = min(3.0, share_s / ((DISK_MEASUREMENTS + 1) * DISK_ITERATIONS))
    # 1 GB/s at least would be read or written in that time by any disk worth a longer measurement.
    size_bytes = min(MAX_PROBE_BYTES, int(seconds * 10**9), usable_bytes // (2 * dirs))
    if size_bytes < MIN_PROBE_BYTES:
        return SkippedStep(
            "probe disk",
            f"disk space and time allow {format_bytes_decimal(size_bytes)} of test data per "
            f"directory, but {format_bytes_decimal(MIN_PROBE_BYTES)} are needed",
        )
    aligned = size_bytes - size_bytes % MIN_PROBE_BYTES
    return DiskProbeSize(aligned, round(seconds, 3), DISK_ITERATIONS)


def net_probe_seconds(time_budget_s: float) -> float | SkippedStep:
    """Seconds of one measurement of a short NetBench over loopback."""
    share_s = NET_SHARE * time_budget_s
    if share_s < NET_MIN_S:
        return SkippedStep(
            "probe net",
            f"its share of the time budget is {format_duration(share_s)}, but "
            f"{format_duration(NET_MIN_S)} are needed",
        )
    return min(1.0, round(share_s / NET_MEASUREMENTS, 3))


def seconds_per_byte(rates: MeasuredRates) -> float:
    """Time to generate, sort in memory, validate, sort in two passes and validate, per byte.

    1/W + (1/R + 1/W) + 1/R + 4/m + 1/R: in two passes two reads and two writes share the disk at
    its total mixed rate m.
    """
    return 3 / rates.read_bytes_per_s + 2 / rates.write_bytes_per_s + 4 / rates.mixed_bytes_per_s


def data_size(
    usable_bytes: int, available_memory_bytes: int, time_left_s: float, rates: MeasuredRates
) -> DataSize | SkippedStep:
    """Return the amount to sort: the least that disk, memory, time and usefulness allow.

    `usable_bytes` is the usable part of the disk, for all copies together.
    """
    memory_bytes = MEMORY_SHARE * available_memory_bytes - IN_MEMORY_EXTRA_BYTES
    limits = {
        "free disk": usable_bytes / COPIES_AT_PEAK,
        "memory": memory_bytes / IN_MEMORY_FACTOR,
        "time budget": max(0.0, time_left_s) / (SAFETY * seconds_per_byte(rates)),
        "enough to know": float(MAX_DATA_BYTES),
    }
    limited_by = min(limits, key=lambda name: limits[name])
    size_bytes = int(limits[limited_by]) // GRANULE_BYTES * GRANULE_BYTES
    if size_bytes < MIN_DATA_BYTES:
        return SkippedStep(
            "sort",
            f"{limited_by} allows {format_bytes_decimal(max(0, size_bytes))} of data, but "
            f"{format_bytes_decimal(MIN_DATA_BYTES)} are needed",
        )
    return DataSize(size_bytes, limited_by)


def available_memory_bytes(facts: Mapping[str, Any]) -> int | None:
    """Return the memory available to a process: the host's, or the control group's limit if less.

    None if the host's facts lack it.
    """
    available = facts.get("memory_available_bytes")
    if available is None:
        return None
    limit = facts.get("cgroup_memory_limit_bytes")  # a number, `unlimited`, or not known
    return min(int(available), limit) if isinstance(limit, int) else int(available)


def in_memory_bytes(input_bytes: int) -> int:
    """Memory with which the sort of `input_bytes` need not spill."""
    return int(input_bytes * IN_MEMORY_FACTOR) + IN_MEMORY_EXTRA_BYTES


def two_pass_bytes(input_bytes: int, minimum_memory_bytes: int) -> int | SkippedStep:
    """Memory with which most of `input_bytes` is spilled: a quarter, or the engine's minimum."""
    memory_bytes = max(int(input_bytes * TWO_PASS_FRACTION), minimum_memory_bytes)
    if memory_bytes >= input_bytes:
        return SkippedStep(
            "sort in two passes",
            f"{format_bytes_decimal(input_bytes)} of data fit into "
            f"{format_bytes_decimal(memory_bytes)}, the engine's minimum memory",
        )
    return memory_bytes
