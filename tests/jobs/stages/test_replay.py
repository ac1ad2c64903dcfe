"""Stages replayed with fewer tasks, and without some of their attempts."""

from __future__ import annotations

import numpy as np
import pytest

from venturi.jobs.stages.causes import TaskTimes
from venturi.jobs.stages.replay import Schedule, schedule


def schedule_of(spans: list[tuple[float, float]], slots: int, to_s: float) -> Schedule:
    launched_s, finished_s = np.array(spans).T
    none = np.zeros(len(spans))
    times = TaskTimes(launched_s, finished_s, {}, none, none, none == 0)
    return schedule(times, none == 0, slots, (0.0, to_s))


def test_without_removed_attempts_their_retries_start_immediately() -> None:
    # Two slots; the second task fails twice, and each retry waits for the failure before it.
    plan = schedule_of([(0, 3), (0, 3), (3, 6), (3, 6), (6, 9)], 2, 9)
    failed = np.array([False, True, False, True, False])
    assert plan.without_s(np.zeros(5, bool)) == 9
    assert plan.without_s(failed) == pytest.approx(6)


def test_a_retry_that_waited_on_a_free_slot_waits_no_longer() -> None:
    plan = schedule_of([(0, 3), (0, 3), (3, 6), (6, 9)], 2, 9)
    failed = np.array([False, True, True, False])
    assert plan.without_s(failed) == pytest.approx(3)


def test_merged_tasks_keep_their_work_and_pay_the_fixed_cost_once() -> None:
    # 100 tasks of 1 s on two slots: 0.9 s of each is the cost of a task.
    spans = [(float(n // 2), float(n // 2 + 1)) for n in range(100)]
    plan = schedule_of(spans, 2, 50)
    work_s = np.full(100, 0.1)
    assert plan.merged_s(work_s, 2) == pytest.approx(0.9 + 5)
    assert plan.merged_s(work_s, 4) == pytest.approx(2 * 0.9 + 5)
    assert plan.merged_s(np.ones(100), 2) == 50
