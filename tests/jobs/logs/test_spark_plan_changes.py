"""Plan changes by adaptive execution in event logs."""

from __future__ import annotations

from typing import Any

import pytest

from event_log import START, Write, event
from venturi.jobs.logs import spark, spark_plans
from venturi.jobs.logs.find import spark_logs
from venturi.jobs.stages.queries import changes_of
from venturi.record.job_account import JobAccount

SQL = "org.apache.spark.sql.execution.ui.SparkListenerSQL"
# The numbers of columns and of plans differ between the two.
FIRST = (
    "AdaptiveSparkPlan isFinalPlan=false",
    "SortMergeJoin [k#1L], [k#4L], Inner",
    "Sort [k#1L ASC NULLS FIRST], false, 0",
    "Sort [k#4L ASC NULLS FIRST], false, 0",
    "Exchange hashpartitioning(k#1L, 200), ENSURE_REQUIREMENTS, [plan_id=7]",
    "FileScan parquet [k#1L]",
)
LAST = (
    "AdaptiveSparkPlan isFinalPlan=true",
    "WholeStageCodegen (3)",
    "BroadcastHashJoin [k#91L], [k#94L], Inner, BuildRight, false",
    "InputAdapter",
    "ShuffleQueryStage 0",
    "Exchange hashpartitioning(k#91L, 200), ENSURE_REQUIREMENTS, [plan_id=80]",
    "FileScan parquet [k#91L]",
)


def plan(*texts: str) -> dict[str, Any]:
    """A plan of these operators, each above the next."""
    found: list[dict[str, Any]] = []
    for text in reversed(texts):
        found = [
            {
                "nodeName": text.partition(" ")[0],
                "simpleString": text,
                "children": found,
                "metadata": {},
                "metrics": [],
            }
        ]
    return found[0]


def begun(query: int, *texts: str) -> bytes:
    info = plan(*texts)
    return event(f"{SQL}ExecutionStart", executionId=query, sparkPlanInfo=info, time=2_000)


def goes_on(query: int, *texts: str) -> bytes:
    info = plan(*texts)
    return event(f"{SQL}AdaptiveExecutionUpdate", executionId=query, sparkPlanInfo=info)


def over(query: int) -> bytes:
    return event(f"{SQL}ExecutionEnd", executionId=query, time=3_000, errorMessage="")


def read(write: Write, *lines: bytes) -> JobAccount:
    return spark.read(spark_logs(write(START + b"".join(lines)))[0])


def test_a_join_that_another_took_the_place_of_is_told_by_its_key(write: Write) -> None:
    account = read(write, begun(7, *FIRST), goes_on(7, "Scan a"), goes_on(7, *LAST), over(7))
    assert account.plan_changes is not None
    assert account.plan_changes.rows() == [
        (7, False, "SortMergeJoin [k], [k], Inner", 1),
        (7, False, "Sort [k ASC NULLS FIRST], false, 0", 2),
        (7, True, "BroadcastHashJoin [k], [k], Inner, BuildRight, false", 1),
    ]
    assert changes_of(account) == {
        7: (
            "SortMergeJoin [k] became BroadcastHashJoin [k]; removed: Sort [k ASC NULLS FIRST], "
            "false, 0 (2 times)"
        )
    }


def test_what_stays_or_is_only_wrapped_is_no_change(write: Write) -> None:
    wrapped = ("AdaptiveSparkPlan isFinalPlan=true", "WholeStageCodegen (1)", *FIRST[1:])
    account = read(
        write,
        begun(0, *FIRST),
        goes_on(0, *LAST),
        goes_on(0, *wrapped),
        over(0),
        begun(1, *FIRST),
        over(1),
    )
    assert account.plan_changes is None
    assert changes_of(account) == {}


@pytest.mark.parametrize(
    ("first", "last", "said"),
    [
        (
            "SortMergeJoin [a#1], [b#2], LeftOuter",
            "SortMergeJoin(skew=true) [a#1], [b#2], LeftOuter",
            "SortMergeJoin [a], [b] became SortMergeJoin(skew=true) [a], [b]",
        ),
        (
            "BroadcastHashJoin [a#1], [a#2], Inner, BuildRight, false",
            "BroadcastHashJoin [a#1], [a#2], Inner, BuildLeft, false",
            "BroadcastHashJoin [a], [a], Inner, BuildRight, false became "
            "BroadcastHashJoin [a], [a], Inner, BuildLeft, false",
        ),
        (
            "SortMergeJoin [a#1], [a#2], Inner",
            "BroadcastHashJoin [b#1], [b#2], Inner",
            "removed: SortMergeJoin [a]; new: BroadcastHashJoin [b]",
        ),
        ("Scan a", "AQEShuffleRead local", "removed: Scan a; new: AQEShuffleRead local"),
    ],
)
def test_changes_in_words(first: str, last: str, said: str, write: Write) -> None:
    account = read(write, begun(0, first), goes_on(0, last))
    assert changes_of(account) == {0: said}


def test_of_a_plan_that_is_not_known_no_change_is_told(write: Write) -> None:
    deep = FIRST * 60
    account = read(
        write,
        goes_on(1, *LAST),  # its beginning is not in the log
        begun(2, *deep),
        goes_on(2, *LAST),
        begun(3, *FIRST),
        goes_on(3, *LAST),
        goes_on(3, *deep),
        event(f"{SQL}ExecutionStart", executionId=4, time=2_000),
        goes_on(4, *LAST),
    )
    assert account.reading.skipped[f"{SQL}AdaptiveExecutionUpdate (the plan in it)"] == 1
    assert account.plan_changes is None


def test_first_plans_are_held_up_to_a_bound(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_plans, "_FIRST_HELD", 2)
    starts = [begun(query, f"Scan {query}") for query in range(3)]
    changes = [goes_on(query, "Scan x") for query in range(3)]
    assert changes_of(read(write, *starts, *changes)).keys() == {1, 2}
    one_by_one = [
        line
        for query in range(3)
        for line in (begun(query, f"Scan {query}"), goes_on(query, "Scan x"), over(query))
    ]
    assert changes_of(read(write, *one_by_one)).keys() == {0, 1, 2}


def test_changes_beyond_a_bound_are_counted(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_plans, "_CHANGES_KEPT", 3)
    lines = [
        line
        for query in range(2)
        for line in (begun(query, "Scan a"), goes_on(query, "Scan b"), goes_on(query, "Scan c"))
    ]
    account = read(write, *lines)
    assert changes_of(account).keys() == {0}
    assert account.reading.damaged == {f"{SQL}AdaptiveExecutionUpdate (too many)": 2}
