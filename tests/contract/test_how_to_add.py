"""The additions that CONTRIBUTING describes, made to a copy of the package as written there."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from documents import blocks

from command_line import AGENT
from venturi.core.topics import heading

ROOT = Path(__file__).parents[2]
# Files that are there: before what in them a block goes.
LISTS = {
    "python/venturi/jobs/diagnosis/diagnosis.toml": "",
    "python/venturi/machines/health/doctor.toml": "",
}
Run = Callable[..., Any]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The copy, with everything that CONTRIBUTING adds and the files that `make generated`
    writes."""
    place = tmp_path_factory.mktemp("copy")
    left_out = shutil.ignore_patterns("assets")
    for folder in ("python", "scripts", "docs/reference", "web/src"):
        shutil.copytree(ROOT / folder, place / folder, ignore=left_out)
    (place / "crates").symlink_to(ROOT / "crates")
    for block in blocks((ROOT / "CONTRIBUTING.md").read_text()):
        if block.title:
            path = place / block.title
            path.parent.mkdir(exist_ok=True)
            text = block.text
            if (end := LISTS.get(block.title)) is not None:
                before = path.read_text()
                assert before.endswith(end)
                text = before.removesuffix(end) + text + end
            elif path.exists():
                pytest.fail(f"{block.title} already exists")
            path.write_text(text)

    done = subprocess.run(
        [sys.executable, place / "scripts" / "generated.py"],
        env={**os.environ, "PYTHONPATH": str(place / "python")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return place


@pytest.fixture(scope="module")
def run(place: Path) -> Run:
    """Runs a verb of the copy; the data of its JSON."""
    # What `podman exec -i NAME` would do in a container with the agent.
    podman = place / "bin" / "podman"
    podman.parent.mkdir()
    podman.write_text(f'#!/bin/sh\nshift 4\nexec {shlex.quote(str(AGENT))} "$@"\n')
    podman.chmod(0o755)

    def run(*arguments: object) -> Any:
        environment = {
            **os.environ,
            "PYTHONPATH": str(place / "python"),
            "VENTURI_HOME": str(place / "home"),
            "PATH": f"{place / 'bin'}{os.pathsep}{os.environ['PATH']}",
        }
        done = subprocess.run(
            [sys.executable, "-m", "venturi", *map(str, arguments), "--json"],
            cwd=place,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["data"]

    return run


@pytest.mark.slow
def test_a_workload(run: Run, tmp_path: Path) -> None:
    (listed,) = (each for each in run("workloads") if each["name"] == "hex-sort")
    assert listed["engines"] == ["native", "spark"]
    (trial,) = run(
        "run", "hex-sort", "--scale", "small", "--repeat", 1, "--warm-up", 0, "--dir", tmp_path
    )
    assert (trial["state"], trial["workload"]["input_records"]) == ("succeeded", 100_000)


@pytest.mark.slow
def test_an_engine(run: Run, tmp_path: Path) -> None:
    """It is in one folder of its own, and works in `engines`, `run`, `plan`, `show` and `compare`,
    with an account and a diagnosis of its jobs."""
    (plain,) = (each for each in run("engines") if each["engine"] == "plain")
    assert plain["usable"]
    micro = {each["name"] for each in run("workloads") if "plain" in each["engines"]}
    assert micro == {"sort", "wordcount", "pi"}
    place = ("--scale", "tiny", "--repeat", 1, "--warm-up", 0, "--dir", tmp_path)
    trials = [run("run", each, "--engine", "native,plain", *place) for each in sorted(micro)]
    states = {(t["engine"]["name"], t["state"]) for each in trials for t in each}
    assert states == {("native", "succeeded"), ("plain", "succeeded")}

    own = next(each for each in trials[1] if each["engine"]["name"] == "plain")
    shown = run("show", own["id"])
    job = shown["job"]
    assert [stage["name"] for stage in job["stages"]] == ["read", "run", "write"]
    assert [each["cause"] for each in job["stages"][1]["causes"]] == ["cpu"]
    assert job["stages"][0]["skews"][1]["largest"] == own["workload"]["input_bytes"]
    diagnosis = job["diagnosis"]
    assert diagnosis["findings"] == []
    assert any(
        "plain doesn't record enough about its tasks" in each for each in diagnosis["unseen"]
    )

    plan = tmp_path / "toy.toml"
    plan.write_text(
        'name = "toy"\nrepeats = 1\nwarm_ups = 0\n'
        '[factors]\nworkload = ["sort", "wordcount"]\nengine = ["native", "plain"]\n'
        'scale = ["tiny"]\ndisk = ["here"]\n'
        f'[disks.here]\ninput = ["{tmp_path}"]\nscratch = ["{tmp_path}"]\n'
        f'output = ["{tmp_path}"]\n'
    )
    assert run("plan", "check", plan)["trials"] == 4
    run("plan", "start", plan)
    done = [each for each in run("ls", "--where", "engine=plain") if each["experiment"]]
    assert sorted(each["workload"] for each in done) == ["sort", "wordcount"]
    assert {each["state"] for each in done} == {"succeeded"}


@pytest.mark.slow
def test_the_checks_accept_what_was_added(place: Path) -> None:
    for script in ("engine_names.py", "host_calls.py"):
        done = subprocess.run(
            [sys.executable, ROOT / "scripts" / script, place],
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stdout) == (0, ""), done.stderr


@pytest.mark.slow
def test_a_rule(run: Run) -> None:
    found = {each["rule"]: each for each in run("doctor")["findings"]}
    assert found["few-threads"]["severity"] == "advice"


@pytest.mark.slow
def test_a_diagnosis_rule(run: Run) -> None:
    log = ROOT / "tests" / "data" / "spark" / "4.3.0" / "faults" / "partition-count-faulty.zstd"
    ((trial,),) = (each["trials"] for each in run("import", log))
    found = run("show", trial["trial"])["job"]["diagnosis"]["findings"]
    (finding,) = (each for each in found if each["rule"] == "slow-scheduling")
    assert "scheduler delay" in finding["says"]


@pytest.mark.slow
def test_a_kind_of_host(run: Run, tmp_path: Path) -> None:
    cluster = tmp_path / "cluster.toml"
    cluster.write_text(
        '[[hosts]]\nname = "box"\ncontainer = "box"\naddress = "127.0.0.1"\n'
        'roles = ["master", "worker"]\n'
    )
    (host,) = run("cluster", "check", cluster)["hosts"]
    assert host["reached_by"] == "container box"
    assert host["said"]["facts"]


@pytest.mark.slow
def test_an_importer(run: Run, tmp_path: Path) -> None:
    notes = tmp_path / "notes.csv"
    notes.write_text("name,stopped_s\nsort,3.5\nsort,quick\n")
    for added, already in ((1, 0), (0, 1)):
        (taken,) = run("import", notes)
        assert (taken["format"], taken["added"], taken["already_present"]) == (
            "stopwatch",
            added,
            already,
        )
        assert [each["line"] for each in taken["refused"]] == [3]


@pytest.mark.slow
def test_a_verb(run: Run, place: Path) -> None:
    assert run("count")["trials"] >= 0
    listed = json.loads((place / "python/venturi/cli/verbs.json").read_text())["list"]
    assert listed[heading("results")]["count"] == "Count the recorded trials"


@pytest.mark.slow
def test_a_page(place: Path) -> None:
    listed = json.loads((place / "python/venturi/web/pages.json").read_text())
    (page,) = (each for each in listed if each["name"] == "newest")
    assert (page["topic"], page["path"]) == ("results", "/newest")
    assert "pages/results/newest/Newest" in (place / "web/src/generated/routes.ts").read_text()
    compiler = ROOT / "web" / "node_modules" / ".bin" / "tsc"
    if not compiler.exists():
        pytest.skip("needs web/node_modules: `make setup`")
    (place / "web" / "node_modules").symlink_to(ROOT / "web" / "node_modules")
    settings = json.loads((ROOT / "web" / "tsconfig.json").read_text())
    (place / "web" / "tsconfig.json").write_text(json.dumps({**settings, "include": ["src"]}))
    done = subprocess.run(
        [compiler, "--noEmit"], cwd=place / "web", capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
