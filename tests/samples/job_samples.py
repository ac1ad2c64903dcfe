"""An imported job of Spark with everything that a log can have: plan, memory, stream, loss."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from event_log import SparkLog
from venturi.jobs.logs.trial import trial_of
from venturi.record.job_account import attach
from venturi.record.store.repository import TrialRepository
from venturi.record.trial import Trial

PLANNED = f"01JZTHREP0RT{911:014d}"
GIB = 1 << 30


def planned_log() -> SparkLog:
    """A join with one hot task, over two executors, one of which is lost, a cache, a stream."""
    log = SparkLog(**{"spark.master": "yarn", "spark.executor.memory": "4g"})
    log.executor("1", 2, 1)
    log.executor("2", 2, 1, 55, "Command exited with code 137")
    for name in ("1", "2"):
        block = {"Block Manager ID": {"Executor ID": name}, "Maximum Onheap Memory": 2 * GIB}
        log.add("BlockManagerAdded", **block)
    log.query(0, 5, 58, name="sales by customer")
    scans = [
        ("Exchange", "Exchange hashpartitioning(k#1, 200)", {"records read": 2, "data size": 3}),
        ("Scan parquet", "FileScan parquet sales [k#1]", {"number of output rows": 4}),
    ]
    log.plan(
        0, ("HashAggregate", "HashAggregate(keys=[k#1])", {"number of output rows": 1}), *scans
    )
    log.job(0, 6, 58, [0, 1], query=0)
    cached = {
        "RDD ID": 3,
        "Name": "returns",
        "Number of Partitions": 4,
        "Number of Cached Partitions": 0,
        "Storage Level": {"Use Disk": True, "Use Memory": True, "Replication": 1},
    }
    log.stage(0, 6, 20, 4, metrics={3: 300_000_000, 4: 9_000_000}, rdds=(cached,))
    for n in range(4):
        log.task(0, 6, 20, executor=str(n % 2 + 1))
        log.lines[-1] = log.lines[-1].replace(b'"Task Metrics"', _memory(n + 1) + b'"Task Metrics"')
    log.stage(1, 20, 58, 4, metrics={1: 1_000_000, 2: 9_000_000})
    read = {"Executor CPU Time": 10**9, "Shuffle Read Metrics": {"Local Bytes Read": 64 << 20}}
    for n in range(3):
        log.task(1, 20, 26, executor=str(n % 2 + 1), metrics={"Executor Run Time": 6_000} | read)
    hot = {"Executor CPU Time": 30 * 10**9, "Shuffle Read Metrics": {"Local Bytes Read": GIB}}
    log.task(1, 22, 57, metrics={"Executor Run Time": 35_000} | hot)
    log.job(1, 58, 59.5, [2, 3, 4])
    for n in (2, 3, 4):
        log.stage(n, 57 + n / 2, 57.5 + n / 2, 1)
        log.task(n, 57 + n / 2, 57.5 + n / 2)
    for n in range(6):
        log.batch(n, 2 * n, 2 + n / 2, 1_000, 10 * n, addBatch=1.5)
    log.end(60)
    return log


def _memory(gib: int) -> bytes:
    """Samples of a task's event, as its fields."""
    kinds = {
        "JVMHeapMemory": gib * GIB,
        "OnHeapExecutionMemory": gib * GIB // 2,
        "OnHeapStorageMemory": GIB // 4,
        "JVMOffHeapMemory": GIB // 8,
    }
    values = ",".join(f'"{name}":{value}' for name, value in kinds.items())
    return f'"Task Executor Metrics":{{{values}}},'.encode()


def planned(repository: TrialRepository, folder: Path) -> Trial:
    """The trial, added; its log is written into `folder`."""
    account = planned_log().account(folder)
    trial = attach(repository, replace(trial_of(account), id=PLANNED), account)
    repository.add(trial)
    return trial
