"""Failures of public bug reports: the meaning, the remedy, and where they happened."""

from __future__ import annotations

from pathlib import Path

import pytest

from venturi.jobs.diagnosis.find import Diagnosis, diagnose
from venturi.jobs.logs.spark import read
from venturi.jobs.logs.trial import lost
from venturi.jobs.stages.analysis import analyse
from venturi.jobs.stages.timeline import timeline
from venturi.record.importing.formats import Log

CASES = Path(__file__).parents[2] / "data/cases"


def diagnosed(path: Path) -> Diagnosis:
    line = timeline(read(Log(path, (path,))))
    return diagnose(line, analyse(line.account, None, line))


@pytest.mark.parametrize(
    ("name", "meaning", "remedies"),
    [
        ("no-space", "a local disk is full of shuffle files", ["spark.local.dir", "more disks"]),
        ("heap", "ran out of heap memory", ["spark.executor.memory", "more partitions"]),
        (
            "python-worker",
            "a Python worker died",
            ["spark.executor.memoryOverhead", "spark.executor.pyspark.memory"],
        ),
    ],
)
def test_failure_meaning(name: str, meaning: str, remedies: list[str]) -> None:
    findings = diagnosed(CASES / f"failure-meaning/{name}.log").findings
    first = next(each for each in findings if each.rule == "failed-attempts")
    assert "6 attempts failed" in first.says
    assert "all on host2" in first.says
    assert meaning in first.says
    assert all(each in first.do for each in remedies)


@pytest.mark.parametrize(
    ("name", "meaning", "remedies"),
    [
        ("emr-spot", "its host left the cluster", ["doesn't help", "decommission"]),
        (
            "rpc-disassociated",
            "exceeded its container's memory",
            ["memoryOverhead first", "network"],
        ),
        (
            "yarn-virt",
            "virtual memory",
            ["vmem-check-enabled", "vmem-pmem-ratio", "spark.executor.memoryOverhead"],
        ),
        ("yarn-137", "lack of memory", ["spark.executor.memoryOverhead"]),
    ],
)
def test_executor_lost(name: str, meaning: str, remedies: list[str]) -> None:
    findings = diagnosed(CASES / f"executor-lost/{name}.log").findings
    first = next(each for each in findings if each.rule == "executor-lost")
    assert "executor 2 on host2 was lost" in first.says
    assert meaning in first.says
    assert all(each in first.do for each in remedies), first.do


@pytest.mark.parametrize("name", ["ends-and-stage", "starts-and-ends"])
def test_dropped_events(name: str) -> None:
    """No statement of the damaged log contradicts the whole one: every task took 4.0 s."""
    path = CASES / f"dropped-events/{name}.log"
    line = timeline(read(Log(path, (path,))))
    assert line.account.application.outcome == "succeeded"
    analysis = analyse(line.account, None, line)
    assert all(each.outcome == "succeeded" for each in analysis.stages)
    assert not any(task.hanging for stage in analysis.stages for task in stage.unfinished)
    diagnosis = diagnose(line, analysis)
    assert diagnosis.findings == ()
    assert "didn't end" not in analysis.verdict.sentence
    assert any("missing from the log" in each or "lacks" in each for each in diagnosis.unseen)


def test_dropped_events_are_counted_with_their_setting() -> None:
    path = CASES / "dropped-events/ends-and-stage.log"
    (said,) = lost(read(Log(path, (path,))).reading)
    assert "1 stage end and 30 task ends missing" in said
    assert "spark.scheduler.listenerbus.eventqueue.capacity" in said


def test_the_whole_log_lacks_nothing() -> None:
    path = CASES / "dropped-events/whole.log"
    assert list(lost(read(Log(path, (path,))).reading)) == []
