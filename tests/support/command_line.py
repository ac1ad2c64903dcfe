"""`venturi` as a user calls it: in this process, or in one of its own where the process matters."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
from click.testing import CliRunner

from venturi.cli.main import cli, main

PROGRAM = (sys.executable, "-m", "venturi")
AGENT = Path(os.environ.get("VENTURI_AGENT") or Path(sys.executable).parent / "venturi-agent")
FAKE_AGENT = Path(__file__).with_name("fake_agent.py")


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
    """What `venturi ARGS` prints on stdout, in the environment as it is; its errors are raised."""
    result = CliRunner().invoke(cli, args, standalone_mode=False, catch_exceptions=False)
    if isinstance(result.exception, BaseException):
        raise result.exception
    return result.stdout


def started(*args: object, home: Path, **environment: str) -> subprocess.Popen[str]:
    """`venturi ARGS` as a process of its own, to be killed, piped or waited for."""
    return subprocess.Popen(
        [*PROGRAM, *map(str, args)],
        env={**os.environ, **_environment(home, environment)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _environment(home: Path, changes: dict[str, str]) -> dict[str, str]:
    return {"VENTURI_HOME": str(home), "VENTURI_AGENT": str(FAKE_AGENT), **changes}
