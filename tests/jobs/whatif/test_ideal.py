"""The slots that each job of an application needs, by itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from event_log import SparkLog
from venturi.jobs.logs import spark
from venturi.jobs.logs.find import spark_logs
from venturi.jobs.stages.timeline import Timeline, timeline
from venturi.jobs.whatif import ideal
from venturi.jobs.whatif.ideal import IdealSlots, ideals
from venturi.jobs.whatif.slot_simulation import SlotSimulation

DATA = Path(__file__).parents[2] / "data" / "spark" / "4.3.0"
LOGS = [DATA / "join.log", *sorted((DATA / "faults").glob("*-sound.zstd"))]


def uneven(**executors: int) -> SparkLog:
    """A job of a task of 40 s and twelve of 10 s, then one of two tasks of 6 s, on two slots."""
    log = SparkLog()
    for name, cores in executors.items():
        log.executor(name[1:], cores, 0)
    log.job(0, 5, 89, [0])
    log.stage(0, 6, 86, 13)
    log.task(0, 6, 46)
    for n in range(4):
        log.task(0, 6 + 10 * n, 16 + 10 * n)
    for n in range(8):
        log.task(0, 46 + 10 * (n // 2), 56 + 10 * (n // 2))
    log.job(1, 90, 98, [0, 1])
    log.stage(1, 91, 97, 2)
    for _ in range(2):
        log.task(1, 91, 97)
    log.end(100)
    return log


def test_the_fewest_slots_with_which_a_job_takes_hardly_longer(tmp_path: Path) -> None:
    found = ideals(timeline(uneven(e1=2).account(tmp_path)))
    # The long task always takes 40 s: in that time, 12 of 10 s fit into three slots. The job's four
    # seconds of driver time can't be saved.
    assert found.found == (
        IdealSlots(0, "collect at app.py:0", 84.0, 13, 44.0, 4, None, 44.0),
        IdealSlots(1, "collect at app.py:1", 8.0, 2, 8.0, 2, None, 8.0),
    )
    assert (found.left_out, found.reason) == (0, None)


def test_executors_are_counted_whole_where_they_are_alike(tmp_path: Path) -> None:
    log = uneven(e1=3, e2=3)
    assert [each.executors for each in ideals(timeline(log.account(tmp_path))).found] == [2, 1]


def test_a_stage_counts_for_the_job_in_whose_time_it_ran(tmp_path: Path) -> None:
    log = SparkLog()
    log.executor("1", 4, 0)
    log.job(0, 0, 10, [0])
    log.stage(0, 0, 10, 4)
    for _ in range(4):
        log.task(0, 0, 10)
    log.job(1, 20, 60, [0, 1])  # the longer one names the stage, too, and skips it
    log.stage(1, 20, 60, 1)
    log.task(1, 20, 60)
    log.end(60)
    found = ideals(timeline(log.account(tmp_path)))
    assert [(each.job_id, each.useful_slots) for each in found.found] == [(1, 1), (0, 4)]


def test_attempts_at_one_task_fill_one_slot(tmp_path: Path) -> None:
    log = SparkLog()
    log.executor("1", 2, 0)
    log.job(0, 0, 20, [0])
    log.stage(0, 0, 20, 2)
    failed = {"Reason": "ExceptionFailure", "Class Name": "a.B", "Description": "c"}
    log.task(0, 0, 10, index=0, end=failed)
    log.task(0, 0, 10, index=1)
    log.task(0, 10, 20, index=0)
    log.end(20)
    (found,) = ideals(timeline(log.account(tmp_path))).found
    assert found.useful_slots == 2


def recorded(log: Path) -> Timeline:
    return timeline(spark.read(spark_logs(log)[0]))


@pytest.mark.parametrize("log", LOGS, ids=lambda path: path.stem)
def test_one_slot_less_takes_longer_in_recorded_jobs(log: Path) -> None:
    line = recorded(log)
    found = ideals(line)
    assert found.found
    rows = {row["job_id"]: row for row in line.account.jobs.rows(named=True)}
    for each in found.found:
        row = rows[each.job_id]
        from_s, to_s = (
            (row[name] - line.tasks.origin_ms) / 1e3 for name in ("submitted_ms", "ended_ms")
        )
        own = [
            span
            for span in line.spans.values()
            if span.key[0] in row["stage_ids"] and from_s <= span.from_s <= to_s
        ]
        replay = SlotSimulation(line, own, from_s, to_s, line.tasks.times.elapsed_s)
        assert "withThreadLocalCaptured" not in each.name
        assert replay.on(each.useful_slots).elapsed_s == pytest.approx(each.least_s)
        assert replay.on(each.useful_slots + 5).elapsed_s == pytest.approx(each.least_s)
        assert each.least_s <= each.time_s <= 1.1 * each.least_s + 1e-6
        assert replay.on(each.slots).elapsed_s == pytest.approx(each.time_s)
        if each.slots > 1:
            assert replay.on(each.slots - 1).elapsed_s > 1.1 * each.least_s


def test_only_the_longest_jobs_are_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ideal, "MOST_JOBS", 1)
    found = ideals(timeline(uneven(e1=2).account(tmp_path)))
    assert ([each.job_id for each in found.found], found.left_out) == ([0], 1)


def test_of_very_many_tasks_it_is_said_that_nothing_is_replayed(tmp_path: Path) -> None:
    found = ideals(timeline(uneven(e1=2).account(tmp_path)), most_tasks=5)
    assert (found.found, found.reason) == ((), "it has more than 5 task attempts")


def test_jobs_without_an_end_or_without_tasks_are_left_out(tmp_path: Path) -> None:
    log = SparkLog()
    log.executor("1", 2, 0)
    log.job(0, 0, 2, [])
    log.job(1, 5, None, [0])
    log.stage(0, 5, None, 1)
    log.task(0, 5, None)
    log.end(20)
    found = ideals(timeline(log.account(tmp_path)))
    assert found.found == ()
    assert found.reason == "no job with recorded times of job and tasks"
