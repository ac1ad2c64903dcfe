"""SQL queries in event logs; their plans are searched and not decoded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from event_log import START, SparkLog, Write, event
from venturi.jobs.logs import spark
from venturi.jobs.logs.find import spark_logs
from venturi.jobs.stages import queries
from venturi.jobs.stages.queries import QueryWork, works_of
from venturi.record.job_account import JobAccount

DATA = Path(__file__).parents[2] / "data" / "spark"
LOGS = DATA / "4.3.0"


def read(path: Path) -> JobAccount:
    return spark.read(spark_logs(path)[0])


def test_queries_and_what_the_driver_did_for_them(write: Write) -> None:
    sql = "org.apache.spark.sql.execution.ui.SparkListener"

    def plan(*timers: tuple[str, int]) -> dict[str, Any]:
        kind = {"metricType": "timing"}
        metrics = [{"name": name, "accumulatorId": id_} | kind for name, id_ in timers]
        found = {"nodeName": "a", "children": [], "metadata": {}, "metrics": metrics}
        return {"nodeName": "b", "children": [found], "metadata": {}, "metrics": []}

    trap = '{"name":"job commit time","accumulatorId":9,'
    begun = {"description": "collect at /home/me/app.py:7", "physicalPlanDescription": trap}
    lines = (
        event(
            f"{sql}SQLExecutionStart",
            executionId=3,
            **begun,
            sparkPlanInfo=plan(("metadata time (ms)", 1), ("scan time", 2)),
            time=2_000,
            modifiedConfigs={},
        ),
        event(
            f"{sql}SQLAdaptiveExecutionUpdate",
            executionId=3,
            sparkPlanInfo=plan(
                ("time to build", 4), ("time to broadcast", 5), ("job commit time", 6)
            ),
        ),
        event(
            f"{sql}DriverAccumUpdates",
            executionId=3,
            accumUpdates=[[1, 40], [2, 9_000], [4, 5], [5, 6], [9, 9_000]],
        ),
        event(f"{sql}DriverAccumUpdates", executionId=3, accumUpdates=[[1, 50], [6, 800]]),
        event(f"{sql}SQLExecutionEnd", executionId=3, time=70_000, errorMessage="no such table"),
        event(f"{sql}SQLExecutionStart", executionId=4, time=71_000),
        event(f"{sql}SQLExecutionStart", executionId=5),
    )
    account = read(write(START + b"".join(lines)))
    assert account.queries is not None
    assert account.queries.rows() == [
        (3, "collect at app.py:7", 2_000, 70_000, "failed", "no such table", 800, 50, 11),
        (4, None, 71_000, None, "unfinished", None, None, None, None),
    ]
    assert account.application.ended_ms == 71_000
    assert (account.reading.malformed, sum(account.reading.damaged.values())) == (0, 1)
    assert read(LOGS / "speculative.log").queries is None


@pytest.mark.parametrize("version", ["2.4.8", "3.1.3", "3.5.9", "4.3.0"])
def test_every_version_says_of_which_query_a_job_is(version: str) -> None:
    account = read(DATA / version / "join.log")
    assert works_of(account) == {0: QueryWork((0,), 0, ("0", "1", "2", "3"), 0)}


def of_two_queries(folder: Path, *, told: bool) -> JobAccount:
    """Three jobs, of which two are of query 3 and none of query 4; a stage is skipped."""
    log = SparkLog()
    log.query(3, 2, 20)
    log.query(4, 20, 30)
    log.job(0, 1, 2, [0])
    log.job(1, 3, 5, [1], query=3 if told else None)
    log.job(2, 6, 9, [2, 3], query=3 if told else None)
    for stage in (0, 1, 3):
        log.stage(stage, stage, stage + 1, 1)
    log.stage(3, 5, 6, 1, attempt=1)
    return log.account(folder)


def test_a_query_has_its_jobs_and_the_stages_that_ran(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    account = of_two_queries(tmp_path, told=True)
    assert account.jobs["query_id"].to_list() == [None, 3, 3]
    # Its stages have no tasks, so events are missing.
    nothing = QueryWork((), 0, (), 0, stages_may_be_missing=True)
    both = QueryWork((1, 2), 0, ("1", "3", "3.1"), 0, stages_may_be_missing=True)
    assert works_of(account) == {3: both, 4: nothing}
    monkeypatch.setattr(queries, "MOST", 1)
    first = QueryWork((1,), 1, ("1",), 2, stages_may_be_missing=True)
    assert works_of(account) == {3: first, 4: nothing}


def test_where_no_job_says_whose_it_is_no_query_is_said_to_have_none(tmp_path: Path) -> None:
    assert works_of(of_two_queries(tmp_path, told=False)) is None


def test_what_is_no_number_of_a_query_is_none(write: Write) -> None:
    odd = ("", "x", "-1", "9" * 30, 7, None)
    lines = (
        event(
            "SparkListenerJobStart",
            **{
                "Job ID": place,
                "Submission Time": 2_000,
                "Stage IDs": [],
                "Properties": {"spark.sql.execution.id": each},
            },
        )
        for place, each in enumerate(odd)
    )
    account = read(write(START + b"".join(lines)))
    assert account.jobs["query_id"].to_list() == [None] * len(odd)
    assert not account.reading.damaged


def test_a_log_that_lacks_events_may_lack_stages_of_a_query(write: Write) -> None:
    text = (DATA / "2.4.8/join.log").read_bytes()
    gone = b'"Task ID":0,'
    log = b"".join(line for line in text.splitlines(keepends=True) if gone not in line)
    assert log != text
    works = works_of(read(write(log)))
    assert works is not None
    assert works[0].stages_may_be_missing
