"""The fix of a finding can be done: it names the setting, the call or the step that comes first."""

from __future__ import annotations

from pathlib import Path

import pytest

from event_log import SparkLog
from venturi.jobs.diagnosis.find import Finding, diagnose
from venturi.jobs.logs import spark
from venturi.jobs.stages.analysis import analyse
from venturi.jobs.stages.memory import spark_size
from venturi.jobs.stages.timeline import timeline
from venturi.record.importing.formats import Log

LOGS = Path(__file__).parents[2] / "data/spark/4.3.0/faults"


def findings(name: str) -> dict[str, Finding]:
    path = LOGS / f"{name}.zstd"
    line = timeline(spark.read(Log(path, (path,))))
    found = diagnose(line, analyse(line.account, None, line)).findings
    return {each.rule: each for each in found}


def test_a_local_iterator_is_replaced_wherever_its_stages_are() -> None:
    found = findings("local-iterator-faulty")["tasks-in-turn"]
    assert found.fix == "Replace toLocalIterator() by collect()"
    assert found.do.startswith("replace toLocalIterator() by collect()")


def test_a_window_gets_a_partition_only_if_the_result_may_be_per_group() -> None:
    found = findings("one-task-window-faulty")["one-task"]
    assert found.fix == "If correct, give the window a PARTITION BY in query 0"
    assert "only if the result may be computed per group" in found.do


def test_sizes_are_those_of_settings() -> None:
    assert [spark_size(each << 20) for each in (930, 1024, 1536, 6144)] == [
        "930m",
        "1g",
        "1536m",
        "6g",
    ]


@pytest.mark.parametrize(
    ("name", "fix", "after"),
    [
        ("Window", "Fix the single-task stage first", " (after fix 1)"),
        ("Sort", "Use 3 partitions", ""),
    ],
)
def test_a_spill_of_a_window_without_partitions_is_fixed_by_its_single_task(
    name: str, fix: str, after: str, tmp_path: Path
) -> None:
    log = SparkLog(**{"spark.executor.memory": "2g"})
    log.executor("1", 2, 0)
    log.query(0, 0, 40)
    log.plan(0, (name, f"{name} [k#1]", {"spill size": 1}))
    log.job(0, 0, 40, [0])
    log.stage(0, 0, 40, 1, metrics={1: 1 << 30})
    spilled = {"Executor Run Time": 40_000, "Executor CPU Time": 30 * 10**9}
    sizes = {"Disk Bytes Spilled": 1 << 30, "Memory Bytes Spilled": 1 << 30}
    log.task(0, 0, 40, metrics=spilled | sizes | {"Peak Execution Memory": 512 << 20})
    log.end(40)
    line = timeline(log.account(tmp_path))
    found = diagnose(line, analyse(line.account, None, line)).findings
    spill = next(each for each in found if each.rule == "spill")
    assert spill.fix == f"{fix} in stage 0"
    assert [each.rule for each in found] == ["one-task", "spill"]
    assert spill.title == f"spilling to disk{after}"
