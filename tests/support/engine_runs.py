"""`venturi run` on real engines, and its remaining processes."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from command_line import started, venturi

MARK = "ENGINE_TEST_MARK"


def start(home: Path, mark: str, *arguments: object) -> subprocess.Popen[str]:
    """`venturi run ARGUMENTS` as a process of its own, to be killed."""
    return started(*_whole(home, arguments), home=home, **_environment(mark))


def run(home: Path, mark: str, *arguments: object, **environment: str) -> tuple[int, Any, str]:
    """Status, JSON and stderr of `venturi run ARGUMENTS`."""
    done = venturi(*_whole(home, arguments), home=home, **_environment(mark), **environment)
    return done.returncode, json.loads(done.stdout) if done.stdout else None, done.stderr


def _whole(home: Path, arguments: Iterable[object]) -> list[object]:
    disk = home.parent / "disk"
    disk.mkdir(exist_ok=True)
    return ["run", *arguments, "--dir", disk, "--warm-up", "0", "--json"]


def _environment(mark: str) -> dict[str, str]:
    # Empty means unset: the agent in the package.
    return {MARK: mark, "VENTURI_AGENT": os.environ.get("VENTURI_AGENT", "")}


def wait_for(mark: str, program: bytes, *, supervisor: bool = False) -> int:
    """The process of `mark` with `program` in its command line, or its supervisor, which has it
    there too.
    """
    deadline = time.monotonic() + 200
    while time.monotonic() < deadline:
        for pid in marked(mark):
            try:
                runs = Path(f"/proc/{pid}/exe").readlink().name
                command = Path(f"/proc/{pid}/cmdline").read_bytes()
                # The agent also is what is about to become the program.
                of_kind = b"\0supervise\0" in command if supervisor else runs != "venturi-agent"
                if program in command and of_kind:
                    return pid
            except OSError:
                continue
        time.sleep(0.2)  # a look at all processes takes a while itself
    raise AssertionError(f"{program!r} was not started")


def marked(mark: str) -> list[int]:
    """Processes that were started with `mark` in their environment and are still there."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and mark.encode() in (entry / "environ").read_bytes():
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def wait_until_gone(mark: str) -> None:
    deadline = time.monotonic() + 30
    while marked(mark) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert marked(mark) == []
