"""Spark on clusters of real daemons: standalone, several instances, tiers, failures.

All tests share a Master and two Workers; those that leave it broken come last. Spark on YARN is in
test_hadoop_cluster.py, which has a Hadoop. A Spark 3.5 is tested where VENTURI_TEST_SPARK_35 names
its SPARK_HOME.
"""

from __future__ import annotations

import json
import os
import re
import signal
import threading
import time
from pathlib import Path

import pytest
from spark_runs import (
    EXECUTOR,
    LIGHT,
    LONG,
    Tiered,
    accounts_of_tiers,
    cluster_of,
    commands,
    execute,
    kept,
    made,
    resources,
)

from engine_runs import wait_for
from this_host import HOST
from venturi.core.errors import VenturiError
from venturi.measure.engines.registry import engine
from venturi.measure.engines.spark.engine import Spark
from venturi.measure.trial.runner import Session
from venturi.measure.workloads.registry import size_of_bytes, workload, workloads_with
from venturi.record.job_account import TIERS_SETTING
from venturi.record.query.conditions import Condition
from venturi.record.query.paging import whole_trials
from venturi.record.trial import State, Trial

pytestmark = pytest.mark.engines

SPARK_35 = "VENTURI_TEST_SPARK_35"


# 20 MB over 8 MB on which nothing need stay free.
TIERED = LIGHT | {
    "spark.cores.max": "2",
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    "spark.sql.files.maxPartitionBytes": "2m",
    TIERS_SETTING: "ssd 0B",
    f"{TIERS_SETTING}.interval": "200ms",
}
SORTED_BYTES = 20_000_000


def sorted_by_tiers(on: Spark, session: Session, folder: Path) -> Trial:
    size = size_of_bytes(workload("sort"), SORTED_BYTES)
    return execute(on, session, folder, "sort", size, settings=TIERED)


def test_two_executors_fill_one_fast_disk(tiered: Tiered, session: Session, tmp_path: Path) -> None:
    """Neither knows what the other is about to write: who comes too late writes elsewhere."""
    trial = sorted_by_tiers(tiered.spark, session, tmp_path)
    assert trial.state is State.SUCCEEDED, trial.failure
    assert trial.configuration["deployment"] == "standalone"
    assert trial.configuration["spark.executor.cores"] == "1"
    assert not any("127.0.0.1" in str(value) for value in trial.configuration.values())
    effective = json.loads(kept(session, trial, "configuration.json"))
    assert effective["spark.master"] == cluster_of(tiered.spark).url
    added = [
        json.loads(line)
        for line in kept(session, trial, "eventlog.json").splitlines()
        if '"SparkListenerExecutorAdded"' in line
    ]
    assert {event["Executor ID"] for event in added} == {"0", "1"}
    names = {each.name for each in trial.artifacts}
    assert {"engine.log", "executor0.stderr", "executor1.stderr", "stages.parquet"} <= names
    placed = {
        (account["executor_id"], tier["tier"])
        for account in accounts_of_tiers(session, trial)
        for tier in account["tiers"]
        if any(kind["placements"] for kind in tier["kinds"])
    }
    assert {"0", "1"} <= {executor for executor, _ in placed}
    assert {tier for _, tier in placed} == ({"ssd", "last"} if tiered.ssd.is_mount() else {"ssd"})
    tiered.wait(lambda: tiered.blocks() == [])


def test_several_instances_are_one_trial(
    standalone: Spark, session: Session, tmp_path: Path
) -> None:
    trial = execute(standalone, session, tmp_path, "wordcount", instances=2)
    assert trial.state is State.SUCCEEDED, trial.failure
    assert trial.configuration["instances"] == 2
    assert trial.elapsed_s is not None
    took_s = {
        each.labels["instance"]: each.value
        for each in trial.samples
        if each.metric == "instance_elapsed_s"
    }
    assert set(took_s) == {0, 1}
    assert all(value is not None and value <= trial.elapsed_s for value in took_s.values())
    # At the same time, and their phases without a gap.
    assert sum(value or 0.0 for value in took_s.values()) > trial.elapsed_s
    own = [phase for phase in trial.phases if phase.name in {"start", "wordcount", "sync"}]
    assert sum(phase.elapsed_s for phase in own) == pytest.approx(trial.elapsed_s, abs=0.01)
    names = {each.name for each in trial.artifacts}
    assert {
        f"{name}-{number}.{end}"
        for number in (0, 1)
        for name, end in (("engine", "log"), ("eventlog", "json"), ("configuration", "json"))
    } <= names


def test_an_instance_that_fails_ends_the_others(
    standalone: Spark, session: Session, tmp_path: Path, cluster_mark: str
) -> None:
    def kill() -> None:
        os.kill(wait_for(cluster_mark, b"org.apache.spark.deploy.SparkSubmit"), signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    with pytest.raises(VenturiError, match="killed by signal 9") as caught:
        execute(standalone, session, tmp_path, "pi", LONG, instances=2)
    killer.join()
    assert caught.value.code == "VEN-ENGINE-FAILED"
    assert not any(b"SparkSubmit" in command for command in commands(cluster_mark))
    (trial,) = whole_trials(session.repository, Condition.equal("state", State.FAILED))
    assert {"engine-0.log", "engine-1.log"} <= {each.name for each in trial.artifacts}


def test_an_executor_that_is_killed_under_a_master_that_is_there(
    tiered: Tiered, session: Session, tmp_path: Path, cluster_mark: str
) -> None:
    """Spark tries again what was lost, and nothing of the executor is left on a tier."""

    def kill() -> None:
        tiered.wait(lambda: any(each.is_relative_to(tiered.ssd) for each in tiered.blocks()))
        os.kill(wait_for(cluster_mark, EXECUTOR), signal.SIGKILL)

    url = cluster_of(tiered.spark).url
    given = made(url)
    given.start(resources(tmp_path))
    killer = threading.Thread(target=kill)
    killer.start()
    try:
        trial = sorted_by_tiers(given, session, tmp_path)
    finally:
        given.stop()
        killer.join()
    assert trial.state is State.SUCCEEDED, trial.failure
    assert '"SparkListenerExecutorRemoved"' in kept(session, trial, "eventlog.json")
    (said,) = (each.message for each in trial.warnings if each.code == "VEN-ENGINE-EXECUTOR")
    # A third one may have come in its place.
    assert re.match("1 of [23] executors ended before the application did", said)
    assert trial.configuration["deployment"] == url
    assert "venturi.zip" in kept(session, trial, "configuration.json")
    tiered.wait(lambda: tiered.blocks() == [])


def test_executors_that_end_at_once(standalone: Spark, session: Session, tmp_path: Path) -> None:
    settings = LIGHT | {"spark.executor.extraJavaOptions": "-agentlib:missing"}
    with pytest.raises(VenturiError, match="executors started and ended") as caught:
        execute(standalone, session, tmp_path, "wordcount", settings=settings)
    assert caught.value.code == "VEN-ENGINE-FAILED"
    (trial,) = whole_trials(session.repository, Condition.equal("state", State.FAILED))
    assert "agent library missing" in kept(session, trial, "executor0.stdout")


@pytest.mark.long  # as of an executor that is killed, above
@pytest.mark.parametrize("killed", ["driver", "worker"])
def test_nothing_is_left_on_a_tier_of_what_was_killed(
    tiered: Tiered, session: Session, tmp_path: Path, cluster_mark: str, killed: str
) -> None:
    program = {
        "driver": b"org.apache.spark.deploy.SparkSubmit",
        # One of this cluster: another one may run.
        "worker": b"--work-dir\0" + os.fsencode(tiered.hdd),
    }[killed]

    def kill() -> None:
        tiered.wait(lambda: any(each.is_relative_to(tiered.ssd) for each in tiered.blocks()))
        os.kill(wait_for(cluster_mark, program), signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        with pytest.raises(VenturiError, match=r"killed by signal 9|ended unexpectedly"):
            sorted_by_tiers(tiered.spark, session, tmp_path)
    finally:
        killer.join()
    if killed == "worker":  # its executor is killed with it: the next job, or the end, cleans up
        tiered.spark.stop()
    tiered.wait(lambda: tiered.blocks() == [])


@pytest.mark.long  # executors that are killed, and daemons of Hadoop, are in the suite
def test_a_worker_that_is_killed(
    standalone: Spark, session: Session, tmp_path: Path, cluster_mark: str
) -> None:
    killed_s: list[float] = []

    def kill() -> None:
        wait_for(cluster_mark, b"pyspark.daemon")
        os.kill(wait_for(cluster_mark, b"deploy.worker.Worker"), signal.SIGKILL)
        killed_s.append(time.monotonic())

    killer = threading.Thread(target=kill)
    killer.start()
    with pytest.raises(VenturiError, match=r"Worker\d ended unexpectedly") as caught:
        execute(standalone, session, tmp_path, "pi", LONG)
    killer.join()
    assert caught.value.code == "VEN-ENGINE-DAEMON"
    assert time.monotonic() - killed_s[0] < 20
    # The next job gets a new cluster, whatever is left of that one.
    master = wait_for(cluster_mark, b"deploy.master.Master")
    os.kill(master, signal.SIGKILL)
    trial = execute(standalone, session, tmp_path, "wordcount")
    assert trial.state is State.SUCCEEDED, trial.failure
    assert wait_for(cluster_mark, b"deploy.master.Master") != master


@pytest.mark.long  # jobs on YARN, and a daemon that is killed, are in test_hadoop_cluster.py
def test_a_hadoop_daemon_that_is_killed(
    yarn: Spark, session: Session, tmp_path: Path, cluster_mark: str
) -> None:
    trial = execute(yarn, session, tmp_path, "terasort")
    assert trial.state is State.SUCCEEDED, trial.failure

    def kill() -> None:
        wait_for(cluster_mark, b"org.apache.spark.deploy.SparkSubmit")
        os.kill(wait_for(cluster_mark, b"ResourceManager"), signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    with pytest.raises(VenturiError, match="ResourceManager") as caught:
        execute(yarn, session, tmp_path, "pi", LONG)
    killer.join()
    assert caught.value.code == "VEN-ENGINE-DAEMON"


@pytest.mark.skipif(SPARK_35 not in os.environ, reason=f"{SPARK_35} names no Spark 3.5")
@pytest.mark.parametrize(
    ("deployment", "name"),
    [
        ("standalone", "terasort"),
        ("yarn", "terasort"),
        *(("local", name) for name in sorted(workloads_with("on_spark"))),
    ],
)
def test_spark_3_5(
    session: Session, engines_home: Path, tmp_path: Path, deployment: str, name: str
) -> None:
    environ = {**os.environ, "SPARK_HOME": os.environ[SPARK_35]}
    found = engine(f"spark:{deployment}", HOST, home=engines_home, environ=environ)
    assert isinstance(found, Spark)
    try:
        found.start(resources(tmp_path))
        trial = execute(found, session, tmp_path, name)
    finally:
        found.stop()
    assert trial.state is State.SUCCEEDED, trial.failure
    assert trial.engine.version.startswith("3.5.")
