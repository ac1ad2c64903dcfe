"""Spark's requirements of a cluster, Java and memory, checked before a job starts."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import pytest
from spark_runs import made, resources

from this_host import FILES, HOST
from venturi.core.errors import ExitCode, VenturiError
from venturi.measure.engines.process_job import require_instances
from venturi.measure.engines.registry import engine
from venturi.measure.engines.spark import deployment as spark_cluster
from venturi.measure.engines.spark.deployment import MIB, shares


def test_a_budget_is_split() -> None:
    whole = shares(threads=4, memory_bytes=4 << 30, executors=3)
    assert (whole.cores, whole.driver_mib, whole.executor_mib) == (2, 1024, 1024)
    large = shares(threads=8, memory_bytes=64 << 30, executors=1)
    assert (large.driver_mib, large.executor_mib) == (1024, 63 * 1024)
    small = shares(threads=2, memory_bytes=256 * MIB, executors=2)
    assert (small.cores, small.driver_mib, small.executor_mib) == (1, 512, 512)


def test_executors_that_never_come(tmp_path: Path) -> None:
    log = tmp_path / "engine.log"
    starved = "WARN TaskSchedulerImpl: Initial job has not accepted any resources; check\n"
    for text in ("", 3 * starved, "INFO Granted executor ID app-1/0 on\n" + 9 * starved):
        log.write_text(text)
        spark_cluster.require_executors(FILES, log)
    log.write_text(4 * starved)
    with pytest.raises(VenturiError, match="no executor was granted in 60 s"):
        spark_cluster.require_executors(FILES, log)


@pytest.mark.engines
def test_nobody_answers(spark: None, tmp_path: Path) -> None:
    for url in ("spark://127.0.0.1:1", "spark://127.0.0.1:1,127.0.0.1:2", "spark://:"):
        with pytest.raises(VenturiError, match="nothing answers") as caught:
            made(url).start(resources(tmp_path))
        assert caught.value.code == "VEN-ENGINE-CLUSTER"


@pytest.mark.engines
def test_what_yarn_needs(spark: None, tmp_path: Path) -> None:
    environ = {key: value for key, value in os.environ.items() if key != "HADOOP_HOME"}
    found = engine("spark:yarn", HOST, home=tmp_path, environ=environ).available()
    assert found.engine == "spark:yarn"
    assert [(each.what, each.mend) for each in found.missing] == [
        ("for YARN: Hadoop is not installed", "venturi engines install mapreduce")
    ]
    given = engine("spark:yarn", HOST, home=tmp_path, environ=environ, hadoop_conf=tmp_path)
    assert given.available().usable


@pytest.mark.parametrize(
    ("spark_version", "java", "fit"),
    [
        ("4.3.0", "11.0.2", False),
        ("4.3.0", "21.0.1", True),
        ("3.5.9", "11.0.2", True),
        ("3.4.1", "11.0.2", False),
        ("3.5.9", "25", False),
    ],
)
def test_versions_that_fit(tmp_path: Path, spark_version: str, java: str, fit: bool) -> None:
    home, java_home = tmp_path / "spark", tmp_path / "java"
    for program in (home / "bin" / "spark-submit", java_home / "bin" / "java"):
        program.parent.mkdir(parents=True)
        program.touch(mode=0o755)
    (home / "jars").mkdir()
    (home / "jars" / f"spark-core_2.13-{spark_version}.jar").touch()
    (java_home / "release").write_text(f'JAVA_VERSION="{java}"\n')
    environ = {"SPARK_HOME": str(home), "JAVA_HOME": str(java_home)}
    found = engine("spark", HOST, home=tmp_path, environ=environ)
    assert found.available().usable is fit
    if not fit:
        with pytest.raises(VenturiError) as caught:
            found.start(resources(tmp_path))
        assert caught.value.code in {"VEN-ENGINE-JAVA", "VEN-ENGINE-MISSING"}


def test_engines_that_execute_once_at_a_time() -> None:
    one = engine("native", HOST, home=Path(), environ=os.environ)
    require_instances(one, 1)
    require_instances(made("standalone"), 8)
    for found, instances in ((one, 2), (made("standalone"), 65)):
        with pytest.raises(
            VenturiError, match=r"one copy of a workload at a time|65 instances"
        ) as caught:
            require_instances(found, instances)
        assert caught.value.exit_code is ExitCode.USAGE


def test_what_python_workers_get(tmp_path: Path) -> None:
    with zipfile.ZipFile(spark_cluster.packed(FILES, tmp_path)) as archive:
        names = archive.namelist()
    assert "venturi/measure/workloads/shared/spark_storage.py" in names
    assert "venturi/core/errors.py" in names
    assert not any(name.startswith("venturi/cli") for name in names)
