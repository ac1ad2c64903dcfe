"""`python -m benchmarks.diagnosis.trimmed LOG... FOLDER`: small logs for the tests' data.

They lack the parts that no finding uses.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from backports.zstd import compress, decompress

_LEVEL = 19
_SQL = "org.apache.spark.sql.execution.ui.SparkListener"
_KEPT = frozenset(
    {
        *(
            f"SparkListener{name}"
            for name in (
                "LogStart",
                "ApplicationStart",
                "ApplicationEnd",
                "EnvironmentUpdate",
                "JobStart",
                "JobEnd",
                "StageSubmitted",
                "StageCompleted",
                "TaskStart",
                "TaskEnd",
                "ExecutorAdded",
                "ExecutorRemoved",
            )
        ),
        *(
            f"{_SQL}{name}"
            for name in (
                "SQLExecutionStart",
                "SQLExecutionEnd",
                "DriverAccumUpdates",
            )
        ),
    }
)
_DROPPED = frozenset(
    {
        "Details",
        "details",
        "physicalPlanDescription",
        "modifiedConfigs",
        "jobTags",
        "jobGroupId",
        "queryId",
        "Full Stack Trace",
        "Stack Trace",
        "Accumulator Updates",
        "Log Urls",
        "Attributes",
        "Resources",
        "User",
        "Task Executor Metrics",
        "metadata",
    }
)
_TIMERS = ("time to run Python workers", "scan time", "data sent to Python workers")
_PATH = re.compile(r"(?:file:)?/(?:[\w.=-]+/)+")
_METRICS_OF_TASKS = "internal.metrics."


@click.command()
@click.argument("logs", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
@click.argument("folder", type=click.Path(path_type=Path))
def main(logs: tuple[Path, ...], folder: Path) -> None:
    """Write the trimmed form of the compressed LOGS into FOLDER."""
    folder.mkdir(parents=True, exist_ok=True)
    for log in logs:
        text = decompress(log.read_bytes()).decode()
        (folder / log.name).write_bytes(compress(trimmed(text), _LEVEL))


def trimmed(log: str) -> bytes:
    """Return the used part of the lines of a log; only the last plan of each query."""
    events = [json.loads(line) for line in log.splitlines()]
    last = {
        event["executionId"]: event
        for event in events
        if event["Event"].endswith("AdaptiveExecutionUpdate")
    }
    kept = [event for event in events if event["Event"] in _KEPT]
    for event in kept:
        if event["Event"].endswith("ExecutionStart") and event["executionId"] in last:
            event["sparkPlanInfo"] = last[event["executionId"]]["sparkPlanInfo"]
    return b"".join(map(_line, kept))


def _line(event: dict[str, Any]) -> bytes:
    if event["Event"] == "SparkListenerEnvironmentUpdate":
        settings = event["Spark Properties"]
        event = {"Event": event["Event"], "Spark Properties": _chosen(settings)}
    if "Properties" in event:
        event["Properties"] = {}
    text = json.dumps(_shortened(event), separators=(",", ":"))
    return (_PATH.sub("/home/user/", text) + "\n").encode()


def _chosen(settings: dict[str, str]) -> dict[str, str]:
    told = ("spark.master", "spark.sql.", "spark.driver.memory", "spark.memory.", "spark.app.name")
    return {key: value for key, value in settings.items() if key.startswith(told)}


def _shortened(value: Any) -> Any:
    if isinstance(value, list):
        return [_shortened(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {key: _of(key, each) for key, each in value.items() if key not in _DROPPED}


def _of(key: str, value: Any) -> Any:
    if key == "RDD Info":
        kept = ("Name", "RDD ID", "Parent IDs", "Storage Level")
        return [{name: each[name] for name in kept} for each in value]
    if key == "Stage Infos":
        kept = ("Stage ID", "Stage Attempt ID", "Stage Name", "Number of Tasks")
        return [{name: each[name] for name in kept} for each in value]
    if key == "Accumulables":
        return list(_accumulables(value))
    if key == "metrics":
        return [each for each in value if "merged" not in each["name"]]
    return _shortened(value)


def _accumulables(values: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the timers of a task (which has updates), or all SQL metrics of a stage."""
    for each in values:
        of_task = "Update" in each
        if not each["Name"].startswith(_METRICS_OF_TASKS) and (
            not of_task or each["Name"] in _TIMERS
        ):
            yield each


if __name__ == "__main__":
    main()
