"""Ends that a Spark event log lacks, and the events that show them."""

from __future__ import annotations

from pathlib import Path

import pytest

from event_log import SparkLog
from venturi.jobs.diagnosis.find import diagnose
from venturi.jobs.logs.spark_ends import most_failures
from venturi.jobs.logs.trial import trial_of
from venturi.jobs.stages.analysis import analyse
from venturi.jobs.stages.causes import NOT_IN_LOG
from venturi.jobs.stages.elapsed import IDLE
from venturi.jobs.stages.timeline import timeline
from venturi.record.job_account import JobAccount
from venturi.terminal.job_screen import headline


def stage_facts(account: JobAccount) -> list[tuple[str | None, float | None, str | None]]:
    rows = account.stages.select("outcome", "ended_ms", "end_by").rows()
    return [
        (outcome, None if ended_ms is None else (ended_ms - 1_700_000_000_000) / 1e3, by)
        for outcome, ended_ms, by in rows
    ]


def test_a_stage_ends_with_the_last_of_its_tasks(tmp_path: Path) -> None:
    log = SparkLog()
    log.executor("1", 2, 0)
    log.job(0, 0, 20, [0])
    log.stage(0, 0, None, 2)
    log.task(0, 0, 8)
    log.task(0, 0, 10)
    log.end(30)
    account = log.account(tmp_path)
    assert stage_facts(account) == [("succeeded", 10.0, "tasks")]
    assert account.reading.dropped["stage end"] == 1


def test_a_stage_ended_at_most_when_its_job_did(tmp_path: Path) -> None:
    log = SparkLog()
    log.executor("1", 2, 0)
    log.job(0, 0, 20, [0])
    log.stage(0, 0, None, 2)
    log.task(0, 0, 8)
    log.task(0, 0, None)
    log.end(30)
    account = log.account(tmp_path)
    assert stage_facts(account) == [("succeeded", 20.0, "at most")]
    dropped = {name: n for name, n in account.reading.dropped.items() if n}
    assert dropped == {"stage end": 1, "task end": 1}


def test_a_job_fails_with_its_stage(tmp_path: Path) -> None:
    log = SparkLog()
    log.executor("1", 2, 0)
    log.job(0, 0, None, [0])
    log.stage(0, 0, 9, 1, failed="Job aborted due to stage failure: Task 0 in stage 0.0 failed")
    log.end(30)
    application = log.account(tmp_path).application
    assert application.outcome == "failed"
    assert "Task 0 in stage 0.0 failed" in str(application.reason)


def test_a_job_fails_with_a_task_that_failed_as_often_as_it_may(tmp_path: Path) -> None:
    log = SparkLog(**{"spark.master": "local[2]"})
    log.executor("driver", 2, 0)
    log.job(0, 0, None, [0])
    log.stage(0, 0, None, 2)
    log.task(0, 0, 5, executor="driver", end={"Reason": "ExceptionFailure", "Class Name": "E"})
    log.end(30)
    account = log.account(tmp_path)
    assert account.application.outcome == "failed"
    assert "task 0 of stage 0 failed 1 time: ExceptionFailure" in str(account.application.reason)
    assert stage_facts(account)[0][0] == "failed"


def test_the_outcome_of_the_last_job_may_be_unknown(tmp_path: Path) -> None:
    """A stage end of an earlier job is missing, too: the listener queue dropped events."""
    log = SparkLog()
    log.executor("1", 2, 0)
    log.job(0, 0, 10, [0])
    log.stage(0, 0, None, 1)
    log.task(0, 0, 8)
    log.job(1, 10, None, [1])
    log.stage(1, 10, None, 2)
    log.task(1, 10, 20)
    log.task(1, 10, None)
    log.end(30)
    account = log.account(tmp_path)
    assert account.outcome_unknown
    analysis = analyse(account)
    assert headline(trial_of(account), account, analysis).endswith("outcome unknown")
    assert not any(task.hanging for stage in analysis.stages for task in stage.unfinished)


@pytest.mark.parametrize(
    ("settings", "n"),
    [
        ({}, 4),
        ({"spark.task.maxFailures": "8"}, 8),
        ({"spark.master": "local[*]"}, 1),
        ({"spark.master": "local[2, 3]", "spark.task.maxFailures": "8"}, 3),
        ({"spark.master": "local-cluster[2,1,1024]"}, 4),
    ],
)
def test_failures_that_end_a_job(settings: dict[str, str], n: int) -> None:
    assert most_failures(settings) == n


def test_a_task_has_ended_when_others_held_all_slots(tmp_path: Path) -> None:
    log = SparkLog()
    log.executor("1", 2, 0)
    log.job(0, 0, 60, [0])
    log.stage(0, 0, 60, 4)
    log.task(0, 0, None)
    log.task(0, 0, 40)
    log.task(0, 10, 35)
    log.task(0, 35, 60)
    log.end(60)
    line = timeline(log.account(tmp_path))
    ((task,),) = (stage.unfinished for stage in analyse(line.account, None, line).stages)
    assert (task.age_s, task.until) == (10.5, "others held all slots of its executor")
    assert not task.hanging


def test_samples_of_a_log_with_missing_ends_are_unknown(tmp_path: Path) -> None:
    log = SparkLog()
    log.executor("1", 2, 0)
    log.job(0, 0, 20, [0])
    log.stage(0, 0, 20, 2)
    log.task(0, 0, 8, metrics={"Executor Run Time": 8_000})
    log.task(0, 0, None)
    log.end(30)
    samples = {each.metric: each for each in trial_of(log.account(tmp_path)).samples}
    run_time = samples["executorRunTime"]
    assert run_time.value is None
    assert run_time.missing_reason == "the log lacks 1 task end; the recorded part is 8 s"
    assert samples["task_attempts"].value is None
    assert samples["jobs"].value == 1.0


def two_queries() -> SparkLog:
    log = SparkLog()
    log.executor("1", 2, 1)
    for query in (0, 1):
        begin = 10 + 20 * query
        log.query(query, begin, begin + 15)
        log.job(query, begin + 1, begin + 10, [query], query=query)
        log.stage(query, begin + 1, begin + 10, 2)
        for _ in range(2):
            log.task(query, begin + 1, begin + 10)
    log.end(50)
    return log


@pytest.mark.parametrize(
    ("kind", "missing"),
    [
        ("SQLExecutionStart", "query start"),
        ("SQLExecutionEnd", "query end"),
        ("JobStart", "job start"),
        ("StageSubmitted", "stage start"),
        ("ExecutorAdded", "executor start"),
        ("ApplicationStart", "application start"),
        ("LogStart", "log start"),
        ("EnvironmentUpdate", "environment update"),
    ],
)
def test_an_event_that_others_prove_missing_is_counted(
    kind: str, missing: str, tmp_path: Path
) -> None:
    log = two_queries()
    assert not any(log.account(tmp_path).reading.dropped.values())
    place = max(place for place, each in enumerate(log.lines) if f"Listener{kind}" in str(each))
    del log.lines[place]
    account = log.account(tmp_path)
    assert {kind: n for kind, n in account.reading.dropped.items() if n} == {missing: 1}
    assert f"1 {missing}" in str(timeline(account).gaps.sentence)
    assert account.application.outcome == "succeeded"


def test_the_time_of_a_query_without_an_end_is_unknown(tmp_path: Path) -> None:
    log = two_queries()
    log.lines = [each for each in log.lines if b"SQLExecutionEnd" not in each]
    account = log.account(tmp_path)
    analysis = analyse(account)
    assert "planning queries" not in analysis.verdict.shares
    assert headline(trial_of(account), account, analysis).endswith("outcome of 2 queries unknown")


def test_without_the_start_of_an_executor_no_slots_are_idle(tmp_path: Path) -> None:
    log = two_queries()
    log.lines = [each for each in log.lines if b"ExecutorAdded" not in each]
    analysis = analyse(log.account(tmp_path))
    assert "idle slots" not in analysis.verdict.shares
    assert all(stage.slot_use is None for stage in analysis.stages)


def test_an_executor_without_a_start_has_the_cores_of_the_others(tmp_path: Path) -> None:
    """Whether it was idle before its first task is unknown."""
    log = SparkLog()
    log.executor("1", 1, 0)
    log.executor("2", 1, 0)
    log.job(0, 0, 100, [0])
    log.stage(0, 0, 100, 2)
    log.task(0, 0, 100, executor="1", index=0)
    log.task(0, 10, 100, executor="2", index=1)
    log.end(100)
    log.lines = [each for each in log.lines if not (b"ExecutorAdded" in each and b'"2"' in each)]
    account = log.account(tmp_path)
    assert account.reading.dropped["executor start"] == 1
    shares = analyse(account).verdict.shares
    assert shares == pytest.approx({"cpu": 0.95, NOT_IN_LOG: 0.05})
    sentence = diagnose(timeline(account), analyse(account)).sentence
    assert sentence.startswith("CPU-bound: tasks compute for at least 95% of 1 min 40 s")


def test_executors_without_a_start_have_the_cores_of_the_setting(tmp_path: Path) -> None:
    log = SparkLog(**{"spark.executor.cores": "2", "spark.master": "yarn"})
    log.executor("1", 2, 0)
    log.job(0, 0, 100, [0])
    log.stage(0, 0, 100, 1)
    log.task(0, 0, 100, executor="1", index=0)
    log.end(100)
    log.lines = [each for each in log.lines if b"ExecutorAdded" not in each]
    assert analyse(log.account(tmp_path)).verdict.shares == pytest.approx({"cpu": 0.5, IDLE: 0.5})


def test_a_job_that_the_end_of_the_context_cut_lacks_no_event(tmp_path: Path) -> None:
    log = SparkLog()
    log.executor("1", 1, 0)
    log.job(0, 0, None, [0])
    log.stage(0, 0, 50, 1, failed="Stage cancelled because SparkContext was shut down")
    log.task(0, 0, 50, end={"Reason": "TaskKilled", "Kill Reason": "Stage cancelled"})
    log.end(50)
    account = log.account(tmp_path)
    assert not any(account.reading.dropped.values())
    assert account.application.outcome == "failed"
    assert "SparkContext was shut down" in str(account.application.reason)


def test_a_trial_warns_of_a_job_without_any_event(tmp_path: Path) -> None:
    log = SparkLog()
    log.executor("1", 1, 0)
    for job in (0, 2):
        log.job(job, 10 * job, 10 * job + 10, [job])
        log.stage(job, 10 * job, 10 * job + 10, 1)
        log.task(job, 10 * job, 10 * job + 10)
    log.end(40)
    (warning,) = trial_of(log.account(tmp_path)).warnings
    assert warning.message.startswith("all events of 1 job missing: Spark's listener queue")


@pytest.mark.parametrize(
    ("kind", "unknown"),
    [
        ("SQLExecutionStart", ("the plan and the driver time of queries without a start",)),
        ("StageSubmitted", ()),
        ("LogStart", ("effects of Spark's version, which the log lacks",)),
    ],
)
def test_only_what_an_event_hides_is_unseen(
    kind: str, unknown: tuple[str, ...], tmp_path: Path
) -> None:
    log = two_queries()
    place = max(place for place, each in enumerate(log.lines) if f"Listener{kind}" in str(each))
    del log.lines[place]
    account = log.account(tmp_path)
    found = diagnose(timeline(account), analyse(account)).unseen
    assert tuple(each for each in found if "query plans" not in each) == unknown


def test_an_executor_that_a_task_calls_lost_was_removed(tmp_path: Path) -> None:
    """Its slots are unknown: it may have been removed at any time."""
    log = SparkLog()
    for name in "12":
        log.executor(name, 1, 0)
    log.job(0, 0, 60, [0])
    log.stage(0, 0, 60, 1)
    log.task(0, 0, 20, executor="1", index=0, end={"Reason": "ExecutorLostFailure"})
    log.task(0, 20, 60, executor="2", index=0)
    log.end(60)
    account = log.account(tmp_path)
    assert account.reading.dropped["executor removal"] == 1
    assert "idle slots" not in analyse(account).verdict.shares


def test_no_driver_time_where_a_whole_stage_is_missing(tmp_path: Path) -> None:
    """Numbers of tasks show that a stage of the job ran."""
    log = two_queries()
    log.lines = [
        each
        for each in log.lines
        if not (b"Task" in each and b'"Stage ID":0,' in each)
        and not (b"ListenerStage" in each and b'"Stage ID":0,' in each)
    ]
    account = log.account(tmp_path)
    assert "2 tasks" in str(timeline(account).gaps.sentence)
    assert "between stages" not in analyse(account).verdict.shares
