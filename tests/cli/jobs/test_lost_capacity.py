"""Applications that went on with fewer slots after an executor had gone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from command_line import venturi
from event_log import SparkLog

LOST = "Command exited with code 137"


def findings(folder: Path, reason: str, *, replaced: bool = False, tasks: int = 400) -> Any:
    """Two executors of 4 slots; one goes after 20 s of 60 s of tasks of half a second."""
    log = SparkLog(**{"spark.master": "yarn"})
    log.executor("1", 4, 0)
    log.executor("2", 4, 0, 20, reason)
    if replaced:
        log.executor("3", 4, 21)
    log.job(0, 1, 60, [0])
    log.stage(0, 1, 60, tasks)
    for half_seconds in range(2, 119):
        at_s = half_seconds / 2
        others = ["2"] if at_s < 19.6 else ["3"] if replaced and at_s > 21 else []
        for executor in ["1", *others]:
            for _ in range(4):
                log.task(0, at_s, at_s + 0.48, executor=executor)
    log.end(61)
    path = folder / "application_1_0001"
    path.write_bytes(b"".join(log.lines))
    home = folder / "home"
    venturi("import", path, home=home)
    data = json.loads(venturi("show", "last", "--json", home=home).stdout)["data"]
    return [
        each for each in data["job"]["diagnosis"]["findings"] if each["rule"] == "capacity-lost"
    ]


@pytest.mark.parametrize("reason", [LOST, "Executor decommission: spot instance reclaimed"])
def test_slots_that_an_executor_took_along_are_a_finding(reason: str, tmp_path: Path) -> None:
    (finding,) = findings(tmp_path, reason)
    assert finding["says"].startswith(
        "from 20.0 s on up to 4 of 8 slots were missing, 2 min 40 s of slot time while stages ran; "
        "with them, the job had ended at most 20.0 s sooner; executor 2 on h2 had gone"
    )
    assert finding["saving_high_s"] <= 20.0


def test_slots_that_were_replaced_or_not_needed_are_none(tmp_path: Path) -> None:
    for name, reason, options in (
        ("replaced", LOST, {"replaced": True}),
        ("idle", "Executor killed by driver.", {}),
        ("few", LOST, {"tasks": 4}),
    ):
        (tmp_path / name).mkdir()
        assert findings(tmp_path / name, reason, **options) == []
