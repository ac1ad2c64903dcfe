"""A stage that Spark runs again after a fetch failure has only the tasks of lost partitions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from command_line import venturi
from event_log import SparkLog


def rules(folder: Path, lost: int) -> list[Any]:
    """The rules that hit a job of 16 tasks on 8 slots, of which `lost` ran again for 20 s each."""
    log = SparkLog(**{"spark.master": "yarn"})
    log.executor("1", 4, 0)
    log.executor("2", 4, 0)
    log.job(0, 1, 60, [0])
    log.stage(0, 1, 30, 16, failed="FetchFailed")
    for place in range(16):
        begin_s = 1 + place // 8 * 14
        log.task(0, begin_s, begin_s + 13.5, executor=str(1 + place % 2), index=place)
    log.stage(0, 31, 59, lost, attempt=1)
    for place in range(lost):
        log.task(0, 31, 58, executor=str(1 + place % 2), index=place, attempt=1)
    log.end(61)
    path = folder / "application_1_0001"
    path.write_bytes(b"".join(log.lines))
    home = folder / "home"
    venturi("import", path, home=home)
    data = json.loads(venturi("show", "last", "--json", home=home).stdout)["data"]
    return [each["rule"] for each in data["job"]["diagnosis"]["findings"]]


@pytest.mark.parametrize("lost", [1, 3])
def test_few_tasks_of_a_retry_are_no_finding(lost: int, tmp_path: Path) -> None:
    assert not {"one-task", "too-few-tasks"} & set(rules(tmp_path, lost))
