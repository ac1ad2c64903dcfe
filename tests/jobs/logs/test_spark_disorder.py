"""Logs of which lines are doubled, out of order, or another application's."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from event_log import END, START, SparkLog, Write, event
from venturi.jobs.failures.endings import is_wanted
from venturi.jobs.logs import spark
from venturi.jobs.logs.find import spark_logs
from venturi.jobs.logs.spark_queries import PLAN_CHANGED
from venturi.jobs.logs.trial import lost
from venturi.record.gaps import loss_cause
from venturi.record.importing.formats import Log
from venturi.record.job_account import AccountReading, JobAccount

DATA = Path(__file__).parents[2] / "data" / "spark"


def a_log() -> SparkLog:
    log = SparkLog()
    log.executor("1", 2, 1, 30, "Command exited with code 137")
    log.query(0, 2, 29)
    log.plan(
        0,
        ("HashAggregate", "HashAggregate", {"number of output rows": 7}),
        ("Exchange", "Exchange", {"data size": 8}),
    )
    so_far = ({7: 40, 8: 1_000}, {7: 100, 8: 1_500})
    for number in range(2):
        log.job(number, 3 + 10 * number, 12 + 10 * number, [number])
        log.stage(number, 3 + 10 * number, 12 + 10 * number, 4, metrics=so_far[number])
        log.batch(number, 3 + 10 * number, 9, 1_000, 50, addBatch=8)
        for index in range(4):
            log.task(number, 3 + 10 * number, 8 + 10 * number + index, index=index)
    log.end(31)
    return log


def tables(account: JobAccount) -> list[object]:
    keys = {
        "jobs": ["job_id"],
        "stages": ["stage_id"],
        "tasks": ["task_id"],
        "queries": ["query_id"],
        "operators": ["node"],
        "operator_metrics": ["node", "stage_id"],
        "batches": ["batch_id"],
    }
    found = [account.table(name).sort(key).to_dicts() for name, key in keys.items()]
    return [*found, account.executors.to_dicts(), account.application]


@pytest.mark.parametrize("seed", range(4))
def test_lines_that_are_doubled_and_out_of_order_count_once(seed: int, tmp_path: Path) -> None:
    told, log = tables(a_log().account(tmp_path)), a_log()
    # Metrics need the plan, which precedes them.
    head = [log.lines.pop(0), *(line for line in log.lines if PLAN_CHANGED.encode() in line)]
    rest = log.lines * 2
    random.Random(seed).shuffle(rest)
    log.lines = [*head, *rest]
    account = log.account(tmp_path)
    assert tables(account) == told
    assert account.reading.skipped == {"SparkListenerTaskEnd (duplicate)": 8}


def test_a_log_whose_jobs_were_lost_is_not_of_one_that_failed(tmp_path: Path) -> None:
    log = a_log()
    log.lines = [line for line in log.lines if b"SparkListenerJob" not in line]
    told = log.account(tmp_path).application
    assert told.outcome == "unfinished"
    assert told.reason == "the log has stages but no job: it lacks events"


def test_two_applications_in_a_file_are_two_accounts(tmp_path: Path) -> None:
    log, other = a_log(), a_log()
    other.job(2, 40, 50, [2])
    expected = [tables(each.account(tmp_path)) for each in (log, other)]
    # The environment of an application stands before its id.
    other.lines[1], other.lines[2] = other.lines[2], other.lines[1]
    log.lines += [line.replace(b'"App ID":"a1"', b'"App ID":"a2"') for line in other.lines]
    log.account(tmp_path)  # writes the file
    one, two = spark.accounts(spark_logs(tmp_path)[0])
    assert [one.application.id, two.application.id] == ["a1", "a2"]
    assert tables(one) == expected[0]
    assert tables(two)[:-1] == expected[1][:-1]
    assert one.reading.truncated is None


def test_two_real_logs_in_a_file_lose_no_event_to_each_other(write: Write) -> None:
    logs = [(DATA / version / "join.log").read_bytes() for version in ("3.5.9", "4.3.0")]
    file = write(b"".join(logs))
    found = spark.accounts(Log(file, (file,)))
    assert [each.application.engine_version for each in found] == ["3.5.9", "4.3.0"]
    assert [each.reading.events for each in found] == [log.count(b"\n") for log in logs]
    assert not any(sum(each.reading.dropped.values()) for each in found)


def test_a_log_whose_files_each_begin_anew_is_one_application(tmp_path: Path) -> None:
    told, log = tables(a_log().account(tmp_path)), a_log()
    log.lines.insert(9, log.lines[0])
    assert tables(log.account(tmp_path)) == told
    assert len(spark.accounts(spark_logs(tmp_path)[0])) == 1


def test_a_value_of_a_wrong_type_is_named_with_its_line(write: Write) -> None:
    info = {"Task ID": 0, "Index": 0, "Attempt": "zero", "Launch Time": 2_000, "Host": 7}
    ended = {
        "Stage ID": 0,
        "Stage Attempt ID": 0,
        "Task End Reason": {"Reason": "Success"},
        "Task Info": info,
        "Task Metrics": {"Executor Run Time": "12", "Result Size": True},
    }
    lines = [event("SparkListenerTaskEnd", **ended)] * 2
    account = spark.read(spark_logs(write(START + b"".join(lines) + END))[0])
    told = [said for said in account.reading.wrong if "'Executor Run Time'" in said]
    assert told == [
        "2 values of 'Executor Run Time' in events SparkListenerTaskEnd are of a wrong type and "
        "were left out; the first stands in line 3: '12'"
    ]
    assert len(account.reading.wrong) == 4
    assert account.reading.lost
    assert account.tasks["executorRunTime"].to_list() == [None]


def test_parallel_jobs() -> None:
    """Two of three job ends were dropped; every stage and the application ended."""
    path = Path(__file__).parents[2] / "data/cases/parallel-jobs/no-job-end.log"
    account = spark.read(spark_logs(path)[0])
    assert account.application.outcome == "succeeded"
    (said,) = lost(account.reading)
    assert said.startswith("2 job ends missing: Spark's listener queue dropped events")
    assert "spark.scheduler.listenerbus.eventqueue.capacity" in said
    assert account.jobs["outcome"].to_list() == ["succeeded"] * 3
    assert (account.jobs["ended_ms"] >= account.jobs["submitted_ms"]).all()


def test_a_job_whose_result_stage_never_ran_has_no_end(tmp_path: Path) -> None:
    log = SparkLog()
    log.job(0, 0, None, [0, 1])
    log.stage(0, 0, 10, 1)
    log.task(0, 0, 10)
    log.end(20)
    account = log.account(tmp_path)
    assert account.application.outcome == "unfinished"
    assert account.application.reason == "no end of job 0 is recorded"


@pytest.mark.parametrize(
    ("dropped", "remedy"),
    [
        ({"log part": 1, "log start": 1}, "import all of its parts"),
        ({"log start": 1, "task end": 2}, "import the whole file"),
        ({"task end": 2}, "eventqueue.capacity"),
    ],
)
def test_the_remedy_fits_what_a_log_lacks(dropped: dict[str, int], remedy: str) -> None:
    reading = AccountReading((), "", 0, None, 0, dropped=dropped)
    assert remedy in loss_cause(reading).remedy
    assert "copy" in loss_cause(replace(reading, dropped={"task end": 1}, malformed=2)).remedy


@pytest.mark.parametrize(
    ("reason", "wanted"),
    [
        ("Executor killed by driver.", True),
        ("Executor 2 idle for 60 s", True),
        ("The executor with id 2 exited with exit code 0(success).", True),
        ("The executor with id 2 exited with exit code 137(SIGKILL).", False),
        ("container state: terminated exit code: 0 termination reason: Completed", True),
        ("Command exited with code 1", False),
        (None, False),
    ],
)
def test_an_executor_that_is_not_needed_is_not_lost(reason: str | None, wanted: bool) -> None:
    assert is_wanted(reason) is wanted
