"""Plans over labs: each is up for its own trials, and gone after a failure, a kill and the end."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from command_line import AGENT, started, venturi
from torture.measure.lab_remains import ADDRESSES, NAME, NEEDS, id_of, left, remains
from venturi.core.settings import load
from venturi.measure.lab import lab
from venturi.measure.lab.lab_file import lab_of
from venturi.record.access.owner import current_owner
from venturi.record.store.repository import TrialRepository
from venturi.record.trial import Trial

pytestmark = [
    pytest.mark.root,
    pytest.mark.slow,
    pytest.mark.skipif(bool(NEEDS), reason="; ".join(NEEDS)),
]

LAB = """
name = "NAME"
dilation = 2
[network]
addresses = "ADDRESSES"
rate = "RATE"
[disks.ssd]
size = "512MiB"
rate = "400MB/s"
[[hosts]]
name = "h"
count = 2
disks = { ssd = 1 }
"""
PLAN = """
repeats = 1
warm_ups = 0
order = "written"
[factors]
workload = ["pi"]
engine = ["mapreduce:cluster"]
cluster = ["slow", "fast"]
[clusters.slow]
lab = "slow.toml"
[clusters.fast]
lab = "fast.toml"
"""
BRIEF = """
[factors.settings]
"spark.driver.extraJavaOptions" = ["-XX:TieredStopAtLevel=1"]
"spark.executor.extraJavaOptions" = ["-XX:TieredStopAtLevel=1"]
"""  # short tasks gain nothing from the second compiler
LABS = {f"{NAME}-slow": "100Mbit/s", f"{NAME}-fast": "400Mbit/s"}
SLOW, FAST = LABS
SHARE = Path("share/hadoop/mapreduce")
JARS = ("hadoop-mapreduce-examples-3.4.2.jar", "hadoop-mapreduce-client-jobclient-3.4.2-tests.jar")


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    for name, rate in LABS.items():
        text = LAB.replace("NAME", name).replace("ADDRESSES", ADDRESSES).replace("RATE", rate)
        (tmp_path / f"{name.removeprefix(f'{NAME}-')}.toml").write_text(text)
    (tmp_path / "plan.toml").write_text(PLAN)
    return tmp_path / "plan.toml"


@pytest.fixture
def hollow(tmp_path: Path) -> dict[str, str]:
    """With a Hadoop that is found, and of which nothing starts: its jars are empty."""
    home = tmp_path / "hadoop"
    (home / SHARE).mkdir(parents=True)
    for name in JARS:
        (home / SHARE / name).touch()
    return {"HADOOP_HOME": str(home), "VENTURI_AGENT": str(AGENT)}


def told(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(done.stdout)["data"]
    return data


def trials(home: Path) -> dict[str, Trial]:
    """By the plan's name of the cluster; the newest of each."""
    with TrialRepository.open(replace(load({}), home=home)) as repository:
        rows = json.loads(venturi("ls", "--json", home=home).stdout)["data"]
        found = [repository.get(row["id"]) for row in reversed(rows)]
    return {str(trial.configuration["cluster"]): trial for trial in found}


def killed_once(home: Path, plan: Path, ready: Callable[[], bool], **environment: str) -> set[str]:
    """Start a plan and kill it when it is `ready`; return the ids of its lab's remains."""
    child = started("plan", "start", plan, home=home, **environment)
    try:
        until_s = time.monotonic() + 60
        while not ready():
            assert time.monotonic() < until_s
            assert child.poll() is None, child.communicate()
            time.sleep(0.01)
    finally:
        child.kill()
        child.communicate()
    return id_of(home, SLOW)


def test_a_trial_that_fails_takes_its_lab_down_and_the_plan_goes_on(
    tmp_path: Path, plan: Path, hollow: dict[str, str]
) -> None:
    home = tmp_path / "home"
    done = venturi("plan", "start", plan, "--json", home=home, **hollow)
    assert done.returncode == 1, done.stderr
    failed = {each["values"]["cluster"]: each for each in told(done)["failed"]}
    assert {name: each["class"] for name, each in failed.items()} == {
        "slow": "engine failure",
        "fast": "engine failure",
    }
    # By which of its programs it is noticed first is a matter of time.
    assert re.search("ended (unexpectedly|with status 1)", failed["slow"]["reason"])
    assert lab.labs(home) == ()
    kept = trials(home)
    assert {name: trial.cluster.name for name, trial in kept.items()} == {
        "slow": SLOW,
        "fast": FAST,
    }
    assert kept["slow"].cluster.dilation == 2
    rates = {
        link.bytes_per_s for host in kept["slow"].cluster.hosts for link in host.links.values()
    }
    assert rates == {100e6 / 8 / 2}


def test_a_lab_of_that_name_is_left_alone(
    tmp_path: Path, plan: Path, hollow: dict[str, str]
) -> None:
    home = tmp_path / "home"
    file = tmp_path / "fast.toml"
    lab.up(lab_of(file.read_text(), file), home, cores=2, agent=AGENT)
    try:
        refused = venturi("plan", "start", plan, home=home, **hollow)
        assert refused.returncode == 2, refused.stderr
        assert "VEN-LAB-UP" in refused.stderr
        assert "line: 12" in refused.stderr
        assert lab.look(home, FAST).state == "up"
        checked = venturi("plan", "check", plan, home=home, **hollow)
        assert checked.returncode == 0, checked.stderr
        assert f"line 12: the lab {FAST} is already up" in checked.stderr
    finally:
        lab.down(home, FAST)


def test_a_lab_of_a_running_plan_is_taken_down_only_by_name(tmp_path: Path, plan: Path) -> None:
    home, file = tmp_path / "home", tmp_path / "slow.toml"
    lab.up(lab_of(file.read_text(), file), home, cores=2, agent=AGENT, owner=current_owner())
    try:
        refused = venturi("lab", "down", home=home)
        assert refused.returncode == 1, refused.stderr
        assert "VEN-LAB-BUSY" in refused.stderr
        assert f"process {os.getpid()}" in refused.stderr
        assert lab.look(home, SLOW).state == "up"
        done = venturi("lab", "down", "--lab", SLOW, home=home)
        assert done.returncode == 0, done.stderr
        assert lab.labs(home) == ()
    finally:
        if lab.labs(home):
            lab.down(home, SLOW)


def test_what_a_kill_left_half_made_is_removed(
    tmp_path: Path, plan: Path, hollow: dict[str, str]
) -> None:
    home, before = tmp_path / "home", remains()
    journal = lab.folder_of(home, SLOW) / "journal.jsonl"
    ids = killed_once(
        home, plan, lambda: journal.exists() and b"step" in journal.read_bytes(), **hollow
    )
    assert ids
    resumed = venturi("plan", "resume", plan, home=home, **hollow)
    assert f"took down the lab {SLOW}, left behind by a killed plan" in resumed.stderr
    assert "2 failed" in resumed.stdout
    assert lab.labs(home) == ()
    assert left(before, ids) == []


@pytest.mark.long  # the end of a plan that was killed is above, an engine's in test_lab_engines.py
@pytest.mark.engines
def test_a_killed_plan_goes_on(tmp_path: Path, plan: Path, engines_home: Path, spark: None) -> None:
    home, before, real = tmp_path / "home", remains(), {"VENTURI_AGENT": str(AGENT)}
    text = PLAN.replace("mapreduce:cluster", "spark:standalone").replace(', "fast"', "")
    plan.write_text(text + BRIEF)
    for name in ("slow", "fast"):
        file = tmp_path / f"{name}.toml"
        file.write_text(file.read_text().replace("dilation = 2\n", ""))
    home.mkdir()
    (home / "engines").symlink_to(engines_home / "engines")
    ids = killed_once(
        home, plan, lambda: SLOW in lab.labs(home) and lab.look(home, SLOW).state == "up", **real
    )
    assert lab.look(home, SLOW).state == "left"
    assert "has ended" in venturi("lab", "status", home=home).stdout
    done = venturi("plan", "resume", plan, "--json", home=home, **real)
    assert done.returncode == 0, done.stderr
    assert told(done)["counts"] == {"done": 1, "failed": 0, "running": 0, "left": 0}
    assert lab.labs(home) == ()
    assert left(before, ids) == []
    assert trials(home)["slow"].cluster.name == SLOW
    ranked = venturi("rank", "--by", "cluster", "--json", home=home)
    assert [each["key"] for each in json.loads(ranked.stdout)["data"]["groups"]] == [
        {"cluster": "slow"}
    ]
