"""Code that measures goes through a host, and calls that bypass it are found."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MEASURE = Path("python/venturi/measure")
EXEMPT = (
    "hosts/local.py",
    "workloads/sql/on_spark.py",
    "workloads/shared/spark_storage.py",
    "engines/spark/driver.py",
    "lab/loops.py",
)


def check(root: Path) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "host_calls.py", root],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    return done.returncode, done.stdout


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project in which only those files call the machine that may."""
    for name in EXEMPT:
        path = tmp_path / MEASURE / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("import subprocess\nopen('x')\n")
    return tmp_path


def test_this_project_goes_through_its_hosts() -> None:
    assert check(ROOT) == (0, "")


@pytest.mark.parametrize(
    ("planted", "named"),
    [
        ("import subprocess", "subprocess"),
        ("from shutil import rmtree", "shutil.rmtree"),
        ("import os.path\nos.path.exists('x')", "os.path"),
        ("import os\nos.kill(1, 9)", "os.kill"),
        ("from os import sched_getaffinity", "os.sched_getaffinity"),
        ("import io\nio.open('x')", "io.open"),
        ("def f(path):\n    with open(path) as file:\n        pass", "open()"),
        ("def f(path):\n    return (path / 'x').read_text()", ".read_text()"),
        ("def f(task):\n    task.output.mkdir()", ".mkdir()"),
        ("def f(given):\n    given.files[0].unlink()", ".unlink()"),
        ("def f(path, to):\n    path.replace(to)", ".replace()"),
        ("import numpy as np\nnp.fromfile('x')", ".fromfile()"),
        ("from venturi.measure.hosts.local import LocalHost", "venturi.measure.hosts.local."),
    ],
)
def test_a_planted_call_is_found(project: Path, planted: str, named: str) -> None:
    path = project / MEASURE / "engines" / "abacus.py"
    path.write_text(f"{planted}\n")
    status, said = check(project)
    assert status == 1
    line = len(planted.splitlines()) - planted.endswith("pass")
    assert f"{MEASURE}/engines/abacus.py:{line}: {named}" in said


def test_what_goes_through_a_host_is_none(project: Path) -> None:
    (project / MEASURE / "engines" / "abacus.py").write_text(
        "import os\n"
        "from venturi.measure.hosts.local import HERE\n"
        "def f(step, path, hdfs):\n"
        "    files = step.host.files\n"
        "    files.mkdir(path)\n"
        "    step.host.files.stat(path)\n"
        "    hdfs.rename('a', 'b')\n"
        "    HERE.read(path)\n"
        "    'text'.replace('a', 'b')\n"
        "    return os.strerror(2), os.environ['HOME']\n"
    )
    assert check(project) == (0, "")


def test_an_exemption_for_nothing_is_named(project: Path) -> None:
    (project / MEASURE / "engines/spark/driver.py").unlink()
    status, said = check(project)
    assert status == 1
    assert "engines/*/driver.py: there is no such file" in said
