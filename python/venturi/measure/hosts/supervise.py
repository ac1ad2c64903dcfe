"""Runs one command and leaves nothing of it behind. Standard library only, started as a script.

`supervise.py LOG -- COMMAND...` writes what the command says to LOG and, when all is over, one line
of JSON to stdout. Closing its stdin (or dying, which closes it) ends the command. Whatever the
command's own children do, as a subreaper this process inherits and kills them.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

GRACE_S = 5.0
PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36


def main() -> int:
    """Exit status: 0 once everything has ended, however the command fared."""
    log, command = sys.argv[1], sys.argv[3:]
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1)
    # Whoever started us decides by closing stdin; a signal to our group must not end us first.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)

    def in_child() -> None:
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)

    with Path(log).open("ab") as out:
        child = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
            start_new_session=True, preexec_fn=in_child,  # noqa: PLW1509 - no threads here
        )  # fmt: skip
    stopped = not _wait(child)
    status = child.poll()
    if status is None:
        child.terminate()
        try:
            status = child.wait(GRACE_S)
        except subprocess.TimeoutExpired:
            child.kill()
            status = child.wait()
    _kill_descendants()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    report = {
        "status": status,
        "stopped": stopped,
        "user_s": used.ru_utime,
        "system_s": used.ru_stime,
        "peak_rss_bytes": used.ru_maxrss * 1024,
    }
    with suppress(OSError):  # nobody may be left to hear it
        os.write(1, json.dumps(report).encode() + b"\n")
    return 0


def _wait(child: subprocess.Popen[bytes]) -> bool:
    """Whether `child` ended by itself; False: stdin was closed before."""
    pidfd = os.pidfd_open(child.pid)
    try:
        while True:
            ready, _, _ = select.select([pidfd, 0], [], [])
            if pidfd in ready:
                return True
            if not os.read(0, 1):
                return False
    finally:
        os.close(pidfd)


def _kill_descendants() -> None:
    """Kills until there is no child: orphans of the killed become our children."""
    while True:
        for pid in _descendants():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(0.01)


def _descendants() -> list[int]:
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text()
            except OSError:
                continue
            # pid (name) state ppid ...: the name may hold anything.
            parent = int(stat.rpartition(")")[2].split()[1])
            children.setdefault(parent, []).append(int(entry.name))
    found: list[int] = []
    waiting = [os.getpid()]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += below
    return found


if __name__ == "__main__":
    sys.exit(main())
