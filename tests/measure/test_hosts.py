"""Processes of this machine, as whoever measures meets them."""

from __future__ import annotations

import signal
import threading
import time

import pytest

from venturi.measure.hosts.local import LocalHost


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
