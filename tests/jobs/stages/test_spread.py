"""How the tasks of a stage differ: quantiles of their time and bytes read."""

from __future__ import annotations

from pathlib import Path

import pytest

from event_log import SparkLog
from venturi.jobs.stages.analysis import analyse
from venturi.jobs.stages.stage import TaskSpread

FAILED = {"Reason": "ExceptionFailure", "Class Name": "E", "Description": "bad"}


def stage(folder: Path, *tasks: tuple[float, int | None], failed: float = 0) -> list[TaskSpread]:
    """The spreads of a stage with tasks of these seconds and bytes (None: not recorded), one of
    which failed after `failed` seconds.
    """
    log = SparkLog()
    log.executor("1", 8, 0)
    log.job(0, 0, 90, [0])
    log.stage(0, 0, 90, len(tasks))
    for took_s, read in tasks:
        told = {} if read is None else {"Input Metrics": {"Bytes Read": read, "Records Read": 1}}
        log.task(0, 0, took_s, metrics={"Executor Run Time": round(took_s * 1e3)} | told)
    if failed:
        log.task(0, 0, failed, end=FAILED)
    log.end(90)
    return list(analyse(log.account(folder)).stages[0].spreads)


def test_quantiles_are_of_the_tasks_that_succeeded(tmp_path: Path) -> None:
    time, read = stage(tmp_path, (4, 40), (1, 100), (2, 20), (3, 30), failed=80)
    assert time == TaskSpread("task time", "s", 4, 1.0, 1.75, 2.5, 3.25, 4.0)
    assert read == TaskSpread("bytes read", "B", 4, 20.0, 27.5, 35.0, 55.0, 100.0)


def test_one_task_is_all_its_quantiles(tmp_path: Path) -> None:
    time, _ = stage(tmp_path, (7, 1))
    assert (time.n, time.least, time.quarter, time.median, time.most) == (1, 7, 7, 7, 7)


def test_the_median_is_that_of_skew(tmp_path: Path) -> None:
    log = SparkLog()
    log.executor("1", 3, 0)
    log.job(0, 0, 9, [0])
    log.stage(0, 0, 9, 3)
    for took_s in (1.3, 2.9, 8.1):
        log.task(0, 0, took_s)
    log.end(9)
    (found,) = analyse(log.account(tmp_path)).stages
    assert found.spreads[0].median == pytest.approx(found.skews[0].median)
    assert found.spreads[0].most == pytest.approx(found.skews[0].largest)


def test_what_is_not_recorded_has_no_quantiles_but_a_reason(tmp_path: Path) -> None:
    time, read = stage(tmp_path, (1, None), (2, None))
    assert (time.n, read.n, read.least, read.most, read.reason) == (
        2,
        0,
        None,
        None,
        "not recorded",
    )


def test_tasks_that_tell_nothing_are_left_out(tmp_path: Path) -> None:
    _, read = stage(tmp_path, (1, 10), (2, None), (3, 30))
    assert (read.n, read.least, read.median, read.most) == (2, 10, 20, 30)


def test_without_a_task_that_succeeded_there_is_none(tmp_path: Path) -> None:
    for found in stage(tmp_path, failed=5):
        assert (found.n, found.median, found.reason) == (0, None, "none of its tasks succeeded")
