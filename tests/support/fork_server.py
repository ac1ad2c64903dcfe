"""Starts `venturi`, or a program that uses it, by forking a process that has its modules already: a
tenth of a start.

What is started is a process of its own, with its own arguments, environment and signals, and a
child of the tests' process. /proc shows the command line and the environment of the one that was
forked: who looks there starts `venturi` by `command_line.started`.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import io
import json
import os
import resource
import socket
import subprocess
import sys
from functools import cache
from typing import Any

MESSAGE_BYTES = 1 << 20
# Modules that `venturi serve` loads before it listens.
MODULES = (
    "alembic.context",
    "uvicorn.loops.auto",
    "uvicorn.protocols.http.auto",
    "venturi.cli.share.changes",
    "venturi.cli.share.serve",
    "venturi.cli.share.server",
    "venturi.record.store.frames",
    "venturi.record.store.repository",
    "venturi.web.api.app",
    "venturi.web.api.results.start",
)


class ForkServer:
    """The process that is forked; it ends with its socket."""

    def __init__(self) -> None:
        self._ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, __file__, str(theirs.fileno())],
                env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},  # as `venturi serve` has it
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    def close(self) -> None:
        self._ours.close()
        self._process.wait(30)

    def fork(
        self,
        arguments: list[str],
        environment: dict[str, str],
        files_max: int | None,
        fds: list[int],
        program: str | None = None,
    ) -> int:
        """The id of a new `venturi ARGUMENTS`, or `program`, with stdout and stderr `fds`, or with
        stdin, stdout and stderr.
        """
        asked = {
            "arguments": arguments,
            "environment": environment,
            "files_max": files_max,
            "program": program,
        }
        socket.send_fds(self._ours, [json.dumps(asked).encode()], fds)
        return int(self._ours.recv(MESSAGE_BYTES))


@cache
def shared_server() -> ForkServer:
    """The one of this process, until it exits."""
    from processes import keep  # with pytest, which forked programs do without

    made = ForkServer()
    keep(made.pid)
    atexit.register(made.close)
    return made


class Forked(subprocess.Popen[str]):
    """`venturi ARGUMENTS`, or the text of a `program`, with text pipes at its stdout and stderr."""

    def __init__(
        self,
        server: ForkServer,
        arguments: list[str],
        files_max: int | None,
        env: dict[str, str],
        program: str | None = None,
    ) -> None:
        self._server, self._files_max, self._program = server, files_max, program
        pipe = subprocess.PIPE
        super().__init__(["venturi", *arguments], env=env, text=True, stdout=pipe, stderr=pipe)

    def _execute_child(self, args: list[str], *given: Any) -> None:
        env, fds = given[5], given[9:15]
        assert set(fds[:2]) == {-1}, "stdin is /dev/null"
        given_fds = [fds[3], fds[5]]
        self.pid = self._server.fork(args, env, self._files_max, given_fds, self._program)
        self._child_created = True
        for fd in (fds[3], fds[5]):
            os.close(fd)


def _main(listening: socket.socket) -> str | None:
    """Forks itself on each request; returns in each child, to become the requested process: the
    text of a program, or None for `venturi`.
    """
    for name in MODULES:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()
    while True:
        text, fds, _, _ = socket.recv_fds(listening, MESSAGE_BYTES, 3)
        if not text:
            sys.exit(0)
        reading, writing = os.pipe()
        if (between := os.fork()) == 0:
            # An orphan is adopted by the tests' process, which may then wait for it.
            if (child := os.fork()) > 0:
                os.write(writing, str(child).encode())
                os._exit(0)
            os.close(reading)
            os.close(writing)
            listening.close()
            asked: dict[str, Any] = json.loads(text)
            _become(asked, fds)
            return asked["program"]
        os.close(writing)
        for fd in fds:
            os.close(fd)
        pid = os.read(reading, 20)
        os.close(reading)
        os.waitpid(between, 0)
        listening.send(pid)


def _become(asked: dict[str, Any], fds: list[int]) -> None:
    for target, fd in enumerate(fds, 3 - len(fds)):
        os.dup2(fd, target)
        os.close(fd)
    if most := asked["files_max"]:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    os.environ.clear()
    os.environ.update(asked["environment"])
    sys.argv = asked["arguments"]
    sys.stdout = sys.__stdout__ = io.TextIOWrapper(io.FileIO(1, "w", closefd=False), "utf-8")
    sys.stderr = sys.__stderr__ = io.TextIOWrapper(io.FileIO(2, "w", closefd=False), "utf-8")


if __name__ == "__main__":
    text = _main(socket.socket(fileno=int(sys.argv[1])))
    if text is None:
        from venturi.cli.main import program

        program()
    else:
        exec(text, {"__name__": "__main__"})
