"""The stages that a trial's recorder of block I/O gets from the job."""

from __future__ import annotations

from typing import Any

import polars as pl

from venturi.measure.trial.tracing import TracedStage, stages_of
from venturi.record.account_kind import ACCOUNT_KINDS
from venturi.record.job_account import AccountReading, Application, JobAccount


def account(engine: str, stages: list[dict[str, Any]], tasks: list[dict[str, Any]]) -> JobAccount:
    """An account of these stages and tasks alone."""

    def frame(table: str, rows: list[dict[str, Any]]) -> pl.DataFrame:
        return ACCOUNT_KINDS[engine].table(table, rows)

    return JobAccount(
        application=Application("app", "app", engine, "1"),
        reading=AccountReading((), "", 0, None, 0),
        jobs=frame("jobs", []),
        stages=frame("stages", stages),
        tasks=frame("tasks", tasks),
        executors=frame("executors", []),
        configuration={},
        chosen=(),
    )


def stage(
    number: int, name: str, span_ms: tuple[int, int | None], attempt: int = 0
) -> dict[str, Any]:
    began, ended = span_ms
    return {
        "stage_id": number,
        "attempt": attempt,
        "name": name,
        "submitted_ms": began,
        "ended_ms": ended,
    }


def task(number: int, of: int, **more: int) -> dict[str, Any]:
    return {"stage_id": of, "stage_attempt": 0, "task_id": str(number), **more}


def test_a_stage_of_spark_that_reads_a_shuffle_is_on_the_reduce_side() -> None:
    read = {"shuffleLocalBytesRead": 10}
    found = stages_of(
        account(
            "spark",
            [
                stage(0, "map", (1000, 2000)),
                stage(1, "save", (2000, 4000)),
                stage(1, "save", (4000, 5000), attempt=1),
                stage(2, "never ended", (5000, None)),
            ],
            [task(0, 0), task(1, 0), task(5, 0), task(3, 1, **read), task(2, 1), task(9, 2)],
        )
    )
    assert found == (
        TracedStage("0", "map", 1.0, 2.0, ((0, 1), (5, 5))),
        TracedStage("1", "reduce", 2.0, 4.0, ((2, 3),)),
        TracedStage("1.1", "map", 4.0, 5.0),
    )


def test_hadoops_stages_are_its_map_and_its_reduce() -> None:
    stages = [stage(0, "map", (0, 10)), stage(1, "reduce", (5, 20))]
    attempts = [{**task(0, 0), "task_id": "attempt_1_0001_m_000000_0"}]
    found = stages_of(account("mapreduce", stages, attempts))
    assert [(each.name, each.phase, each.tasks) for each in found] == [
        ("map", "map", ()),
        ("reduce", "reduce", ()),
    ]
