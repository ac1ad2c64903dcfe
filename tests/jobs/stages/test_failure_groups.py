"""Failures by exception and place, full disks, and endings that were planned."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from event_log import SparkLog, at
from venturi.jobs.diagnosis.find import diagnose
from venturi.jobs.stages.analysis import analyse
from venturi.jobs.stages.losses import failure_meaning
from venturi.jobs.stages.stage import WastedTime
from venturi.jobs.stages.timeline import timeline


def error(message: str, trace: str = "") -> dict[str, Any]:
    return {
        "Reason": "ExceptionFailure",
        "Class Name": "java.io.IOException",
        "Description": message,
        "Full Stack Trace": trace,
    }


def two_hosts(**settings: str) -> SparkLog:
    log = SparkLog(**settings)
    for name in ("1", "2"):
        log.executor(name, 4, 0)
    log.job(0, 0, 100, [0, 1])
    log.stage(0, 0, 40, 4)
    log.stage(1, 40, 100, 4)
    for index in range(4):
        log.task(0, 0, 40, executor="12"[index % 2], index=index)
    return log


def wasted(log: SparkLog, folder: Path) -> tuple[WastedTime, ...]:
    log.end(100)
    return analyse(log.account(folder)).losses


def test_failures_on_one_host_in_one_stage(tmp_path: Path) -> None:
    log = two_hosts()
    for index in range(4):
        log.task(1, 40, 60, executor="2", index=index, end=error(f"bad block {index}"))
        log.task(1, 60, 100, executor="1", index=index)
    (found,) = wasted(log, tmp_path)
    assert (found.n, found.where) == (4, "all on h2, all in stage 1")
    assert found.said == "java.io.IOException: bad block 0"


def test_failures_of_one_task(tmp_path: Path) -> None:
    log = two_hosts()
    for begin, executor in ((40, "1"), (50, "2"), (60, "1")):
        log.task(1, begin, begin + 10, executor=executor, index=3, end=error("bad row"))
    (found,) = wasted(log, tmp_path)
    assert found.where == "all of task 3 in stage 1"


def test_failures_mostly_on_one_host(tmp_path: Path) -> None:
    log = two_hosts()
    for index in range(6):
        executor = "1" if index == 0 else "2"
        log.task(1, 40, 60, executor=executor, index=index, end=error("bad row"))
    (found,) = wasted(log, tmp_path)
    assert found.where == "5 of 6 on h2, all in stage 1"


def test_exceptions_are_groups_of_their_own(tmp_path: Path) -> None:
    log = two_hosts()
    log.task(1, 40, 60, executor="1", index=0, end=error("Stream is corrupted"))
    log.task(1, 40, 50, executor="2", index=1, end=error("No space left on device"))
    first, second = wasted(log, tmp_path)
    assert (first.said, first.where) == (
        "java.io.IOException: Stream is corrupted",
        "on h1, in stage 1",
    )
    assert (second.said, second.where) == (
        "java.io.IOException: No space left on device",
        "on h2, in stage 1",
    )


def test_tasks_of_a_canceled_stage_do_not_repeat_its_message(tmp_path: Path) -> None:
    log = two_hosts()
    log.task(1, 40, 60, executor="1", index=0, end=error("No space left on device"))
    killed = {
        "Reason": "TaskKilled",
        "Kill Reason": "Stage cancelled: Job aborted due to stage failure: Task 0 in stage 1.0 "
        "failed 1 times, most recent failure: java.io.IOException: No space left on device",
    }
    log.task(1, 40, 60, executor="2", index=1, end=killed)
    found = {each.what: each for each in wasted(log, tmp_path)}
    assert found["killed attempts"].said == "the stage was canceled"
    assert found["killed attempts"].meaning is None


@pytest.mark.parametrize(
    ("settings", "message", "directory"),
    [
        (
            {"spark.master": "local[4]", "spark.local.dir": "/data1"},
            "No space left on device",
            "/data1",
        ),
        (
            {"spark.master": "yarn", "spark.local.dir": "/ignored"},
            "No space left on device",
            "yarn.nodemanager.local-dirs",
        ),
        (
            {"spark.master": "yarn"},
            "/mnt/yarn/usercache/etl/appcache/a/blockmgr-1/0c/x (No space left on device)",
            "/mnt/yarn",
        ),
        (
            {"spark.master": "k8s://https://api:6443"},
            "No space left on device",
            "the pod's spark-local-dir volumes",
        ),
    ],
)
def test_full_disk_names_directory_host_and_bytes(
    settings: dict[str, str], message: str, directory: str, tmp_path: Path
) -> None:
    log = SparkLog(**settings)
    for name in ("1", "2"):
        log.executor(name, 4, 0)
    log.job(0, 0, 100, [0])
    log.stage(0, 0, 100, 4)
    written = {
        "Executor Run Time": 10_000,
        "Disk Bytes Spilled": 2**30,
        "Shuffle Write Metrics": {"Shuffle Bytes Written": 2**31},
    }
    log.task(0, 0, 10, executor="2", index=0, metrics=written)
    log.task(0, 0, 10, executor="1", index=1, metrics=written)
    log.task(0, 10, 20, executor="2", index=2, end=error(message), metrics={})
    log.task(0, 20, 30, executor="2", index=3, metrics=written)
    (found,) = wasted(log, tmp_path)
    assert found.disks == (
        f"full: {directory} on h2; tasks shuffled 2.0 GiB and spilled 1.0 GiB there"
    )


@pytest.mark.parametrize(
    ("reason", "meaning"),
    [
        ("Container container_1 on host: h2 was preempted.", "another queue"),
        ("Executor decommission: spark scale down", "decommissioned"),
        (
            "Executor decommission: worker decommissioned because of spot instance preemption.",
            "spot",
        ),
        ("Executor killed by driver.", "the driver removed it"),
    ],
)
def test_a_planned_ending_that_costs_work_is_a_finding(
    reason: str, meaning: str, tmp_path: Path
) -> None:
    log = SparkLog(**{"spark.master": "yarn"})
    log.executor("1", 2, 0)
    log.executor("2", 2, 0, 50, reason)
    log.job(0, 0, 100, [0])
    log.stage(0, 0, 100, 4)
    lost = {"Reason": "ExecutorLostFailure", "Executor ID": "2", "Loss Reason": reason}
    for index in range(2):
        log.task(0, 0, 50, index=index)
        log.task(0, 0, 50, executor="2", index=index + 2, end=lost, metrics={})
    for index in (2, 3):
        log.task(0, 50, 100, index=index)
    log.end(100)
    line = timeline(log.account(tmp_path))
    analysis = analyse(line.account, None, line)
    assert analysis.lost_executors == ()
    (finding,) = (
        each for each in diagnose(line, analysis).findings if each.rule == "planned-ending"
    )
    assert "executor 2 on h2 left after 50.0 s" in finding.says
    assert meaning in finding.says
    assert "2 attempts of 1 min 40 s" in finding.says


def test_a_planned_ending_without_lost_work_is_none(tmp_path: Path) -> None:
    log = SparkLog(**{"spark.master": "yarn"})
    log.executor("1", 2, 0)
    log.executor("2", 2, 0, 50, "Executor decommission: spark scale down")
    log.job(0, 0, 100, [0])
    log.stage(0, 0, 100, 2)
    for index in range(2):
        log.task(0, 0, 100, index=index)
    log.end(100)
    line = timeline(log.account(tmp_path))
    analysis = analyse(line.account, None, line)
    assert analysis.lost_executors == ()
    assert all(each.rule != "planned-ending" for each in diagnose(line, analysis).findings)


def test_the_costliest_of_several_lost_executors_is_named(tmp_path: Path) -> None:
    log = SparkLog(**{"spark.master": "yarn"})
    log.executor("1", 2, 0)
    log.executor("2", 2, 0, 10, "Command exited with code 143")
    log.executor("3", 2, 0, 50, "Command exited with code 52")
    log.job(0, 0, 100, [0])
    log.stage(0, 0, 100, 2)
    lost = {"Reason": "ExecutorLostFailure", "Executor ID": "3", "Loss Reason": "gone"}
    log.task(0, 0, 50, executor="3", index=0, end=lost, metrics={})
    log.task(0, 50, 100, index=0)
    log.task(0, 0, 50, index=1)
    log.end(100)
    line = timeline(log.account(tmp_path))
    findings = diagnose(line, analyse(line.account, None, line)).findings
    (finding,) = (each for each in findings if each.rule == "executor-lost")
    assert "2 executors, the costliest one 3 on h3 was lost after 50.0 s" in finding.says
    assert "ran out of heap memory" in finding.says


def test_the_first_removal_and_the_last_reason_count(tmp_path: Path) -> None:
    log = SparkLog()
    log.executor("1", 1, 0)
    log.executor("2", 1, 0, 30, "Remote RPC client disassociated.")
    gone = {
        "Timestamp": at(90),
        "Executor ID": "2",
        "Removed Reason": "Command exited with code 52",
    }
    log.add("ExecutorRemoved", **gone)
    log.job(0, 0, 100, [0])
    log.stage(0, 0, 100, 1)
    log.task(0, 0, 100, index=0)
    log.end(100)
    (lost,) = analyse(log.account(tmp_path)).lost_executors
    assert (lost.at_s, lost.reason) == (30.0, "Command exited with code 52")


def test_a_failed_fetch_means_what_ended_the_executor(tmp_path: Path) -> None:
    reason = "Container killed by YARN for exceeding physical memory limits. 5.6 GB of 5.5 GB"
    log = SparkLog(**{"spark.master": "yarn"})
    log.executor("1", 1, 0)
    log.executor("2", 1, 0, 50, reason)
    aborted = "Job aborted due to stage failure: FetchFailed: Failed to connect to h2/10.0.0.2:7337"
    log.job(0, 0, 100, [0], failed=aborted)
    log.stage(0, 0, 100, 1, failed=aborted)
    log.task(0, 0, 100, index=0, end={"Reason": "FetchFailed", "Message": "Failed to connect"})
    log.end(100)
    account = log.account(tmp_path)
    found = failure_meaning(account, analyse(account))
    assert found is not None
    assert found.id == "yarn-physical-memory"


@pytest.mark.parametrize(
    ("hosts", "where"),
    [
        (("h2", "h2", "h2"), "all reading from h2"),
        (("h2", "h9", "h2"), "all reading from h2 (2) and h9 (1)"),
    ],
)
def test_failed_fetches_name_the_hosts_that_they_read_from(
    hosts: tuple[str, ...], where: str, tmp_path: Path
) -> None:
    log = two_hosts()
    for index, host in enumerate(hosts):
        end = {
            "Reason": "FetchFailed",
            "Block Manager Address": {"Executor ID": "2", "Host": host, "Port": 7337},
            "Message": f"Failed to connect to {host}",
        }
        log.task(1, 40, 60, executor="1", index=index, end=end)
    (found,) = wasted(log, tmp_path)
    assert found.where == f"{where}, all on h1, all in stage 1"
    assert found.said == "FetchFailed: Failed to connect to h2"
