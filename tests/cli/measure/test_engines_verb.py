"""`venturi engines`: found, missing and installable parts; a fetch that fails."""

from __future__ import annotations

import json
import os
import re
import stat
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from command_line import started, venturi
from venturi.measure.engines.hadoop.install import PINNED, pins, place_of


def engines(tmp_path: Path, **environment: str) -> dict[str, Any]:
    done = venturi("engines", "--json", home=tmp_path / "home", **environment)
    assert done.returncode == 0, done.stderr
    return {each["engine"]: each for each in json.loads(done.stdout)["data"]}


def program(folder: Path, name: str, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def java(home: Path, version: str) -> str:
    program(home / "bin", "java", "exit 1")
    (home / "release").write_text(f'JAVA_VERSION="{version}"\n')
    return str(home)


def test_nothing_of_an_engine_is_here(tmp_path: Path) -> None:
    (tmp_path / "python3").symlink_to(sys.executable)  # the stand-in for the agent needs it
    found = engines(
        tmp_path, PATH=str(tmp_path), SPARK_HOME=str(tmp_path), JAVA_HOME="", HADOOP_HOME=""
    )
    assert list(found) == ["native", "mapreduce", "spark"]
    assert found["native"]["usable"]
    assert found["native"]["version"] == "9.9.9"
    for name, mend in (
        ("mapreduce", "venturi engines install mapreduce"),
        ("spark", "pip install 'venturi[spark]'"),
    ):
        assert not found[name]["usable"]
        mends = [each["mend"] for each in found[name]["missing"]]
        assert mends == [mend, "apt-get install openjdk-17-jre-headless"]


def test_a_row_an_engine_and_what_to_type_below_one_that_is_not_ready(tmp_path: Path) -> None:
    done = venturi(
        "engines",
        home=tmp_path / "home",
        HADOOP_HOME="",
        SPARK_HOME=str(tmp_path),
        JAVA_HOME=java(tmp_path / "java", "17.0.15"),
    )
    assert [re.split(r"  +", line) for line in done.stdout.splitlines()] == [
        ["engine", "version", "state"],
        ["native", "9.9.9", "ready"],
        ["mapreduce", "—", "not ready: Hadoop is not installed"],
        ["", "type: venturi engines install mapreduce"],
        ["spark", "—", "not ready: Spark is not installed"],
        ["", "type: pip install 'venturi[spark]'"],
    ]


@pytest.mark.parametrize(
    ("version", "unfit"),
    [("17.0.15", set()), ("11.0.2", {"spark"}), ("25.0.1", {"mapreduce"})],
)
def test_java_fits_or_not(tmp_path: Path, version: str, unfit: set[str]) -> None:
    found = engines(tmp_path, JAVA_HOME=java(tmp_path / "java", version))
    codes = {name: [each["code"] for each in engine["missing"]] for name, engine in found.items()}
    assert {name for name, found in codes.items() if "VEN-ENGINE-JAVA" in found} == unfit
    assert found["spark"]["parts"]["java"] == version


def test_an_old_spark_is_not_enough(tmp_path: Path) -> None:
    home = tmp_path / "spark"
    program(home / "bin", "spark-submit", "exit 1")
    (home / "jars").mkdir()
    (home / "jars" / "spark-core_2.12-3.4.1.jar").touch()
    spark = engines(tmp_path, SPARK_HOME=str(home))["spark"]
    assert spark["version"] == "3.4.1"
    assert "older" in spark["missing"][0]["what"]


def test_a_hadoop_home_without_its_examples(tmp_path: Path) -> None:
    found = engines(tmp_path, HADOOP_HOME=str(tmp_path))["mapreduce"]
    assert "examples" in found["missing"][0]["what"]


def test_an_engine_that_is_missing_runs_nothing(tmp_path: Path) -> None:
    done = venturi(
        "run",
        "terasort",
        "--engine",
        "native,mapreduce",
        "--dir",
        tmp_path,
        home=tmp_path / "home",
        HADOOP_HOME="",
    )
    assert done.returncode == 1
    assert "VEN-ENGINE-MISSING" in done.stderr
    assert "venturi engines install mapreduce" in done.stderr
    assert not (tmp_path / "home" / "artifacts").exists()


def install(tmp_path: Path, maven: str, how: Callable[..., Any] = venturi) -> Any:
    """`venturi engines install` with a stand-in for Maven that does `maven`."""
    program(tmp_path / "bin", "mvn", maven)
    path = f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"
    home = java(tmp_path / "java", "17.0.1")
    return how("engines", "install", "mapreduce", home=tmp_path / "home", PATH=path, JAVA_HOME=home)


# The folder is the value of -DoutputDirectory, as for the real one.
JARS = 'for a in "$@"; do case $a in -DoutputDirectory=*) d=${a#*=};; esac; done; mkdir -p "$d"; '


def test_jars_that_are_not_those_pinned(tmp_path: Path) -> None:
    names = " ".join(f'"$d/{name}"' for name in pins())
    done = install(tmp_path, f"{JARS} touch {names}")
    assert done.returncode == 1
    assert "VEN-ENGINE-INSTALL" in done.stderr
    assert "nothing was installed" in done.stderr
    assert not place_of(tmp_path / "home").exists()


def test_maven_that_fails(tmp_path: Path) -> None:
    done = install(tmp_path, "echo '[ERROR] Could not transfer artifact'; exit 1")
    assert done.returncode == 1
    assert "Could not transfer artifact" in done.stderr


@pytest.mark.parametrize("installed", [False, True])
def test_two_at_once_take_turns(tmp_path: Path, *, installed: bool) -> None:
    fetching, end = tmp_path / "fetching", tmp_path / "end"
    maven = (
        f"mkdir {fetching} || {{ echo '[ERROR] not alone'; exit 1; }}; "
        f"until [ -e {end} ]; do sleep 0.05; done; rmdir {fetching}; echo '[ERROR] gone'; exit 1"
    )
    first = install(tmp_path, maven, started)
    while not fetching.exists():
        assert first.poll() is None, first.communicate()
        time.sleep(0.02)
    second = install(tmp_path, maven, started)
    waits = f"waits for another `venturi engines install` (process {first.pid})"
    assert waits in second.stderr.readline()
    if installed:
        place_of(tmp_path / "home").mkdir()
    end.touch()
    assert "Maven could not fetch Hadoop: [ERROR] gone" in first.communicate(timeout=60)[1]
    out, err = second.communicate(timeout=60)
    assert (first.returncode, second.returncode) == (1, 0 if installed else 1)
    assert ("already" in out) if installed else ("[ERROR] gone" in err)


def test_a_lock_that_cannot_be_had(tmp_path: Path) -> None:
    (tmp_path / "home" / "engines" / ".install.lock").mkdir(parents=True)
    done = install(tmp_path, "exit 1")
    assert done.returncode == 1
    assert "Hadoop cannot be installed in" in done.stderr
    assert "VENTURI_HOME" in done.stderr


def test_no_maven(tmp_path: Path) -> None:
    done = venturi(
        "engines",
        "install",
        "mapreduce",
        home=tmp_path / "home",
        PATH=str(tmp_path),
        JAVA_HOME=java(tmp_path / "java", "17"),
    )
    assert done.returncode == 1
    assert "apt-get install maven" in done.stderr


def test_what_is_installed_is_not_fetched_again(tmp_path: Path) -> None:
    place_of(tmp_path / "home").mkdir(parents=True)
    done = install(tmp_path, "exit 1")
    assert done.returncode == 0, done.stderr
    assert "already" in done.stdout


def test_every_jar_is_pinned_once() -> None:
    lines = (PINNED / "jars.sha256").read_text().splitlines()
    assert len(lines) == len(pins()) > 100
    assert all(len(digest) == 64 for digest in pins().values())
