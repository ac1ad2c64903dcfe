"""SQL queries in event logs, whose plans are searched and not decoded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from event_log import START, Write, event
from venturi.record.accounts import spark
from venturi.record.accounts.find import spark_logs
from venturi.record.job_account import JobAccount

LOGS = Path(__file__).parents[1] / "data" / "spark" / "4.3.0"


def read(path: Path) -> JobAccount:
    return spark.read(spark_logs(path)[0])


def test_queries_and_what_the_driver_did_for_them(write: Write) -> None:
    sql = "org.apache.spark.sql.execution.ui.SparkListener"

    def plan(*timers: tuple[str, int], deep: int = 0) -> dict[str, Any]:
        metrics = [{"name": name, "accumulatorId": id_, "metricType": "x"} for name, id_ in timers]
        found = {"nodeName": "a", "children": [], "metadata": {}, "metrics": metrics}
        for _ in range(deep):
            found = {"nodeName": "b", "children": [found], "metadata": {}, "metrics": []}
        return found

    trap = '{"name":"job commit time","accumulatorId":9,'
    begun = {"description": "collect at /home/me/app.py:7", "physicalPlanDescription": trap}
    lines = (
        event(f"{sql}SQLExecutionStart", executionId=3, **begun, sparkPlanInfo=plan(
            ("metadata time (ms)", 1), ("scan time", 2), deep=300), time=2_000, modifiedConfigs={}),
        event(f"{sql}SQLAdaptiveExecutionUpdate", executionId=3, sparkPlanInfo=plan(
            ("time to build", 4), ("time to broadcast", 5), ("job commit time", 6))),
        event(f"{sql}DriverAccumUpdates", executionId=3,
              accumUpdates=[[1, 40], [2, 9_000], [4, 5], [5, 6], [9, 9_000]]),
        event(f"{sql}DriverAccumUpdates", executionId=3, accumUpdates=[[1, 50], [6, 800]]),
        event(f"{sql}SQLExecutionEnd", executionId=3, time=70_000, errorMessage="no such table"),
        event(f"{sql}SQLExecutionStart", executionId=4, time=71_000),
        event(f"{sql}SQLExecutionStart", executionId=5),
    )  # fmt: skip
    account = read(write(START + b"".join(lines)))
    assert account.queries is not None
    assert account.queries.rows() == [
        (3, "collect at app.py:7", 2_000, 70_000, "failed", "no such table", 800, 50, 11),
        (4, None, 71_000, None, "unfinished", None, None, None, None),
    ]
    assert account.application.ended_ms == 71_000
    assert (account.reading.malformed, sum(account.reading.damaged.values())) == (0, 1)
    assert read(LOGS / "speculative.log").queries is None
