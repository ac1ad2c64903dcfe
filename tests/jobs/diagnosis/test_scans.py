"""Full scans: the advice depends on how the table is partitioned, as far as its plan shows that."""

from __future__ import annotations

from pathlib import Path

import pytest

from venturi.jobs.diagnosis.find import Finding, diagnose
from venturi.jobs.diagnosis.rules.scans import filter_condition, partition_columns
from venturi.jobs.logs import spark
from venturi.jobs.stages.analysis import analyse
from venturi.jobs.stages.timeline import timeline
from venturi.record.importing.formats import Log

LOGS = Path(__file__).parents[2] / "data/spark/4.3.0/faults"


def first_finding(path: Path) -> Finding:
    line = timeline(spark.read(Log(path, (path,))))
    return diagnose(line, analyse(line.account, None, line)).findings[0]


def scan(columns: str, schema: str) -> str:
    filters = "PartitionFilters: [], PushedFilters: []"
    return f"FileScan parquet [{columns}] Batched: true, {filters}, ReadSchema: struct<{schema}>"


def test_a_filter_on_a_function_is_replaced_by_one_on_the_partition_column() -> None:
    found = first_finding(LOGS / "partition-filter-missed-faulty.zstd")
    assert found.fix == "Filter on the partition column day in query 0"
    assert found.do.startswith("filter on day, by which the table is partitioned")
    assert found.sentence.endswith(" s (low confidence).")


def test_a_finding_has_its_filter_once_and_without_checks_for_null() -> None:
    found = first_finding(LOGS / "partition-filter-missed-faulty.zstd")
    condition = "date_format(cast(at as timestamp), yyyy-MM-dd, Some(Etc/UTC)) = 2026-01-07"
    assert found.says.endswith(f"kept 3.3% of them: {condition}")
    assert "date_format" not in found.do


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        (scan("at#0,body#1,day#2", "at:timestamp_ntz,body:binary"), ("day",)),
        (scan("a#0L,b#1", "a:bigint,b:string"), ()),
        (scan("a#0L,y#1,m#2", "a:struct<y:int,m:map<string,int>>"), ("y", "m")),
        (scan("a#0L,_metadata#1", "a:decimal(10,2)"), ()),
        (scan("a#0L,day#1", "a:bigint,b:struct<c:int..."), None),
        (scan("a#0L,day#1, ... 9 more fields", "a:bigint"), None),
        ("BatchScan t[a#0L] PartitionFilters: []", None),
    ],
)
def test_partition_columns_are_given_but_not_in_the_files(
    text: str, columns: tuple[str, ...] | None
) -> None:
    assert partition_columns(text) == columns


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("Filter (isnotnull(a#1) AND (a#1 = 5))", "a = 5"),
        ("Filter ((a#1 = 5) OR (b#2 = 6))", "(a = 5) OR (b = 6)"),
        ("Filter (isnotnull(a#1) AND isnotnull(b#2) AND (f(a#1) = b#2))", "f(a) = b"),
        ("Filter ((isnotnull(a#1) AND isnotnull(b#2)) AND ((a#1 = 5) AND (b#2 = 6)))",
         "(a = 5) AND (b = 6)"),
        ("Filter isnotnull(a#1)", "isnotnull(a)"),
    ],
)  # fmt: skip
def test_a_condition_has_no_checks_for_null(text: str, condition: str) -> None:
    assert filter_condition(text) == condition
