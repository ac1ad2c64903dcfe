"""Threads of a real Spark say which task they run, and a recording of its disk has it exactly."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from loop_disks import loop_disk, mounted, needs_recording
from spark_session import local_jvm, logged_session
from venturi.jobs.logs import spark as event_log
from venturi.measure.engines.spark import task_names
from venturi.measure.hosts.agent import Agent
from venturi.measure.hosts.local import LocalHost
from venturi.measure.trial.tracing import Tracer, stages_of
from venturi.measure.workloads.shared.spark_names import TASKS_SETTING
from venturi.record.importing.formats import Log
from venturi.record.io_trace import TRACE_NAME

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.engines, needs_recording]
METADATA_BYTES = 16 << 10
INPUT_BYTES = 1_000_000
MORE = 1.05
"""So many times what a file has are read of it at most: the kernel may read a page again."""
# Text that can hardly be compressed.
TEXT = "concat_ws('', transform(sequence(1, 16), n -> sha2(concat(id, ':', n), 512))) AS text"


def read_two_at_once(session: SparkSession, disk: Path) -> list[list[int]]:
    """Two jobs at the same time, each of which reads what it keeps on disk: of both, how many bytes
    each of its blocks has there, the smaller ones first."""
    from pyspark import StorageLevel

    rows = (session.range(0, count, 1, 4).selectExpr(TEXT) for count in (2_000, 3_000))
    frames = [each.persist(StorageLevel.DISK_ONLY) for each in rows]
    for frame in frames:
        frame.count()
    sizes: dict[str, list[int]] = {}
    for path in disk.rglob("rdd_*"):
        with path.open("rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        sizes.setdefault(path.name.split("_")[1], []).append(path.stat().st_size)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda frame: frame.selectExpr("sum(length(text))").first(), frames))
    return sorted(sorted(each) for each in sizes.values())


def read_in_python(session: SparkSession, disk: Path) -> None:
    """Run a job with a Python worker that reads a file of 1 MB."""
    from venturi.measure.workloads.shared.spark_records import read_records

    (disk / "input").mkdir()
    with (disk / "input" / "part-00000").open("wb") as file:
        file.write(os.urandom(INPUT_BYTES))
        file.flush()
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    task = {"input": str(disk / "input"), "record_bytes": 100, "hdfs": None}
    assert read_records(session, task).count() == INPUT_BYTES / 100


def test_requests_are_of_the_tasks_whose_threads_made_them(
    agent_binary: Path,
    task_names_jar: Path,
    spark: None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    tracer = Tracer(
        Agent(str(agent_binary), LocalHost()), [str(tmp_path / "disk")], tmp_path / "trace"
    )
    (tmp_path / "trace").mkdir()
    events = tmp_path / "events"
    events.mkdir()
    settings = {
        "spark.local.dir": str(tmp_path / "disk"),
        "spark.plugins": task_names.PLUGIN,
        "spark.sql.warehouse.dir": (tmp_path / "warehouse").as_uri(),
        TASKS_SETTING: "true",
    }
    with (
        loop_disk(tmp_path / "image", 128 << 20) as device,
        mounted(device, tmp_path / "disk") as disk,
        local_jvm({"spark.jars": str(task_names_jar)}, tmp_path / "stderr"),
    ):
        tracer.start()
        with logged_session("local[2]", events, settings) as session:
            sizes = read_two_at_once(session, disk)
            read_in_python(session, disk)
        tracer.stop()
    (log,) = events.iterdir()
    account = event_log.read(Log(log, (log,)))
    kept = dict(tracer.files(stages_of(account)))
    assert tracer.warnings == []
    whose = json.loads(kept[TRACE_NAME].read_text())["whose"]
    of_files: dict[str, Counter[str]] = {"rdd_block": Counter(), "other": Counter()}
    for share in whose["shares"]:
        if share["operation"] == "read" and share["file_class"] in of_files:
            of_files[share["file_class"]][share["stage"]] += share["bytes"]
    # A task of any stage may read a block of the file system's metadata, which is of no file.
    read, ((in_python, _),) = of_files["rdd_block"], of_files["other"].most_common(1)
    assert sum(of_files["other"].values()) <= of_files["other"][in_python] + METADATA_BYTES
    assert all(
        size <= found <= MORE * size
        for size, found in zip(map(sum, sizes), sorted(read.values()), strict=True)
    )
    tasks = [each for each in whose["tasks"] if each["stage"] in read]
    found = sorted(each["read"]["bytes"] for each in tasks)
    assert all(size <= each <= MORE * size for size, each in zip(chain(*sizes), found, strict=True))
    ran = account.tasks.select("stage_id", "task_id").iter_rows()
    told = {(each["stage"], each["task"]) for each in whose["tasks"]}
    assert told <= {(str(stage), int(task)) for stage, task in ran}
    # Under memory pressure, a task that writes a block also sends it to the disk itself.
    readers = {e["stage"] for e in whose["tasks"] if e["read"]["bytes"] > METADATA_BYTES}
    assert readers == {*read, in_python}
