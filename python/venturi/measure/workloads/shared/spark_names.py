"""Names Spark's Python workers after the tasks that they run, for traces of block I/O, as
`jvm/task-names` does for Spark's own threads. `crates/blktrace/src/attribute/tasks.rs` reads these
names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TASKS_SETTING = "spark.venturi.trace.tasks"
"""Venturi's setting of Spark: `true` has threads say which task they run, for traces."""
_NAME = Path("/proc/thread-self/comm")
_KEPT = 15  # characters, by the kernel
T = TypeVar("T")
Function = Callable[[Iterator[T]], Iterator[T]]


def named(spark: SparkSession, function: Function[T]) -> Function[T]:
    """Return `function`, extended to name its worker after the running task if the setting is
    on.
    """
    if spark.conf.get(TASKS_SETTING, "false") != "true":
        return function

    def run(batches: Iterator[T]) -> Iterator[T]:
        before = _NAME.read_text().strip()
        _call(_of_task() or before)
        try:
            yield from function(batches)
        finally:
            _call(before)

    return run


def _of_task() -> str | None:
    """Return the worker's name; None if it would be too long."""
    import numpy as np  # noqa: PLC0415 - only executors
    from pyspark import TaskContext  # noqa: PLC0415 - only executors

    context = TaskContext.get()
    assert context is not None
    stage, task = (
        np.base_repr(number, 36).lower() for number in (context.stageId(), context.taskAttemptId())
    )
    name = f"v:{stage}:{task}"
    return name if len(name) <= _KEPT else None


def _call(name: str) -> None:
    with suppress(OSError):  # no task depends on its worker's name
        _NAME.write_text(name)
