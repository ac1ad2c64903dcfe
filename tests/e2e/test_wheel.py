"""The wheel in a clean environment: what a user gets from `pip install venturi` works."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
UV = ROOT / ".tools/uv/bin/uv"
pytestmark = pytest.mark.slow

Run = Callable[..., subprocess.CompletedProcess[str]]


def must(*command: object, **options: Any) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, check=False, **options
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `bin` folder of a new virtual environment that has the wheel and its locked needs."""
    if not UV.is_file():
        pytest.fail(f"there is no {UV}: `make setup` installs it")
    folder = tmp_path_factory.mktemp("wheel")
    # The same target folder as `make setup`: what is built already is not built again.
    must(
        sys.executable, "-m", "maturin", "build", "--release", "--locked", "--quiet",
        "--out", folder, cwd=ROOT,
    )  # fmt: skip
    (wheel,) = folder.glob("venturi-*.whl")
    environment = folder / "venv"
    must(UV, "venv", "--quiet", "--python", sys.executable, environment)
    python = environment / "bin/python"
    install = (UV, "pip", "install", "--quiet", "--python", python)
    must(*install, "--require-hashes", "-r", ROOT / "requirements.lock")
    must(*install, "--no-deps", wheel)
    return environment / "bin"


@pytest.fixture
def venturi(installed: Path, tmp_path: Path) -> Run:
    """Runs the installed `venturi` in an empty folder, with nothing of this checkout in reach."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("VENTURI_", "PYTHON", "VIRTUAL_ENV"))
    }
    environment = {**kept, "VENTURI_HOME": str(tmp_path / "home"), "HOME": str(tmp_path)}

    def run(*args: object) -> subprocess.CompletedProcess[str]:
        return must(installed / "venturi", *args, cwd=tmp_path, env=environment)

    return run


def test_it_finds_its_own_agent_built_for_speed(venturi: Run, installed: Path) -> None:
    answer = json.loads(venturi("version", "--json").stdout)
    assert answer["warnings"] == []
    agent = answer["data"]["agent"]
    assert agent["path"] == str(installed / "venturi-agent")
    assert agent["build_profile"] == "release"
    assert agent["version"] == answer["data"]["venturi"]


def test_it_reads_the_hosts_facts(venturi: Run) -> None:
    data = json.loads(venturi("probe", "host", "--json").stdout)["data"]
    assert data["state"] == "succeeded"
    assert data["cluster"]["hosts"][0]["facts"]["memory_total_bytes"] > 0


def test_it_generates_sorts_and_validates(venturi: Run, tmp_path: Path) -> None:
    made = json.loads(venturi("gen", "in", "--bytes", "20MB", "--checksum", "--json").stdout)
    (tmp_path / "out").mkdir()
    sort = venturi("sort", "in", "-o", "out", "--verify", "--validate", "--json")
    trial = json.loads(sort.stdout)["data"]
    assert trial["state"] == "succeeded"
    assert trial["workload"]["input_records"] == 200_000
    parts = sorted(path for path in (tmp_path / "out").rglob("*") if path.stat().st_size >= 100)
    data = sorted(path for path in parts if path.is_file() and path.suffix not in {".json"})
    seen = json.loads(venturi("validate", *data, "--json").stdout)["data"]
    assert seen["ordered"] is True
    assert seen["records"] == 200_000
    assert seen["checksum"] == made["data"]["checksum"]
    shown = venturi("show", trial["id"]).stdout
    assert "map+shuffle" in shown


def test_it_does_the_main_job(venturi: Run, tmp_path: Path) -> None:
    done = venturi("quickstart", "--time-budget", "15s", "--json")
    data = json.loads(done.stdout)["data"]
    states = {trial["workload"]["name"]: trial["state"] for trial in data["trials"]}
    assert states["diskbench"] == "succeeded", data["skipped"]
    assert states.get("terasort") == "succeeded", data["skipped"]
    assert "<html" in (tmp_path / "report.html").read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["home", "report.html"]


@pytest.mark.parametrize("verb", ["", "quickstart", "run", "ls", "doctor"])
def test_help_works(venturi: Run, verb: str) -> None:
    assert "Usage" in venturi(*verb.split(), "--help").stdout
