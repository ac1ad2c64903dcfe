"""The cause of a task's off-CPU time, as far as the log shows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from event_log import SparkLog
from venturi.jobs.logs import spark
from venturi.jobs.logs.find import spark_logs
from venturi.jobs.stages.analysis import analyse
from venturi.jobs.stages.causes import TO_COMPUTE
from venturi.jobs.stages.stage import Analysis

LOGS = Path(__file__).parents[2] / "data" / "spark" / "4.3.0" / "faults"

RAN = {"Executor Run Time": 20_000, "Executor CPU Time": 4 * 10**9}
READ = {"Input Metrics": {"Bytes Read": 100, "Records Read": 1}}
WROTE = {"Output Metrics": {"Bytes Written": 100, "Records Written": 1}}
SPILT = {"Disk Bytes Spilled": 100_000_000}


def one_task(
    folder: Path,
    rdds: tuple[str, ...] = (),
    metrics: Any = None,
    plan: tuple[str, ...] = (),
    **timers: int,
) -> Analysis:
    """A task that ran 20 s, 4 of them on the processor; the last operator of its `plan` counts."""
    log = SparkLog()
    log.executor("1", 1, 0)
    log.job(0, 0, 20, [0])
    counted = {"number of output rows": 7}
    if plan:
        log.query(0, 0, 20)
        log.plan(0, *((name, name, {}) for name in plan[:-1]), (plan[-1], plan[-1], counted))
    log.stage(0, 0, 20, 1, rdds=rdds, metrics={7: 5})
    log.task(0, 0, 20, metrics=RAN | (metrics or {}), **timers)
    log.end(20)
    return analyse(log.account(folder))


def causes(found: Analysis) -> dict[str, float]:
    """All parts of the time of its stage's tasks."""
    (stage,) = found.stages
    parts = {each.cause: each.time_s for each in stage.causes if each.time_s}
    if stage.unattributed_s:
        parts["unattributed"] = stage.unattributed_s
    assert sum(parts.values()) == stage.task_s == 20.0
    assert stage.overlap_s == 0.0
    return parts


@pytest.mark.parametrize(
    ("rdds", "metrics", "timers", "parts"),
    [
        ((), {}, {}, {"unattributed": 16.0}),
        # Spark 4 has a timer, 3.5 only sizes, RDDs nothing.
        (
            (),
            {},
            {"time_to_run_python_workers": 15_000},
            {"Python workers": 15.0, "unattributed": 1.0},
        ),
        ((), {}, {"time_to_run_python_workers": 19_000}, {"Python workers": 16.0}),
        ((), {}, {"data_sent_to_python_workers": 7}, {"Python workers": 16.0}),
        (("MapPartitionsRDD", "PythonRDD"), {}, {}, {"Python workers": 16.0}),
        ((), READ, {"scan_time": 3_000}, {"reading input": 3.0, "unattributed": 13.0}),
        ((), READ, {}, {"reading input": 16.0}),
        ((), SPILT, {}, {"spilling": 16.0}),
        # So few bytes take no 16 s, however slow the disk is.
        ((), {"Disk Bytes Spilled": 5_000_000}, {}, {"spilling": 2.0, "unattributed": 14.0}),
        ((), WROTE, {}, {"writing output": 16.0}),
        (
            (),
            READ | WROTE | SPILT,
            {"scan_time": 2_000, "time_to_run_python_workers": 5_000},
            {"Python workers": 5.0, "reading input": 2.0, "spilling": 9.0},
        ),
    ],
)
def test_the_rest_is_what_the_log_does_not_rule_out(
    rdds: tuple[str, ...],
    metrics: Any,
    timers: dict[str, int],
    parts: dict[str, float],
    tmp_path: Path,
) -> None:
    assert causes(one_task(tmp_path, rdds, metrics, **timers)) == {"cpu": 4.0} | parts


SCAN = ("Project", "Scan parquet ")


@pytest.mark.parametrize(
    ("plan", "metrics", "timers", "parts"),
    [
        (("WholeStageCodegen (1)", "HashAggregate", "Range"), {}, {}, {TO_COMPUTE: 16.0}),
        (
            ("OverwriteByExpression noop-table NoopWrite", "AdaptiveSparkPlan", "Range"),
            {},
            {},
            {TO_COMPUTE: 16.0},
        ),
        (("SortMergeJoin(skew=true)", "Sort", "Range"), {}, {}, {TO_COMPUTE: 16.0}),
        (SCAN, READ, {"scan_time": 3_000}, {"reading input": 3.0, TO_COMPUTE: 13.0}),
        (SCAN, READ, {}, {"reading input": 16.0}),
        (
            ("ArrowEvalPython", "Range"),
            {},
            {"time_to_run_python_workers": 15_000},
            {"Python workers": 15.0, TO_COMPUTE: 1.0},
        ),
        # A third-party source, a function of the program, a sink with an unknown stage.
        (("Project", "BatchScan orders"), {}, {}, {"unattributed": 16.0}),
        (("MapElements", "Range"), {}, {}, {"unattributed": 16.0}),
        (("BatchScan lake.PythonEvents",), {}, {}, {"unattributed": 16.0}),
        (("Project [UDF(url#0) AS page#1]", "Range"), {}, {}, {"unattributed": 16.0}),
        (("AppendData", "AdaptiveSparkPlan", "Range"), {}, {}, {"unattributed": 16.0}),
    ],
)
def test_what_only_computes_waits_to_compute(
    plan: tuple[str, ...],
    metrics: Any,
    timers: dict[str, int],
    parts: dict[str, float],
    tmp_path: Path,
) -> None:
    assert causes(one_task(tmp_path, (), metrics, plan, **timers)) == {"cpu": 4.0} | parts


@pytest.mark.parametrize("log", sorted(LOGS.glob("*-sound.zstd")), ids=lambda log: log.stem)
def test_each_second_of_a_sound_job_has_a_cause(log: Path) -> None:
    found = analyse(spark.read(spark_logs(log)[0]))
    for stage in found.stages:
        parts_s = sum(each.time_s or 0.0 for each in stage.causes)
        assert parts_s + stage.unattributed_s == pytest.approx(stage.task_s)
    # The remainder is the listing of input files, which no query records.
    unknown_s = sum(stage.unattributed_s for stage in found.stages)
    assert unknown_s <= 0.02 * sum(stage.task_s for stage in found.stages)


def test_what_is_found_so_can_be_the_narrowest_point(tmp_path: Path) -> None:
    found = one_task(tmp_path, ("PythonRDD",))
    assert found.verdict.narrowest == "Python workers"
    assert found.verdict.sentence.startswith("Python workers took 80% of 20.0 s, most of it in")
    nothing = one_task(tmp_path)
    assert nothing.verdict.narrowest is None
    assert "they may have waited for a core or memory" in nothing.verdict.sentence


def test_of_disks_what_reads_or_writes_may_be_waiting(tmp_path: Path) -> None:
    bounds = {each.without: each.at_most_s for each in one_task(tmp_path, (), SPILT).bounds}
    assert bounds["waiting for disks"] == 16.0
    assert bounds["waiting for the network"] == 0.0
