"""Failures of public bug reports: the meaning, the remedy, and where they happened."""

from __future__ import annotations

from pathlib import Path

import pytest

from event_log import SparkLog
from venturi.jobs.diagnosis.find import Diagnosis, diagnose
from venturi.jobs.logs.spark import read
from venturi.jobs.logs.trial import lost
from venturi.jobs.stages.analysis import analyse
from venturi.jobs.stages.timeline import timeline
from venturi.record.importing.formats import Log
from venturi.record.job_account import JobAccount

CASES = Path(__file__).parents[2] / "data/cases"


def diagnosed(path: Path) -> Diagnosis:
    return diagnosed_account(read(Log(path, (path,))))


def diagnosed_account(account: JobAccount) -> Diagnosis:
    line = timeline(account)
    return diagnose(line, analyse(account, None, line))


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


def test_fetch_failures_without_a_lost_executor_are_a_finding(tmp_path: Path) -> None:
    log = SparkLog()
    log.executor("1", 2, 0)
    log.job(0, 0, 60, [0])
    log.stage(0, 0, 30, 2, failed="org.apache.spark.shuffle.FetchFailedException: timeout")
    reason = {"Reason": "FetchFailed", "Message": "FetchFailedException: Connection reset by peer"}
    for index in range(2):
        log.task(0, 0, 30, index=index, end=reason)
    log.stage(0, 30, 60, 2, attempt=1)
    for index in range(2):
        log.task(0, 30, 60, index=index, attempt=1)
    log.end(60)
    (first,) = diagnosed_account(log.account(tmp_path)).findings
    assert first.rule == "failed-attempts"
    assert "2 because shuffle data couldn't be fetched" in first.says
    assert "spark.shuffle.io.maxRetries" in first.do


def test_two_errors_are_both_explained(tmp_path: Path) -> None:
    """Each with its meaning before its message, which may be long."""
    log = SparkLog()
    log.executor("1", 2, 0)
    log.job(0, 0, 60, [0])
    log.stage(0, 0, 60, 2)
    for index, (name, said) in enumerate(
        (
            ("java.lang.OutOfMemoryError", "Java heap space " + "x" * 400),
            ("E", "[DIVIDE_BY_ZERO] 0"),
        )
    ):
        end = {"Reason": "ExceptionFailure", "Class Name": name, "Description": said}
        log.task(0, 0, 20 + index, index=index, end=end)
        log.task(0, 30, 60, index=index)
    log.end(60)
    (first,) = diagnosed_account(log.account(tmp_path)).findings
    meanings = ("1 because a value doesn't fit", "heap memory", " (", "Java heap space")
    places = [first.says.find(each) for each in meanings]
    assert -1 not in places
    assert sorted(places) == places
    assert "x" * 200 not in first.says
    assert "spark.executor.memory" in first.do
    assert "try_divide" in first.do
