"""Spark on clusters of real daemons: every deployment, several instances, failures.

The tests of one deployment share a cluster; those that leave it broken come last. A Spark 3.5 is
tested where VENTURI_TEST_SPARK_35 names its SPARK_HOME.
"""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from pathlib import Path

import pytest
from spark_runs import (
    EXECUTOR,
    LIGHT,
    LONG,
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
from venturi.measure.engines.protocol import Resources
from venturi.measure.engines.registry import engine
from venturi.measure.engines.spark.engine import Spark
from venturi.measure.trial.runner import Session
from venturi.measure.workloads.registry import size_of_bytes, workload, workloads_with
from venturi.record.job_account import TIERS_SETTING
from venturi.record.query.conditions import Condition
from venturi.record.query.paging import whole_trials
from venturi.record.trial import State

pytestmark = pytest.mark.engines

SPARK_35 = "VENTURI_TEST_SPARK_35"


def test_standalone(standalone: Spark, session: Session, tmp_path: Path) -> None:
    two = LIGHT | {"spark.cores.max": "2"}
    trial = execute(standalone, session, tmp_path, "terasort", settings=two)
    assert trial.state is State.SUCCEEDED, trial.failure
    assert trial.configuration["deployment"] == "standalone"
    assert trial.configuration["spark.executor.cores"] == "1"
    assert not any("127.0.0.1" in str(value) for value in trial.configuration.values())
    effective = json.loads(kept(session, trial, "configuration.json"))
    assert effective["spark.master"] == cluster_of(standalone).url
    added = [
        json.loads(line)
        for line in kept(session, trial, "eventlog.json").splitlines()
        if '"SparkListenerExecutorAdded"' in line
    ]
    assert {event["Executor ID"] for event in added} == {"0", "1"}
    names = {each.name for each in trial.artifacts}
    assert {"engine.log", "executor0.stderr", "executor1.stderr", "stages.parquet"} <= names


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
    standalone: Spark, session: Session, tmp_path: Path, cluster_mark: str
) -> None:
    def kill() -> None:
        wait_for(cluster_mark, b"pyspark.daemon")
        os.kill(wait_for(cluster_mark, EXECUTOR), signal.SIGKILL)

    url = cluster_of(standalone).url
    given = made(url)
    given.start(resources(tmp_path))
    killer = threading.Thread(target=kill)
    killer.start()
    try:
        trial = execute(given, session, tmp_path, "pi", LONG)
    finally:
        given.stop()
        killer.join()
    assert trial.state is State.SUCCEEDED, trial.failure  # Spark has tried again what was lost
    assert '"SparkListenerExecutorRemoved"' in kept(session, trial, "eventlog.json")
    (said,) = (each.message for each in trial.warnings if each.code == "VEN-ENGINE-EXECUTOR")
    assert said.startswith("1 of 2 executors ended before the application did")
    assert trial.configuration["deployment"] == url
    assert "venturi.zip" in kept(session, trial, "configuration.json")


def test_executors_that_end_at_once(standalone: Spark, session: Session, tmp_path: Path) -> None:
    settings = LIGHT | {"spark.executor.extraJavaOptions": "-agentlib:missing"}
    with pytest.raises(VenturiError, match="executors started and ended") as caught:
        execute(standalone, session, tmp_path, "wordcount", settings=settings)
    assert caught.value.code == "VEN-ENGINE-FAILED"
    (trial,) = whole_trials(session.repository, Condition.equal("state", State.FAILED))
    assert "agent library missing" in kept(session, trial, "executor0.stdout")


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


def test_yarn(yarn: Spark, session: Session, tmp_path: Path) -> None:
    trial = execute(yarn, session, tmp_path, "terasort")
    assert trial.state is State.SUCCEEDED, trial.failure
    assert trial.configuration["deployment"] == "yarn"
    effective = json.loads(kept(session, trial, "configuration.json"))
    assert effective["spark.master"] == "yarn"
    assert trial.elapsed_s is not None
    own = [phase for phase in trial.phases if phase.name in {"start", "sort", "sync"}]
    assert sum(phase.elapsed_s for phase in own) == pytest.approx(trial.elapsed_s, abs=0.01)
    cluster = cluster_of(yarn).cluster
    assert cluster.hdfs.folders(cluster.root) == ["input"]
    assert {"eventlog.json", "stages.parquet"} <= {each.name for each in trial.artifacts}


def test_tiers_on_yarn(yarn: Spark, tiers_jar: Path, session: Session, tmp_path: Path) -> None:
    """YARN gives each container its directories, in an order of its own."""
    settings = LIGHT | {
        "spark.sql.files.maxPartitionBytes": "2m",
        TIERS_SETTING: "ssd 0B",
        f"{TIERS_SETTING}.reserves": "shuffle_index 1000TB",
        f"{TIERS_SETTING}.strict": "true",
        f"{TIERS_SETTING}.interval": "200ms",  # YARN ends executors of a short job without a word
    }
    size = size_of_bytes(workload("sort"), 8_000_000)
    trial = execute(yarn, session, tmp_path, "sort", size, settings=settings)
    assert trial.state is State.SUCCEEDED, trial.failure
    tiers = [
        tier
        for account in accounts_of_tiers(session, trial)
        if account["executor_id"] != "driver"
        for tier in account["tiers"]
    ]
    seen = {
        (tier["tier"], kind["kind"])
        for tier in tiers
        for kind in tier["kinds"]
        if kind["seen_bytes"]
    }
    assert seen >= {("ssd", "shuffle"), ("last", "shuffle_index")}
    assert not seen & {("last", "shuffle"), ("ssd", "shuffle_index")}
    folders = {Path(each) for tier in tiers for each in tier["directories"]}
    assert {part for folder in folders for part in folder.parts} >= {"appcache", "hdd", "ssd"}
    deadline = time.monotonic() + 60
    while any(each.exists() for each in folders):
        assert time.monotonic() < deadline, folders
        time.sleep(0.1)


def test_a_hadoop_cluster_that_is_there(
    yarn: Spark, engines_home: Path, session: Session, tmp_path: Path
) -> None:
    cluster = cluster_of(yarn).cluster
    # Without a JobHistoryServer: only MapReduce needs one.
    given = made("yarn", engines_home, hadoop_conf=cluster.conf)
    given.start(Resources({}))
    try:
        # Else all of Spark's jars are sent there.
        jars = {"spark.yarn.jars": f"local:{given.available().parts['home']}/jars/*"}
        trial = execute(given, session, tmp_path, "wordcount", settings=LIGHT | jars)
    finally:
        given.stop()
    assert trial.state is State.SUCCEEDED, trial.failure
    assert cluster.hdfs.folders(f"/user/{cluster.user}") in ([], [".sparkStaging"])
    assert cluster.dead() == ()


def test_a_hadoop_daemon_that_is_killed(
    yarn: Spark, session: Session, tmp_path: Path, cluster_mark: str
) -> None:
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
