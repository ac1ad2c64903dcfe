"""The memory that executors of Spark had and used, where their log samples it.

Peaks stand in the events of tasks, and in those of stages with the setting
`spark.eventLog.logStageExecutorMetrics`. They are sampled at heartbeats: all zeros mean that none
fell into the task, not that it used none. Source of the names: ExecutorMetricType in
core/src/main/scala/org/apache/spark/metrics.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from venturi.jobs.logs.columnar import TableBuilder, TooManyError, amount
from venturi.record.account_kind import SPARK
from venturi.record.account_tables import MEMORY_OVER_TIME

if TYPE_CHECKING:
    import polars as pl

_SAMPLED = (
    "JVMHeapMemory",
    "JVMOffHeapMemory",
    "OnHeapExecutionMemory",
    "OffHeapExecutionMemory",
    "OnHeapStorageMemory",
    "OffHeapStorageMemory",
    "DirectPoolMemory",
    "ProcessTreeJVMRSSMemory",
    "ProcessTreePythonRSSMemory",
    "ProcessTreeOtherRSSMemory",
)
_OVER_TIME = tuple(column.name for column in MEMORY_OVER_TIME[2:])
# The limit of its block manager for execution and storage: the unified region.
_LIMITS = {"Maximum Onheap Memory": "MaximumOnHeap", "Maximum Offheap Memory": "MaximumOffHeap"}
_EXECUTORS = 20_000
_NAME_CHARACTERS = 500
_CELLS = 2 * _EXECUTORS
_FIRST_WIDTH_MS = 1_000
_LATEST_MS = (1 << 63) - 1  # that a table can hold


class Memory:
    """The most of each kind that each executor was seen to use so far, and its limits."""

    def __init__(self) -> None:
        self._of: dict[str, dict[str, int]] = {}
        self._series = _Series()

    def sampled(self, executor: object, metrics: object, at_ms: int | None) -> None:
        """Adds samples of an executor, its peaks until `at_ms`."""
        if isinstance(executor, str) and isinstance(metrics, dict) and any(metrics.values()):
            self._note(executor, {name: metrics.get(name) for name in _SAMPLED})
            if at_ms is not None:
                values = [amount(metrics.get(name)) or 0 for name in _OVER_TIME]
                self._series.note(executor[:_NAME_CHARACTERS], at_ms, values)

    def limited(self, executor: object, event: object) -> None:
        """Notes how much memory an executor's block manager may use."""
        if isinstance(executor, str) and isinstance(event, dict):
            self._note(executor, {name: event.get(key) for key, name in _LIMITS.items()})

    def _note(self, executor: str, values: dict[str, object]) -> None:
        if executor not in self._of and len(self._of) >= _EXECUTORS:
            raise TooManyError
        own = self._of.setdefault(executor, {})
        for name, value in values.items():
            known = amount(value)
            if known and known > own.get(name, 0):
                own[name] = known

    def table(self) -> pl.DataFrame | None:
        """All of it, None if there is nothing."""
        if not any(self._of.values()):
            return None
        table = TableBuilder("memory", SPARK)
        for executor, own in self._of.items():
            for name, value in own.items():
                table.append((executor[:_NAME_CHARACTERS], name, value))
        return table.finish()

    def over_time(self) -> pl.DataFrame | None:
        """The samples over time, None without any."""
        return self._series.table()


class _Series:
    """The most of each kind in equal pieces of time, which get longer when there are too many."""

    def __init__(self) -> None:
        self._width_ms = _FIRST_WIDTH_MS
        self._cells: dict[tuple[str, int], list[int]] = {}

    def note(self, executor: str, at_ms: int, values: Sequence[int]) -> None:
        """Takes in a sample."""
        self._put(executor, at_ms // self._width_ms, values)
        if len(self._cells) > _CELLS:
            self._width_ms *= 2
            narrow, self._cells = self._cells, {}
            for (name, place), most in narrow.items():
                self._put(name, place // 2, most)

    def _put(self, executor: str, place: int, values: Sequence[int]) -> None:
        cell = self._cells.setdefault((executor, place), [0] * len(values))
        cell[:] = map(max, cell, values)

    def table(self) -> pl.DataFrame | None:
        """All of it in the order of time, each piece at its end; None if there is nothing."""
        if not self._cells:
            return None
        table = TableBuilder("memory_over_time", SPARK)
        for (executor, place), most in sorted(self._cells.items(), key=lambda each: each[0][1]):
            at_ms = min((place + 1) * self._width_ms, _LATEST_MS)
            table.append((executor, at_ms, *(value or None for value in most)))
        return table.finish()
