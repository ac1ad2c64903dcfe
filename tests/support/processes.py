"""Everything that a test starts ends with it. Remaining processes are ended here, and fail the
test.

The tests' process adopts its orphans, so that every remaining process of a test is a child of it.
Fixtures wider than a function may keep processes: a server of the whole session is never checked,
and while a fixture of a module has some, the module's end counts.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from collections.abc import Generator, Iterator
from multiprocessing.resource_tracker import _resource_tracker
from pathlib import Path
from typing import Any

import pytest

PR_SET_CHILD_SUBREAPER = 36
GRACE_S = 10.0
"""Time to end after a request."""

_of_session: set[int] = set()
_owners: set[pytest.FixtureDef[Any]] = set()


@pytest.fixture(autouse=True, scope="session")
def _signals_as_from_a_terminal() -> None:
    """The usual signals end processes of tests, and orphans are this process's children.

    A shell's background job ignores SIGINT, and a process under `nohup` ignores SIGHUP; so would
    all processes that tests start. A handler is not inherited like that.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGHUP, signal.SIGQUIT):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, lambda *_: None)
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")


def keep(pid: int) -> None:
    """Lets a process outlive its module; the caller ends it."""
    _of_session.add(pid)


def children() -> set[int]:
    """Processes that this one has, started or adopted."""
    found = set()
    for file in Path("/proc/self/task").glob("*/children"):
        try:
            found.update(map(int, file.read_text().split()))
        except OSError:  # the thread has just ended
            continue
    # Python keeps this one until its own end, from the first pool of processes on.
    return found - {getattr(_resource_tracker, "_pid", None)}


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[Any]) -> Generator[None, Any, Any]:
    """Notes which processes belong to a fixture wider than a function."""
    if fixturedef.scope == "function":
        return (yield)
    before = children()
    try:
        return (yield)
    finally:
        started = children() - before
        if fixturedef.scope == "session":
            _of_session.update(started)
        elif started:
            _owners.add(fixturedef)


def pytest_fixture_post_finalizer(fixturedef: pytest.FixtureDef[Any]) -> None:
    """An owner that is gone keeps nothing any more."""
    _owners.discard(fixturedef)


@pytest.fixture(autouse=True)
def _handlers_are_kept() -> Iterator[None]:
    """Restores the handlers that `main` replaces when called in process."""
    former = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    hook = sys.unraisablehook
    yield
    sys.unraisablehook = hook
    for number, handler in former.items():
        signal.signal(number, handler)


@pytest.fixture(autouse=True)
def _nothing_is_left() -> Iterator[None]:
    yield
    if not _owners:
        _require_nothing_left()


@pytest.fixture(autouse=True, scope="module")
def _nothing_is_left_of_a_module() -> Iterator[None]:
    yield
    _require_nothing_left()


def _require_nothing_left() -> None:
    deadline_s = time.monotonic() + GRACE_S
    while (left := _living()) and time.monotonic() < deadline_s:
        time.sleep(0.02)
    if not left:
        return
    told = [_described(pid) for pid in sorted(left)]
    while left := _living():  # those that are orphans now are next
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        time.sleep(0.02)
    pytest.fail("left running, and ended now:\n  " + "\n  ".join(told), pytrace=False)


def _living() -> set[int]:
    """Children that are neither the session's nor dead; orphans that have ended are buried."""
    living = set()
    for pid in children() - _of_session:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
            if state == "Z":
                os.waitpid(pid, os.WNOHANG)
            else:
                living.add(pid)
        except (OSError, IndexError):
            continue
    return living


def _described(pid: int) -> str:
    """Its command, and the test that started it."""
    command = _of_process(pid, "cmdline").replace("\0", " ").strip()
    variables = dict(
        each.partition("=")[::2] for each in _of_process(pid, "environ").split("\0") if "=" in each
    )
    return f"process {pid}, {command[:300]!r}, of {variables.get('PYTEST_CURRENT_TEST', 'unknown')}"


def _of_process(pid: int, name: str) -> str:
    try:
        return Path(f"/proc/{pid}/{name}").read_text(errors="replace")
    except OSError:
        return ""
