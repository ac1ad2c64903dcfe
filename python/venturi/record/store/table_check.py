"""Tables that came with a trial of others, checked by a process that has little memory and time.

The size of an unpacked table is only known once it is unpacked, whatever its footer states: 17 kB
may be 2 GB. The process that tries may end, or hang, without harm to an import or a server.
"""

from __future__ import annotations

import json
import math
import os
import resource
import select
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from venturi.core.errors import ExitCode, VenturiError, starved
from venturi.core.settings import TrialLimits
from venturi.record.limits import Excess, refused
from venturi.record.store.closing import Closing
from venturi.record.store.series import check_rows, check_series

MEMORY_BYTES = 1 << 29
"""In addition to the memory that the process has before its first table."""
CHECK_S = 30.0
"""Limit per table; one of 50 million rows takes less than a third."""
BEGIN_S = 30.0


class TableChecker(Closing):
    """Starts its process with the first table, and ends it when closed."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def check(self, path: Path, trial: str, limits: TrialLimits, *, series: bool) -> None:
        """Check the table in `path` with `record.series.check_series`, or else `check_rows`.

        Raises their errors; VEN-RECORD-LIMIT, too, if the check takes more than MEMORY_BYTES or
        CHECK_S; VEN-SYSTEM if no table can be checked now.
        """
        asked = {"path": str(path), "trial": trial, "limits": asdict(limits), "series": series}
        answer = self._answer(json.dumps(asked).encode() + b"\n")
        if answer is None:
            self.close()
            most = f"more than {MEMORY_BYTES >> 20} MiB of memory, or {CHECK_S:.0f} s"
            raise refused(trial, Excess(path.name, "too large a table once unpacked", most))
        error: dict[str, Any] | None = json.loads(answer)
        if error is not None:
            raise VenturiError(**{**error, "exit_code": ExitCode(error["exit_code"])})

    def close(self) -> None:
        if self._process is not None:
            with self._process as process:  # waits for it
                process.kill()
            self._process = None

    def _answer(self, asked: bytes) -> bytes | None:
        """A line, or None: it has died, or is at it for too long."""
        self._process = process = self._process or self._begun()
        assert process.stdin is not None
        with suppress(BrokenPipeError):
            process.stdin.write(asked)
        return _line(process, CHECK_S)

    def _begun(self) -> subprocess.Popen[bytes]:
        """VEN-SYSTEM if it cannot begin, because that isn't the table's fault."""
        process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "venturi.record.store.table_check",
                str(MEMORY_BYTES),
                str(CHECK_S),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            process_group=0,
            env={**os.environ, "POLARS_MAX_THREADS": "1"},
        )
        if _line(process, BEGIN_S) is None:
            with process:
                process.kill()
            raise starved("the process that checks tables cannot begin")
        return process


def _line(process: subprocess.Popen[bytes], patience_s: float) -> bytes | None:
    """Return its next line; None if it died, or wrote nothing within the time."""
    assert process.stdout is not None
    poll = select.poll()
    poll.register(process.stdout, select.POLLIN)
    line = b""
    while not line.endswith(b"\n"):
        part = os.read(process.stdout.fileno(), 1 << 16) if poll.poll(patience_s * 1e3) else b""
        if not part:
            return None
        line += part
    return line


def _main(memory_bytes: int, check_s: float) -> None:
    # Should who asks be killed, what hangs must not stay: SIGALRM ends it.
    signal.alarm(math.ceil(BEGIN_S) + 1)
    _warm_up()
    bound_memory(memory_bytes)
    _say("")
    signal.alarm(0)
    for line in sys.stdin.buffer:
        signal.alarm(math.ceil(check_s) + 1)
        asked = json.loads(line)
        check = check_series if asked["series"] else check_rows
        error = None
        try:
            check(Path(asked["path"]), asked["trial"], TrialLimits(**asked["limits"]))
        except VenturiError as refusal:
            error = {
                "code": refusal.code,
                "message": refusal.message,
                "where": refusal.where,
                "hint": refusal.hint,
                "exit_code": refusal.exit_code,
            }
        _say(json.dumps(error))
        signal.alarm(0)


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _warm_up() -> None:
    """Reads a table: where threads or memory are refused, their reader dies or hangs of it now."""
    from venturi.record.store.frames import pl

    with os.fdopen(os.memfd_create("table"), "wb") as table:
        pl.DataFrame({"t_s": [0.0]}).write_parquet(table)
        table.flush()
        pl.scan_parquet(f"/proc/self/fd/{table.fileno()}").collect(engine="streaming")


def bound_memory(more_bytes: int) -> None:
    """Limit the memory that this process may add, in bytes; disable core dumps."""
    said = Path("/proc/self/status").read_text("ascii")
    (data_kib,) = (int(line.split()[1]) for line in said.splitlines() if line[:7] == "VmData:")
    most = data_kib * 1024 + more_bytes
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


if __name__ == "__main__":
    _main(int(sys.argv[1]), float(sys.argv[2]))
