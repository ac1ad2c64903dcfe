"""`venturi plan` with the real native engine: kills, full disks, concurrent starts, Ctrl-C."""

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

from command_line import venturi

PLAN = """
repeats = 3
warm_ups = 1
[factors]
workload = ["terasort", "wordcount"]
bytes = ["96kB"]
"""
LAB = """
[disks.data]
size = "1GB"
[[hosts]]
name = "h"
roles = ["master", "worker"]
disks = { data = 1 }
"""
LATE = "repeats = 1\nwarm_ups = 0\ntimeout = '0.2s'"


def written(tmp_path: Path, text: str = PLAN) -> Path:
    file = tmp_path / "study.toml"
    disk = '[disks.here]\ninput = ["data"]\nscratch = ["data"]\noutput = ["data"]\n'
    file.write_text(text.replace("[factors]", '[factors]\ndisk = ["here"]') + disk)
    (tmp_path / "data").mkdir(exist_ok=True)
    return file


@pytest.fixture
def real(agent_binary: Path) -> dict[str, str]:
    return {"VENTURI_AGENT": str(agent_binary), "VENTURI_ALLOW_DEBUG": "1"}


def counts(file: Path, home: Path, real: dict[str, str]) -> dict[str, int]:
    done = venturi("plan", "status", file, "--json", home=home, **real)
    assert done.returncode == 0, done.stderr
    found: dict[str, int] = json.loads(done.stdout)["data"]["counts"]
    return found


def begun(file: Path, home: Path, real: dict[str, str], *more: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "venturi.cli.main", "plan", "start", str(file), *more],
        env={**os.environ, **real, "VENTURI_HOME": str(home)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for(condition: Any) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.slow
def test_a_killed_plan_goes_on_with_what_is_missing(tmp_path: Path, real: dict[str, str]) -> None:
    home, file = tmp_path / "home", written(tmp_path)
    child = begun(file, home, real)
    assert child.stderr is not None
    while ", repetition " not in child.stderr.readline():
        pass  # until one trial is done, and the next is under way
    child.kill()
    child.communicate()
    after = counts(file, home, real)
    assert 1 <= after["done"] < 6
    refused = venturi("plan", "start", file, home=home, **real)
    assert (refused.returncode, "VEN-PLAN-BEGUN" in refused.stderr) == (1, True)
    done = venturi("plan", "resume", file, "--json", home=home, **real)
    assert done.returncode == 0, done.stderr
    data = json.loads(done.stdout)["data"]
    assert data["counts"] == {"done": 6, "failed": 0, "running": 0, "left": 0}
    listed = venturi("ls", "--experiment", data["plan"], "--json", "--limit", 0, home=home, **real)
    succeeded = [t for t in json.loads(listed.stdout)["data"] if t["state"] == "succeeded"]
    assert sorted(t["repetition"] for t in succeeded) == list(range(6))
    assert list((tmp_path / "data").iterdir()) == []
    nothing = venturi("plan", "resume", file, home=home, **real)
    assert nothing.returncode == 0, nothing.stderr


@pytest.mark.slow
def test_two_plans_do_not_measure_at_once(tmp_path: Path, real: dict[str, str]) -> None:
    home, file = tmp_path / "home", written(tmp_path)
    lock = Path(os.environ["VENTURI_LOCK"])
    first = begun(file, home, real)
    try:
        wait_for(lambda: lock.exists() and (home / "venturi.sqlite").exists())
        refused = venturi("plan", "resume", file, home=home, **real)
        assert (refused.returncode, "VEN-MEASURE-BUSY" in refused.stderr) == (1, True)
        assert f"process {first.pid}" in refused.stderr
        waited = venturi("plan", "resume", file, "--wait", "--json", home=home, **real)
        assert waited.returncode == 0, waited.stderr
        assert json.loads(waited.stdout)["data"]["counts"]["done"] == 6
    finally:
        first.communicate(timeout=60)
    assert first.returncode == 0


@pytest.mark.slow
def test_ctrl_c_says_how_to_go_on(tmp_path: Path, real: dict[str, str]) -> None:
    home, file = tmp_path / "home", written(tmp_path, PLAN.replace("96kB", "200MB"))
    child = begun(file, home, real, "--quiet")
    wait_for(lambda: list((tmp_path / "data").iterdir()))
    child.send_signal(signal.SIGINT)
    _, said = child.communicate(timeout=30)
    assert child.returncode == 130
    assert f"venturi plan resume {file}" in said
    assert list((tmp_path / "data").iterdir()) == []
    assert counts(file, home, real)["left"] == 6


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder, image = tmp_path / "small", tmp_path / "image"
    folder.mkdir()
    if os.geteuid() != 0 or shutil.which("mkfs.ext4") is None:
        pytest.skip("only root can mount")
    image.write_bytes(b"")
    os.truncate(image, 16 << 20)
    subprocess.run(["mkfs.ext4", "-q", image], check=True)
    mounted = subprocess.run(["mount", "-o", "loop", image, folder], check=False)
    if mounted.returncode:
        pytest.skip("no loop mounts here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


def test_a_full_disk_fails_its_trials_and_not_the_plan(
    tmp_path: Path, real: dict[str, str], small_disk: Path
) -> None:
    home, file = tmp_path / "home", tmp_path / "study.toml"
    file.write_text(
        'repeats = 1\nwarm_ups = 0\norder = "written"\n[factors]\nworkload = ["terasort"]\n'
        'bytes = ["40MB", "100kB"]\ndisk = ["small"]\n[failure]\nretry = { capacity = 1 }\n'
        '[disks.small]\ninput = ["small"]\nscratch = ["small"]\noutput = ["small"]\n'
    )
    done = venturi("plan", "start", file, "--json", home=home, **real)
    assert done.returncode == 1, done.stderr
    data = json.loads(done.stdout)["data"]
    assert data["counts"] == {"done": 1, "failed": 1, "running": 0, "left": 0}
    assert data["failed"][0]["class"] == "capacity"
    assert "SPACE" in data["failed"][0]["reason"]
    tried = json.loads(venturi("ls", "--state", "failed", "--json", home=home, **real).stdout)
    assert len(tried["data"]) == 2


def test_a_trial_that_takes_too_long_is_ended(tmp_path: Path, real: dict[str, str]) -> None:
    file = written(tmp_path, PLAN.replace("repeats = 3\nwarm_ups = 1", LATE).replace("96kB", "1GB"))
    done = venturi("plan", "start", file, "--json", home=tmp_path / "home", **real)
    assert done.returncode == 1, done.stderr
    failed = json.loads(done.stdout)["data"]["failed"]
    assert [each["class"] for each in failed] == ["timeout", "timeout"]
    assert list((tmp_path / "data").iterdir()) == []


def test_what_does_not_fit_the_time_is_left(tmp_path: Path) -> None:
    file = written(tmp_path, PLAN + "[budget]\ntime = '0.000001s'\n")
    done = venturi("plan", "start", file, home=tmp_path / "home")
    assert done.returncode == 1, done.stderr
    assert "6 left" in done.stdout
    assert "not started for lack of time" in done.stdout
    design = "terasort on native: 2 counted repetitions per group can't decide"
    assert design in done.stderr, "as check says it"
    again = venturi("plan", "resume", file, home=tmp_path / "home")
    assert design not in again.stderr, "there is nothing left to choose"


@pytest.mark.slow
def test_wrong_output_is_told(tmp_path: Path) -> None:
    once = PLAN.replace("repeats = 3\nwarm_ups = 1", "repeats = 1\nwarm_ups = 0")
    file = written(tmp_path, once.replace(', "wordcount"', ""))
    done = venturi("plan", "start", file, "--json", home=tmp_path / "home", FAKE_FAULT="unsorted")
    assert done.returncode == 3, done.stderr
    (failed,) = json.loads(done.stdout)["data"]["failed"]
    assert failed["class"] == "wrong output"


def test_a_plan_whose_engine_is_missing_takes_no_trial(tmp_path: Path) -> None:
    engines = '"wordcount"]\nengine = ["native", "mapreduce"]'
    file, home = written(tmp_path, PLAN.replace('"wordcount"]', engines)), tmp_path / "home"
    done = venturi("plan", "start", file, home=home, HADOOP_HOME="")
    assert done.returncode == 1
    assert "error[VEN-ENGINE-MISSING]: mapreduce: Hadoop is not installed" in done.stderr
    assert "venturi engines install mapreduce" in done.stderr
    assert counts(file, home, {}) == {"done": 0, "failed": 0, "running": 0, "left": 12}


@pytest.mark.skipif(os.geteuid() != 0, reason="a lab takes root")
def test_the_data_of_a_lab_take_hadoop_whatever_the_engine(tmp_path: Path) -> None:
    (tmp_path / "lab.toml").write_text(LAB)
    text = PLAN.replace("[factors]", '[factors]\nengine = ["spark:standalone"]\ncluster = ["lab"]')
    file, home = tmp_path / "study.toml", tmp_path / "home"
    file.write_text(f'{text}[clusters.lab]\nlab = "lab.toml"\n')
    done = venturi("plan", "start", file, home=home, HADOOP_HOME="")
    assert done.returncode == 1
    assert "error[VEN-ENGINE-MISSING]: mapreduce: Hadoop is not installed" in done.stderr
    assert counts(file, home, {}) == {"done": 0, "failed": 0, "running": 0, "left": 6}


def test_check_counts_and_estimates(tmp_path: Path, real: dict[str, str]) -> None:
    home, file = tmp_path / "home", written(tmp_path)
    before = venturi("plan", "check", file, home=home, **real)
    assert before.returncode == 0, before.stderr
    assert "6 trials: 2 combinations, each 3 times" in before.stdout
    assert "time: cannot tell" in before.stdout
    venturi("plan", "start", file, "--quiet", home=home, **real)
    after = json.loads(venturi("plan", "check", file, "--json", home=home, **real).stdout)["data"]
    assert after["time_s"] > 0
    assert after["combinations"][0]["estimated_from"] == "median of 3 earlier trials"


def test_limits_are_told_as_they_were_understood(tmp_path: Path) -> None:
    text = "timeout = '1h30m'\n" + PLAN + "[budget]\ntime = '1ms'\nspace = '2.5GB'\n"
    file = written(tmp_path, text)
    told = "at most 1 h 30 min a trial (timeout), 1 ms in one sitting (budget.time), 2.5 GB"
    checked = venturi("plan", "check", file, home=tmp_path / "home")
    assert told in checked.stdout, checked.stdout
    data = json.loads(venturi("plan", "check", file, "--json", home=tmp_path / "home").stdout)
    assert (data["data"]["timeout_s"], data["data"]["space_budget_bytes"]) == (5400, 2.5e9)
    assert told in venturi("plan", "start", file, home=tmp_path / "home").stderr
    assert "at most" not in venturi("plan", "resume", file, "-q", home=tmp_path / "home").stderr
    without = venturi("plan", "check", written(tmp_path, PLAN), home=tmp_path / "home")
    assert "at most" not in without.stdout


def test_only_sorts_are_predicted_from_a_disk_probe(tmp_path: Path) -> None:
    home, file = tmp_path / "home", tmp_path / "study.toml"
    names = ["terasort", "sort", "wordcount", "pi", "dfsio-write"]
    file.write_text(f"[factors]\nworkload = {json.dumps(names)}\n")
    probed = venturi("probe", "disk", "--dir", tmp_path, home=home)
    assert probed.returncode == 0, probed.stderr
    done = venturi("plan", "check", file, "--json", home=home)
    rows = json.loads(done.stdout)["data"]["combinations"]
    assert [(row["trial_s"] is not None, row["estimated_from"][:9]) for row in rows] == [
        *[(True, "predicted")] * 2,
        *[(False, "no earlie")] * 3,
    ]


def test_a_plan_without_disks_is_one_of_its_folder(
    tmp_path: Path, real: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    home, file = tmp_path / "home", tmp_path / "study.toml"
    file.write_text(
        'repeats = 1\nwarm_ups = 0\n[factors]\nworkload = ["terasort", "pi"]\nscale = ["tiny"]\n'
    )

    def told(verb: str, folder: str) -> dict[str, Any]:
        (tmp_path / folder).mkdir(exist_ok=True)
        monkeypatch.chdir(tmp_path / folder)
        done = venturi("plan", verb, file, "--json", home=home, **real)
        assert done.returncode == 0, done.stderr
        data: dict[str, Any] = json.loads(done.stdout)["data"]
        return data

    begun = told("start", "one")
    assert begun["counts"]["done"] == 2
    assert told("status", "two")["counts"] == {"done": 0, "failed": 0, "running": 0, "left": 2}
    assert told("resume", "two")["counts"]["done"] == 2
    listed = venturi("ls", "--json", "--limit", 0, home=home, **real)
    assert len(json.loads(listed.stdout)["data"]) == 4
    checked = told("check", "one")
    assert {begun["plan"], told("status", "one")["plan"], told("resume", "one")["plan"]} == {
        checked["plan"]
    }
    # Also of pi, which has no folders.
    sources = {row["estimated_from"] for row in checked["combinations"]}
    assert sources <= {"median of 1 earlier trial", "median of 2 earlier trials"}


def test_a_bad_file_is_refused_with_its_lines(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    file.write_text("repeats = 0\nwarmups = 1\n")
    done = venturi("plan", "check", file, home=tmp_path / "home")
    assert done.returncode == 2
    assert "line 1: " in done.stderr
    assert "line 2: warmups is not a key" in done.stderr
    missing = venturi("plan", "start", tmp_path / "no.toml", home=tmp_path / "home")
    assert (missing.returncode, "Traceback" in missing.stderr) == (1, False)


def test_a_misspelt_key_of_a_plan_is_guessed(tmp_path: Path) -> None:
    file = written(tmp_path, "repeat = 2\n[factors]\nworkloads = ['terasort']\n[budget]\ntme = 1\n")
    said = venturi("plan", "check", file, home=tmp_path).stderr
    assert "repeat is not a key that a plan has; did you mean repeats?" in said
    assert "factors.workloads is not a key that a plan has; did you mean workload or" in said
    assert "budget.tme is not a key that a plan has; did you mean time?" in said


def test_check_says_what_the_repeats_can_show(tmp_path: Path) -> None:
    few = written(tmp_path, PLAN)
    done = venturi("plan", "check", few, home=tmp_path / "home")
    assert "terasort on native: 2 counted repetitions per group can't decide" in done.stdout
    assert done.returncode == 0, "it is told, not refused"
    enough = written(tmp_path, PLAN.replace("repeats = 3", "repeats = 6"))
    data = json.loads(venturi("plan", "check", enough, "--json", home=tmp_path / "home").stdout)
    (design, _) = data["data"]["designs"]
    assert (design["counted_repeats"], design["spread_from"]) == (5, None)
    assert design["least_ratio"] == pytest.approx(1.1056, abs=1e-3)


def test_check_names_settings_that_are_ignored(tmp_path: Path) -> None:
    plan = PLAN.replace('"wordcount"]', '"wordcount"]\nengine = ["spark"]')
    plan = plan.replace('"spark"]', '"spark"]\ntiers = ["none", "nowhere 1GB"]')
    text = plan + '[factors.settings]\n"spark.executor.cores" = ["2", "4"]\n'
    done = venturi("plan", "check", written(tmp_path, text), home=tmp_path / "home")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("warning: spark.executor.cores has no effect on spark local") == 1
    assert done.stderr.count("the tier 'nowhere' of spark.storage.hierarchyStore gets nothing") == 1


HOST = """[[hosts]]
name = "one"
REACHED
roles = ["master", "worker"]
address = "127.0.0.1"
disks = { ssd = ["DISK"] }
"""


def far(folder: Path, reached: str, data: Path, *factors: str) -> Path:
    """A plan with a cluster of one host that is `reached` so and has `data` as its disk."""
    (folder / "hosts.toml").write_text(HOST.replace("REACHED", reached).replace("DISK", str(data)))
    chosen = "".join(f"{each}\n" for each in factors)
    plan = folder / "study.toml"
    plan.write_text(
        f"repeats = 2\nwarm_ups = 0\n[factors]\nworkload = ['pi']\n{chosen}cluster = ['far']\n"
        "disk = ['ssd']\n[clusters.far]\nfile = 'hosts.toml'\n[disks.ssd]\n"
        + "".join(f"{role} = ['{data}']\n" for role in ("input", "scratch", "output"))
    )
    return plan


def test_check_names_tiers_that_no_worker_has_a_folder_for(tmp_path: Path) -> None:
    tiers = "tiers = ['ssd 1GB', 'nowhere 1GB']"
    (data := tmp_path / "ssd").mkdir()
    plan = far(tmp_path, "here = true", data, "engine = ['spark:standalone']", tiers)
    done = venturi("plan", "check", plan, home=tmp_path / "home")
    assert done.stderr.count("gets nothing") == 1, done.stderr
    assert f"no folder for scratch ({data}) has it in its path" in done.stderr


@pytest.mark.parametrize(
    ("reached", "disk", "told", "code"),
    [
        ('lab = "not-there"', "data", "line 9: one of far: there is no lab", "VEN-LAB-UNKNOWN"),
        ("here = true", "none", "one of far: {tmp}/none is not a folder", "VEN-MEASURE-DIR"),
    ],
)
def test_a_host_or_a_folder_that_is_not_there(
    tmp_path: Path, reached: str, disk: str, told: str, code: str
) -> None:
    home, data = tmp_path / "home", tmp_path / disk
    (tmp_path / "data").mkdir()
    study = far(tmp_path, reached, data, "engine = ['mapreduce:cluster']")
    checked = venturi("plan", "check", study, home=home)
    assert checked.returncode == 0, checked.stderr
    assert told.replace("{tmp}", str(tmp_path)) in checked.stderr
    done = venturi("plan", "start", study, "--json", home=home)
    assert done.returncode == 1, done.stderr
    data_of = json.loads(done.stdout)["data"]
    assert data_of["counts"]["failed"] == 2
    assert all(code in each["reason"] for each in data_of["failed"])
    listed = venturi("ls", "--where", "cluster=far", "--json", home=home)
    assert len(json.loads(listed.stdout)["data"]) == 2
