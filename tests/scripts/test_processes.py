"""The tests' own care for processes, tried on tests that leave some."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1] / "support"
SLOVENLY = """
import os, subprocess, pytest

@pytest.fixture(scope="session")
def server_of_all():
    process = subprocess.Popen(["sleep", "600"])
    yield process
    process.kill()
    process.wait()

@pytest.fixture(scope="module")
def server(server_of_all):
    process = subprocess.Popen(["sleep", "600"])
    yield process
    process.kill()
    process.wait()

def test_orphan():
    subprocess.run(["sh", "-c", "sleep 601 & echo $! > pids"], check=True)

def test_failing():
    process = subprocess.Popen(["setsid", "sh", "-c", "echo $$ >> pids; sleep 602; true"])
    while len(open("pids").read().split()) < 2:
        pass
    assert process.poll() == 0

def test_of_a_server(server):
    assert server.poll() is None

def test_hangup_ends_what_tests_start():
    process = subprocess.Popen(["sleep", "603"])
    process.send_signal(1)
    assert process.wait(20) == -1
"""

CONFTEST = """
import processes

processes.GRACE_S = 0.2

def pytest_configure(config):
    config.pluginmanager.register(processes)
"""


@pytest.mark.slow
def test_what_a_test_leaves_is_ended_and_its_failure(tmp_path: Path) -> None:
    (tmp_path / "test_slovenly.py").write_text(SLOVENLY)
    (tmp_path / "conftest.py").write_text(CONFTEST)
    done = subprocess.run(
        ["nohup", sys.executable, "-m", "pytest", "-rA", "-p", "no:cacheprovider", "-q", tmp_path],
        env={**os.environ, "PYTHONPATH": str(TESTS)},
        cwd=tmp_path,
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),
    )
    assert done.returncode == 1, done.stdout
    summary = done.stdout.partition("short test summary")[2]
    assert "ERROR test_slovenly.py::test_orphan - Failed: left running" in summary
    assert "ERROR test_slovenly.py::test_failing - Failed: left running" in summary
    assert "'sleep 601', of test_slovenly.py::test_orphan (call)" in done.stdout
    assert "PASSED test_slovenly.py::test_of_a_server" in summary
    assert "PASSED test_slovenly.py::test_hangup_ends_what_tests_start" in summary
    assert "1 failed, 3 passed, 2 errors" in summary
    deadline_s = time.monotonic() + 30
    for pid in map(int, (tmp_path / "pids").read_text().split()):
        while Path(f"/proc/{pid}").exists():
            assert time.monotonic() < deadline_s
            time.sleep(0.02)
