"""A command that leaves nothing behind: its supervisor (`venturi-agent supervise`) ends it, and all
that it started, once we are gone or let go.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

CLEAN_UP_S = 30.0


class LocalSupervised:
    """A command under its supervisor, connected through the supervisor's stdin: see
    `host.Supervised`.

    A pipe, not a signal: it closes however this process ends. The command's output goes to `log`.
    """

    def __init__(
        self,
        agent: str | Path,
        command: Sequence[str | Path],
        *,
        log: Path,
        cwd: Path,
        env: Mapping[str, str],
    ) -> None:
        self._supervisor = subprocess.Popen(
            [agent, "supervise", log, "--", *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=cwd,
            env={**os.environ, **env},
            process_group=0,
        )
        assert self._supervisor.stdin is not None
        assert self._supervisor.stdout is not None
        self._stdin, self._stdout = self._supervisor.stdin, self._supervisor.stdout

    def fileno(self) -> int:
        return self._stdout.fileno()

    @property
    def ended(self) -> bool:
        return self._supervisor.poll() is not None

    @property
    def reaped(self) -> bool:
        return self._stdout.closed

    @cached_property
    def report(self) -> Mapping[str, Any]:
        line = self._stdout.readline()
        found: Mapping[str, Any] = json.loads(line) if line else {"status": self._supervisor.wait()}
        return found

    def release(self) -> None:
        with suppress(OSError):
            self._stdin.close()

    def reap(self) -> None:
        try:
            self._supervisor.wait(CLEAN_UP_S)
        except subprocess.TimeoutExpired:
            self._supervisor.kill()
            self._supervisor.wait()
        finally:
            with suppress(OSError, ValueError):
                _ = self.report
            self._stdout.close()
