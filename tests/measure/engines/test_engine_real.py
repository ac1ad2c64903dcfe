"""Real Hadoop and Spark at the smallest scale: every program, every fault, nothing left behind.

Hadoop is fetched once and kept in the user's cache folder.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from engine_runs import marked, run, start, wait_for, wait_until_gone

pytestmark = pytest.mark.engines

DISKS = "VEN-MEASURE-DISKS"


def test_the_same_input_on_all_three(home: Path, mark: str, spark: None) -> None:
    disks = [home.parent / name for name in ("disk", "other")]
    disks[1].mkdir()
    named = [f"--dir={role}={disk}" for role in ("scratch", "output") for disk in disks]
    status, done, err = run(
        home,
        mark,
        "terasort",
        "--engine",
        "native,spark,mapreduce",
        "--repeat",
        1,
        "--set",
        "spark.sql.shuffle.partitions=3",
        "--set",
        "mapreduce.job.reduces=3",
        *named,
        "--keep-data",
    )
    assert status == 0, err
    trials = {trial["engine"]["name"]: trial for trial in done["data"]}
    assert {trial["state"] for trial in trials.values()} == {"succeeded"}
    assert {trial["workload"]["input_records"] for trial in trials.values()} == {32_000}
    kept = {name: {each["name"] for each in t["artifacts"]} for name, t in trials.items()}
    assert {
        "engine.log",
        "eventlog.json",
        "configuration.json",
        "series.parquet",
        "job-account.json",
        "stages.parquet",
    } <= kept["spark"]
    assert {"engine.log", "counters.json", "series.parquet"} <= kept["mapreduce"]
    assert trials["spark"]["configuration"]["spark.sql.shuffle.partitions"] == "3"
    folder = home / "artifacts" / trials["spark"]["id"]
    effective = json.loads((folder / "configuration.json").read_text())
    assert effective["spark.sql.shuffle.partitions"] == "3"
    assert '"SparkListenerApplicationEnd"' in (folder / "eventlog.json").read_text()
    counters = json.loads(
        (home / "artifacts" / trials["mapreduce"]["id"] / "counters.json").read_text()
    )
    assert counters["Map-Reduce Framework"]["Shuffled Maps "] == 3  # one map, three reducers
    for name in ("mapreduce", "spark"):
        own = [phase for phase in trials[name]["phases"] if phase["name"] != "validate"]
        timed_s = sum(p["elapsed_s"] for p in own if p["name"] != "generate")
        assert timed_s == pytest.approx(trials[name]["elapsed_s"], abs=0.01)
        warned = {each["code"]: each["message"] for each in trials[name]["warnings"]}
        assert f"of 2 folders for output only the first was used: {disks[0]}" in warned[DISKS]
    assert DISKS not in {each["code"] for each in trials["native"]["warnings"]}
    # Shuffled and spilled data go to both disks.
    local = effective["spark.local.dir"].split(",")
    assert [Path(each).is_relative_to(disk) for each, disk in zip(local, disks, strict=True)] == [
        True,
        True,
    ]
    assert list(disks[1].rglob("spills/localRunner"))
    assert list(disks[0].rglob("result/part-*"))


# Slow cases are those that test_hadoop_cluster.py and test_spark_deployments.py cover, too, or that
# the program's other engine covers here.
@pytest.mark.parametrize(
    ("workload", "engine"),
    [
        ("wordcount", "mapreduce"),
        ("pi", "mapreduce"),
        ("teragen", "spark"),
        ("teravalidate", "mapreduce"),
        *(
            pytest.param(*each, marks=pytest.mark.long)
            for each in (
                ("sort", "mapreduce"),
                ("teragen", "mapreduce"),
                ("teravalidate", "spark"),
                ("sort", "spark"),
                ("wordcount", "spark"),
                ("pi", "spark"),
            )
        ),
    ],
)
def test_the_other_programs(home: Path, mark: str, spark: None, workload: str, engine: str) -> None:
    status, done, err = run(home, mark, workload, "--engine", engine, "--repeat", 1)
    assert status == 0, err
    (trial,) = done["data"]
    assert (trial["engine"]["name"], trial["state"]) == (engine, "succeeded")
    assert list((home.parent / "disk").iterdir()) == []


def test_dfsio(home: Path, mark: str) -> None:
    # It writes what it then reads.
    status, done, err = run(home, mark, "dfsio-read", "--engine", "mapreduce", "--repeat", 1)
    assert status == 0, err
    (trial,) = done["data"]
    samples = {sample["metric"]: sample for sample in trial["samples"]}
    for metric in ("dfsio_throughput_bytes_per_s", "dfsio_average_io_rate_bytes_per_s"):
        # A small file may take less than the millisecond that TestDFSIO divides by.
        value, reason = samples[metric]["value"], samples[metric]["missing_reason"]
        assert value > 1e6 if value is not None else "millisecond" in reason


def test_a_jvm_killed_in_the_middle_of_its_job(home: Path, mark: str) -> None:
    process = start(home, mark, "pi", "--engine", "mapreduce", "--scale", "huge", "--repeat", 1)
    os.kill(wait_for(mark, b"bin/java\0-Xmx"), signal.SIGKILL)
    require_killed(process)
    assert marked(mark) == []


def test_a_supervisor_killed_in_the_middle_of_its_job(home: Path, mark: str) -> None:
    process = start(home, mark, "pi", "--engine", "mapreduce", "--scale", "huge", "--repeat", 1)
    wait_for(mark, b"bin/java\0-Xmx")
    os.kill(wait_for(mark, b"bin/java\0-Xmx", supervisor=True), signal.SIGKILL)
    require_killed(process)
    wait_until_gone(mark)  # the kernel kills the job, without waiting


def require_killed(process: subprocess.Popen[str]) -> None:
    """It ends, and says what happened to its engine."""
    out, err = process.communicate(timeout=120)
    assert process.returncode == 1, err
    assert json.loads(out)["error"]["code"] == "VEN-ENGINE-FAILED"
    assert "killed by signal 9" in err


def test_venturi_killed_in_the_middle_of_a_spark_job(home: Path, mark: str, spark: None) -> None:
    process = start(
        home, mark, "pi", "--engine", "spark:standalone", "--scale", "large", "--repeat", 1
    )
    wait_for(mark, b"pyspark.daemon")
    # venturi, the supervisors of master, worker and driver, these, the executor and its workers
    assert len(marked(mark)) >= 9
    process.kill()
    process.communicate(timeout=60)
    wait_until_gone(mark)


@pytest.mark.long  # on a cluster in test_hadoop_cluster.py; after a kill nothing is left, above
def test_time_is_up(home: Path, mark: str) -> None:
    status, done, _ = run(
        home,
        mark,
        "pi",
        "--engine",
        "mapreduce",
        "--scale",
        "huge",
        "--repeat",
        1,
        "--timeout",
        "3s",
    )
    assert status == 1
    assert done["error"]["code"] == "VEN-ENGINE-TIMEOUT"
    assert marked(mark) == []


def test_a_job_that_fails_keeps_its_log(home: Path, mark: str) -> None:
    status, done, _ = run(
        home,
        mark,
        "terasort",
        "--engine",
        "mapreduce",
        "--repeat",
        1,
        "--set",
        "mapreduce.task.io.sort.mb=999999",
    )
    assert status == 1
    assert done["error"]["code"] == "VEN-ENGINE-FAILED"
    (log,) = home.glob("artifacts/*/engine.log")
    assert "Invalid" in log.read_text()
