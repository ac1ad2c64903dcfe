"""Tiers on Hadoop's own test cluster, with three local directories in its NodeManager."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyspark
import pytest

from this_host import FILES
from venturi.measure.engines.hadoop.install import installed
from venturi.measure.engines.spark import tiers
from venturi.record.job_account import TIERS_SETTING

pytestmark = [pytest.mark.engines, pytest.mark.long]
CLUSTER = Path(__file__).with_name("MiniYarn.java")
PROGRAM = Path(__file__).with_name("mini_yarn_program.py")
COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy"
OPENED = "--add-opens=java.base/java.lang=ALL-UNNAMED"  # to its pages
FIRST = "nm-0_0"  # in the name of the first of its directories
FOLDERS = {f"mini-yarn-localDir-nm-0_{number}" for number in range(3)}
SETTINGS = {
    "spark.master": "yarn",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "512m",
    "spark.eventLog.compress": "false",
    "spark.eventLog.enabled": "true",
    "spark.eventLog.rolling.enabled": "false",
    "spark.executor.instances": "2",
    "spark.executor.memory": "512m",
    "spark.plugins": tiers.PLUGIN,
    # Fail when files are missing instead of recomputing them.
    "spark.stage.maxConsecutiveAttempts": "1",
    "spark.ui.enabled": "false",
    "spark.yarn.am.memory": "512m",
    "spark.yarn.jars": f"local:{Path(pyspark.__file__).parent}/jars/*",
    TIERS_SETTING: f"{FIRST} 0B",
    f"{TIERS_SETTING}.interval": "200ms",  # YARN ends executors of a short job without a word
    f"{TIERS_SETTING}.reserves": "shuffle_index 1000TB",
    f"{TIERS_SETTING}.strict": "true",
}


@pytest.fixture(scope="module")
def mini_jars(engines_home: Path) -> str:
    """Return a class path: Hadoop's jars, and the one with MiniYARNCluster, cached next to them."""
    hadoop_home = installed(FILES, engines_home)
    assert hadoop_home is not None
    folder = hadoop_home.parent / f"{hadoop_home.name}-tests"
    version = hadoop_home.name.split("-")[1]
    jar = folder / f"hadoop-yarn-server-tests-{version}-tests.jar"
    if not jar.exists():
        artifact = f"org.apache.hadoop:hadoop-yarn-server-tests:{version}:jar:tests"
        fetch = ["mvn", "-q", "-B", COPY, f"-Dartifact={artifact}", f"-DoutputDirectory={folder}"]
        if shutil.which("mvn") is None:
            pytest.skip("MiniYARNCluster needs Maven (Debian package maven)")
        done = subprocess.run(fetch, capture_output=True, text=True, check=False, timeout=280)
        if "Could not transfer" in done.stdout:
            pytest.skip("Maven Central, which has MiniYARNCluster, cannot be reached")
        assert done.returncode == 0, done.stdout
    return f"{hadoop_home}/*:{jar}"


@contextmanager
def mini_yarn(jars: str, folder: Path) -> Iterator[Path]:
    """The cluster, with its local directories in `folder`: the one of its configuration."""
    java, site = shutil.which("java"), folder / "conf/yarn-site.xml"
    assert java is not None
    site.parent.mkdir()
    deadline = time.monotonic() + 100
    environ = {**os.environ, "JAVA_HOME": str(Path(java).resolve().parents[1])}
    with (
        (folder / "mini-yarn.log").open("wb") as log,
        subprocess.Popen(
            [java, OPENED, "-cp", jars, str(CLUSTER), str(site)],
            cwd=folder,
            env=environ,
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
        ) as started,
    ):
        assert started.stdin is not None
        try:
            while not site.exists():
                assert started.poll() is None, (folder / "mini-yarn.log").read_text()
                assert time.monotonic() < deadline
                time.sleep(0.1)
            yield site.parent
        finally:
            started.stdin.close()


def accounts(log: Path) -> list[dict[str, Any]]:
    """Return the executors' accounts of their tiers."""
    events = map(json.loads, log.read_text().splitlines())
    found = [event["account"] for event in events if "account" in event]
    return [each for each in found if each["executor_id"] != "driver"]


def test_kinds_have_their_tiers(
    spark: None, mini_jars: str, tiers_jar: Path, tmp_path: Path
) -> None:
    """YARN gives each container its directories; executors of a host find each other's files."""
    logs = tmp_path / "logs"
    logs.mkdir()
    settings = {
        **SETTINGS,
        "spark.eventLog.dir": logs.as_uri(),
        "spark.jars": str(tiers_jar),
        "spark.local.dir": str(tmp_path),  # of the driver
        "spark.yarn.stagingDir": tmp_path.as_uri(),
    }
    archives = {"PYSPARK_ARCHIVES_PATH": "local:/none"}  # no task is one of Python
    with mini_yarn(mini_jars, tmp_path) as conf:
        subprocess.run(
            [sys.executable, str(PROGRAM), json.dumps(settings)],
            env={**os.environ, **archives, "YARN_CONF_DIR": str(conf)},
            check=True,
            timeout=200,
        )
        (log,) = logs.iterdir()
        told = [tier for account in accounts(log) for tier in account["tiers"]]
        folders = {Path(each) for tier in told for each in tier["directories"]}
        deadline = time.monotonic() + 60
        while left := [each for each in folders if each.exists()]:
            assert time.monotonic() < deadline, left
            time.sleep(0.1)
    assert {part for each in folders for part in each.parts if "localDir" in part} == FOLDERS
    seen = {
        (tier["tier"], kind["kind"])
        for tier in told
        for kind in tier["kinds"]
        if kind["seen_bytes"]
    }
    assert seen >= {(FIRST, "shuffle"), ("last", "shuffle_index")}
    assert not seen & {("last", "shuffle"), (FIRST, "shuffle_index")}
