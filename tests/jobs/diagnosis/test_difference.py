"""Two jobs compared: slower parts, and differences."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from event_log import SparkLog
from venturi.jobs.diagnosis.changes import JobDifference, PartChange
from venturi.jobs.diagnosis.difference import difference, even_ratio
from venturi.jobs.diagnosis.find import diagnose
from venturi.jobs.logs import spark
from venturi.jobs.logs.find import spark_logs
from venturi.jobs.stages.analysis import analyse
from venturi.jobs.stages.timeline import timeline
from venturi.record.job_account import JobAccount
from venturi.record.trial import State

LOGS = Path(__file__).parents[2] / "data" / "spark" / "4.3.0" / "faults"


def between(one: JobAccount, other: JobAccount, after: State = State.SUCCEEDED) -> JobDifference:
    lines = [timeline(each) for each in (one, other)]
    jobs = [(line, analyse(line.account, None, line)) for line in lines]
    before, later = (diagnose(*each).findings for each in jobs)
    return difference(jobs[0], jobs[1], (State.SUCCEEDED, after), (before, later))


def job(
    folder: Path, task_s: float, n_bytes: int = 1 << 20, first_s: float = 10, **settings: str
) -> JobAccount:
    """A query of two tasks on two slots, which read `n_bytes` each; it begins after `first_s`."""
    log = SparkLog(**settings)
    log.executor("1", 2, 0)
    end_s = first_s + task_s
    log.query(0, first_s, end_s, name="save at app.py:7")
    log.plan(0, ("Scan parquet", "FileScan parquet [a#1]", {"number of output rows": 1}))
    log.job(0, first_s, end_s, [0])
    log.stage(0, first_s, end_s, 2, metrics={1: 5})
    ran = {
        "Executor Run Time": round(task_s * 1e3),
        "Executor CPU Time": round(task_s * 1e9),
        "Input Metrics": {"Bytes Read": n_bytes, "Records Read": 1},
    }
    for _ in range(2):
        log.task(0, first_s, end_s, metrics=ran)
    log.end(end_s)
    return log.account(folder)


def test_parts_add_up_and_data_and_settings_are_named(tmp_path: Path) -> None:
    one = job(tmp_path, 20, **{"spark.sql.shuffle.partitions": "200"})
    other = job(tmp_path, 50, 4 << 20, **{"spark.app.id": "x"})
    found = between(one, other)
    assert sum(each.after_s - each.before_s for each in found.parts) == pytest.approx(30)
    assert "it took 30.0 s longer: 60.0 s instead of 30.0 s" in found.sentence
    assert "input was 4 times as much" in found.sentence
    (setting,) = found.settings  # ids of one execution don't count
    assert (setting.key, setting.before, setting.after) == (
        "spark.sql.shuffle.partitions",
        "200",
        None,
    )
    assert [(each.before_s, each.after_s) for each in found.stages] == [(20, 50)]
    assert found.plans == ()


def test_data_that_nearly_vanished_is_told_by_its_amounts(tmp_path: Path) -> None:
    found = between(job(tmp_path, 20, 80 << 30), job(tmp_path, 20, 1 << 20))
    assert "input was 2.0 MiB instead of 160.0 GiB" in found.sentence


def test_of_two_that_are_alike_nothing_is_blamed(tmp_path: Path) -> None:
    found = between(job(tmp_path, 20), job(tmp_path, 40))
    assert (found.settings, found.plans) == ((), ())
    assert "whether this is noise" in found.sentence
    assert "about as long" in between(job(tmp_path, 20), job(tmp_path, 20)).sentence


def test_a_slow_start_of_the_driver_says_what_to_do(tmp_path: Path) -> None:
    quick, slow = job(tmp_path, 20), job(tmp_path, 25, first_s=40)
    found = between(quick, slow).start_up
    assert found is not None
    assert found.startswith("30.0 s of the difference is before the first query")
    assert "Repeat both runs. If the second stays slower" in found
    back = between(slow, quick).start_up
    assert back is not None
    assert "If the first stays slower" in back
    assert between(quick, job(tmp_path, 60)).start_up is None
    assert between(quick, slow, State.FAILED).start_up is None


def test_another_plan_is_told_by_its_operators() -> None:
    faulty, sound = (
        spark.read(spark_logs(LOGS / f"missed-broadcast-{kind}.zstd")[0])
        for kind in ("faulty", "sound")
    )
    found = between(faulty, sound)
    assert "1 query has a different plan" in found.sentence
    (plan,) = found.plans
    assert any("SortMergeJoin" in each for each in plan.gone)
    assert any("BroadcastHashJoin" in each for each in plan.new)
    assert found.settings[0].key == "spark.sql.autoBroadcastJoinThreshold"
    assert {each.before for each in found.stages if each.after is None} != set()


@pytest.mark.parametrize(
    ("program", "says"),
    [
        ("driver-loop", "was to save about"),
        ("partition-count", "the second job took"),
    ],
)
def test_a_finding_that_is_gone_says_if_its_promise_held(program: str, says: str) -> None:
    faulty, sound = (
        spark.read(spark_logs(LOGS / f"{program}-{kind}.zstd")[0]) for kind in ("faulty", "sound")
    )
    promise = between(faulty, sound).promise
    assert promise is not None
    assert says in promise
    assert between(faulty, faulty).promise is None
    back = between(sound, faulty).promise
    assert back is None or "longer" in back


def test_who_does_not_come_to_its_end_is_not_faster(tmp_path: Path) -> None:
    whole = job(tmp_path, 20)
    app = whole.application
    cut = replace(whole, application=replace(app, ended_ms=None, outcome="unfinished"))
    assert between(whole, cut).sentence.startswith("the end of the second is unknown (")
    assert "; 1 stage that ended in both took 20.0 s instead of 20.0 s" in (
        between(whole, cut).sentence
    )
    failed = replace(whole, application=replace(app, outcome="failed"))
    both = between(failed, cut).sentence
    assert both.startswith("the first failed after 30.0 s and the end of the second is unknown (")
    for state in (State.FAILED, State.INTERRUPTED, State.INVALID):
        assert "cannot be compared" in between(whole, job(tmp_path, 2), state).sentence


def test_two_programs_are_said_to_be_two_unless_only_a_number_differs(tmp_path: Path) -> None:
    def named(name: str) -> JobAccount:
        made = job(tmp_path, 20)
        return replace(made, application=replace(made.application, name=name))

    day, next_day, other = named("sales 2026-01-30"), named("sales 2026-02-1"), named("stock")
    assert between(day, next_day).sentence.startswith("it took about as long")
    assert between(day, other).sentence.startswith(
        "by name these are two programs ('sales 2026-01-30' and 'stock')"
    )


def test_parts_that_all_take_twice_as_long_have_one_cause() -> None:
    even = (PartChange("CPU", 10.0, 21.0), PartChange("the driver", 5.0, 9.5))
    assert even_ratio(even) == pytest.approx(30.5 / 15)
    assert even_ratio((*even, PartChange("idle slots", 20.0, 20.0))) is None
    assert even_ratio([PartChange("CPU", 10.0, 10.4)]) is None


@pytest.mark.parametrize(
    ("before", "after", "differs"),
    [
        ("/tmp/tmp2wv4cyi3/local", "/tmp/tmp3ncxmm0r/local", False),
        ("/tmp/spark-1b2c-77", "/tmp/spark-90af-01", False),
        ("/data1/local", "/data2/local", True),
        ("/tmp/a", "/mnt/tmp9x/a", True),
    ],
)
def test_temporary_folders_are_no_settings(
    before: str, after: str, *, differs: bool, tmp_path: Path
) -> None:
    one, other = (job(tmp_path, 20, **{"spark.local.dir": each}) for each in (before, after))
    assert bool(between(one, other).settings) is differs


def test_the_size_of_files_replaces_a_counter_that_missed_the_reads(tmp_path: Path) -> None:
    log = SparkLog()
    log.executor("1", 2, 0)
    log.query(0, 0, 20)
    log.plan(0, ("Scan parquet", "FileScan parquet [a#1]", {"size of files read": 1}))
    log.job(0, 0, 20, [0])
    log.stage(0, 0, 20, 1, metrics={1: 250 << 20})
    log.task(0, 0, 20, metrics={"Input Metrics": {"Bytes Read": 1 << 10, "Records Read": 1}})
    log.end(20)
    account = log.account(tmp_path)
    amounts = {each.what: each.before for each in between(account, account).amounts}
    assert amounts["size of files read"] == 250 << 20
    assert "input" not in amounts


def test_a_promise_holds_within_its_range() -> None:
    one, other = (
        spark.read(spark_logs(LOGS / f"missed-broadcast-{name}.zstd")[0])
        for name in ("faulty", "sound")
    )
    found = between(one, other)
    assert found.promise is not None
    assert found.promise_held is ("as expected" in found.promise)
    assert between(other, one).promise_held is None
