"""Plans of SQL queries in event logs: the operators, and their counts."""

from __future__ import annotations

from typing import Any

from event_log import START, Write, event
from venturi.jobs.logs import spark
from venturi.jobs.logs.find import spark_logs
from venturi.jobs.stages.plans import Plans
from venturi.record.job_account import JobAccount

SQL = "org.apache.spark.sql.execution.ui.SparkListener"


def node(name: str, *children: Any, **metrics: tuple[str, int]) -> dict[str, Any]:
    told = [
        {"name": each.replace("_", " "), "metricType": kind, "accumulatorId": id_}
        for each, (kind, id_) in metrics.items()
    ]
    return {
        "nodeName": name,
        "simpleString": name,
        "children": list(children),
        "metadata": {},
        "metrics": told,
    }


def completed(stage: int, **values: Any) -> bytes:
    info = {
        "Stage ID": stage,
        "Stage Attempt ID": 0,
        "Stage Name": "a",
        "Number of Tasks": 1,
        "Submission Time": 2_000,
        "Completion Time": 3_000,
        "Accumulables": [
            {"ID": int(id_[1:]), "Name": "a", "Value": value, "Metadata": "sql"}
            for id_, value in values.items()
        ],
    }
    return event("SparkListenerStageCompleted", **{"Stage Info": info})


def read(write: Write, *lines: bytes) -> JobAccount:
    account = spark.read(spark_logs(write(START + b"".join(lines)))[0])
    assert account.reading.malformed == 0
    assert not account.reading.damaged
    return account


def test_the_last_plan_is_what_ran_and_its_metrics_are_found_by_number(write: Write) -> None:
    scan = node("Scan parquet", scan_time=("timing", 1), files=("sum", 2))
    exchange = node(
        "Exchange",
        scan,
        data_size=("size", 3),
        shuffle_write_time=("nsTiming", 4),
        fetch_wait_time=("timing", 6),
    )
    first = node("AdaptiveSparkPlan", node("SortMergeJoin", node("Exchange", scan)))
    last = node(
        "AdaptiveSparkPlan", node("Sort", node("Project", exchange), sort_time=("timing", 5))
    )
    started = event(f"{SQL}SQLExecutionStart", executionId=7, sparkPlanInfo=first, time=2_000)
    account = read(
        write,
        started,
        event(f"{SQL}SQLAdaptiveExecutionUpdate", executionId=7, sparkPlanInfo=last),
        event(f"{SQL}DriverAccumUpdates", executionId=7, accumUpdates=[[2, 3]]),
        completed(0, _1="40", _3="1000", _4="5000000", _99="1"),
        completed(1, _5=60, _1="100", _6="7"),
    )
    assert account.operators is not None
    assert account.operator_metrics is not None
    names = account.operators["name"].to_list()
    assert names == ["AdaptiveSparkPlan", "Sort", "Project", "Exchange", "Scan parquet"]
    assert account.operators["parent"].to_list() == [None, 0, 1, 2, 3]
    # A stage's metric is cumulative: the second one added 60 ms of the scan.
    assert sorted(account.operator_metrics.drop("stage_attempt").rows(), key=str) == [
        (7, 1, 1, "sort time", "ms", 60),
        (7, 3, 0, "data size", "B", 1_000),
        (7, 3, 0, "shuffle write time", "ns", 5_000_000),
        (7, 3, 1, "fetch wait time", "ms", 7),
        (7, 4, 0, "scan time", "ms", 40),
        (7, 4, 1, "scan time", "ms", 60),
        (7, 4, None, "files", "1", 3),
    ]
    plans = Plans(account)
    assert [each.name for each in plans.of_stage((0, 0))] == ["Exchange", "Scan parquet"]
    assert "Project" in [each.name for each in plans.of_stage((1, 0))]
    (sort,) = (each for each in plans.of_stage((1, 0)) if each.name == "Sort")
    assert sort.timed == {"sort time": 0.06}
    (written,) = (each for each in plans.of_stage((0, 0)) if each.name == "Exchange")
    assert written in plans.of_stage((1, 0))
    assert plans.timed_in(written, (0, 0)) == {"shuffle write time": 0.005}
    assert plans.timed_in(written, (1, 0)) == {"fetch wait time": 0.007}


def test_what_is_no_plan_does_no_harm(write: Write) -> None:
    deep = node("a")
    for _ in range(300):
        deep = node("b", deep)
    odd: list[Any] = [deep, {"children": 7}, {"metrics": [7]}, {"children": [7]}]
    account = read(
        write,
        *(
            event(f"{SQL}SQLExecutionStart", executionId=place, sparkPlanInfo=plan, time=2_000)
            for place, plan in enumerate(odd)
        ),
        completed(0, _1="x", _2="-3"),
    )
    assert account.reading.skipped[f"{SQL}SQLExecutionStart (the plan in it)"] == len(odd)
    assert account.operators is None
    assert Plans(account).does((0, 0)) is None
