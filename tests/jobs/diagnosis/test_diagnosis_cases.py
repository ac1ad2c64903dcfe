"""Planted causes and public bug reports: the first finding, and a twin without the cause."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from event_log import SparkLog
from venturi.jobs.diagnosis.find import Diagnosis, Finding, diagnose
from venturi.jobs.logs.spark import read
from venturi.jobs.stages.analysis import analyse
from venturi.jobs.stages.timeline import timeline
from venturi.record.importing.formats import Log
from venturi.record.job_account import JobAccount

CASES = Path(__file__).parents[2] / "data/cases"


def of_account(account: JobAccount) -> Diagnosis:
    line = timeline(account)
    return diagnose(line, analyse(account, None, line))


def findings(name: str) -> tuple[Finding, ...]:
    path = CASES / name
    return of_account(read(Log(path, (path,)))).findings


@pytest.mark.parametrize("name", ["explode", "nested-loop", "stream-state-partitions", "to-pandas"])
def test_without_the_cause_nothing_is_found(name: str) -> None:
    assert findings(f"{name}/fixed.zstd") == ()


def test_explode() -> None:
    first, second = findings("explode/faulty.zstd")
    assert (first.rule, second.rule) == ("rows-multiplied", "spill")  # the cause and its symptom
    assert "30,248,400 rows of 500,000 (60 times" in first.says
    assert first.replayed_s > 79  # saved by the twin
    assert "before explode()" in first.do


def test_expand_distinct() -> None:
    (first,) = findings("expand-distinct/log.json")
    assert first.rule == "rows-multiplied"
    assert "7,500,000 rows of 1,500,000 (5 times" in first.says
    assert "approx_count_distinct" in first.do


def test_nested_loop() -> None:
    (first,) = findings("nested-loop/faulty.zstd")
    assert first.rule == "join-without-key"
    assert "stage 3 " in first.says
    assert "compared 700,000 × 14,000 rows to produce 700,000 rows" in first.says
    assert "floor(value / width)" in first.do
    assert first.replayed_s == pytest.approx(84.3, abs=0.1)


def test_object_store_commit() -> None:
    (first,) = findings("object-store-commit/faulty.log")  # no advice to use fewer executors
    assert first.rule == "driver-files"
    assert first.replayed_s == pytest.approx(400, abs=1)
    assert "S3A magic committer" in first.do


@pytest.mark.parametrize(
    ("log", "saved_s", "fix"),
    [("wide-rows.log", 540, "partitionColumn"), ("jdbc.json", 21, "remove coalesce(1)")],
)
def test_one_task(log: str, saved_s: float, fix: str) -> None:
    first = findings(f"one-task/{log}")[0]
    assert first.rule == "one-task"
    assert first.replayed_s == pytest.approx(saved_s, rel=0.05)
    assert fix in first.do


def test_recount_range() -> None:
    (first,) = findings("recount-range/faulty.zstd")
    assert first.rule == "recomputed"
    assert first.says.startswith("5 queries compute the same")


@pytest.mark.parametrize(
    ("log", "rule"), [("same-host", "slow-executor"), ("other-host", "slow-host")]
)
def test_slow_executor(log: str, rule: str) -> None:
    found = {each.rule: each for each in findings(f"slow-executor/{log}.zstd")}
    assert "executor 2" in found[rule].says
    assert found[rule].where[0].executor == "2"
    assert len(found.keys() & {"slow-host", "slow-executor"}) == 1


def test_stream_state_partitions() -> None:
    path = CASES / "stream-state-partitions/faulty.zstd"
    line = timeline(read(Log(path, (path,))))
    analysis = analyse(line.account, None, line)
    first = diagnose(line, analysis).findings[0]
    assert first.rule == "state-store"
    assert "new checkpoint" in first.do
    assert first.settings == {}  # the present checkpoint would ignore it
    assert analysis.verdict.shares["unattributed"] < 0.05


def test_to_pandas() -> None:
    (first,) = findings("to-pandas/faulty.zstd")
    assert first.rule == "driver-collect"
    assert "then ran for 17.3 s without a query" in first.says
    assert "before collect() or toPandas()" in first.do


def joined(folder: Path, text: str, pairs: int = 10_000_000) -> tuple[Finding, ...]:
    """The findings of a join without a key of `pairs` pairs of rows in a stage of 40 s."""
    log = SparkLog()
    log.executor("1", 2, 0)
    log.query(0, 0, 40)
    log.plan(0, (text.split(maxsplit=1)[0], text, {"number of output rows": 1}))
    side = {"nodeName": "Range", "simpleString": "Range", "children": [], "metadata": {}}
    counted = [
        {**side, "metrics": [{"name": "records read", "accumulatorId": n, "metricType": "sum"}]}
        for n in (2, 3)
    ]
    event = json.loads(log.lines[-1])
    event["sparkPlanInfo"]["children"] = counted
    log.lines[-1] = json.dumps(event, separators=(",", ":")).encode() + b"\n"
    log.job(0, 0, 40, [0])
    log.stage(0, 0, 40, 2, metrics={1: 50, 2: pairs // 1_000, 3: 1_000})
    for _ in range(2):
        log.task(0, 0, 40, metrics={"Executor Run Time": 40_000})
    log.end(40)
    return of_account(log.account(folder)).findings


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        ("CartesianProduct", "add an equality"),
        ("CartesianProduct ((a#1 < b#2))", "bucket the range"),
        ("BroadcastNestedLoopJoin BuildRight, Inner, ((a#1 = b#2) OR (c#3 = d#4))", "split"),
        (
            "BroadcastNestedLoopJoin BuildRight, LeftAnti, ((a#1 = b#2) OR isnull((a#1 = b#2)))",
            "NOT EXISTS",
        ),
    ],
)
def test_a_join_without_a_key_gets_the_fix_for_its_condition(
    tmp_path: Path, text: str, fix: str
) -> None:
    (first,) = joined(tmp_path, text)
    assert first.rule == "join-without-key"
    assert fix in first.do


def test_a_join_of_few_pairs_is_no_problem(tmp_path: Path) -> None:
    assert joined(tmp_path, "CartesianProduct", 9_000_000) == ()
