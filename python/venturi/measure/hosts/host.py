"""Where measuring happens: a host starts processes and streams what they say.

The local machine is just another host. Over SSH, or in a network namespace, the same protocol has
another implementation and nothing above it changes.
"""

from __future__ import annotations

import io
import select
import shutil
import signal
import socket
import subprocess
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import IO, Any, Protocol

from venturi.errors import VenturiError

MAX_LINE_BYTES = 64 * 2**20  # a sort result lists its files: 100,000 of them still fit
STDERR_LINES = 20
STDERR_LINE_BYTES = 2000


class Process(Protocol):
    """A started process: its lines, its end, its last words."""

    def lines(self) -> Iterator[bytes]:
        """The lines of its standard output as they come; VEN-AGENT-PROTOCOL for one too long."""

    def wait(self) -> int:
        """Its exit status once it has ended; minus the signal's number if one killed it."""

    def terminate(self) -> None:
        """Asks it to end (SIGTERM) and does not wait."""

    def stop(self, grace_s: float) -> int:
        """Interrupts it (SIGINT), lets it clean up for `grace_s`, then kills it."""

    def stderr_tail(self) -> list[str]:
        """The last lines of its standard error."""


class Host(Protocol):
    """A machine on which processes can be started."""

    @property
    def name(self) -> str:
        """Its host name."""

    def which(self, program: str) -> str | None:
        """Full path of `program` on that machine, None if it has none."""

    def start(self, argv: Sequence[str]) -> Process:
        """Starts `argv`; VEN-AGENT-MISSING if it cannot be executed."""


class _Awaited(io.RawIOBase):
    """A pipe that is read when it has something, and looked at twice a second until then.

    A signal that comes just before a read that waits would only be heard of after it: Ctrl-C would
    wait for the next line.
    """

    def __init__(self, pipe: IO[bytes]) -> None:
        self._pipe = pipe
        self._poll = select.poll()
        self._poll.register(pipe, select.POLLIN)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        while not self._poll.poll(500):
            pass
        count: int | None = self._pipe.readinto(buffer)  # type: ignore[attr-defined]
        return count

    def close(self) -> None:
        self._pipe.close()
        super().close()


class LocalProcess:
    """A child of this process, in a process group of its own.

    Ctrl-C in a terminal reaches a whole group. The child must hear of it once, from us, because a
    second interrupt means "at once, without cleaning up".
    """

    def __init__(self, argv: Sequence[str]) -> None:
        self._popen = subprocess.Popen(
            list(argv),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            process_group=0,
            bufsize=0,
        )
        assert self._popen.stdout is not None
        assert isinstance(self._popen.stderr, io.FileIO)
        self._stdout = io.BufferedReader(_Awaited(self._popen.stdout))
        self._stderr = io.BufferedReader(self._popen.stderr)
        self._tail: deque[str] = deque(maxlen=STDERR_LINES)
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _listen(self) -> None:
        with suppress(ValueError):  # closed under us
            while line := self._stderr.readline(STDERR_LINE_BYTES):
                self._tail.append(line.decode(errors="replace").rstrip())

    def lines(self) -> Iterator[bytes]:
        while line := self._stdout.readline(MAX_LINE_BYTES + 1):
            if len(line) > MAX_LINE_BYTES:
                raise VenturiError(
                    "VEN-AGENT-PROTOCOL",
                    f"a line is longer than {MAX_LINE_BYTES} bytes",
                    where={"starts_with": line[:80].decode(errors="replace")},
                )
            yield line

    def wait(self) -> int:
        status = self._popen.wait()
        self._listener.join(timeout=5)
        self._stdout.close()
        if not self._listener.is_alive():
            self._stderr.close()
        return status

    def terminate(self) -> None:
        self._popen.terminate()

    def stop(self, grace_s: float) -> int:
        if self._popen.poll() is None:
            self._popen.send_signal(signal.SIGINT)
        killer = threading.Timer(grace_s, self._popen.kill)
        killer.daemon = True
        killer.start()
        try:
            # It may still be writing: read on, or it would block on a full pipe and never end.
            with suppress(ValueError):
                while self._stdout.read(65536):
                    pass
            return self.wait()
        except KeyboardInterrupt:
            self._popen.kill()
            return self.wait()
        finally:
            killer.cancel()

    def stderr_tail(self) -> list[str]:
        return list(self._tail)


class LocalHost:
    """This machine."""

    @property
    def name(self) -> str:
        return socket.gethostname()

    def which(self, program: str) -> str | None:
        return shutil.which(program)

    def start(self, argv: Sequence[str]) -> Process:
        try:
            return LocalProcess(argv)
        except OSError as error:
            raise VenturiError(
                "VEN-AGENT-MISSING",
                f"{argv[0]} cannot be started: {error.strerror or error}",
                where={"path": argv[0]},
                hint="set VENTURI_AGENT to the agent's path, or install Venturi again",
            ) from error
