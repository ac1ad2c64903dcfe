"""`python -m benchmarks.diagnosis.large`: time to read a log of 1 GB, and to show its job.

The log is made here, in the form that Spark 4 writes: a task's event has 5 kB, half of it
accumulables. `venturi import` reads it in its own process; the kernel reports CPU time and memory.
The server's first answers about such a large job are timed from the request to the last byte, each
on a fresh server. `--page` writes the tables into docs/studies/diagnosis.md.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

import click

from benchmarks.into_page import write_table

SLOTS, EXECUTORS, HOSTS, TASKS_A_STAGE = 64, 16, 8, 1_000
LOGS = (
    "| log | text | wall time | CPU time | peak memory |",
    "|---|--:|--:|--:|--:|",
)
ANSWERS = (
    "| answer | first | again | size |",
    "|---|--:|--:|--:|",
)
_START_MS = 1_700_000_000_000
# Metrics of a task that Spark repeats as accumulables.
_INTERNAL = (
    "executorDeserializeTime",
    "executorDeserializeCpuTime",
    "executorRunTime",
    "executorCpuTime",
    "resultSize",
    "jvmGCTime",
    "resultSerializationTime",
    "peakExecutionMemory",
    "shuffle.read.remoteBlocksFetched",
    "shuffle.read.localBlocksFetched",
    "shuffle.read.remoteBytesRead",
    "shuffle.read.localBytesRead",
    "shuffle.read.fetchWaitTime",
    "shuffle.read.recordsRead",
    "shuffle.write.bytesWritten",
    "shuffle.write.recordsWritten",
    "shuffle.write.writeTime",
    "input.bytesRead",
    "input.recordsRead",
)
_SQL = (
    "time in aggregation build",
    "duration",
    "number of output rows",
    "scan time",
    "data size",
    "shuffle bytes written",
    "records read",
    "local blocks read",
    "remote bytes read",
)
_PEAKS = (
    "JVMHeapMemory",
    "JVMOffHeapMemory",
    "OnHeapExecutionMemory",
    "OffHeapExecutionMemory",
    "OnHeapStorageMemory",
    "OffHeapStorageMemory",
    "OnHeapUnifiedMemory",
    "OffHeapUnifiedMemory",
    "DirectPoolMemory",
    "MappedPoolMemory",
    "ProcessTreeJVMVMemory",
    "ProcessTreeJVMRSSMemory",
    "ProcessTreePythonVMemory",
    "ProcessTreePythonRSSMemory",
    "ProcessTreeOtherVMemory",
    "ProcessTreeOtherRSSMemory",
    "MinorGCCount",
    "MinorGCTime",
    "MajorGCCount",
    "MajorGCTime",
    "TotalGCTime",
    "ConcurrentGCCount",
    "ConcurrentGCTime",
)


@click.command()
@click.option("--tasks", default=190_000, show_default=True, help="Of the log that is read.")
@click.option("--shown", default=100_000, show_default=True, help="Of the job whose page is asked.")
@click.option("--folder", type=click.Path(path_type=Path), help="Where the logs are written.")
@click.option(
    "--page", type=click.Path(path_type=Path, exists=True), help="Write the tables there."
)
def main(tasks: int, shown: int, folder: Path | None, page: Path | None) -> None:
    """Writes the logs, takes them in, asks for the page, and prints what each took."""
    logs, answers = [], []
    with tempfile.TemporaryDirectory(dir=folder) as place:
        home = Path(place, "home")
        for n in dict.fromkeys((tasks, shown)):
            log = Path(place, f"app-{n}")
            with log.open("w") as file:
                write(file, n)
            size_bytes = log.stat().st_size
            trial, wall_s, cpu_s, memory_bytes = import_(log, home)
            log.unlink()
            logs.append(
                f"| {n:,} tasks | {size_bytes / 1e6:,.0f} MB | {wall_s:.1f} s | {cpu_s:.1f} s "
                f"| {memory_bytes / 1e6:,.0f} MB |"
            )
            click.echo(logs[-1])
        for part in ("", "/job", "/tasks"):
            first_s, again_s, n_bytes = ask(f"/api/trials/{trial}{part}", home)
            answers.append(
                f"| /api/trials/ID{part} | {first_s * 1e3:,.0f} ms | {again_s * 1e3:,.0f} ms "
                f"| {n_bytes / 1e3:,.0f} kB |"
            )
            click.echo(answers[-1])
    if page is not None:
        write_table(page, "large", LOGS, logs)
        write_table(page, "answers", ANSWERS, answers)


def import_(log: Path, home: Path) -> tuple[str, float, float, int]:
    """The trial that `venturi import` makes of `log`; its wall and processor seconds, and the most
    bytes of memory that it held."""
    begun_s = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", "venturi", "import", "spark-eventlog", log, "--json"],
        env=os.environ | {"VENTURI_HOME": str(home)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdout is not None
    told = json.loads(process.stdout.read())
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    (trial,) = told["data"][0]["trials"]
    wall_s = time.monotonic() - begun_s
    return trial["trial"], wall_s, usage.ru_utime + usage.ru_stime, usage.ru_maxrss << 10


def ask(path: str, home: Path) -> tuple[float, float, int]:
    """The seconds to a server's first answer and to its second, and the bytes of one."""
    server = subprocess.Popen(
        [sys.executable, "-m", "venturi", "serve", "--port", "0"],
        env=os.environ | {"VENTURI_HOME": str(home)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert server.stdout is not None
        address = server.stdout.readline().strip().rstrip("/")
        _get(f"{address}/api/status")
        (first_s, n_bytes), (again_s, _) = _get(address + path), _get(address + path)
        return first_s, again_s, n_bytes
    finally:
        server.terminate()
        server.wait()


def _get(url: str) -> tuple[float, int]:
    begun_s = time.monotonic()
    with urllib.request.urlopen(url, timeout=60) as answer:
        n_bytes = len(answer.read())
    return time.monotonic() - begun_s, n_bytes


def write(file: TextIO, n_tasks: int) -> None:
    """The log of an application with `n_tasks`, of which one in a stage is ten times as long."""
    for event in _events(n_tasks):
        file.write(json.dumps(event, separators=(",", ":")) + "\n")


def _events(n_tasks: int) -> Iterator[dict[str, Any]]:
    yield {"Event": "SparkListenerLogStart", "Spark Version": "4.3.0"}
    yield {
        "Event": "SparkListenerApplicationStart",
        "App Name": "large",
        "App ID": f"app-{n_tasks}",
        "Timestamp": _START_MS,
        "User": "user",
    }
    yield {
        "Event": "SparkListenerEnvironmentUpdate",
        "JVM Information": {},
        "Spark Properties": {"spark.app.name": "large", "spark.master": "yarn"},
    }
    for executor in range(EXECUTORS):
        yield {
            "Event": "SparkListenerExecutorAdded",
            "Timestamp": _START_MS + 5_000,
            "Executor ID": str(executor),
            "Executor Info": {"Host": f"h{executor % HOSTS}", "Total Cores": SLOTS // EXECUTORS},
        }
    draw, now_ms = random.Random(1), _START_MS + 10_000
    for stage in range(-(-n_tasks // TASKS_A_STAGE)):
        n = min(TASKS_A_STAGE, n_tasks - stage * TASKS_A_STAGE)
        info = {
            "Stage ID": stage,
            "Stage Attempt ID": 0,
            "Stage Name": "save at Large.scala:1",
            "Number of Tasks": n,
            "Parent IDs": [],
            "Submission Time": now_ms,
            "RDD Info": [],
            "Accumulables": [],
        }
        yield {
            "Event": "SparkListenerJobStart",
            "Job ID": stage,
            "Submission Time": now_ms,
            "Stage IDs": [stage],
            "Stage Infos": [info],
            "Properties": {},
        }
        yield {"Event": "SparkListenerStageSubmitted", "Stage Info": info}
        free = [now_ms] * SLOTS
        for index in range(n):
            slot = free.index(min(free))
            lasting_ms = int(draw.lognormvariate(6, 0.3)) * (10 if index == n // 2 else 1)
            yield from _task(stage, index, slot, free[slot], lasting_ms)
            free[slot] += lasting_ms
        now_ms = max(free)
        info = info | {"Completion Time": now_ms}
        yield {"Event": "SparkListenerStageCompleted", "Stage Info": info}
        yield {
            "Event": "SparkListenerJobEnd",
            "Job ID": stage,
            "Completion Time": now_ms,
            "Job Result": {"Result": "JobSucceeded"},
        }
    yield {"Event": "SparkListenerApplicationEnd", "Timestamp": now_ms + 1_000}


def _task(
    stage: int, index: int, slot: int, from_ms: int, lasting_ms: int
) -> Iterator[dict[str, Any]]:
    task = stage * TASKS_A_STAGE + index
    info = {
        "Task ID": task,
        "Index": index,
        "Attempt": 0,
        "Partition ID": index,
        "Launch Time": from_ms,
        "Executor ID": str(slot % EXECUTORS),
        "Host": f"h{slot % EXECUTORS % HOSTS}",
        "Locality": "NODE_LOCAL",
        "Speculative": False,
        "Getting Result Time": 0,
        "Finish Time": 0,
        "Failed": False,
        "Killed": False,
        "Accumulables": [],
    }
    of = {"Stage ID": stage, "Stage Attempt ID": 0}
    yield {"Event": "SparkListenerTaskStart", **of, "Task Info": info}
    noted = [
        {
            "ID": 1_000 + n,
            "Name": f"internal.metrics.{name}",
            "Update": lasting_ms + n,
            "Value": (lasting_ms + n) * (index + 1),
            "Internal": True,
            "Count Failed Values": True,
        }
        for n, name in enumerate(_INTERNAL)
    ]
    noted += [
        {
            "ID": 2_000 + n,
            "Name": name,
            "Update": str(lasting_ms // 3 + n),
            "Value": str(lasting_ms * (index + 1)),
            "Internal": True,
            "Count Failed Values": True,
            "Metadata": "sql",
        }
        for n, name in enumerate(_SQL)
    ]
    yield {
        "Event": "SparkListenerTaskEnd",
        **of,
        "Task Type": "ShuffleMapTask",
        "Task End Reason": {"Reason": "Success"},
        "Task Info": info | {"Finish Time": from_ms + lasting_ms, "Accumulables": noted},
        "Task Executor Metrics": dict.fromkeys(_PEAKS, 0) | {"JVMHeapMemory": 300_000_000 + task},
        "Task Metrics": _metrics(lasting_ms),
    }


def _metrics(lasting_ms: int) -> dict[str, Any]:
    return {
        "Executor Deserialize Time": 3,
        "Executor Deserialize CPU Time": 2_000_000,
        "Executor Run Time": lasting_ms - 5,
        "Executor CPU Time": (lasting_ms - 5) * 800_000,
        "Peak Execution Memory": 1 << 24,
        "Result Size": 2_000,
        "JVM GC Time": lasting_ms // 50,
        "Result Serialization Time": 1,
        "Memory Bytes Spilled": 0,
        "Disk Bytes Spilled": 0,
        "Shuffle Read Metrics": {
            "Remote Blocks Fetched": 9,
            "Local Blocks Fetched": 3,
            "Fetch Wait Time": 2,
            "Remote Bytes Read": lasting_ms << 12,
            "Remote Bytes Read To Disk": 0,
            "Local Bytes Read": lasting_ms << 10,
            "Total Records Read": lasting_ms << 4,
            "Remote Requests Duration": 11,
            "Push Based Shuffle": {
                "Corrupt Merged Block Chunks": 0,
                "Merged Fetch Fallback Count": 0,
                "Merged Remote Blocks Fetched": 0,
                "Merged Local Blocks Fetched": 0,
                "Merged Remote Bytes Read": 0,
                "Merged Local Bytes Read": 0,
            },
        },
        "Shuffle Write Metrics": {
            "Shuffle Bytes Written": lasting_ms << 11,
            "Shuffle Write Time": lasting_ms * 9_000,
            "Shuffle Records Written": lasting_ms << 3,
        },
        "Input Metrics": {"Bytes Read": 0, "Records Read": 0},
        "Output Metrics": {"Bytes Written": 0, "Records Written": 0},
        "Updated Blocks": [],
    }


if __name__ == "__main__":
    main()
