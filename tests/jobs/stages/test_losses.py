"""Wasted work, its reasons, and the meaning of the end of an executor."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from event_log import SparkLog
from venturi.jobs.logs import mapreduce
from venturi.jobs.logs.find import histories
from venturi.jobs.stages.analysis import analyse
from venturi.jobs.stages.losses import explained
from venturi.jobs.stages.stage import Analysis

HISTORIES = Path(__file__).parents[2] / "data" / "mapreduce"
LOST_NODE = {
    "Reason": "ExecutorLostFailure",
    "Executor ID": "2",
    "Exit Caused By App": True,
    "Loss Reason": "Command exited with code 137",
}


def vain(found: Analysis) -> list[tuple[str, int, float]]:
    return [(each.what, each.n, round(each.time_s, 3)) for each in found.losses]


def test_an_error_that_was_retried_is_told_by_its_last_line(tmp_path: Path) -> None:
    trace = (
        "[PYTHON_EXCEPTION] An exception was thrown from the Python worker: Traceback (most recent "
        'call last):\n  File "worker.py", line 4327, in invoke_udf\n    run_process()\n'
        '  File "app.py", line 56, in f\n    raise ValueError("bad row")\n'
        "ValueError: bad row\n SQLSTATE: 38000"
    )
    error = {"Reason": "ExceptionFailure", "Class Name": "PythonException", "Description": trace}
    log = SparkLog()
    log.executor("1", 1, 0)
    log.job(0, 0, 100, [0])
    log.stage(0, 0, 100, 1)
    for begin in (0, 30):
        log.task(0, begin, begin + 30, index=0, end=error)
    log.task(0, 60, 100, index=0)
    log.end(100)
    found = analyse(log.account(tmp_path))
    assert vain(found) == [("attempts with an error", 2, 60.0)]
    assert found.losses[0].said == "ValueError: bad row, at app.py line 56"
    assert found.verdict.sentence.startswith(
        "60% of the task time (60.0 s) was wasted, most of it by attempts with an error (2 x "
        "ValueError: bad row, at app.py line 56); CPU took 100% of 1 min 40 s"
    )


def test_a_killed_executor_takes_what_it_wrote_with_it(tmp_path: Path) -> None:
    log = SparkLog()
    log.executor("1", 1, 0)
    log.executor("2", 1, 0, 30, "Command exited with code 137")
    log.executor("3", 1, 0, 50, "Executor 3 idle for 60 s, removed")
    log.job(0, 0, 60, [0])
    log.stage(0, 0, 60, 3)
    log.task(0, 0, 20, index=0)
    log.task(0, 0, 20, index=1, executor="2")
    resubmitted = log.lines[-1].replace(b'"Reason":"Success"', b'"Reason":"Resubmitted"')
    log.task(0, 20, 30, index=2, executor="2", end=LOST_NODE, metrics={})
    log.lines.append(resubmitted)
    log.task(0, 30, 40, index=2)
    log.task(0, 40, 60, index=1)
    log.end(60)
    found = analyse(log.account(tmp_path))
    assert vain(found) == [
        ("successful attempts with lost output", 1, 20.0),
        ("attempts on lost executors", 1, 10.0),
    ]
    assert "signal 9" in (found.losses[1].meaning or "")
    (gone,) = found.lost_executors
    assert (gone.executor_id, gone.host, gone.at_s) == ("2", "h2", 30.0)
    assert "1 executor was lost: it was killed (signal 9)" in found.verdict.sentence
    assert found.cores is not None
    used = {each.what: each.time_s for each in found.cores.used}
    assert used["tasks that succeeded, but their output was lost"] == 20.0


def test_a_stage_that_is_run_again_for_lost_blocks_is_counted_once(tmp_path: Path) -> None:
    fetch: dict[str, Any] = {"Reason": "FetchFailed", "Message": "no block 7", "Shuffle ID": 0}
    log = SparkLog()
    log.executor("1", 2, 0)
    log.job(0, 0, 60, [0, 1])
    log.stage(0, 0, 20, 2)
    for index in (0, 1):
        log.task(0, 0, 20, index=index)
    log.stage(1, 20, 25, 1, failed="FetchFailed")
    log.task(1, 20, 25, index=0, end=fetch, metrics={})
    log.stage(0, 25, 40, 1, attempt=1)
    log.task(0, 25, 40, index=1, attempt=1)
    log.stage(1, 40, 60, 1, attempt=1)
    log.task(1, 40, 60, index=0, attempt=1)
    log.end(60)
    assert vain(analyse(log.account(tmp_path))) == [
        ("tasks repeated after an earlier attempt at their stage", 1, 15.0),
        ("attempts that could not fetch shuffle data", 1, 5.0),
    ]


def test_a_lost_race_is_no_failure_and_little_is_not_said(tmp_path: Path) -> None:
    log = SparkLog()
    log.executor("1", 2, 0)
    log.job(0, 0, 100, [0])
    log.stage(0, 0, 100, 1)
    race = {"Reason": "TaskKilled", "Kill Reason": "another attempt succeeded"}
    log.task(0, 99.5, 100, index=0, end=race)
    log.task(0, 0, 100, index=0)
    log.end(100)
    found = analyse(log.account(tmp_path))
    assert vain(found) == [("attempts that lost to a faster copy", 1, 0.5)]
    assert "in vain" not in found.verdict.sentence


@pytest.mark.parametrize(
    ("reason", "meaning"),
    [
        ("Command exited with code 137", "signal 9"),
        ("Container from a bad node: container_1 on host: h. Exit status: 143.", "signal 15"),
        ("Remote RPC client disassociated. Likely due to containers exceeding thresholds", "host"),
        ("Executor heartbeat timed out after 128514 ms", "no heartbeat"),
        ("Container killed by YARN for exceeding physical memory limits. 5.5 GB", "memoryOverhead"),
        ("The executor with id 7 exited with exit code 52(OOM).", "ran out of heap memory"),
        ("The executor with id 137 is gone", None),
        ("Command exited with code 3", None),
        (None, None),
    ],
)
def test_what_the_end_of_an_executor_means(reason: str | None, meaning: str | None) -> None:
    said = explained(reason, "spark")
    assert said is None if meaning is None else meaning in (said or "")


def test_a_job_of_which_all_was_in_vain_says_so_first() -> None:
    (log,) = (each for each in histories(HISTORIES) if "TeraSort-" in each.path.name)
    found = analyse(mapreduce.read(log))
    assert found.verdict.sentence.startswith(
        "100% of the task time (44.3 s) was wasted, most of it by attempts with an error (9 "
        "x Error: java.lang.IllegalArgumentException: can't read partitions file (caused by "
        "java.io.FileNotFoundException: File _partition.lst does not exist)); cannot "
        "tell: "
    )
    assert vain(found)[1] == ("killed attempts", 4, 7.666)
    assert "application master" in found.verdict.shares
