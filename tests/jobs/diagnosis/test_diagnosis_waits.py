"""Rules of each of which a log is written in which it fires, and some in which it just does not."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from event_log import SparkLog, event
from venturi.jobs.diagnosis.case import FindingScope
from venturi.jobs.diagnosis.find import Finding, diagnose
from venturi.jobs.logs.spark_queries import DRIVER_VALUES
from venturi.jobs.stages.analysis import analyse
from venturi.jobs.stages.timeline import timeline

_MIB = 1 << 20


def found(folder: Path, log: SparkLog) -> dict[str, Finding]:
    line = timeline(log.account(folder))
    return {each.rule: each for each in diagnose(line, analyse(line.account, None, line)).findings}


def at_once(tasks: int, task_s: float, cores: int, metrics: Mapping[str, Any]) -> SparkLog:
    """A stage of concurrent tasks that run as long as the application."""
    log = SparkLog()
    log.executor("1", cores, 0)
    log.job(0, 0, task_s, [0])
    log.stage(0, 0, task_s, tasks)
    for _ in range(tasks):
        log.task(0, 0, task_s, metrics={"Executor Run Time": round(task_s * 1e3), **metrics})
    log.end(task_s)
    return log


@pytest.mark.parametrize(
    ("tasks", "task_s", "told"), [(2, 12, True), (2, 9.9, False), (4, 12, False)]
)
def test_long_tasks_on_some_of_the_slots_could_be_more(
    tasks: int, task_s: float, *, told: bool, tmp_path: Path
) -> None:
    rules = found(tmp_path, at_once(tasks, task_s, 4, {"Executor CPU Time": 9 * 10**9}))
    assert ("too-few-tasks" in rules) is told
    if told:
        few = rules["too-few-tasks"]
        assert few.says == "stage 0 (collect at app.py:0) had 2 tasks of 12.0 s on 4 slots"
        assert few.do.startswith("make at least 4 partitions")
        assert few.replayed_s == pytest.approx(12 - 2 * 12 / 4)
        assert few.where == (FindingScope(stage="0"),)


@pytest.mark.parametrize(
    ("rule", "metrics", "saved_s", "says"),
    [
        ("garbage-collection", {"JVM GC Time": 2_200}, 2.2, "garbage collection took 11%"),
        ("garbage-collection", {"JVM GC Time": 1_900}, 0, None),
        (
            "fetch-wait",
            {"Shuffle Read Metrics": {"Fetch Wait Time": 4_400}},
            4.4,
            "shuffle fetch wait took 22%",
        ),
        ("fetch-wait", {"Shuffle Read Metrics": {"Fetch Wait Time": 3_900}}, 0, None),
    ],
)
def test_what_tasks_waited_for_is_told_from_a_share_on(
    rule: str, metrics: Mapping[str, Any], saved_s: float, says: str | None, tmp_path: Path
) -> None:
    told = found(tmp_path, at_once(2, 20, 2, {"Executor CPU Time": 10**10, **metrics})).get(rule)
    if says is None:
        assert told is None
        return
    assert told is not None
    assert told.says == (
        f"{says} of the task time of stage 0 (collect at app.py:0): {2 * saved_s:.1f} s, "
        "summed over its tasks"
    )
    assert told.replayed_s == pytest.approx(saved_s)
    assert (told.where, told.confidence) == ((FindingScope(stage="0"),), "high")


def reading(folder: Path, files: int, mean_bytes: int) -> Finding | None:
    """The finding about a query that lists its files for 4 s, and runs for 40 s, half of it
    reading.
    """
    log = SparkLog()
    log.executor("1", 2, 0)
    log.query(0, 0, 44)
    counts = {"number of files read": 1, "size of files read": 2, "metadata time": 3, "rows": 4}
    log.plan(0, ("Scan parquet ", "FileScan parquet [a#1] Location: /t", counts))
    told = [[1, files], [2, files * mean_bytes], [3, 4_000]]
    log.lines.append(event(DRIVER_VALUES, executionId=0, accumUpdates=told))
    log.job(0, 4, 44, [0])
    log.stage(0, 4, 44, 2, metrics={4: 1_000})
    ran = {"Executor Run Time": 40_000, "Executor CPU Time": 20 * 10**9}
    for _ in range(2):
        log.task(0, 4, 44, metrics=ran | {"Input Metrics": {"Bytes Read": 1, "Records Read": 1}})
    log.end(44)
    return found(folder, log).get("small-files-read")


def test_small_files_cost_what_looking_for_them_and_reading_them_takes(tmp_path: Path) -> None:
    told = reading(tmp_path, 200, _MIB)
    assert told is not None
    assert told.says == "query 0 read 200 files of 1.0 MiB on average"
    assert told.do == "compact them into 2 files of about 100.0 MiB"
    assert told.replayed_s == pytest.approx((4 + 20) * (1 - 2 / 200))
    assert [(at.query, at.stage) for at in told.where] == [(0, None), (None, "0")]
    assert reading(tmp_path, 101, 3 * _MIB - 1) is not None
    assert reading(tmp_path, 100, _MIB) is None
    assert reading(tmp_path, 101, 3 * _MIB) is None


def hosts(
    folder: Path, slow_s: float, tasks: int = 5, read_bytes: int = 1_000_000
) -> dict[str, Finding]:
    """Findings about some tasks on the host h1, compared with eight of 10 s on h2."""
    log = SparkLog()
    log.executor("1", 1, 0)
    log.executor("2", 1, 0)
    log.job(0, 0, 80, [0])
    log.stage(0, 0, 80, tasks + 8)
    for executor, n, each_s, n_bytes in (("1", tasks, slow_s, read_bytes), ("2", 8, 10, 1_000_000)):
        ran = {"Executor Run Time": round(each_s * 1e3), "Executor CPU Time": round(each_s * 1e9)}
        read = {"Shuffle Read Metrics": {"Local Bytes Read": n_bytes, "Total Records Read": 1}}
        for place in range(n):
            log.task(0, place * each_s, (place + 1) * each_s, executor=executor, metrics=ran | read)
    log.end(80)
    return found(folder, log)


def test_a_host_whose_tasks_take_longer_with_no_more_data_is_slow(tmp_path: Path) -> None:
    told = hosts(tmp_path, 16)["slow-host"]
    assert told.says == (
        "in stage 0 (collect at app.py:0), tasks took 16.0 s on h1 (executor 1), 1.6 times as "
        "long as on the other hosts with no more data"
    )
    assert told.where == (FindingScope(stage="0", host="h1", executor="1"),)
    assert told.do.startswith("check h1 ")
    # Thirteen tasks of 10 s on two slots.
    assert told.replayed_s == pytest.approx(80 - 70)


def test_a_host_is_not_slow_by_a_little_by_few_tasks_or_by_more_data(tmp_path: Path) -> None:
    assert "slow-host" in hosts(tmp_path, 15)
    assert "slow-host" not in hosts(tmp_path, 14.9)
    assert "slow-host" not in hosts(tmp_path, 16, tasks=4)
    assert "slow-host" in hosts(tmp_path, 16, read_bytes=1_250_000)
    assert "slow-host" not in hosts(tmp_path, 16, read_bytes=1_260_000)


def test_executors_are_late_that_come_when_there_is_none(tmp_path: Path) -> None:
    log = SparkLog(**{"spark.master": "yarn"})
    log.executor("1", 1, 30, 50, "Command exited with code 137")
    log.executor("2", 1, 70)
    log.executor("3", 1, 80)
    log.job(0, 30, 100, [0])
    log.stage(0, 30, 100, 2)
    log.task(0, 30, 50)
    log.task(0, 70, 100, executor="2")
    log.end(100)
    told = found(tmp_path, log)["late-executors"]
    assert told.where == (
        FindingScope(host="h1", executor="1"),
        FindingScope(host="h2", executor="2"),
    )
    assert told.replayed_s == pytest.approx(30 + 20)
