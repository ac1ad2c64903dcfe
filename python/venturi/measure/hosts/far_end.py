"""The process at the other end of a link to a host: reads from it, writes to it, ends it."""

from __future__ import annotations

import fcntl
import io
import os
import select
import subprocess
import threading
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from venturi.core.errors import VenturiError
from venturi.measure.hosts import threads

PIPE_BYTES = 1 << 20
"""Size of each pipe; with the usual 64 KiB each piece of a copy takes four switches between the
processes.
"""
STDERR_LINES = 20
END_S = 2.0
"""Time for the process to exit after it has closed its output."""


class FarEnd:
    """The process `command`, started, at the other end of a link. VEN-HOST-START if it can't be
    started.

    It has its own process group, so that Ctrl-C in a terminal only reaches Venturi.
    """

    def __init__(self, command: Sequence[str | Path], name: str) -> None:
        try:
            self._process = subprocess.Popen(
                list(command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                process_group=0,
                bufsize=0,
            )
        except OSError as error:
            raise VenturiError(
                "VEN-HOST-START",
                f"{command[0]} cannot be started: {error.strerror or error}",
                where={"host": name, "path": str(command[0])},
                hint="install it, or use its full path",
            ) from error
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._stdin, self._stdout = self._process.stdin, self._process.stdout
        for pipe in (self._stdin, self._stdout):
            with suppress(OSError):  # a user's total size of pipes is limited
                fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        self._words: deque[str] = deque(maxlen=STDERR_LINES)
        self._listener = threading.Thread(target=self._listen, daemon=True)
        try:
            threads.start(self._listener)
        except OSError:
            with self._process as process:  # waits for it, and closes its pipes
                process.kill()
            raise

    def read(self, bytes_max: int, patience_s: float) -> bytes:
        """Return its next output; empty: it has ended. Raises TimeoutError after `patience_s`."""
        poll = select.poll()
        poll.register(self._stdout, select.POLLIN)
        if not poll.poll(max(0.0, patience_s) * 1000):
            raise TimeoutError
        return os.read(self._stdout.fileno(), bytes_max)

    def write(self, data: bytes) -> None:
        """Write all of `data` to its input; OSError if it has closed that."""
        left = memoryview(data)
        while left:
            left = left[self._stdin.write(left) or 0 :]

    def say_no_more(self) -> None:
        """Close its standard input, which makes it end."""
        with suppress(OSError):
            self._stdin.close()

    def status(self) -> int:
        """Its exit status, once it says no more; if it lives on, it is ended, and that is its last
        word.
        """
        with suppress(subprocess.TimeoutExpired):
            return self._process.wait(END_S)
        self._process.kill()
        status = self._process.wait()
        self._listener.join(1.0)
        self._words.append("it closed its output but did not end")
        return status

    def words(self) -> str:
        """The last lines of its standard error once it has ended."""
        self._listener.join(1.0)
        return "\n".join(line for line in self._words if line)

    def last_word(self) -> str:
        """The last of those lines."""
        return self.words().rpartition("\n")[2]

    def terminate(self) -> None:
        """Ask it to end."""
        self._process.terminate()

    def kill(self) -> None:
        """Kill it."""
        self._process.kill()

    def close(self, grace_s: float = 0.0) -> None:
        """Wait up to `grace_s` for its end, then kill it."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(grace_s)
        self._process.kill()
        self._process.wait()
        self._listener.join(1.0)
        for pipe in (self._stdin, self._stdout, self._process.stderr):
            with suppress(OSError):
                if pipe is not None:
                    pipe.close()

    def _listen(self) -> None:
        assert self._process.stderr is not None
        with suppress(OSError, ValueError), io.BufferedReader(self._process.stderr) as file:  # type: ignore[type-var]
            while line := file.readline(2000):
                self._words.append(line.decode(errors="replace").rstrip())
