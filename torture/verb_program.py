"""Forks a child for each line on stdin, which runs a verb of `venturi` in process; see verbs.py.

Modules that verbs need are imported beforehand, so that a child spends its short life on its work.
No thread is started here: a child would inherit the locks of other threads.
"""

from __future__ import annotations

import importlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

# Modules that every verb with a repository uses.
import alembic.command  # noqa: F401
import psycopg  # noqa: F401

import venturi.record.importing.importer
import venturi.record.upkeep.check  # noqa: F401
from torture.change_notes import note_changes
from venturi.cli.main import program as verb

# Which no call that may be made to fail waits for.
GO = signal.SIGUSR1


def main() -> None:
    """A task is JSON: arguments, environment, cwd, stdout, stderr, modules, changes, kill_at,
    kill_after_s, end_s, trace. Two lines answer it: the child's process id, and how it ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the caller
    for line in sys.stdin:
        task = json.loads(line)
        for name in task["modules"]:
            with suppress(Exception):
                importlib.import_module(name)
        signal.pthread_sigmask(signal.SIG_BLOCK, {GO})
        ready, tell = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(ready)
            _child(task, tell)
        os.close(tell)
        _say(child)
        os.read(ready, 1)  # until then it makes calls that are not the verb's
        os.close(ready)
        _say(_watch(child, task))


def _say(what: object) -> None:
    os.write(1, f"{json.dumps(what)}\n".encode())


def _child(task: dict[str, Any], ready: int) -> NoReturn:
    status = 1
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.setpgid(0, 0)
        for number, name in enumerate((os.devnull, task["stdout"], task["stderr"])):
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND
            os.dup2(os.open(name, flags, 0o600), number)
        os.environ.update(task["environment"])
        tempfile.tempdir = None
        os.chdir(task["cwd"])
        sys.argv = ["venturi", *task["arguments"]]
        if task["changes"]:
            note_changes(
                task["changes"], (task["environment"]["VENTURI_HOME"], task["cwd"]), task["kill_at"]
            )
        os.close(ready)
        signal.sigwait({GO})
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {GO})
        try:
            verb()
        except SystemExit as ended:
            status = int(ended.code or 0)
    except BaseException:
        traceback.print_exc()
    finally:
        with suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        if name := task["names"]:
            Path(name).write_text(json.dumps(list(sys.modules)))
        os._exit(status)


def _watch(child: int, task: dict[str, Any]) -> dict[str, Any]:
    tracer = None
    if task["trace"]:
        tracer = subprocess.Popen([*task["trace"], "-p", str(child)], stdin=subprocess.DEVNULL)
        while not _traced(child) and tracer.poll() is None:
            time.sleep(0.001)
    ends = os.pidfd_open(child)
    poll = select.poll()
    poll.register(ends, select.POLLIN)
    begun_s = time.monotonic()
    os.kill(child, GO)
    limit_s = task["end_s"] if task["kill_after_s"] is None else task["kill_after_s"]
    late = not poll.poll(1000 * limit_s)
    if late:
        signal.pidfd_send_signal(ends, signal.SIGKILL)
    elapsed_s = time.monotonic() - begun_s
    _, status = os.waitpid(child, 0)
    os.close(ends)
    if tracer is not None:
        tracer.wait(30)
    return {
        "status": os.waitstatus_to_exitcode(status),
        "elapsed_s": elapsed_s,
        "hung": late and task["kill_after_s"] is None,
    }


def _traced(child: int) -> bool:
    return "TracerPid:\t0\n" not in Path(f"/proc/{child}/status").read_text()


if __name__ == "__main__":
    main()
