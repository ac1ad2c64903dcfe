"""`venturi import` of a folder of logs, which several processes read."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from command_line import started, venturi

TINY = Path(__file__).parents[2] / "data" / "spark" / "4.3.0" / "tiny.log"
TINY_ID = "local-1795206808966"
LOGS = 24
SEVERAL_CORES = pytest.mark.skipif(
    len(os.sched_getaffinity(0)) < 2, reason="one process imports on one core"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Logs of `LOGS` applications, a damaged one and a file that is no log."""
    folder = tmp_path_factory.mktemp("logs")
    text = TINY.read_text()
    for number in range(LOGS):
        name = f"app-20261101000000-{number:04}"
        (folder / name).write_text(text.replace(TINY_ID, name))
    (folder / "app-damaged.gz").write_bytes(gzip.compress(text.encode())[:12] + b"\xff" * 99)
    (folder / "notes.txt").write_text("nothing of Spark's\n")
    return folder


def within_20s(condition: Callable[[], bool]) -> None:
    """Wait for `condition`."""
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def workers_of(pid: int) -> list[int]:
    """The processes that `pid` has started to read logs."""
    found = []
    for file in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            found += [each for each in map(int, file.read_text().split()) if is_worker(each)]
    return found


def is_worker(pid: int) -> bool:
    """Whether `pid` runs and is such a process; an ended one has no command line."""
    with suppress(OSError):
        return b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False


def outcomes(stdout: str) -> list[object]:
    found: list[object] = json.loads(stdout)["data"]
    return found


@SEVERAL_CORES
def test_several_processes_give_the_answer_of_one(folder: Path, tmp_path: Path) -> None:
    several = venturi("import", folder, "--label", "team=etl", "--json", home=tmp_path / "several")
    one = subprocess.run(
        [sys.executable, "-m", "venturi", "import", folder, "--label", "team=etl", "--json"],
        env={**os.environ, "VENTURI_HOME": str(tmp_path / "one")},
        preexec_fn=lambda: os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}),
        capture_output=True,
        text=True,
        check=False,
    )
    assert several.returncode == one.returncode
    assert outcomes(several.stdout) == outcomes(one.stdout)
    assert len(outcomes(one.stdout)) == LOGS + 2
    labelled = venturi(
        "ls", "--where", "team=etl", "--json", "--limit", "0", home=tmp_path / "several"
    )
    assert len(json.loads(labelled.stdout)["data"]) == LOGS


@SEVERAL_CORES
def test_each_log_has_its_line_in_the_order_of_the_names(folder: Path, tmp_path: Path) -> None:
    lines = venturi("import", folder, home=tmp_path).stdout.splitlines()
    names = [Path(line.partition(": ")[0]).name for line in lines if ": added: trial" in line]
    assert names == sorted(names)
    assert len(names) == LOGS


@SEVERAL_CORES
def test_the_log_of_a_killed_process_is_read_again(folder: Path, tmp_path: Path) -> None:
    process = started("import", folder, "--json", home=tmp_path)
    within_20s(lambda: len(workers_of(process.pid)) > 1)
    (victim, *_) = workers_of(process.pid)
    os.kill(victim, signal.SIGKILL)
    stdout, stderr = process.communicate(timeout=100)
    assert process.returncode == 1  # for the damaged log
    assert "VEN-IMPORT-WORKER" not in stderr
    files = [each["file"] for each in json.loads(stdout)["data"]]
    assert len(files) == len(set(files)) == LOGS + 2
    assert len(json.loads(venturi("ls", "--json", home=tmp_path).stdout)["data"]) == LOGS


@SEVERAL_CORES
def test_a_log_that_kills_its_process_is_rejected_and_the_others_go_on(
    folder: Path, tmp_path: Path
) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    for file in sorted(folder.glob("app-2026*")):
        (logs / file.name).write_bytes(file.read_bytes())
    deadly = logs / "app-20261101000000-0005"
    text = deadly.read_text()
    # No process finishes reading this one in time.
    task = next(line for line in text.splitlines() if "SparkListenerTaskEnd" in line)
    deadly.write_text(text + f"{task}\n" * 300_000)
    process = started("import", logs, home=tmp_path / "home")
    killed: set[int] = set()
    deadline = time.monotonic() + 100
    while len(killed) < 2 and time.monotonic() < deadline and process.poll() is None:
        for worker in workers_of(process.pid):
            if worker not in killed and opens(worker, deadly):
                os.kill(worker, signal.SIGKILL)
                killed.add(worker)
        time.sleep(0.01)
    stdout, stderr = process.communicate(timeout=100)
    assert process.returncode == 1
    assert f"{deadly}: rejected: [VEN-IMPORT-WORKER]" in stderr
    assert "Traceback" not in stdout + stderr
    found = json.loads(venturi("ls", "--json", "--limit", "0", home=tmp_path / "home").stdout)
    assert len(found["data"]) == LOGS - 1


def opens(pid: int, file: Path) -> bool:
    """Whether `pid` has `file` open."""
    with suppress(OSError):
        return str(file) in {str(each.readlink()) for each in Path(f"/proc/{pid}/fd").iterdir()}
    return False


@SEVERAL_CORES
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_no_process_outlives_the_import(folder: Path, tmp_path: Path, number: int) -> None:
    process = started("import", folder, home=tmp_path)
    within_20s(lambda: len(workers_of(process.pid)) > 1)
    workers = workers_of(process.pid)
    process.send_signal(number)
    process.communicate(timeout=60)
    within_20s(lambda: not any(map(is_worker, workers)))
