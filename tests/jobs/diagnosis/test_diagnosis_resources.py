"""Findings about executors, memory, plans and copies, in synthetic logs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from event_log import SparkLog, at
from venturi.jobs.diagnosis.find import Finding, diagnose
from venturi.jobs.stages.analysis import analyse
from venturi.jobs.stages.timeline import timeline

DYNAMIC = {"spark.master": "yarn", "spark.dynamicAllocation.enabled": "true"}


def found(folder: Path, log: SparkLog) -> dict[str, Finding]:
    line = timeline(log.account(folder))
    return {each.rule: each for each in diagnose(line, analyse(line.account, None, line)).findings}


def one_stage(to_s: float = 100, tasks: int = 2, **settings: str) -> SparkLog:
    """An application with a job of one stage; add its tasks."""
    log = SparkLog(**settings)
    log.job(0, 0, to_s, [0])
    return log


def planned(folder: Path, *operators: tuple[str, str, dict[str, int]], **counts: int) -> Finding:
    """The only finding of a query with a plan in a stage of 40 s; `counts` are by number."""
    log = SparkLog()
    log.executor("1", 2, 0)
    log.query(0, 0, 40)
    log.plan(0, *operators)
    log.job(0, 0, 40, [0])
    log.stage(0, 0, 40, 2, metrics={int(key[1:]): value for key, value in counts.items()})
    half = {
        "Executor Run Time": 40_000,
        "Executor CPU Time": 20 * 10**9,
        "Input Metrics": {"Bytes Read": 1 << 30, "Records Read": 10},
    }
    for _ in range(2):
        log.task(0, 0, 40, metrics=half)
    log.end(40)
    (told,) = found(folder, log).values()
    return told


def test_a_join_that_makes_more_rows_than_it_gets_costs_their_share(tmp_path: Path) -> None:
    sides = ("Exchange", "Exchange", {"records read": 2})
    told = planned(
        tmp_path,
        ("SortMergeJoin", "SortMergeJoin [k#1], [k#2], Inner", {"number of output rows": 1}),
        sides,
        _1=1_000_000,
        _2=10_000,
    )
    assert told.rule == "join-explodes"
    assert "produced 1,000,000 rows from 10,000" in told.says
    assert told.replayed_s == pytest.approx(40 * 0.99)
    assert "equality" not in told.do


def test_a_scan_of_all_for_few_rows_costs_the_work_on_the_others(tmp_path: Path) -> None:
    told = planned(
        tmp_path,
        ("Filter", "Filter (day#1 = 7)", {"number of output rows": 1}),
        ("ColumnarToRow", "ColumnarToRow", {}),
        (
            "Scan parquet",
            "FileScan parquet [day#1] PartitionFilters: [], PushedFilters: []",
            {"number of output rows": 2, "size of files read": 3},
        ),
        _1=50,
        _2=1_000,
        _3=2 << 30,
    )
    assert told.rule == "full-scan"
    assert told.replayed_s == pytest.approx(40 * 0.95)  # reading, and the filter
    assert told.says.endswith(": day = 7")
    assert told.fix == "Filter on a partition column, or add one in query 0"  # no schema to see


def test_a_large_broadcast_costs_what_the_driver_took_alone(tmp_path: Path) -> None:
    log = SparkLog()
    log.executor("1", 1, 0)
    log.query(0, 0, 40, time_to_build=5_000, time_to_broadcast=15_000)
    log.lines = [
        line.replace(b'"nodeName":"Scan"', b'"nodeName":"BroadcastExchange"') for line in log.lines
    ]
    log.end(40)
    told = found(tmp_path, log)["broadcast-large"]
    assert told.replayed_s == pytest.approx(20)


def test_results_for_the_driver_cost_their_sending_and_its_taking_in(tmp_path: Path) -> None:
    log = one_stage()
    log.executor("1", 2, 0)
    log.stage(0, 0, 100, 2)
    sent = {
        "Executor Run Time": 50_000,
        "Executor CPU Time": 50 * 10**9,
        "Result Size": 300 << 20,
        "Result Serialization Time": 10_000,
    }
    for _ in range(2):
        log.task(0, 0, 60, metrics=sent)
    log.end(100)
    told = found(tmp_path, log)["driver-collect"]
    assert told.replayed_s == pytest.approx(10 + 40)
    assert "600.0 MiB" in told.do


def waiting_tasks(executors: list[str], removed_s: float | None = None) -> SparkLog:
    """A stage of 60 s with twenty tasks that each began 3 s after a slot was free."""
    log = one_stage(60)
    for executor in executors:
        log.executor(executor, 2 // len(executors), 0, removed_s)
    log.stage(0, 0, 60, 20)
    for place in range(20):
        begin_s = 6.0 * (place // 2) + 3
        log.task(0, begin_s, begin_s + 3, executor=executors[place % len(executors)])
    return log


def near(log: SparkLog, locality: str = "NODE_LOCAL") -> None:
    log.lines = [line.replace(b'"ANY"', b'"%s"' % locality.encode()) for line in log.lines]


def test_a_single_executor_is_near_to_all(tmp_path: Path) -> None:
    log = waiting_tasks(["1"])
    log.end(60)
    near(log)
    assert found(tmp_path, log) == {}


def test_a_slot_of_an_executor_that_is_gone_is_not_free(tmp_path: Path) -> None:
    log = waiting_tasks(["1", "2"], removed_s=59)
    log.end(60)
    near(log)
    assert "locality-wait" not in found(tmp_path, log)


@pytest.mark.parametrize(("locality", "rules"), [("NODE_LOCAL", {"locality-wait"}), ("ANY", set())])
def test_pauses_are_waits_for_locality_only_near_data(
    tmp_path: Path, locality: str, rules: set[str]
) -> None:
    log = waiting_tasks(["1", "2"])
    log.end(60)
    near(log, locality)
    told = found(tmp_path, log)
    assert set(told) == rules
    if rules:
        assert told["locality-wait"].replayed_s == pytest.approx(30)
        assert told["locality-wait"].settings == {"spark.locality.wait": "0s"}


@pytest.mark.parametrize("dynamic", [True, False])
def test_executors_that_come_late_cost_what_their_slots_would_have_done(
    tmp_path: Path, *, dynamic: bool
) -> None:
    log = one_stage(150, **(DYNAMIC if dynamic else {}))
    log.executor("1", 1, 0)
    for late in ("2", "3", "4"):
        log.executor(late, 1, 100)
    log.stage(0, 0, 150, 30)
    for place in range(10):
        log.task(0, 10.0 * place, 10.0 * place + 10)
    for place in range(20):
        begin_s = 100 + 10.0 * (place // 4)
        log.task(0, begin_s, begin_s + 10, executor=str(place % 4 + 1))
    log.end(150)
    told = found(tmp_path, log)
    assert ("allocation-lag" in told) is dynamic
    if dynamic:
        assert told["allocation-lag"].replayed_s == pytest.approx(100 * 3 / 4)
        assert told["allocation-lag"].settings == {"spark.dynamicAllocation.initialExecutors": "4"}
        assert [at.stage for at in told["allocation-lag"].where] == ["0"]


def test_a_lost_executor_is_no_slow_allocation(tmp_path: Path) -> None:
    """Two executors of two from the start; from 20 s on there is one."""
    log = one_stage(100, **{"spark.dynamicAllocation.enabled": "true"})
    log.executor("1", 1, 0)
    log.executor("2", 1, 0, 20, "Container killed by YARN for exceeding memory limits.")
    log.stage(0, 0, 100, 10)
    for place in range(2):
        log.task(0, 10 * place, 10 * place + 10, executor="2")
        log.task(0, 10 * place, 10 * place + 10, executor="1")
    for place in range(6):
        log.task(0, 20 + 10 * place, 30 + 10 * place, executor="1")
    log.end(100)
    assert "allocation-lag" not in found(tmp_path, log)


def dismissed(**settings: str) -> SparkLog:
    """Two tasks of 20 s; their output is lost with an idle executor and made again."""
    log = one_stage(60, **settings)
    log.executor("1", 1, 0, 30, "Executor idle for 60 s")
    log.executor("2", 1, 0)
    log.stage(0, 0, 60, 2)
    first = log.task(0, 0, 20, index=0)
    log.task(0, 0, 20, executor="2", index=1)
    info = {
        "Task ID": first,
        "Index": 0,
        "Attempt": 0,
        "Launch Time": at(0),
        "Finish Time": at(30),
        "Executor ID": "1",
        "Host": "h1",
    }
    log.add(
        "TaskEnd",
        **{
            "Stage ID": 0,
            "Stage Attempt ID": 0,
            "Task Info": info,
            "Task End Reason": {"Reason": "Resubmitted"},
        },
    )
    log.task(0, 40, 60, executor="2", index=0)
    log.end(60)
    return log


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"spark.dynamicAllocation.shuffleTracking.enabled": "false"}, True),
        ({"spark.dynamicAllocation.shuffleTracking.enabled": "true"}, False),
        ({}, False),  # on by default since 3.4
    ],
)
def test_output_that_goes_with_an_idle_executor_is_found_where_nothing_keeps_it(
    tmp_path: Path, more: Mapping[str, str], *, told: bool
) -> None:
    lost = found(tmp_path, dismissed(**DYNAMIC, **more)).get("shuffle-lost")
    assert (lost is not None) is told
    assert lost is None or [(at.task, at.executor) for at in lost.where] == [("0", "1")]


def test_copies_that_lose_spare_cores(tmp_path: Path) -> None:
    log = one_stage()
    log.executor("1", 4, 0)
    log.stage(0, 0, 100, 2)
    killed = {"Reason": "TaskKilled", "Kill Reason": "another attempt succeeded"}
    for index in range(2):
        log.task(0, 0, 100, index=index)
        log.task(0, 50, 100, index=index, end=killed)
        log.lines[-2:] = [
            line.replace(b'"Speculative":false', b'"Speculative":true') for line in log.lines[-2:]
        ]
    log.end(100)
    told = found(tmp_path, log)["speculation"]
    assert told.spares is not None
    assert told.spares.share == pytest.approx(100 / 300)
    assert told.replayed_s == 0
    assert {at.task for at in told.where} == {"1", "3"}  # the copies


def half_idle(**settings: str) -> SparkLog:
    """Ten executors of four cores, and forty tasks of 10 s in 200 s."""
    log = SparkLog(**settings)
    for name in range(10):
        log.executor(str(name), 4, 0)
    log.job(0, 100, 110, [0])
    log.stage(0, 100, 110, 40)
    for place in range(40):
        log.task(0, 100, 110, executor=str(place % 10))
    log.end(200)
    return log


def test_cores_that_the_driver_lets_idle_are_told_and_cost_no_time(tmp_path: Path) -> None:
    told = found(tmp_path, half_idle(**{"spark.master": "yarn"}))["idle-cores"]
    assert told.replayed_s == 0
    assert told.spares is not None
    assert told.settings == {"spark.executor.instances": "1"}
    # One executor: 190 s of the driver's, and 400 s of tasks on four slots.
    assert told.spares.share == pytest.approx(1 - 4 * 290 / (40 * 200))
    dynamic = found(tmp_path, half_idle(**DYNAMIC))["idle-cores"]
    assert dynamic.settings == {"spark.dynamicAllocation.maxExecutors": "1"}
    assert "idle-cores" not in found(tmp_path, half_idle(**{"spark.master": "local[40]"}))


def test_the_executors_that_idle_the_most_are_named(tmp_path: Path) -> None:
    log = half_idle(**{"spark.master": "yarn"})
    log.executor("x", 4, 0)
    told = found(tmp_path, log)["idle-cores"]
    assert (told.where[0].host, told.where[0].executor, len(told.where)) == ("hx", "x", 5)


@pytest.mark.parametrize(("peak_gib", "told"), [(2, "2560m"), (7, None), (0, None)])
def test_a_heap_that_was_never_full_is_told_where_it_was_sampled(
    tmp_path: Path, peak_gib: int, told: str | None
) -> None:
    log = half_idle(**{"spark.master": "yarn", "spark.executor.memory": "8g"})
    metrics: dict[str, Any] = {"JVMHeapMemory": peak_gib << 30, "OnHeapStorageMemory": 0}
    log.add(
        "StageExecutorMetrics",
        **{"Executor ID": "1", "Stage ID": 0, "Stage Attempt ID": 0, "Executor Metrics": metrics},
    )
    finding = found(tmp_path, log).get("idle-memory")
    assert (finding.settings["spark.executor.memory"] if finding else None) == told


def grown(folder: Path, **parts: float) -> Finding | None:
    """The finding about a stream with back-to-back batches, each a third longer than the one
    before; `parts`, such as `addBatch`, are the driver's shares of a batch.
    """
    log = SparkLog()
    log.executor("1", 1, 0)
    begin_s, took_s = 0.0, 9.0
    for n in range(6):
        parts_s = {name: share * took_s for name, share in parts.items()}
        log.batch(n, begin_s, took_s, round(100 * took_s), 50 * n, **parts_s)
        log.job(n, begin_s, begin_s + took_s, [n])
        log.stage(n, begin_s, begin_s + took_s, 1)
        log.task(n, begin_s, begin_s + took_s)
        begin_s, took_s = begin_s + took_s, took_s * 4 / 3
    log.end(begin_s)
    return found(folder, log).get("stream-behind")


def test_a_stream_that_gets_more_than_it_works_off_is_told_with_what_its_slowest_batch_did(
    tmp_path: Path,
) -> None:
    told = grown(tmp_path, addBatch=0.2, walCommit=0.7)
    assert told is not None
    assert "received 133 rows a second and processed 100" in told.says
    assert "spent most of its time on writing the commit log" in told.says
    assert told.where[0].stage == "5"
    assert "checkpoint on faster storage" in told.do
    assert told.spares is not None
    # The medians of the first two batches and of the last two, four batches apart.
    assert told.spares.share == pytest.approx(1 - (3 / 4) ** 4, abs=1e-4)


def test_a_state_that_grows_is_to_be_bounded_before_its_jobs_are_made_faster(
    tmp_path: Path,
) -> None:
    told = grown(tmp_path, addBatch=0.9)
    assert told is not None
    assert "withWatermark" in told.do
