"""What `venturi` shows on a terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

from command_line import FAKE_AGENT
from venturi.core.settings import Settings

STYLE = re.compile(r"\x1b\[[0-9;]*m")


def on_terminal(
    settings: Settings,
    *arguments: str,
    columns: int = 80,
    agent: Path = FAKE_AGENT,
    status: int = 0,
) -> list[str]:
    """Return the lines that `venturi` shows on a terminal, without their colors."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    environ = {k: v for k, v in os.environ.items() if k != "COLUMNS"}
    environ |= {"VENTURI_HOME": str(settings.home), "TERM": "xterm", "NO_COLOR": "1"}
    environ["VENTURI_AGENT"] = str(agent)
    process = subprocess.Popen(
        [sys.executable, "-m", "venturi.cli.main", *arguments],
        stdin=theirs,
        stdout=theirs,
        stderr=subprocess.DEVNULL,
        env=environ,
    )
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
    assert process.wait() == 0
    return [line.rstrip() for line in STYLE.sub("", said.decode()).splitlines()]


def into_pipe(settings: Settings, *arguments: str) -> list[str]:
    environ = os.environ | {"VENTURI_HOME": str(settings.home)}
    done = subprocess.run(
        [sys.executable, "-m", "venturi.cli.main", *arguments],
        stdout=subprocess.PIPE,
        env=environ,
        check=True,
        text=True,
    )
    return done.stdout.splitlines()
