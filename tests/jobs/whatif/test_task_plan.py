"""How many tasks Spark makes of data, by its own rules."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from event_log import SparkLog
from venturi.jobs.stages.timeline import timeline
from venturi.jobs.whatif.demand import JobDemand, demand_of
from venturi.jobs.whatif.task_plan import (
    SplitRule,
    file_splits,
    shuffle_partitions,
    size_setting,
    task_plan,
)

MIB = 2**20
PARTITIONS, ADAPTIVE = "spark.sql.shuffle.partitions", "spark.sql.adaptive.enabled"


def test_files_are_split_for_all_slots_but_not_below_4_mib() -> None:
    assert file_splits(1024 * MIB, 2, {}) == 8  # of 128 MiB
    assert file_splits(1024 * MIB, 16, {}) == 16
    assert file_splits(16 * MIB, 100, {}) == 4
    assert file_splits(1024 * MIB, 2, {"spark.sql.files.maxPartitionBytes": "256m"}) == 4


def test_adaptive_execution_merges_partitions() -> None:
    assert shuffle_partitions(1024 * MIB, 2, {}) == 16  # of 64 MiB
    assert shuffle_partitions(1024 * MIB, 100, {}) == 100
    assert shuffle_partitions(10**15, 2, {}) == 200
    assert shuffle_partitions(1024 * MIB, 2, {ADAPTIVE: "false"}) == 200


@pytest.mark.parametrize(
    ("text", "size"), [("64m", 64 * MIB), ("64MB", 64 * MIB), ("1g", 1024 * MIB), ("1000", 1000)]
)
def test_sizes_are_read_as_spark_does(text: str, size: int) -> None:
    name = "spark.sql.files.maxPartitionBytes"
    assert size_setting({name: text}, name) == size


def demand(folder: Path, tasks: int) -> JobDemand:
    log = SparkLog()
    log.executor("1", 2, 0)
    log.job(0, 0, tasks, [0])
    log.stage(0, 0, tasks, tasks)
    for place in range(tasks):
        log.task(0, place // 2 * 2, place // 2 * 2 + 2)
    log.end(tasks)
    return demand_of(timeline(log.account(folder)))


def test_a_rule_that_gives_the_recorded_number_sets_the_new_one(tmp_path: Path) -> None:
    job, off = demand(tmp_path, 200), {ADAPTIVE: "false"}
    rules = [SplitRule(10**9, shuffle_partitions)]
    plan = task_plan(job, rules, 1, (2, 2), (off, off | {PARTITIONS: "400"}))
    work_s = job.parts_s[:, plan.rows].sum(axis=0) * plan.size
    assert len(plan.rows) == 400
    assert work_s.sum() == pytest.approx(job.parts_s.sum())
    assert np.bincount(plan.rows).tolist() == [2] * 200


def test_a_rule_that_fails_for_the_recorded_job_is_not_applied(tmp_path: Path) -> None:
    job, off = demand(tmp_path, 60), {ADAPTIVE: "false"}
    rules = [SplitRule(10**9, shuffle_partitions)]
    plan = task_plan(job, rules, 1, (2, 2), (off, off | {PARTITIONS: "400"}))
    assert plan.as_recorded
    plan = task_plan(job, rules, 3, (2, 2), (off, off))
    assert (len(plan.rows), set(plan.size.tolist())) == (60, {3.0})
    assert plan.assumes
