"""Failures of public bug reports: the meaning, the remedy, and where they happened."""

from __future__ import annotations

from pathlib import Path

import pytest

from venturi.jobs.diagnosis.find import Diagnosis, diagnose
from venturi.jobs.logs.spark import read
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
