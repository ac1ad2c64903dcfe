"""Daemons that Venturi starts, on small stand-in programs: watched, and ended however it ends."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from test_engine_process import STUBBORN

from engine_runs import MARK, marked, wait_until_gone
from this_host import HOST
from venturi.core.errors import VenturiError
from venturi.measure.hosts import daemons as daemons_module
from venturi.measure.hosts.daemons import Daemons, free_ports, on_free_ports, wait_until
from venturi.measure.trial import programs as process
from venturi.measure.trial.job import JobFailed


@pytest.fixture
def daemons(tmp_path: Path, mark: str) -> Iterator[Daemons]:
    """Ended before `mark` looks whether they are."""
    with Daemons(HOST, "abacus", tmp_path) as made:
        yield made


def start(daemons: Daemons, mark: str, name: str, script: str) -> None:
    daemons.start(name, ["sh", "-c", script], env={MARK: mark}, cwd=daemons.folder)


def test_they_run_until_they_are_stopped(daemons: Daemons, mark: str, tmp_path: Path) -> None:
    for name in ("first", "second"):
        start(daemons, mark, name, f"echo {name} speaks; sleep 600")
    wait_until(
        lambda: all(f"{name} speaks" in daemons.tail(name) for name in ("first", "second")),
        daemons=daemons,
        what="it",
        timeout_s=30,
    )
    assert daemons.dead() == ()
    assert len(marked(mark)) >= 4
    daemons.stop()
    assert marked(mark) == []
    assert (tmp_path / "first.log").read_text() == "first speaks\n"


@pytest.mark.parametrize(
    ("says", "code", "message"),
    [
        ("ERROR it is broken", "VEN-ENGINE-DAEMON", "frail ended unexpectedly: ERROR it is broken"),
        ("java.net.BindException: Address already in use", "VEN-ENGINE-PORT", "frail needs"),
        ("No space left on device", "VEN-ENGINE-SPACE", "frail ended: the disk is full"),
    ],
)
def test_one_that_ends_is_noticed(
    daemons: Daemons, mark: str, says: str, code: str, message: str
) -> None:
    start(daemons, mark, "sound", "sleep 600")
    start(daemons, mark, "frail", f"echo '{says}'; exit 3")
    with pytest.raises(VenturiError, match=message) as caught:
        wait_until(lambda: False, daemons=daemons, what="it", timeout_s=30)
    assert caught.value.code == code
    assert daemons.dead() == ("frail",)


def test_not_ready_in_time(daemons: Daemons, mark: str) -> None:
    start(daemons, mark, "slow", "sleep 600")
    with pytest.raises(VenturiError, match=r"the web page was not ready after 200 ms") as caught:
        wait_until(lambda: False, daemons=daemons, what="the web page", timeout_s=0.2)
    assert caught.value.code == "VEN-ENGINE-TIMEOUT"


@pytest.mark.parametrize("client", ["sleep 600", "sleep 1; exit 4"])
def test_a_daemon_that_ends_fails_the_job(
    daemons: Daemons, mark: str, tmp_path: Path, client: str
) -> None:
    start(daemons, mark, "frail", "sleep 0.5; kill -9 $$")
    started_s = time.monotonic()
    with pytest.raises(JobFailed, match="frail ended unexpectedly: killed by signal 9") as caught:
        process.run(
            HOST,
            ["sh", "-c", client],
            engine="abacus",
            log=tmp_path / "log",
            cwd=tmp_path,
            env={MARK: mark},
            timeout_s=60,
            check=daemons.check,
        )
    assert caught.value.code == "VEN-ENGINE-DAEMON"
    assert [each.name for each in caught.value.attachments] == ["log"]
    assert time.monotonic() - started_s < 60, "it waits for the client"
    with pytest.raises(VenturiError, match="killed by signal 9") as again:  # as often as asked
        daemons.check()
    assert "use less with --memory" in again.value.hint
    assert marked(mark) == []


def test_a_port_taken_meanwhile_is_replaced_once() -> None:
    tried = []

    def bring_up(ports: tuple[int, ...]) -> tuple[int, ...]:
        tried.append(ports)
        if len(tried) == 1:
            raise VenturiError("VEN-ENGINE-PORT", "taken")
        return ports

    assert on_free_ports(HOST, 3, bring_up) == tried[1]

    def never(ports: tuple[int, ...]) -> None:
        tried.append(ports)
        raise VenturiError("VEN-ENGINE-PORT", "taken")

    with pytest.raises(VenturiError, match="taken"):
        on_free_ports(HOST, 1, never)
    assert len(tried) == 4


def _listens(server: socket.socket, port: int) -> bool:
    try:
        server.bind(("127.0.0.1", port))
    except OSError:
        return False
    server.listen()
    return True


def test_free_ports_are_free_and_different() -> None:
    with socket.socket() as server:
        taken = next(port for port in range(20_000, 30_000) if _listens(server, port))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(daemons_module, "_candidates", lambda _: range(taken, taken + 1))
            with pytest.raises(VenturiError, match="no 1 free ports"):
                free_ports(HOST, 1)
    ports = free_ports(HOST, 20)
    assert len(set(ports)) == 20
    for port in ports:
        with socket.socket() as server:
            server.bind(("127.0.0.1", port))


@pytest.mark.slow
def test_venturi_killed(tmp_path: Path, mark: str) -> None:
    program = (
        "import sys, time; from pathlib import Path\n"
        "from venturi.measure.hosts.daemons import Daemons\n"
        "from venturi.measure.hosts.local import LocalHost\n"
        "daemons = Daemons(LocalHost(), 'abacus', Path(sys.argv[1]))\n"
        "for name in 'ab':\n"
        "    daemons.start(name, sys.argv[2:], env={}, cwd=Path(sys.argv[1]))\n"
        "time.sleep(600)"
    )
    stubborn = (sys.executable, "-S", "-c", STUBBORN, tmp_path / "ready", "600")
    venturi = subprocess.Popen(
        [sys.executable, "-c", program, tmp_path, *stubborn], env={**os.environ, MARK: mark}
    )
    deadline_s = time.monotonic() + 30
    while len(marked(mark)) < 7:  # two supervisors, their programs, and the latter's children
        assert time.monotonic() < deadline_s
        time.sleep(0.05)
    os.kill(venturi.pid, signal.SIGKILL)
    venturi.wait(30)
    wait_until_gone(mark)
