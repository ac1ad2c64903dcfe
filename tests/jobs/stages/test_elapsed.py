"""The parts of an application's time, from small logs with an obvious result."""

from __future__ import annotations

from pathlib import Path

import pytest

from event_log import SparkLog
from venturi.jobs.stages.analysis import analyse
from venturi.jobs.stages.stage import Analysis


def of(log: SparkLog, folder: Path) -> Analysis:
    """The analysis of `log`; all parts in it must add up."""
    found = analyse(log.account(folder))
    assert sum(found.verdict.shares.values()) == pytest.approx(1.0)
    for stage in found.stages:
        causes_s = sum(each.time_s or 0.0 for each in stage.causes) + stage.unattributed_s
        assert causes_s == pytest.approx(stage.task_s)
        assert sum(stage.verdict.shares.values()) == pytest.approx(1.0 if stage.task_s else 0.0)
    if (cores := found.cores) is not None:
        unused_s = sum(each.time_s for each in cores.unused)
        assert sum(each.time_s for each in cores.used) == pytest.approx(cores.used_s)
        assert cores.used_s + unused_s == pytest.approx(cores.offered_s)
    return found


def seconds(found: Analysis) -> dict[str, float]:
    """The time of each part."""
    of_s = found.verdict.of_s or 0.0
    return {part: round(share * of_s, 3) for part, share in found.verdict.shares.items()}


def one_left_running(**settings: str) -> SparkLog:
    """Four tasks on four slots from 4 s on: three take 10 s, the last has no recorded end."""
    log = SparkLog(**settings)
    log.executor("1", 4, 2)
    log.job(0, 4, None, [0])
    log.stage(0, 4, None, 4)
    for _ in range(3):
        log.task(0, 4, 14)
    log.task(0, 4, None)
    return log


def test_what_hangs_when_the_application_is_killed_is_named_first(tmp_path: Path) -> None:
    log = one_left_running()
    log.end(44)
    found = of(log, tmp_path)
    assert found.verdict.narrowest == "unfinished"
    assert found.verdict.sentence.startswith(
        "as far as the log goes: task 3 of stage 0 (collect at app.py:0) didn't end: it had "
        "run for 40.0 s, 4.0 times the median of the others, on executor 1 on h1, when the "
        "log ends; "
    )
    assert seconds(found) == {
        "cpu": 7.5,
        "unfinished": 10.0,
        "idle slots": 22.5,
        "start-up": 2.0,
        "before the first query": 2.0,
    }
    (stage,) = found.stages
    assert "a task running for 40.0 s, 4.0 times the median" in stage.verdict.sentence
    assert stage.task_s == 70.0
    assert found.cores is not None
    assert {each.what: each.time_s for each in found.cores.used} == {
        "tasks that succeeded": 30.0,
        "attempts without an end": 40.0,
    }


def test_a_task_without_an_end_ends_with_its_executor_or_its_stage(tmp_path: Path) -> None:
    gone = one_left_running()
    gone.add("ExecutorRemoved", **{"Timestamp": 1_700_000_024_000, "Executor ID": "1"})
    gone.end(44)
    ((task,),) = (stage.unfinished for stage in of(gone, tmp_path).stages)
    assert (task.age_s, task.until, task.hanging) == (20.0, "its executor was removed", True)
    failed = SparkLog()
    failed.executor("1", 4, 2)
    failed.job(0, 4, 30, [0], failed="Job 0 cancelled")
    failed.task(0, 4, None)
    failed.stage(0, 4, 30, 1, failed="Job 0 cancelled")
    failed.end(44)
    ((task,),) = (stage.unfinished for stage in of(failed, tmp_path).stages)
    assert (task.age_s, task.until, task.hanging) == (26.0, "its stage ended", True)


def test_a_task_whose_end_was_lost_hangs_not(tmp_path: Path) -> None:
    log = SparkLog()
    log.executor("1", 2, 0)
    log.job(0, 0, 20, [0])
    log.stage(0, 0, 20, 2)
    log.task(0, 0, 20)
    log.task(0, 0, None)
    log.end(20)
    found = of(log, tmp_path)
    assert seconds(found) == {"cpu": 10.0, "not in the log": 10.0}
    assert found.verdict.narrowest is None
    assert "has no end" not in found.verdict.sentence


def test_one_task_on_many_slots_uses_one(tmp_path: Path) -> None:
    log = SparkLog(**{"spark.task.cpus": "2"})
    for name in "1234":
        log.executor(name, 64, 0)
    log.job(0, 0, 100, [0])
    log.stage(0, 0, 100, 1)
    log.task(0, 0, 100)
    log.end(100)
    found = of(log, tmp_path)
    assert found.verdict.sentence.startswith(
        "idle slots took 99% of 1 min 40 s, most of it in stage 0 (collect at app.py:0), "
        "with at most 1 task running on 128 slots"
    )
    (stage,) = found.stages
    assert (stage.at_once, stage.slots, stage.slot_use) == (1, 128, pytest.approx(1 / 128))
    assert found.cores is not None
    assert (found.cores.offered_s, found.cores.used_s) == (25_600.0, 200.0)
    assert [(each.what, each.time_s) for each in found.cores.unused] == [
        ("no task was left to launch", 25_400.0)
    ]


def test_slots_are_those_that_were_there_at_each_moment(tmp_path: Path) -> None:
    log = SparkLog()
    log.executor("1", 2, 0)
    log.executor("2", 5, 10, 20)
    log.job(0, 0, 30, [0])
    log.stage(0, 0, 30, 3)
    for begin in (0, 10, 20):
        log.task(0, begin, begin + 10)
    log.end(40)
    found = of(log, tmp_path)
    (stage,) = found.stages
    assert (stage.slots, stage.slot_use) == (7, pytest.approx(30 / (20 + 70 + 20)))
    assert found.cores is not None
    assert found.cores.offered_s == 40 * 2 + 10 * 5
    assert {each.what: each.time_s for each in found.cores.unused} == {
        "no stage was active": 20.0,
        "no task was left to launch": 5 * 10.0 + 10.0,
        "tasks waited, and slots were free": 10.0 + 10.0,
    }


def test_stages_at_the_same_time_share_the_slots(tmp_path: Path) -> None:
    """A stage that waits for the slots of another is not idle; the time is counted once."""
    log = SparkLog()
    log.executor("1", 2, 0)
    log.job(0, 0, 20, [0, 1])
    for stage in (0, 1):
        log.stage(stage, 0, 20, 1)
    log.task(0, 0, 20)
    log.task(1, 0, 20)
    log.end(20)
    found = of(log, tmp_path)
    assert seconds(found) == {"cpu": 20.0}
    for stage in found.stages:
        assert stage.verdict.shares == pytest.approx({"cpu": 0.5, "tasks of other stages": 0.5})


def test_without_an_executor_a_stage_waits(tmp_path: Path) -> None:
    log = SparkLog()
    log.executor("1", 2, 50)
    log.job(0, 5, 60, [0])
    log.stage(0, 10, 60, 2)
    for _ in range(2):
        log.task(0, 50, 60)
    log.end(60)
    found = of(log, tmp_path)
    assert found.verdict.sentence.startswith("waiting for executors took 67% of 60.0 s")
    assert seconds(found) == {
        "waiting for executors": 40.0,
        "cpu": 10.0,
        "between stages": 5.0,
        "start-up": 5.0,
    }


def test_the_driver_s_time_is_told_apart(tmp_path: Path) -> None:
    log = SparkLog()
    log.executor("1", 1, 3)
    log.query(0, 10, 30, metadata_time=2_000, job_commit_time=5_000, time_to_build=500)
    log.job(0, 14, 20, [0])
    log.stage(0, 15, 20, 1)
    log.task(0, 15, 20)
    log.query(1, 35, None)
    log.end(41)
    found = of(log, tmp_path)
    assert seconds(found) == {
        "before the first query": 7.0,
        "committing output": 5.0,
        "listing files": 2.0,
        "broadcasting": 0.5,
        "planning queries": 6.5,
        "not in the log": 6.0,  # the second query may have ended
        "between stages": 1.0,
        "between queries": 5.0,
        "start-up": 3.0,
        "cpu": 5.0,
    }
    assert found.verdict.narrowest == "driver"
    assert found.verdict.sentence.startswith(
        "the driver took at least 73% of 41.0 s: before the first query 17%, planning queries 16%, "
    )


def test_a_timer_of_the_driver_takes_no_more_than_its_query_has(tmp_path: Path) -> None:
    """Two concurrent queries share the time; a commit while a job runs is the job's time."""
    log = SparkLog()
    log.executor("1", 1, 0)
    log.query(0, 0, 10, job_commit_time=9_000)
    log.query(1, 0, 10)
    log.end(10)
    assert seconds(of(log, tmp_path)) == {"committing output": 5.0, "planning queries": 5.0}


def test_a_program_that_uses_no_spark_for_long_is_named(tmp_path: Path) -> None:
    log = SparkLog()
    log.executor("1", 1, 1)
    for number in range(10):
        log.job(number, 4 + 10 * number, 5 + 10 * number, [number])
        log.stage(number, 4 + 10 * number, 5 + 10 * number, 1)
        log.task(number, 4 + 10 * number, 5 + 10 * number)
    log.end(95)
    found = of(log, tmp_path)
    assert found.verdict.sentence.startswith("the driver took 89% of 95.0 s: between queries 85%")
    assert seconds(found)["between queries"] == 81.0


def three_jobs(*, left_out: int | None = None, stage: bool = True) -> SparkLog:
    """Jobs of 10 s at 10, 30 and 50 s; of `left_out` nothing is in the log, or all but its job."""
    log = SparkLog()
    log.executor("1", 1, 2)
    for number in range(3):
        from_s = 10 + 20 * number
        if number != left_out or not stage:
            log.job(number, from_s, from_s + 10, [number])
        if number != left_out:
            log.stage(number, from_s, from_s + 10, 1)
        log.task(number, from_s, from_s + 10)
        if number == left_out:
            del log.lines[-2:]
    log.end(60)
    return log


def test_lost_jobs_are_neither_the_driver_nor_success(tmp_path: Path) -> None:
    whole = of(three_jobs(), tmp_path)
    assert whole.verdict.narrowest is None
    assert whole.verdict.sentence.startswith("two are about equal: the driver 50%")
    assert "not in the log" not in seconds(whole)
    found = of(three_jobs(left_out=1), tmp_path)
    assert found.verdict.sentence == (
        "the log lacks the events of 1 job and 1 task; cannot tell: time missing from "
        "log took 50% of 60.0 s"
    )
    assert seconds(found) == {
        "not in the log": 30.0,
        "cpu": 20.0,
        "before the first query": 8.0,
        "start-up": 2.0,
    }
    first = of(three_jobs(left_out=0), tmp_path)
    assert seconds(first)["not in the log"] == 28.0, "the start is known"


def test_a_job_whose_last_stage_is_not_there_is_not_the_drivers(tmp_path: Path) -> None:
    found = of(three_jobs(left_out=1, stage=False), tmp_path)
    assert found.verdict.sentence.startswith("the log lacks the events of 1 stage and 1 task; ")
    assert seconds(found)["not in the log"] == 10.0
    skipped = SparkLog()
    skipped.executor("1", 1, 0)
    skipped.job(0, 0, 10, [0, 1, 2])
    skipped.stage(2, 0, 10, 1)
    skipped.task(2, 0, 10)
    skipped.end(10)
    assert seconds(of(skipped, tmp_path)) == {"cpu": 10.0}, "stages 0 and 1 are skipped, not lost"


def test_a_stage_of_which_tasks_are_missing_is_not_idle(tmp_path: Path) -> None:
    log = SparkLog()
    log.executor("1", 2, 0)
    log.job(0, 0, 20, [0])
    log.stage(0, 0, 20, 3)
    log.task(0, 0, 20)
    for _ in range(2):
        log.task(0, 0, 10)
        del log.lines[-2:]
    log.task(0, 30, 30)
    log.end(40)
    found = of(log, tmp_path)
    assert found.verdict.sentence.startswith("the log lacks the events of 2 tasks; cannot tell: ")
    assert seconds(found)["not in the log"] == 10.0
    assert "idle slots" not in seconds(found)
