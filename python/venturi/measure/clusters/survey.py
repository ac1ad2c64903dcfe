"""The survey by `venturi cluster check`, on all hosts concurrently."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from venturi.core.errors import VenturiError
from venturi.core.settings import Settings
from venturi.core.units import format_duration
from venturi.measure.clusters import clocks
from venturi.measure.clusters.cluster_spec import ClusterSpec, HostSpec
from venturi.measure.clusters.connect import HostResults, on_each
from venturi.measure.hosts.agent import Agent, Identity
from venturi.measure.hosts.host import LiveHost, Process

SURVEY_S = 30.0
NAMES_S = 1.0
"""A host with slower name resolution waits as long at each start of a daemon."""
ANSWER_S = 1.0
ALL_PAIRS = 16
"""Up to this number of hosts each tests all others; beyond it, those 1, 2, 4, ... after it."""
MARKER = ".venturi-check-"


@dataclass(frozen=True, slots=True)
class FolderSurvey:
    """A folder of a host. If `problem` says why it is unusable, nothing else is known.

    `device` identifies the file system within its host; `shared_with` are hosts that have the same
    one.
    """

    path: Path
    free_bytes: int | None = None
    device: int | None = None
    problem: str | None = None
    shared_with: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HostSurvey:
    """The results of one host's survey.

    `facts` come from its agent. `java` is the version of the `java` on its PATH; None if it has
    none. `names` maps hosts' names to the addresses that it resolves (None: unresolved); otherwise
    `names_problem` says why the lookup failed. `unreached` are hosts with a data address that this
    host couldn't reach; `listen_problem` says why the others couldn't try to reach this one.
    """

    agent: Identity
    facts: Mapping[str, Any]
    clock: clocks.ClockOffset
    folders: tuple[FolderSurvey, ...]
    java: str | None
    names: Mapping[str, str | None]
    names_problem: str | None = None
    unreached: tuple[str, ...] = ()
    listen_problem: str | None = None


def survey(
    spec: ClusterSpec,
    hosts: Mapping[str, LiveHost],
    settings: Settings,
    *,
    on_step: Callable[[str, int, int], None] = lambda step, done, of: None,
) -> HostResults[HostSurvey]:
    """Survey `hosts`, each alone and then against the others. `on_step` receives the step, and how
    many of how many hosts have answered.

    During the survey each folder contains a file with a name that begins with MARKER.
    """
    check = secrets.token_hex(4)
    asked = {
        name: _SurveyedHost(spec, spec.host(name), host, settings, check)
        for name, host in hosts.items()
    }
    failures: dict[str, VenturiError] = {}

    def all_of(step: str, work: Callable[[_SurveyedHost], None]) -> None:
        names = [name for name in asked if name not in failures]
        outcome = on_each(
            names,
            lambda name: work(asked[name]),
            timeout_s=SURVEY_S,
            on_done=lambda done: on_step(step, done, len(names)),
        )
        failures.update(outcome.failures)

    try:
        all_of("clocks", _SurveyedHost.read_clock)  # alone: other work makes round trips longer
        all_of("hosts", _SurveyedHost.ask)
        open_ports = {name: port for name, each in asked.items() if (port := each.port) is not None}
        all_of("network", lambda each: each.look_around(open_ports))
    finally:
        on_each(asked, lambda name: asked[name].leave(), timeout_s=SURVEY_S)
    found = {name: each.said() for name, each in asked.items() if name not in failures}
    return HostResults(found, failures)


class _SurveyedHost:
    """A host during its survey; each of its methods runs in the host's own thread."""

    def __init__(
        self, spec: ClusterSpec, host_spec: HostSpec, host: LiveHost, settings: Settings, check: str
    ) -> None:
        self.port: int | None = None
        """On which its data address waits for the others."""
        self._spec = spec
        self._host_spec = host_spec
        self._host = host
        self._settings = settings
        self._marker = f"{MARKER}{check}-"
        self._said: dict[str, Any] = {}
        self._folders: dict[Path, FolderSurvey] = {}
        self._listener: Process | None = None
        self._resolver: Process | None = None

    def said(self) -> HostSurvey:
        """Return the results of the survey."""
        return HostSurvey(folders=tuple(self._folders.values()), **self._said)

    def read_clock(self) -> None:
        """Measure the offset of its clock."""
        self._said["clock"] = clocks.measure(self._host)

    def ask(self) -> None:
        """Collect the facts that the host knows without the others."""
        agent = Agent.find(self._settings, self._host)
        found = agent.run("facts")
        self._said |= {"agent": found.identity, "facts": found.data, "java": self._java()}
        for folder in self._host_spec.all_folders:
            self._folders[folder] = self._folder(folder)
        self._said["names"] = {}
        if len(self._spec.hosts) > 1:
            self._ask_names()
            self._listen(agent)

    def look_around(self, ports: Mapping[str, int]) -> None:
        """Find the other hosts with an unreachable data address, and those with markers in this
        host's folders.
        """
        self._said["unreached"] = tuple(
            name
            for name in self._others()
            if name in ports
            and self._host.address_towards(
                self._spec.address(self._spec.host(name)), ports[name], ANSWER_S
            )
            is None
        )
        for folder, known in self._folders.items():
            if known.problem is None:
                markers = self._host.files.find(folder, f"{self._marker}*")
                seen = (each.path.name.removeprefix(self._marker) for each in markers)
                others = tuple(name for name in seen if name != self._host_spec.name)
                self._folders[folder] = replace(known, shared_with=others)

    def leave(self) -> None:
        """Remove everything that the check left."""
        if self._resolver is not None:
            self._resolver.stop(0)
        if self._listener is not None:
            self._listener.terminate()
            self._listener.wait()
        for folder, known in self._folders.items():
            if known.problem is None:
                with suppress(OSError):
                    self._host.files.remove(folder / f"{self._marker}{self._host_spec.name}")

    def _folder(self, folder: Path) -> FolderSurvey:
        files = self._host.files
        try:
            there = files.info(folder)
            if there is None:
                return FolderSurvey(folder, problem="the folder does not exist")
            if there.kind != "folder":
                return FolderSurvey(folder, problem="it is not a folder")
            files.write(folder / f"{self._marker}{self._host_spec.name}", b"")
            return FolderSurvey(folder, files.free_bytes(folder), there.device)
        except OSError as error:
            return FolderSurvey(folder, problem=error.strerror or str(error))

    def _java(self) -> str | None:
        """As the `release` file of a JDK has it: to ask `java` itself takes a second of it."""
        path = self._host.which("java")
        if path is None:
            return None
        with suppress(OSError, IndexError):
            home = self._host.files.resolve(Path(path)).parents[1]
            text = self._host.files.read(home / "release").decode(errors="replace")
            for line in text.splitlines():
                if line.startswith("JAVA_VERSION="):
                    return line.partition("=")[2].strip('"')
        return f"unknown version, {path}"

    def _ask_names(self) -> None:
        names = tuple(each.name for each in self._spec.hosts)
        looked_up = on_each(["names"], lambda _: self._look_up(names), timeout_s=NAMES_S)
        self._said["names"] = looked_up.results.get("names", {})
        if error := looked_up.failures.get("names"):
            late = f"resolving them took more than {format_duration(NAMES_S)}"
            self._said["names_problem"] = (
                late if error.code == "VEN-HOST-TIMEOUT" else error.message
            )

    def _look_up(self, names: Sequence[str]) -> dict[str, str | None]:
        if self._host.which("getent") is None:
            raise VenturiError("VEN-HOST-START", "getent is missing, which resolves names")
        self._resolver = process = self._host.start(["getent", "hosts", *names])
        found: dict[str, str | None] = dict.fromkeys(names)
        for line in process.lines():
            address, *known = line.decode(errors="replace").split()
            found |= dict.fromkeys(set(known) & found.keys(), address)
        process.wait()
        self._resolver = None
        return found

    def _listen(self, agent: Agent) -> None:
        """Has its data address wait for the others until `leave`."""
        address = self._spec.address(self._host_spec)
        place = f"[{address}]:0" if ":" in address else f"{address}:0"
        process = agent.start("net", "--listen", place, "--token", secrets.token_hex(16))
        for line in process.lines():
            event = json.loads(line)
            if event["event"] == "listening":
                self.port = int(event["address"].rpartition(":")[2])
                self._listener = process
                return
            if event["event"] == "error":
                self._said["listen_problem"] = str(event["message"])
        process.wait()

    def _others(self) -> Iterator[str]:
        names = [each.name for each in self._spec.hosts]
        own = names.index(self._host_spec.name)
        step = 1
        while step < len(names):
            yield names[(own + step) % len(names)]
            step += 1 if len(names) <= ALL_PAIRS else step
