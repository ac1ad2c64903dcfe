"""The agent under another program, and how it ended."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

AGENT = Path(os.environ.get("VENTURI_AGENT") or Path(sys.executable).parent / "venturi-agent")
HANG_S = 60.0
"""No case takes a tenth of this, even on a loaded machine."""


@dataclass(frozen=True, slots=True)
class AgentExit:
    """`status` is negative for a signal; `code` is that of its error event, if any."""

    status: int
    events: tuple[dict[str, Any], ...]
    stderr: str

    @property
    def code(self) -> str | None:
        last = self.events[-1] if self.events else {}
        return last.get("code") if last.get("event") == "error" else None

    @property
    def result(self) -> dict[str, Any] | None:
        """Data of its result, if it had one."""
        last = self.events[-1] if self.events else {}
        return last.get("data") if last.get("event") == "result" else None


def run(arguments: Sequence[object], *, prefix: Sequence[str] = ()) -> AgentExit:
    """Run `venturi-agent ARGUMENTS` to its end; a hang is ended and fails an assertion."""
    command = [*prefix, str(AGENT), *map(str, arguments)]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, process_group=0
    )
    try:
        out, err = process.communicate(timeout=HANG_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        process.communicate()
        raise AssertionError(f"hung for {HANG_S:.0f} s") from None
    events = []
    for line in out.splitlines():
        # A killed process may have cut its last line short.
        try:
            events.append(json.loads(line))
        except ValueError:
            break
    return AgentExit(process.returncode, tuple(events), err.decode(errors="replace"))


def strace() -> str | None:
    """Where strace is."""
    return shutil.which("strace")


def counted(log: Path) -> Counter[str]:
    """How often each call is made at most in one thread, of strace's log."""
    each: Counter[tuple[str, str]] = Counter()
    for line in log.read_text("utf-8", errors="replace").splitlines():
        if found := re.match(r"(\d+) +(\w+)\(", line):
            each[found[1], found[2]] += 1
    most: Counter[str] = Counter()
    for (_, call), count in each.items():
        most[call] = max(most[call], count)
    return most
