"""Runs a command of the agent on several hosts concurrently; one that fails doesn't end the
others.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress

from venturi.core.errors import Interrupted, VenturiError, refused
from venturi.core.units import format_duration
from venturi.measure.hosts import threads
from venturi.measure.hosts.agent import (
    CLEAN_UP_GRACE_S,
    Agent,
    AgentResult,
    OnEvent,
    OnProgress,
)
from venturi.measure.hosts.host import Process

Outcome = AgentResult | VenturiError
SILENCE_S = 600.0
"""Commands report progress all the time, except while the system writes cached data to a slow disk:
64 GiB at 110 MB/s.
"""


class FollowedCommand:
    """An agent's command on a host, with its own reading thread."""

    def __init__(
        self,
        agent: Agent,
        command: str,
        *args: object,
        on_progress: OnProgress | None = None,
        on_event: OnEvent | None = None,
    ) -> None:
        self._agent, self._command = agent, command
        self._on_progress, self._on_event = on_progress, on_event
        self.outcome: Outcome | None = None
        self._process: Process | None = None
        self._heard_s = time.monotonic()
        # An event instead of `Thread.is_alive`: Python 3.11 considers a thread dead after an
        # interrupted `join`.
        self._ended = threading.Event()
        try:
            self._process = process = agent.start(command, *args)
        except VenturiError as error:
            self._end_with(error)
            return
        try:
            threads.start(threading.Thread(target=self._follow, daemon=True))
        except OSError as error:
            self._end_with(refused(error, f"{command} cannot be monitored"))
            process.stop(CLEAN_UP_GRACE_S)

    def _follow(self) -> None:
        assert self._process is not None
        outcome: Outcome
        try:
            outcome = self._agent.follow(
                self._process,
                self._command,
                on_progress=self._on_progress,
                on_event=self._on_event,
                on_line=self._hear,
            )
        except Interrupted:
            outcome = VenturiError("VEN-AGENT-DIED", f"{self._command} was interrupted there")
        except VenturiError as error:
            outcome = error
        except Exception as error:  # a host that is gone in the middle
            outcome = VenturiError("VEN-AGENT-DIED", f"{type(error).__name__}: {error}")
        self._end_with(outcome)
        if isinstance(outcome, VenturiError):  # a command with invalid events is still running
            with suppress(VenturiError, OSError):
                self._process.stop(CLEAN_UP_GRACE_S)

    def _end_with(self, outcome: Outcome) -> None:
        self.outcome = outcome
        self._ended.set()

    def _hear(self) -> None:
        self._heard_s = time.monotonic()

    def wait(self, silence_s: float = math.inf) -> Outcome:
        """Return the outcome; VEN-HOST-TIMEOUT after `silence_s` without output. A silent command
        is asked to end, but not awaited: a process that waits for a dead disk can't even be killed.
        """
        while not self._ended.wait(0.5):  # not for ever, or Ctrl-C would wait too
            if time.monotonic() - self._heard_s > silence_s:
                return self._given_up(silence_s)
        assert self.outcome is not None
        return self.outcome

    def _given_up(self, silence_s: float) -> VenturiError:
        with suppress(OSError):  # no thread: it ends with its link
            threads.start(threading.Thread(target=self.stop, daemon=True))
        return VenturiError(
            "VEN-HOST-TIMEOUT",
            f"{self._command} has been silent for {format_duration(silence_s)}",
            where={"command": self._command},
            hint="check the host's load and disks, and `dmesg` there",
        )

    def end(self) -> None:
        """Ask a command that runs until stopped to end with its result."""
        if self._process is not None and not self._ended.is_set():
            self._process.terminate()

    def stop(self) -> None:
        """Interrupt it; it cleans up first."""
        if self._process is not None and not self._ended.is_set():
            with suppress(VenturiError, OSError):
                self._process.stop(CLEAN_UP_GRACE_S)


def on_all(
    agents: Mapping[str, Agent],
    command: str,
    args: Mapping[str, Sequence[object]] | None = None,
    *,
    silence_s: float = SILENCE_S,
) -> dict[str, Outcome]:
    """Run the agent's `command` on all hosts concurrently, with the `args` of each; return the
    outcomes by name.

    A command that fails, or is silent for `silence_s`, doesn't end the others; its error names the
    host. After Ctrl-C all have ended and cleaned up.
    """
    given = args or {}
    started = {
        name: FollowedCommand(agent, command, *given.get(name, ()))
        for name, agent in agents.items()
    }
    try:
        told = {name: following.wait(silence_s) for name, following in started.items()}
    except BaseException:
        stoppers = [threading.Thread(target=each.stop) for each in started.values()]
        for stopper in stoppers:
            stopper.start()
        for stopper in stoppers:
            stopper.join()
        raise
    for name, outcome in told.items():
        if isinstance(outcome, VenturiError):
            outcome.where = {"host": name, **outcome.where}
    return told
