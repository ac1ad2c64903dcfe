"""Real Hadoop and Spark at the smallest scale: every program, every fault, nothing left behind.

Hadoop is fetched once and kept in the user's cache folder.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from test_engine_process import MARK, marked, wait_until_gone

from venturi.measure.engines import engine
from venturi.measure.engines.install import installed

RUN = (sys.executable, "-m", "venturi.cli.main")
pytestmark = pytest.mark.slow


@pytest.fixture(scope="session")
def engines_home() -> Path:
    """A VENTURI_HOME in which Hadoop is installed, kept between test runs."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    home = cache / "venturi-tests"
    if installed(home) is None:
        if shutil.which("mvn") is None or shutil.which("java") is None:
            pytest.skip("Hadoop needs Maven and Java (Debian packages maven, openjdk-17-jdk)")
        done = subprocess.run(
            [*RUN, "engines", "install", "mapreduce"],
            env={**os.environ, "VENTURI_HOME": str(home)},
            capture_output=True, text=True, check=False, timeout=280,
        )  # fmt: skip
        if "could not fetch" in done.stderr:
            pytest.skip(f"Maven Central cannot be reached: {done.stderr.splitlines()[0]}")
        assert done.returncode == 0, done.stderr
    return home


@pytest.fixture(scope="session")
def spark() -> None:
    """Skips where Spark cannot run."""
    found = engine("spark", home=Path(), environ=os.environ).available()
    if not found.usable:
        pytest.skip("; ".join(each.what for each in found.missing))


@pytest.fixture
def home(tmp_path: Path, engines_home: Path) -> Path:
    """An empty repository that shares the installed engines."""
    folder = tmp_path / "home"
    folder.mkdir()
    (folder / "engines").symlink_to(engines_home / "engines")
    return folder


@pytest.fixture
def mark(tmp_path: Path) -> Iterator[str]:
    """As in test_engine_process: nothing of a test's processes may be left."""
    text = f"{tmp_path.name}-{os.getpid()}"
    yield text
    wait_until_gone(text)


def start(home: Path, mark: str, *arguments: object, **environment: str) -> subprocess.Popen[str]:
    disk = home.parent / "disk"
    disk.mkdir(exist_ok=True)
    return subprocess.Popen(
        [*RUN, "run", *map(str, arguments), "--dir", str(disk), "--warm-up", "0", "--json"],
        env={**os.environ, "VENTURI_HOME": str(home), MARK: mark, **environment},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def run(home: Path, mark: str, *arguments: object, **environment: str) -> tuple[int, Any, str]:
    process = start(home, mark, *arguments, **environment)
    out, err = process.communicate(timeout=280)
    return process.returncode, json.loads(out) if out else None, err


def test_the_same_input_on_all_three(home: Path, mark: str, spark: None) -> None:
    status, done, err = run(
        home, mark, "terasort", "--engine", "native,mapreduce,spark", "--repeat", 1,
        "--set", "spark.sql.shuffle.partitions=3", "--set", "mapreduce.job.reduces=3",
    )  # fmt: skip
    assert status == 0, err
    trials = {trial["engine"]["name"]: trial for trial in done["data"]}
    assert {trial["state"] for trial in trials.values()} == {"succeeded"}
    assert {trial["workload"]["input_records"] for trial in trials.values()} == {32_000}
    kept = {name: {each["name"] for each in t["artifacts"]} for name, t in trials.items()}
    assert {"engine.log", "eventlog.json", "configuration.json", "series.parquet"} <= kept["spark"]
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
    assert list((home.parent / "disk").iterdir()) == []


@pytest.mark.parametrize("workload", ["sort", "wordcount", "pi"])
@pytest.mark.parametrize("name", ["mapreduce", "spark"])
def test_the_other_programs(
    home: Path, mark: str, name: str, workload: str, request: pytest.FixtureRequest
) -> None:
    if name == "spark":
        request.getfixturevalue("spark")
    status, done, err = run(home, mark, workload, "--engine", name, "--repeat", 1)
    assert status == 0, err
    assert [trial["state"] for trial in done["data"]] == ["succeeded"]


@pytest.mark.parametrize("workload", ["dfsio-write", "dfsio-read"])
def test_dfsio(home: Path, mark: str, workload: str) -> None:
    status, done, err = run(home, mark, workload, "--engine", "mapreduce", "--repeat", 1)
    assert status == 0, err
    (trial,) = done["data"]
    samples = {sample["metric"]: sample for sample in trial["samples"]}
    for metric in ("dfsio_throughput_bytes_per_s", "dfsio_average_io_rate_bytes_per_s"):
        # A small file may take less than the millisecond that TestDFSIO divides by.
        value, reason = samples[metric]["value"], samples[metric]["missing_reason"]
        assert value > 1e6 if value is not None else "millisecond" in reason


def wait_for(mark: str, program: bytes) -> int:
    """The process of `mark` whose command line has `program`."""
    deadline = time.monotonic() + 200
    while time.monotonic() < deadline:
        for pid in marked(mark):
            try:
                if program in Path(f"/proc/{pid}/cmdline").read_bytes():
                    return pid
            except OSError:
                continue
        time.sleep(0.05)
    raise AssertionError(f"{program!r} was not started")


def test_a_jvm_killed_in_the_middle_of_its_job(home: Path, mark: str) -> None:
    process = start(home, mark, "pi", "--engine", "mapreduce", "--scale", "huge", "--repeat", 1)
    os.kill(wait_for(mark, b"bin/java\0-Xmx"), signal.SIGKILL)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 1, err
    assert json.loads(out)["error"]["code"] == "VEN-ENGINE-FAILED"
    assert "killed by signal 9" in err
    assert marked(mark) == []


def test_venturi_killed_in_the_middle_of_a_spark_job(home: Path, mark: str, spark: None) -> None:
    process = start(home, mark, "pi", "--engine", "spark", "--scale", "large", "--repeat", 1)
    wait_for(mark, b"pyspark.daemon")
    assert len(marked(mark)) >= 4  # venturi, its supervisor, driver, executor and its workers
    process.kill()
    process.communicate(timeout=60)
    wait_until_gone(mark)


def test_time_is_up(home: Path, mark: str) -> None:
    status, done, _ = run(
        home, mark, "pi", "--engine", "mapreduce", "--scale", "huge", "--repeat", 1,
        "--timeout", "3s",
    )  # fmt: skip
    assert status == 1
    assert done["error"]["code"] == "VEN-ENGINE-TIMEOUT"
    assert marked(mark) == []


def test_a_job_that_fails_keeps_its_log(home: Path, mark: str) -> None:
    status, done, _ = run(
        home, mark, "terasort", "--engine", "mapreduce", "--repeat", 1,
        "--set", "mapreduce.task.io.sort.mb=999999",
    )  # fmt: skip
    assert status == 1
    assert done["error"]["code"] == "VEN-ENGINE-FAILED"
    (log,) = home.glob("artifacts/*/engine.log")
    assert "Invalid" in log.read_text()
