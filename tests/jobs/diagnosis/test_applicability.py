"""Advice that doesn't apply to a version, a deployment or a checkpoint isn't given."""

from __future__ import annotations

from pathlib import Path

import pytest
from backports.zstd import decompress

from event_log import SparkLog
from venturi.jobs.diagnosis.find import Finding, diagnose
from venturi.jobs.diagnosis.table import load_rules
from venturi.jobs.logs import spark
from venturi.jobs.stages.analysis import analyse
from venturi.jobs.stages.timeline import timeline
from venturi.record.importing.formats import Log

FAULTS = Path(__file__).parents[2] / "data/spark/4.3.0/faults"


def first(folder: Path, name: str, *changes: tuple[str, str]) -> Finding:
    """The first finding in a log in which texts are replaced."""
    text = decompress((FAULTS / f"{name}-faulty.zstd").read_bytes())
    for before, after in changes:
        assert before.encode() in text
        text = text.replace(before.encode(), after.encode())
    path = folder / "log.json"
    path.write_bytes(text)
    line = timeline(spark.read(Log(path, (path,))))
    return diagnose(line, analyse(line.account, None, line)).findings[0]


def of_version(version: str) -> tuple[str, str]:
    return '"Spark Version":"4.3.0"', f'"Spark Version":"{version}"'


@pytest.mark.parametrize(
    ("name", "version", "now", "then"),
    [
        ("partition-count", "2.4.8", "spark.sql.adaptive.enabled", "shuffle.partitions = 2"),
        ("skewed-join", "2.4.8", "skewedPartitionThresholdInBytes", "salt the key: AQE splits"),
        ("python-udf", "3.4.1", "pythonUDF.arrow.enabled", "make it a pandas_udf: now"),
    ],
)
def test_older_versions_get_advice_that_they_have(
    tmp_path: Path, name: str, version: str, now: str, then: str
) -> None:
    new, old = first(tmp_path, name), first(tmp_path, name, of_version(version))
    assert new.rule == old.rule
    assert now in new.do
    assert then in old.do
    assert not any("adaptive" in key for key in old.settings)


@pytest.mark.parametrize("operator", ["StateStoreSave", "HashAggregate"])
def test_more_partitions_of_a_state_need_a_new_checkpoint(tmp_path: Path, operator: str) -> None:
    log = SparkLog()
    log.executor("1", 4, 0)
    log.query(0, 0, 12)
    log.plan(0, (operator, operator, {"time to commit changes": 7}))
    log.job(0, 0, 12, [0])
    log.stage(0, 0, 12, 2, metrics={7: 100})
    for _ in range(2):
        log.task(0, 0, 12)
    log.end(12)
    line = timeline(log.account(tmp_path))
    (few,) = diagnose(line, analyse(line.account, None, line)).findings
    assert few.rule == "too-few-tasks"
    assert ("start from a new checkpoint" in few.do) is (operator == "StateStoreSave")


def test_every_alternative_is_an_advice() -> None:
    for rule in load_rules().values():
        for variant, where in rule.applies.items():
            assert {variant, where.otherwise} <= set(rule.do), rule.id
            assert where.since or where.not_on, rule.id
