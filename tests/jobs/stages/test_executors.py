"""When each executor existed, and its use."""

from __future__ import annotations

from pathlib import Path

import pytest

from event_log import SparkLog
from venturi.jobs.stages.executors import executor_uses
from venturi.jobs.stages.timeline import timeline


def test_an_executor_is_busy_while_it_was_there_and_tells_its_memory(tmp_path: Path) -> None:
    log = SparkLog()
    log.executor("1", 2, 10)
    log.executor("2", 4, 0, 50, "Command exited with code 137")
    log.job(0, 10, 100, [0])
    log.stage(0, 10, 100, 3, failed="Job 0 cancelled")
    log.task(0, 10, 55, executor="1")
    lost = {"Reason": "ExecutorLostFailure", "Loss Reason": "Command exited with code 137"}
    log.task(0, 10, 50, executor="2", end=lost)
    for heap in (300, 200):
        peaks = {"JVMHeapMemory": heap}
        log.add("StageExecutorMetrics", **{"Executor ID": "1", "Executor Metrics": peaks})
    limits = {"Block Manager ID": {"Executor ID": "1"}, "Maximum Onheap Memory": 1_000}
    log.add("BlockManagerAdded", **limits)
    log.end(100)
    two, one = executor_uses(timeline(log.account(tmp_path)))
    assert (one.executor_id, one.added_s, one.removed_s) == ("1", 10, None)
    assert one.busy == pytest.approx(45 / (2 * 90))
    assert (one.heap_bytes, one.region_bytes, one.python_bytes) == (300, 1_000, None)
    assert (two.removed_s, two.failed, two.tasks) == (50, 1, 1)
    assert two.busy == pytest.approx(40 / (4 * 50))
    assert two.heap_bytes is None
