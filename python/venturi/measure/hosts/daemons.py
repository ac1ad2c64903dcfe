"""Long-running processes of an engine: started, watched and ended together.

Each runs under a supervisor of its own (`supervise.py`), which ends it, and all that it started,
when its stdin closes. That happens however this process ends, also when it is killed.
"""

from __future__ import annotations

import random
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from venturi.errors import VenturiError
from venturi.measure.hosts.host import Host, Supervised
from venturi.measure.hosts.logs import complaint, known_cause, tail
from venturi.units import format_duration

POLL_S = 0.1
LAST_WORDS = 8192
"""Characters at the end of a log in which to look for the cause of the end."""
_PORT_SIGNS = ("Address already in use", "Port in use")
_EPHEMERAL = Path("/proc/sys/net/ipv4/ip_local_port_range")
_LOWEST_PORT = 10_000

Made = TypeVar("Made")


@dataclass(frozen=True)
class Daemon:
    """A process that Venturi started and will end. `log` has what it says."""

    name: str
    host: Host
    log: Path
    process: Supervised

    @property
    def ended(self) -> bool:
        """Whether it is gone."""
        return self.process.ended

    @cached_property
    def last_words(self) -> str:
        """What one that has ended said at its end, or the signal that killed it."""
        status = self.process.report["status"]
        return (
            f"killed by signal {-status}"
            if status < 0
            else tail(self.host.files, self.log)[-LAST_WORDS:]
        )


class Daemons:
    """The daemons of one engine on a host. Leaving it as a context manager ends them."""

    def __init__(self, host: Host, engine: str, folder: Path) -> None:
        self.host = host
        self.engine = engine
        self.folder = folder
        self._daemons: dict[str, Daemon] = {}

    def start(
        self, name: str, command: Sequence[str | Path], *, env: Mapping[str, str], cwd: Path
    ) -> Daemon:
        """Starts `command` and returns at once; its log is `NAME.log` in our folder."""
        log = self.folder / f"{name}.log"
        process = self.host.supervise(command, log=log, cwd=cwd, env=env)
        daemon = Daemon(name, self.host, log, process)
        self._daemons[name] = daemon
        return daemon

    def dead(self) -> tuple[str, ...]:
        """Names of those that have ended, though nobody asked them to."""
        return tuple(daemon.name for daemon in self._daemons.values() if daemon.ended)

    def tail(self, name: str) -> str:
        """The end of what `name` said."""
        return tail(self.host.files, self._daemons[name].log)

    def logs(self) -> tuple[Path, ...]:
        """All logs."""
        return tuple(daemon.log for daemon in self._daemons.values())

    def check(self) -> None:
        """VEN-ENGINE-DAEMON if a daemon has ended; VEN-ENGINE-PORT if its port was taken; what a
        job would get (VEN-ENGINE-SPACE, -JAVA, -MEMORY) if its log names such a cause.
        """
        dead = self.dead()
        if not dead:
            return
        text = self._daemons[dead[0]].last_words
        where = {"engine": self.engine, "daemon": dead[0]}
        said = complaint(text)
        if any(sign in text for sign in _PORT_SIGNS):
            raise VenturiError(
                "VEN-ENGINE-PORT",
                f"{self.engine}: a port that {dead[0]} needs is taken: {said}",
                where=where,
                hint="stop the program that listens there, or choose another port",
            )
        if cause := known_cause(text):
            code, sentence, hint = cause
            raise VenturiError(
                code, f"{self.engine}: {dead[0]} ended: {sentence}", where=where, hint=hint
            )
        raise VenturiError(
            "VEN-ENGINE-DAEMON",
            f"{self.engine}: {' and '.join(dead)} ended unexpectedly: {said}",
            where=where,
            hint="start it again; the kernel kills processes when memory runs out, see `dmesg`",
        )

    def stop(self) -> None:
        """Ends all, at the same time; returns when nothing of them is left."""
        daemons = list(self._daemons.values())
        self._daemons.clear()
        # All pipes first: should we be interrupted while we wait, everything still ends.
        for daemon in daemons:
            daemon.process.release()
        with ExitStack() as stack:
            for daemon in daemons:
                stack.callback(daemon.process.reap)

    def __enter__(self) -> Daemons:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def wait_until(ready: Callable[[], bool], *, daemons: Daemons, what: str, timeout_s: float) -> None:
    """Returns once `ready()`; fails at once if a daemon ends (see `Daemons.check`), and with
    VEN-ENGINE-TIMEOUT if it took longer than `timeout_s`.
    """
    deadline_s = time.monotonic() + timeout_s
    while not ready():
        daemons.check()
        if time.monotonic() > deadline_s:
            raise VenturiError(
                "VEN-ENGINE-TIMEOUT",
                f"{daemons.engine}: {what} was not ready after {format_duration(timeout_s)}",
                where={"engine": daemons.engine},
                hint=f"the daemons' logs were in {daemons.folder}; a busy machine takes longer",
            )
        time.sleep(POLL_S)


def free_ports(count: int) -> tuple[int, ...]:
    """Ports of the loopback address on which nobody listens now.

    Below the kernel's own range: the daemons' connections to each other would take some of it.
    """
    ports: list[int] = []
    candidates = list(_candidates())
    random.shuffle(candidates)
    with ExitStack() as held:
        for port in candidates:
            if len(ports) == count:
                return tuple(ports)
            probe = held.enter_context(socket.socket())
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            ports.append(port)
    raise VenturiError("VEN-ENGINE-PORT", f"there are no {count} free ports", hint="end some")


def on_free_ports(count: int, bring_up: Callable[[tuple[int, ...]], Made]) -> Made:
    """What `bring_up(ports)` returns; tried again once if somebody else took a port meanwhile.

    `bring_up` ends what it started before it fails.
    """
    try:
        return bring_up(free_ports(count))
    except VenturiError as error:
        if error.code != "VEN-ENGINE-PORT":
            raise
    return bring_up(free_ports(count))


def _candidates() -> range:
    try:
        lowest_ephemeral = int(_EPHEMERAL.read_text().split()[0])
    except (OSError, ValueError):
        lowest_ephemeral = 32_768
    if lowest_ephemeral > 2 * _LOWEST_PORT:
        return range(_LOWEST_PORT, lowest_ephemeral)
    return range(_LOWEST_PORT, 65_536)
