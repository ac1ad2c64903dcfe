"""How long an application would have taken with fewer or more slots."""

from __future__ import annotations

from pathlib import Path

import pytest

from event_log import SparkLog
from venturi.jobs.stages.timeline import timeline
from venturi.jobs.whatif.outlook import Outlooks, outlooks


def two_stages(**executors: int) -> SparkLog:
    """Eight tasks of 10 s on two slots, 5 s of the driver, and two tasks of 20 s: 70 s in all."""
    log = SparkLog()
    for name, cores in executors.items():
        log.executor(name[1:], cores, 0)
    log.job(0, 0, 65, [0, 1])
    log.stage(0, 0, 40, 8)
    for place in range(8):
        log.task(0, 10 * (place // 2), 10 * (place // 2) + 10)
    log.stage(1, 45, 65, 2)
    for _ in range(2):
        log.task(1, 45, 65)
    log.end(70)
    return log


def times(found: Outlooks) -> dict[int, float]:
    return {each.slots: round(each.time_s, 3) for each in found.found}


def test_stages_are_laid_on_other_numbers_of_slots(tmp_path: Path) -> None:
    found = outlooks(timeline(two_stages(e1=2).account(tmp_path)))
    assert found.replayed_s == pytest.approx(70)
    assert times(found) == {1: 130.0, 2: 70.0, 4: 50.0, 8: 40.0, 16: 40.0}
    one, two, *_ = found.found
    assert one.use == pytest.approx(120 / 130)
    assert (two.executors, two.cores) == (None, 2)
    # Ten seconds of the driver, and all work divided evenly.
    assert [round(each.bound_s, 3) for each in found.found] == [130.0, 70.0, 40.0, 25.0, 17.5]


def test_executors_of_one_size_are_kept_whole(tmp_path: Path) -> None:
    found = outlooks(timeline(two_stages(e1=1, e2=1).account(tmp_path)))
    assert [each.executors for each in found.found] == [1, 2, 4, 8, 16]


def test_a_stage_waits_for_the_one_before_it_on_any_number_of_slots(tmp_path: Path) -> None:
    log = SparkLog()
    log.executor("1", 4, 0)
    log.job(0, 0, 30, [0, 1])
    log.stage(0, 0, 20, 1)
    log.task(0, 0, 20)
    log.stage(1, 0, 30, 1)
    log.task(1, 0, 30)
    log.end(30)
    # The two stages ran concurrently; on one slot they run one after the other.
    assert times(outlooks(timeline(log.account(tmp_path))))[1] == 50.0


def test_without_executors_nothing_can_be_told(tmp_path: Path) -> None:
    found = outlooks(timeline(two_stages().account(tmp_path)))
    assert found.found == ()
    assert found.reason == "the executors and their times are not recorded"


def test_the_end_comes_after_all_stages_whatever_was_the_last_then(tmp_path: Path) -> None:
    log = SparkLog()
    log.executor("1", 2, 0)
    log.job(0, 0, 30, [0, 1])
    log.stage(0, 0, 30, 1)
    log.task(0, 0, 30)
    log.stage(1, 0, 20, 1)
    log.task(1, 0, 20)
    log.end(30)
    # On one slot, the longer of the two concurrent stages comes first, and ends first.
    assert times(outlooks(timeline(log.account(tmp_path)))) == {
        1: 50.0,
        2: 30.0,
        4: 30.0,
        8: 30.0,
        16: 30.0,
    }


def test_times_that_are_foretold_for_other_hardware_are_replayed(tmp_path: Path) -> None:
    line = timeline(two_stages(e1=2).account(tmp_path))
    found = outlooks(line, retimed=lambda tasks: tasks.elapsed_s - tasks.causes["cpu"] / 2)
    # Tasks that only compute take half; the driver's ten seconds stay.
    assert (found.replayed_s, found.found[0].task_s) == (pytest.approx(40), pytest.approx(60))
    assert times(found) == {1: 70.0, 2: 40.0, 4: 30.0, 8: 25.0, 16: 25.0}
    assert found.found[0].bound_s == pytest.approx(70)
    assert outlooks(line).replayed_s == pytest.approx(70)


def cold(executors: int, tasks: int) -> SparkLog:
    """A stage of tasks of 1 s, plus 9 s for each executor's first one, and 1 s after the end."""
    log = SparkLog()
    for name in range(executors):
        log.executor(str(name), 1, 0)
    each = tasks // executors
    end_s = each + 9
    log.job(0, 0, end_s, [0])
    log.stage(0, 0, end_s, tasks)
    for name in range(executors):
        for place in range(each):
            log.task(0, place and place + 9, place + 10, executor=str(name))
    log.end(end_s + 1)
    return log


@pytest.mark.parametrize(("recorded", "other"), [(1, 4), (4, 1), (2, 8)])
def test_each_slot_warms_up_for_itself(tmp_path: Path, recorded: int, other: int) -> None:
    found = outlooks(timeline(cold(recorded, 24).account(tmp_path)))
    assert found.replayed_s == pytest.approx(24 / recorded + 10)
    assert times(found)[other] == pytest.approx(24 / other + 10)
    told = next(each for each in found.found if each.slots == other)
    assert told.task_s == pytest.approx(24 + 9 * other)
    assert told.bound_s == pytest.approx(24 / other + 1)


def test_a_first_task_that_reads_more_is_no_warm_up(tmp_path: Path) -> None:
    log = SparkLog()
    log.executor("1", 1, 0)
    log.job(0, 0, 13, [0])
    log.stage(0, 0, 13, 4)
    for start, end in ((0, 10), (10, 11), (11, 12), (12, 13)):
        ran_ms = 1000 * (end - start)
        log.task(
            0,
            start,
            end,
            metrics={
                "Executor Run Time": ran_ms,
                "Executor CPU Time": ran_ms * 10**6,
                "Input Metrics": {"Bytes Read": (end - start) << 20, "Records Read": 1},
            },
        )
    log.end(13)
    assert times(outlooks(timeline(log.account(tmp_path))))[4] == pytest.approx(10)


def test_that_the_driver_has_the_same_cores_is_said_of_local_mode_alone(tmp_path: Path) -> None:
    def assumed(master: str) -> str:
        log = SparkLog(**{"spark.master": master})
        log.executor("1", 2, 0)
        log.job(0, 0, 10, [0])
        log.stage(0, 0, 10, 1)
        log.task(0, 0, 10)
        log.end(10)
        folder = tmp_path / master.partition(":")[0]
        folder.mkdir()
        return str(outlooks(timeline(log.account(folder))).assumes)

    assert "the driver uses the same cores" in assumed("local[2]")
    assert "driver" not in assumed("spark://h:7077")


def test_slots_that_a_stage_gets_one_after_another_warm_up_once_each(tmp_path: Path) -> None:
    log = SparkLog()
    log.executor("1", 2, 0)
    log.job(0, 0, 20, [0, 1])
    log.stage(0, 0, 6, 1)
    log.task(0, 0, 6)
    log.stage(1, 0, 20, 16)
    for start in (0, 6):  # the second slot is taken by the other stage until then
        log.task(1, start, start + 10)
        for n in range(start + 10, 20):
            log.task(1, n, n + 1)
    log.end(20)
    found = outlooks(timeline(log.account(tmp_path)))
    assert found.replayed_s == pytest.approx(20)
    assert times(found)[1] == pytest.approx(6 + 16 + 9)


def test_tasks_that_get_shorter_and_shorter_are_no_warm_up(tmp_path: Path) -> None:
    log = SparkLog()
    log.executor("1", 1, 0)
    log.job(0, 0, 1010, [0])
    log.stage(0, 0, 1010, 100)
    at_s = 0.0
    for n in range(100):
        log.task(0, at_s, at_s + 20 - 0.2 * n)
        at_s += 20 - 0.2 * n
    log.end(1010)
    one, *_ = outlooks(timeline(log.account(tmp_path))).found
    assert one.bound_s == pytest.approx(1010)
