"""Tiers of local storage under Spark's clusters: what fills them, what is cleaned up."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import pytest
from spark_runs import EXECUTOR, LIGHT, Tiered, accounts_of_tiers, execute

from engine_runs import wait_for
from venturi.core.errors import VenturiError
from venturi.measure.trial.runner import Session
from venturi.measure.workloads.registry import size_of_bytes, workload
from venturi.record.job_account import TIERS_SETTING
from venturi.record.trial import State, Trial

pytestmark = pytest.mark.engines


# 20 MB over 8 MB on which nothing need stay free.
TIERED = LIGHT | {
    "spark.cores.max": "2",
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    "spark.sql.files.maxPartitionBytes": "2m",
    TIERS_SETTING: "ssd 0B",
    f"{TIERS_SETTING}.interval": "200ms",
}
SORTED_BYTES = 20_000_000


def sorted_by_tiers(on: Tiered, session: Session, folder: Path) -> Trial:
    size = size_of_bytes(workload("sort"), SORTED_BYTES)
    return execute(on.spark, session, folder, "sort", size, settings=TIERED)


@pytest.mark.root
def test_two_executors_fill_one_fast_disk(tiered: Tiered, session: Session, tmp_path: Path) -> None:
    """Neither knows what the other is about to write: who comes too late writes elsewhere."""
    trial = sorted_by_tiers(tiered, session, tmp_path)
    assert trial.state is State.SUCCEEDED, trial.failure
    placed = {
        (account["executor_id"], tier["tier"])
        for account in accounts_of_tiers(session, trial)
        for tier in account["tiers"]
        if any(kind["placements"] for kind in tier["kinds"])
    }
    assert {"0", "1"} <= {executor for executor, _ in placed}
    assert {tier for _, tier in placed} == {"ssd", "last"}
    tiered.wait(lambda: tiered.blocks() == [])


@pytest.mark.root
@pytest.mark.slow
@pytest.mark.parametrize(
    "killed",
    ["executor", *(pytest.param(each, marks=pytest.mark.long) for each in ("driver", "worker"))],
)
def test_nothing_is_left_on_a_tier_of_what_was_killed(
    tiered: Tiered, session: Session, tmp_path: Path, cluster_mark: str, killed: str
) -> None:
    program = {
        "executor": EXECUTOR,
        "driver": b"org.apache.spark.deploy.SparkSubmit",
        # This cluster's: another one may be running.
        "worker": b"--work-dir\0" + os.fsencode(tiered.hdd),
    }[killed]

    def kill() -> None:
        tiered.wait(lambda: any(each.is_relative_to(tiered.ssd) for each in tiered.blocks()))
        os.kill(wait_for(cluster_mark, program), signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        if killed == "executor":
            trial = sorted_by_tiers(tiered, session, tmp_path)
            assert trial.state is State.SUCCEEDED, trial.failure
        else:
            with pytest.raises(VenturiError, match=r"killed by signal 9|ended unexpectedly"):
                sorted_by_tiers(tiered, session, tmp_path)
    finally:
        killer.join()
    if killed == "worker":  # its executor is killed with it: the next job, or the end, cleans up
        tiered.spark.stop()
    tiered.wait(lambda: tiered.blocks() == [])
