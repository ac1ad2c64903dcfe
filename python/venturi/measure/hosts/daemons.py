"""Long-running processes of an engine: started, watched and ended together.

Each has its own supervisor (`venturi-agent supervise`), which ends it and all its descendants when
its stdin closes. That happens however this process ends, even by a kill.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from venturi.core.errors import VenturiError
from venturi.core.units import format_duration
from venturi.measure.hosts.host import Files, LiveHost, Supervised
from venturi.measure.hosts.logs import complaint, known_cause, tail

POLL_S = 0.1
LAST_WORDS = 8192
"""Characters at the end of a log in which to look for the cause of the end."""
_PORT_SIGNS = ("Address already in use", "Port in use")
_EPHEMERAL = Path("/proc/sys/net/ipv4/ip_local_port_range")
_SOCKETS = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_LOWEST_PORT = 10_000

Made = TypeVar("Made")


@dataclass(frozen=True)
class DaemonHome:
    """A place for daemons: a host, a folder there for their logs, and the name of the host if there
    are several.
    """

    host: LiveHost
    folder: Path
    name: str = ""


@dataclass(frozen=True)
class Daemon:
    """A process that Venturi started and will end. `log` has its output."""

    name: str
    ground: DaemonHome
    log: Path
    process: Supervised

    @property
    def host(self) -> LiveHost:
        """Where it runs."""
        return self.ground.host

    @property
    def title(self) -> str:
        """Its name in messages."""
        return f"{self.name} on {self.ground.name}" if self.ground.name else self.name

    @property
    def ended(self) -> bool:
        """Whether it is gone."""
        return self.process.ended

    @cached_property
    def last_words(self) -> str:
        """The end of its log once it has ended, or the signal that killed it."""
        status = self.process.report["status"]
        return (
            f"killed by signal {-status}"
            if status < 0
            else tail(self.host.files, self.log)[-LAST_WORDS:]
        )


class Daemons:
    """The daemons of one engine. Leaving it as a context manager ends them.

    They run on `host`, with their logs in `folder`, unless they are started elsewhere.
    """

    def __init__(self, host: LiveHost, engine: str, folder: Path) -> None:
        self.engine = engine
        self.folder = folder
        self._ground = DaemonHome(host, folder)
        self._daemons: dict[str, Daemon] = {}

    def start(
        self,
        name: str,
        command: Sequence[str | Path],
        *,
        env: Mapping[str, str],
        cwd: Path,
        at: DaemonHome | None = None,
    ) -> Daemon:
        """Start `command` without waiting for it. Its log is `NAME.log` in the folder there, or
        `NAME-HOST.log` if the host has a name.
        """
        ground = at or self._ground
        stem = f"{name}-{ground.name}" if ground.name else name
        log = ground.folder / f"{stem}.log"
        process = ground.host.supervise(command, log=log, cwd=cwd, env=env)
        daemon = Daemon(name, ground, log, process)
        self._daemons[stem] = daemon
        return daemon

    def all(self) -> tuple[Daemon, ...]:
        """All of them."""
        return tuple(self._daemons.values())

    def dead(self) -> tuple[str, ...]:
        """Titles of the daemons that have ended unexpectedly."""
        return tuple(daemon.title for daemon in self._daemons.values() if daemon.ended)

    def tail(self, name: str) -> str:
        """Return the end of the log of `name`."""
        daemon = self._daemons[name]
        return tail(daemon.host.files, daemon.log)

    def check(self) -> None:
        """Raise an error if a daemon has ended: VEN-HOST-LOST if its host is lost; VEN-ENGINE-PORT
        if its port was taken; a cause found in its log (VEN-ENGINE-SPACE, -JAVA, -MEMORY); else
        VEN-ENGINE-DAEMON.
        """
        ended = [daemon for daemon in self._daemons.values() if daemon.ended]
        if not ended:
            return
        first, dead = ended[0], [daemon.title for daemon in ended]
        text = first.last_words
        where = {"engine": self.engine, "daemon": first.name}
        if first.ground.name:
            where["host"] = first.ground.name
        said = complaint(text)
        if any(sign in text for sign in _PORT_SIGNS):
            raise VenturiError(
                "VEN-ENGINE-PORT",
                f"{self.engine}: a port that {dead[0]} needs is taken: {said}",
                where=where,
                hint="stop the program that uses it, or choose another port",
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
            hint="start it again. If `dmesg` there shows that the kernel killed it for lack of "
            "memory, use less with --memory or give the host more",
        )

    def stop(self) -> None:
        """End all daemons together; return when none is left."""
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
    """Return once `ready()`; fail immediately if a daemon ends (see `Daemons.check`), and with
    VEN-ENGINE-TIMEOUT after `timeout_s`.
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


def free_ports(host: LiveHost, count: int) -> tuple[int, ...]:
    """Return ports of a host without any connection or listener.

    They are below the kernel's own range, which the daemons' connections to each other use.
    """
    taken = _taken(host.files)
    candidates = [port for port in _candidates(host.files) if port not in taken]
    if len(candidates) < count:
        raise VenturiError(
            "VEN-ENGINE-PORT", f"{host.name} has no {count} free ports", hint="end some programs"
        )
    return tuple(random.sample(candidates, count))


def on_free_ports(host: LiveHost, count: int, bring_up: Callable[[tuple[int, ...]], Made]) -> Made:
    """Return the result of `bring_up(ports)`; try again once if another process took a port in
    between.

    `bring_up` ends the processes it started before it fails.
    """
    try:
        return bring_up(free_ports(host, count))
    except VenturiError as error:
        if error.code != "VEN-ENGINE-PORT":
            raise
    return bring_up(free_ports(host, count))


def _taken(files: Files) -> set[int]:
    """The local ports of the kernel's tables: proc(5) has address and port in hexadecimal."""
    found = set()
    for table in _SOCKETS:
        with suppress(OSError):  # a kernel without IPv6 has only one
            for line in files.read(table).decode().splitlines()[1:]:
                found.add(int(line.split()[1].rpartition(":")[2], 16))
    return found


def _candidates(files: Files) -> range:
    try:
        lowest_ephemeral = int(files.read(_EPHEMERAL).split()[0])
    except (OSError, ValueError):
        lowest_ephemeral = 32_768
    if lowest_ephemeral > 2 * _LOWEST_PORT:
        return range(_LOWEST_PORT, lowest_ephemeral)
    return range(_LOWEST_PORT, 65_536)
