"""`venturi run` on real engines as a process, and whose processes are left of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

MARK = "ENGINE_TEST_MARK"
RUN = (sys.executable, "-m", "venturi.cli.main")


def start(home: Path, mark: str, *arguments: object, **environment: str) -> subprocess.Popen[str]:
    disk = home.parent / "disk"
    disk.mkdir(exist_ok=True)
    return subprocess.Popen(
        [*RUN, "run", *map(str, arguments), "--dir", str(disk), "--warm-up", "0", "--json"],
        env={**os.environ, "VENTURI_HOME": str(home), MARK: mark, **environment},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def run(home: Path, mark: str, *arguments: object, **environment: str) -> tuple[int, Any, str]:
    process = start(home, mark, *arguments, **environment)
    out, err = process.communicate(timeout=280)
    return process.returncode, json.loads(out) if out else None, err


def wait_for(mark: str, program: bytes) -> int:
    """The process of `mark` whose command line has `program`."""
    deadline = time.monotonic() + 200
    while time.monotonic() < deadline:
        for pid in marked(mark):
            try:
                if program in Path(f"/proc/{pid}/cmdline").read_bytes():
                    return pid
            except OSError:
                continue
        time.sleep(0.05)
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
