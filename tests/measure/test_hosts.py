"""This machine as a host: what every kind of host does, and Ctrl-C."""

from __future__ import annotations

import signal
import threading
import time
from pathlib import Path

import pytest
from host_contract import HostContract

from venturi.measure.hosts.host import Host
from venturi.measure.hosts.local import LocalHost


class TestLocalHost(HostContract):
    """This machine."""

    MADE_BY = "from venturi.measure.hosts.local import LocalHost; host = LocalHost()"

    @pytest.fixture
    def host(self) -> Host:
        return LocalHost()

    @pytest.fixture
    def place(self, tmp_path: Path) -> Path:
        folder = tmp_path / "place"
        folder.mkdir()
        return folder


def test_ctrl_c_is_heard_though_it_does_not_wake_the_reader() -> None:
    process = LocalHost().start(["sh", "-c", "echo first; exec sleep 60"])
    lines = process.lines()
    assert next(lines) == b"first\n"

    def interrupt() -> None:
        # Taken by this thread, so that the main one goes on waiting for its line.
        time.sleep(0.2)
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    try:
        with pytest.raises(KeyboardInterrupt):
            next(lines)
    finally:
        status = process.stop(10)
    assert status == -signal.SIGINT  # at its end after a minute it would be 0
