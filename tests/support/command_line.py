"""`venturi` as a user calls it: in this process, or in one of its own where the process matters."""

from __future__ import annotations

import fcntl
import io
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
from click.testing import CliRunner

from fork_server import shared_server
from venturi.cli.main import cli, main
from venturi.core.settings import Settings

PROGRAM = (sys.executable, "-m", "venturi")
AGENT = Path(os.environ.get("VENTURI_AGENT") or Path(sys.executable).parent / "venturi-agent")
FAKE_AGENT = Path(__file__).with_name("fake_agent.py")
STYLE = re.compile(r"\x1b\[[0-9;]*m")


def venturi(*args: object, home: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """`venturi ARGS` in this process, on the fake agent unless `environment` names another."""
    command = ["venturi", *map(str, args)]
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.TextIOWrapper(io.BytesIO(), "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in _environment(home, environment).items():
            patch.setenv(name, value)
        patch.setattr(sys, "argv", command)
        with redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as exited:
            main()
    out.seek(0)
    err.seek(0)
    status = int(exited.value.code or 0)
    return subprocess.CompletedProcess(command, status, out.read(), err.read())


def printed(*args: str) -> str:
    """The stdout of `venturi ARGS`, in the present environment; raises its errors."""
    result = CliRunner().invoke(cli, args, standalone_mode=False, catch_exceptions=False)
    if isinstance(result.exception, BaseException):
        raise result.exception
    return result.stdout


def started(
    *args: object, home: Path, stdin: int | None = None, **environment: str
) -> subprocess.Popen[str]:
    """`venturi ARGS` as a process of its own, to be killed, piped or waited for."""
    return subprocess.Popen(
        [*PROGRAM, *map(str, args)],
        env={**os.environ, **_environment(home, environment)},
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _environment(home: Path, changes: dict[str, str]) -> dict[str, str]:
    return {"VENTURI_HOME": str(home), "VENTURI_AGENT": str(FAKE_AGENT), **changes}


def on_terminal(
    settings: Settings,
    *arguments: str,
    columns: int = 80,
    agent: Path = FAKE_AGENT,
) -> list[str]:
    """Return the lines that `venturi` shows on a terminal, without their colors."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    environ = {k: v for k, v in os.environ.items() if k != "COLUMNS"}
    environ |= {"VENTURI_HOME": str(settings.home), "TERM": "xterm", "NO_COLOR": "1"}
    environ["VENTURI_AGENT"] = str(agent)
    with Path(os.devnull).open("wb") as nowhere:
        fds = [theirs, theirs, nowhere.fileno()]
        pid = shared_server().fork(["venturi", *arguments], environ, None, fds)
    os.close(theirs)
    said = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # the other end was closed
            break
        if not part:
            break
        said += part
    os.close(ours)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    return [line.rstrip() for line in STYLE.sub("", said.decode()).splitlines()]


def into_pipe(settings: Settings, *arguments: str) -> list[str]:
    """Return the lines of stdout where it is no terminal."""
    done = venturi(*arguments, home=settings.home)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()
