"""A command of the agent on several hosts at once: one that fails does not end the others."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress

from venturi.errors import Interrupted, VenturiError, refused
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


class Following:
    """An agent's command on a host, read in a thread of its own."""

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
        self._thread = threading.Thread(target=self._follow, daemon=True)
        try:
            self._process = process = agent.start(command, *args)
        except VenturiError as error:
            self.outcome = error
            return
        try:
            threads.start(self._thread)
        except OSError as error:
            self.outcome = refused(error, f"{command} cannot be followed")
            process.stop(CLEAN_UP_GRACE_S)

    def _follow(self) -> None:
        assert self._process is not None
        try:
            self.outcome = self._agent.follow(
                self._process,
                self._command,
                on_progress=self._on_progress,
                on_event=self._on_event,
            )
        except Interrupted:
            self.outcome = VenturiError("VEN-AGENT-DIED", f"{self._command} was interrupted there")
        except VenturiError as error:
            self.outcome = error
        except Exception as error:  # a host that is gone in the middle
            self.outcome = VenturiError("VEN-AGENT-DIED", f"{type(error).__name__}: {error}")

    def wait(self) -> Outcome:
        """What came of it."""
        while self._thread.is_alive():
            self._thread.join(0.5)  # not for ever, or Ctrl-C would wait too
        assert self.outcome is not None
        return self.outcome

    def end(self) -> None:
        """Asks what goes on until it is asked to end for its result."""
        if self._process is not None and self._thread.is_alive():
            self._process.terminate()

    def stop(self) -> None:
        """Interrupts it; it cleans up first."""
        if self._process is not None and self._thread.is_alive():
            with suppress(VenturiError, OSError):
                self._process.stop(CLEAN_UP_GRACE_S)


def on_all(
    agents: Mapping[str, Agent], command: str, args: Mapping[str, Sequence[object]] | None = None
) -> dict[str, Outcome]:
    """The agent's `command` on all hosts at once, with the `args` of each, by name.

    One that fails does not end the others. After Ctrl-C all have ended and cleaned up.
    """
    given = args or {}
    started = {
        name: Following(agent, command, *given.get(name, ())) for name, agent in agents.items()
    }
    try:
        return {name: following.wait() for name, following in started.items()}
    except BaseException:
        stoppers = [threading.Thread(target=each.stop) for each in started.values()]
        for stopper in stoppers:
            stopper.start()
        for stopper in stoppers:
            stopper.join()
        raise
