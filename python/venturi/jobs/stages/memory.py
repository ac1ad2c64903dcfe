"""The memory of executors over time, compared with their limits."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import numpy as np

from venturi.jobs.stages.stage import MemoryLine, MemoryUse
from venturi.jobs.stages.timeline import Timeline
from venturi.record.job_account import JobAccount

DRIVER = "driver"
"""The executor's name in local mode, where driver and executor are one."""
_SIZE = re.compile(r"(\d{1,9})([kmgt]?)b?", re.IGNORECASE)
_UNITS = {"": 20, "k": 10, "m": 20, "g": 30, "t": 40}  # Spark: MiB where no unit is said
_DEFAULT_HEAP = "1g"
_POINTS = 400
_LINES: Mapping[str, tuple[str, ...]] = {
    "heap": ("JVMHeapMemory",),
    "execution": ("OnHeapExecutionMemory", "OffHeapExecutionMemory"),
    "storage": ("OnHeapStorageMemory", "OffHeapStorageMemory"),
    "JVM off the heap": ("JVMOffHeapMemory",),
    "Python": ("ProcessTreePythonRSSMemory",),
}


def is_local(account: JobAccount) -> bool:
    """Whether the driver is the only executor. Executors of local-cluster are apart from it."""
    master = account.configuration.get("spark.master") or ""
    return master == "local" or master.startswith("local[")


def heap_bytes(account: JobAccount, *, local: bool) -> int | None:
    """The heap that executors of Spark have by its settings, None if these are no size; `local`:
    that of the driver, which is the executor then."""
    text = account.configuration.get("spark.driver.memory" if local else "spark.executor.memory")
    text = text or _DEFAULT_HEAP
    match = _SIZE.fullmatch(text.strip())
    return int(match[1]) << _UNITS[match[2].lower()] if match else None


def spark_size(size_bytes: int) -> str:
    """Return a size as Spark's settings have it, in whole MiB or GiB: "930m", "6g"."""
    mebibytes = round(size_bytes / (1 << 20))
    gibibytes, rest = divmod(mebibytes, 1024)
    return f"{mebibytes}m" if rest or not gibibytes else f"{gibibytes}g"


def memory_uses(line: Timeline, most: int) -> tuple[MemoryUse, ...]:
    """Memory of the `most` executors with the fullest heaps, ordered by name."""
    found = sorted(_uses(line), key=lambda use: -use.fullest)[:most]
    return tuple(sorted(found, key=lambda use: (len(use.executor_id), use.executor_id)))


def _uses(line: Timeline) -> Iterator[MemoryUse]:
    account = line.account
    if account.memory_over_time is None:
        return
    regions: dict[str, int] = {}
    if account.memory is not None:
        for executor, metric, value in account.memory.rows():
            if metric in ("MaximumOnHeap", "MaximumOffHeap"):
                regions[executor] = regions.get(executor, 0) + value
    for (executor,), rows in account.memory_over_time.group_by("executor_id", maintain_order=True):
        name = str(executor)
        # Of very many pieces of time some are one: the most of each.
        starts = np.arange(0, len(rows), -(-len(rows) // _POINTS))
        ends = np.append(starts[1:], len(rows)) - 1
        moments = (rows["at_ms"].to_numpy()[ends] - line.tasks.origin_ms) / 1e3
        lines = []
        for what, metrics in _LINES.items():
            known = [rows[metric].fill_null(0) for metric in metrics if rows[metric].count()]
            if known:
                most = np.maximum.reduceat(np.sum(known, axis=0), starts)
                lines.append(MemoryLine(what, tuple(most.tolist())))
        if lines:
            heap = heap_bytes(account, local=name == DRIVER)
            yield MemoryUse(name, heap, regions.get(name), tuple(moments.tolist()), tuple(lines))
