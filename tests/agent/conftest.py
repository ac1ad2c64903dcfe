"""Running the agent as a user would, and seeing how it ended."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

MIB = 1 << 20
HANG_S = 60.0
"""No run of these tests takes a tenth of this, even on a loaded machine."""

# A process inherits the peak memory of its parent, so a small process must start the agent.
_MEASURE = """
import os, sys
pid = os.posix_spawn(sys.argv[2], sys.argv[2:], os.environ)
_, status, usage = os.wait4(pid, 0)
open(sys.argv[1], "w").write(str(usage.ru_maxrss * 1024))
sys.exit(os.waitstatus_to_exitcode(status))
"""


@dataclass(frozen=True)
class Ended:
    """How a run of the agent ended. `status` is negative for a signal, as in `subprocess`."""

    status: int
    events: list[dict[str, Any]]
    stderr: str
    elapsed_s: float

    @property
    def result(self) -> dict[str, Any]:
        """Data of the result event; fails if the run did."""
        assert self.status == 0, (self.status, self.stderr)
        assert self.events[-1]["event"] == "result"
        data: dict[str, Any] = self.events[-1]["data"]
        return data

    @property
    def error(self) -> dict[str, Any]:
        """The error event; fails if there was none or it was not the last word."""
        assert self.events, (self.status, self.stderr)
        assert self.events[-1]["event"] == "error", (self.status, self.stderr, self.events[-1])
        return self.events[-1]

    def refused(self, code: str, status: int = 1) -> dict[str, Any]:
        """The error event of a run that had to end with `code` and `status`."""
        error = self.error
        assert (error["code"], self.status) == (code, status), error
        assert f"error[{code}]: {error['message']}" in self.stderr
        assert [event["event"] for event in self.events].count("error") == 1
        return error


class Agent:
    """Starts the agent; every process it started is gone at the end of the test."""

    def __init__(self, binary: Path, folder: Path) -> None:
        self.binary = binary
        self._folder = folder
        self._running: list[subprocess.Popen[bytes]] = []

    def start(
        self, *args: object, prefix: tuple[str, ...] = (), **options: Any
    ) -> subprocess.Popen[bytes]:
        """Starts it; `prefix` is a command that starts it in turn."""
        command = [
            *prefix,
            str(self.binary),
            *(os.fspath(a) if isinstance(a, Path) else str(a) for a in args),
        ]
        # Unbuffered: a test may read a line now and leave the rest to `end`.
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "bufsize": 0}
        options = {**pipes, **options}
        process = subprocess.Popen(command, **options)
        self._running.append(process)
        return process

    def end(self, process: subprocess.Popen[bytes], started_s: float) -> Ended:
        """Waits for the end; a hang is a failure."""
        try:
            out, err = process.communicate(timeout=HANG_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            pytest.fail(f"hung: {process.args}")
        events = [json.loads(line) for line in (out or b"").splitlines()]
        stderr = (err or b"").decode(errors="replace")
        return Ended(process.returncode, events, stderr, time.monotonic() - started_s)

    def run(self, *args: object, **options: Any) -> Ended:
        """Runs it to its end."""
        started_s = time.monotonic()
        return self.end(self.start(*args, **options), started_s)

    def sort(self, *args: object, **options: Any) -> Ended:
        """`venturi-agent sort`."""
        return self.run("sort", *args, **options)

    def peak(self, *args: object) -> tuple[Ended, int]:
        """Run it; return also its peak resident memory in bytes, as the kernel reports it to the
        parent.
        """
        peak = self._folder / "peak"
        ended = self.run(*args, prefix=(sys.executable, "-I", "-S", "-c", _MEASURE, str(peak)))
        return ended, int(peak.read_text())

    def generate(self, path: Path, count: int, *options: object) -> Path:
        """`count` records of 100 bytes as gensort makes them."""
        assert (
            self.run("gen", "--count", count, "--output", path, *options).result["records"] == count
        )
        return path

    def stop_all(self) -> None:
        """Kills what a failed test left running."""
        for process in self._running:
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
                process.communicate()


@pytest.fixture
def agent(agent_binary: Path, tmp_path: Path) -> Iterator[Agent]:
    """The agent of this test."""
    started = Agent(agent_binary, tmp_path)
    yield started
    started.stop_all()


@dataclass(frozen=True)
class Places:
    """An input, and directories for everything else."""

    input: Path
    output: Path
    scratch: Path

    @property
    def flags(self) -> list[object]:
        """Options that name the places."""
        return ["--input", self.input, "--output", self.output, "--scratch", self.scratch]

    def assert_nothing_left(self) -> None:
        """Fails if a sort that did not succeed left anything."""
        assert sorted(self.output.iterdir()) == []
        assert sorted(self.scratch.iterdir()) == []


@pytest.fixture
def places(tmp_path: Path) -> Callable[[bytes], Places]:
    """Makes directories, and an input with these bytes."""

    def make(data: bytes) -> Places:
        made = Places(tmp_path / "input", tmp_path / "output", tmp_path / "scratch")
        made.input.write_bytes(data)
        made.output.mkdir()
        made.scratch.mkdir()
        return made

    return make


@pytest.fixture(scope="session")
def large_input(agent_binary: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """300 MB of records."""
    folder = tmp_path_factory.mktemp("large")
    yield Agent(agent_binary, folder).generate(folder / "records", 3_000_000)
    (folder / "records").unlink()


@pytest.fixture(scope="session")
def medium_input(agent_binary: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """40 MB of records."""
    folder = tmp_path_factory.mktemp("medium")
    yield Agent(agent_binary, folder).generate(folder / "records", 400_000)
    (folder / "records").unlink()
