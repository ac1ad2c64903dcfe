"""The memory that executors of Spark had and used at most, where their log samples it.

Peaks stand in the events of tasks, and in those of stages with the setting
`spark.eventLog.logStageExecutorMetrics`. They are sampled at heartbeats: all zeros mean that none
fell into the task, not that it used none. Source of the names: ExecutorMetricType in
core/src/main/scala/org/apache/spark/metrics.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from venturi.record.accounts.columnar import TableBuilder, TooManyError, amount

if TYPE_CHECKING:
    import polars as pl

_SAMPLED = (
    "JVMHeapMemory", "JVMOffHeapMemory", "OnHeapExecutionMemory", "OffHeapExecutionMemory",
    "OnHeapStorageMemory", "OffHeapStorageMemory", "DirectPoolMemory", "ProcessTreeJVMRSSMemory",
    "ProcessTreePythonRSSMemory", "ProcessTreeOtherRSSMemory",
)  # fmt: skip
# What its block manager may use, for execution and storage: the unified region.
_LIMITS = {"Maximum Onheap Memory": "MaximumOnHeap", "Maximum Offheap Memory": "MaximumOffHeap"}
_EXECUTORS = 20_000
_NAME_CHARACTERS = 500


class Memory:
    """The most of each kind that each executor was seen to use so far, and its limits."""

    def __init__(self) -> None:
        self._of: dict[str, dict[str, int]] = {}

    def sampled(self, executor: object, metrics: object) -> None:
        """Notes samples of an executor."""
        if isinstance(executor, str) and isinstance(metrics, dict) and any(metrics.values()):
            self._note(executor, {name: metrics.get(name) for name in _SAMPLED})

    def limited(self, executor: object, event: object) -> None:
        """Notes what an executor's block manager may use."""
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
        table = TableBuilder("memory", "spark")
        for executor, own in self._of.items():
            for name, value in own.items():
                table.append((executor[:_NAME_CHARACTERS], name, value))
        return table.finish()
