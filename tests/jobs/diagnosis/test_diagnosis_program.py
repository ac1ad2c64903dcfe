"""Findings about a program that does its own work while no query runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from event_log import SparkLog
from venturi.jobs.diagnosis.case import FindingScope
from venturi.jobs.diagnosis.find import Finding, diagnose
from venturi.jobs.logs import spark
from venturi.jobs.logs.find import spark_logs
from venturi.jobs.stages.analysis import analyse
from venturi.jobs.stages.timeline import timeline
from venturi.record.job_account import JobAccount

FAULTS = Path(__file__).parents[2] / "data" / "spark" / "4.3.0" / "faults"
SOUND = sorted(FAULTS.glob("*-sound.zstd"))


def found(account: JobAccount) -> dict[str, Finding]:
    line = timeline(account)
    return {each.rule: each for each in diagnose(line, analyse(account, None, line)).findings}


def paused(
    *pauses_s: float, work_s: float = 10, queries: bool = True, step: int = 1, **settings: str
) -> SparkLog:
    """An application that pauses for each of `pauses_s`, and works for `work_s` behind each: a job,
    the numbers of which are `step` apart, and mostly a query around it."""
    log = SparkLog(**settings)
    log.executor("1", 1, 0)
    now_s = 0.0
    for n, pause_s in enumerate(pauses_s):
        from_s, now_s = now_s + pause_s, now_s + pause_s + work_s
        if queries:
            log.query(n, from_s, now_s)
        log.job(n * step, from_s, now_s, [n])
        log.stage(n, from_s, now_s, 1)
        log.task(n, from_s, now_s)
    log.end(now_s)
    return log


def gap(folder: Path, log: SparkLog) -> Finding | None:
    return found(log.account(folder)).get("driver-gap")


def test_a_long_pause_is_told_with_what_was_asked_before_and_after_it(tmp_path: Path) -> None:
    told = gap(tmp_path, paused(20, 30, 6))
    assert told is not None
    assert told.says == (
        "outside its queries and jobs the program took 36.0 s, 30.0 s of it between query 0 "
        "(collect at app.py:0) and query 1 (collect at app.py:1)"
    )
    assert told.where == (
        FindingScope(query=0, operator="collect at app.py:0"),
        FindingScope(query=1, operator="collect at app.py:1"),
    )
    assert told.replayed_s == pytest.approx(30)
    assert told.share == pytest.approx(told.saving_s / 86)
    assert (told.confidence, "notebook" in told.assumes) == ("low", True)


def test_the_pause_may_be_between_jobs_that_are_of_no_query(tmp_path: Path) -> None:
    jobs = gap(tmp_path, paused(0, 40, queries=False))
    assert jobs is not None
    assert jobs.says.endswith("between job 0 (collect at app.py:0) and job 1 (collect at app.py:1)")
    assert jobs.where[1] == FindingScope(operator="job 1 (collect at app.py:1)")


@pytest.mark.parametrize(
    ("pause_s", "work_s", "told"),
    [
        (6, 5, True),
        (4.9, 2, False),  # over a half, and less than 5 s
        (30, 40, False),  # 30 of 110 s are not 30 %
    ],
)
def test_short_pauses_are_left_alone(
    pause_s: float, work_s: float, *, told: bool, tmp_path: Path
) -> None:
    assert (gap(tmp_path, paused(0, pause_s, work_s=work_s)) is not None) is told


@pytest.mark.parametrize(
    ("was", "typed"),
    [
        (b"at app.py:", b"at <stdin>:"),
        (b"at app.py:", b"at <console>:"),
        (b"at app.py:", b"at <ipython-input-7-0a1b2c>:"),
        (b"at app.py:", b"at 1234567890.py:"),  # a cell of Jupyter
        (b'"App Name":"a"', b'"App Name":"PySparkShell"'),
        (b'"Spark Properties":{}', b'"Spark Properties":{"spark.repl.class.uri":"spark://h:1"}'),
    ],
)
def test_who_types_may_think(was: bytes, typed: bytes, tmp_path: Path) -> None:
    log = paused(2, 30)
    assert gap(tmp_path, log) is not None
    log.lines = [line.replace(was, typed) for line in log.lines]
    assert gap(tmp_path, log) is None


def test_what_passes_before_the_first_query_may_be_the_start_of_spark(tmp_path: Path) -> None:
    assert gap(tmp_path, paused(60, 2)) is None


def test_many_pauses_may_be_somebody_who_thinks(tmp_path: Path) -> None:
    assert gap(tmp_path, paused(0, *[10.0] * 5)) is not None
    assert gap(tmp_path, paused(0, *[10.0] * 6)) is None


def test_what_a_stream_waits_for_and_what_the_log_lacks_is_no_pause(tmp_path: Path) -> None:
    stream = paused(2, 30)
    stream.batch(0, 2, 10, 1_000, 0, addBatch=10)
    assert gap(tmp_path, stream) is None
    assert gap(tmp_path, paused(2, 30, step=2)) is None


def test_a_loop_of_queries_is_told_instead(tmp_path: Path) -> None:
    log = SparkLog()
    log.executor("1", 1, 0)
    for n in range(40):
        from_s = 1.5 * n + (40 if n >= 20 else 0)
        log.query(n, from_s, from_s + 1, name="collect at app.py:7")
    log.end(100)
    assert set(found(log.account(tmp_path))) == {"driver-loop"}


@pytest.mark.parametrize("log", SOUND, ids=lambda log: log.stem)
def test_a_sound_program_has_none(log: Path) -> None:
    assert "driver-gap" not in found(spark.read(spark_logs(log)[0]))
