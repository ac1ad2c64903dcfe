"""The agent's client: runs a subcommand on a host and turns its events into one result."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from venturi.core.errors import AgentError, ExitCode, Interrupted, VenturiError
from venturi.core.settings import Settings
from venturi.measure.hosts.host import LiveHost, Process
from venturi.measure.hosts.local import LocalHost, own_agent
from venturi.record.trial import Phase, Sample, TrialWarning

SCHEMA_VERSION = 1
CLEAN_UP_GRACE_S = 30.0
R = TypeVar("R")


def repeated(option: str, values: Iterable[object]) -> list[object]:
    """`option` before each of `values`, as arguments of the agent."""
    return [part for value in values for part in (option, value)]


@dataclass(frozen=True, slots=True)
class AgentProgress:
    """The progress of a phase. `total` is None if unknown; `unit` is `bytes`, `records`, ..."""

    phase: str
    done: float
    total: float | None
    unit: str
    elapsed_s: float


# None: the running phase has ended.
OnProgress = Callable[[AgentProgress | None], None]
OnEvent = Callable[[Mapping[str, Any]], None]


@dataclass(frozen=True, slots=True)
class Identity:
    """Which build of the agent spoke; stored with every number it produced."""

    version: str
    git_sha: str
    build_profile: str
    target_arch: str


@dataclass(frozen=True, slots=True)
class AgentResult:
    """All results of one call of the agent. `started_at_s` is on this process's monotonic clock."""

    command: str
    identity: Identity
    data: Mapping[str, Any]
    started_at_s: float
    elapsed_s: float
    exit_code: int
    phases: tuple[Phase, ...] = ()
    samples: tuple[Sample, ...] = ()
    warnings: tuple[TrialWarning, ...] = ()

    def read(self, shape: type[R]) -> R:
        """`data` as `shape`; VEN-AGENT-PROTOCOL names the field that does not fit."""
        return _checked(shape, self.data, self.command)


def _checked(shape: type[R], data: Any, command: str) -> R:
    try:
        return TypeAdapter(shape).validate_python(data)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise VenturiError(
            "VEN-AGENT-PROTOCOL",
            f"{command}: {place or 'event'}: {first['msg']}",
            where={"command": command, "field": place},
            hint="agent and package have different versions: install Venturi again",
        ) from error


@dataclass
class _Collector:
    """Folds events into the content of an AgentResult."""

    command: str
    allow_debug: bool
    on_progress: OnProgress | None
    on_event: OnEvent | None
    identity: Identity | None = None
    started_at_s: float = 0.0
    data: Mapping[str, Any] | None = None
    error: AgentError | None = None
    phases: list[Phase] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    warnings: list[TrialWarning] = field(default_factory=list)

    def take(self, line: bytes, number: int) -> None:
        event = _parse(line, number, self.command)
        kind = event.pop("event")
        if kind == "started":
            self._started(event)
        elif self.identity is None:
            raise _protocol(self.command, "the first event is not `started`", number, line)
        elif kind == "progress":
            if self.on_progress is not None:
                self.on_progress(_checked(AgentProgress, event, self.command))
        elif kind == "phase":
            self.phases.append(_checked(Phase, event, self.command))
        elif kind == "sample":
            self.samples.append(_checked(Sample, event, self.command))
        elif kind == "warning":
            self.warnings.append(_checked(TrialWarning, event, self.command))
        elif kind == "result":
            self.data = _checked(dict[str, Any], event.get("data"), self.command)
        elif kind == "error":
            self.error = AgentError(
                str(event.get("code", "VEN-AGENT-PROTOCOL")),
                str(event.get("message", "no message")),
                where=_as_mapping(event.get("where")),
                hint=str(event.get("hint", "")),
            )
        elif self.on_event is not None:
            self.on_event({"event": kind, **event})

    def _started(self, event: dict[str, Any]) -> None:
        if event.get("schema_version") != SCHEMA_VERSION:
            raise VenturiError(
                "VEN-AGENT-PROTOCOL",
                f"the agent uses version {event.get('schema_version')!r} of the protocol, "
                f"this Venturi version {SCHEMA_VERSION}",
                hint="agent and package have different versions: install Venturi again",
            )
        self.identity = _checked(Identity, event.get("agent"), self.command)
        self.started_at_s = time.monotonic()
        if self.identity.build_profile != "release" and not self.allow_debug:
            raise VenturiError(
                "VEN-AGENT-DEBUG",
                f"the agent is a {self.identity.build_profile} build, so its speeds are "
                "meaningless",
                hint="build it with --release, or set VENTURI_ALLOW_DEBUG=1 to keep the numbers",
            )


def _as_mapping(value: object) -> Mapping[str, object] | None:
    if isinstance(value, Mapping):
        return value
    return None if value is None else {"where": value}


def _reject_constant(text: str) -> float:
    raise ValueError(f"{text} is not JSON")


def _parse(line: bytes, number: int, command: str) -> dict[str, Any]:
    try:
        event = json.loads(line, parse_constant=_reject_constant)
    except ValueError as error:
        raise _protocol(command, f"not JSON ({error})", number, line) from error
    if not isinstance(event, dict) or not isinstance(event.get("event"), str):
        raise _protocol(command, "not an event", number, line)
    return event


def _protocol(command: str, what: str, number: int, line: bytes) -> VenturiError:
    return VenturiError(
        "VEN-AGENT-PROTOCOL",
        f"{command}: line {number} is {what}",
        where={"command": command, "line": number, "text": line[:200].decode(errors="replace")},
        hint="is VENTURI_AGENT another program?",
    )


class Agent:
    """`venturi-agent` on a host."""

    def __init__(
        self,
        path: str,
        host: LiveHost,
        *,
        allow_debug: bool = False,
        env: Mapping[str, str] | None = None,
    ) -> None:
        self.path = path
        self.host = host
        self.allow_debug = allow_debug
        self._env = env

    @classmethod
    def find(cls, settings: Settings, host: LiveHost | None = None) -> Agent:
        """Return the agent that the host came with, else that of `settings`, else the one next to
        the Python program, else the one on PATH.
        """
        host = host or LocalHost()
        if host.agent is not None:
            return cls(host.agent, host, allow_debug=settings.allow_debug)
        path = own_agent(settings.agent)
        return cls(path, host, allow_debug=settings.allow_debug)

    @classmethod
    def of(cls, host: LiveHost, like: Agent) -> Agent:
        """The agent that `host` came with, to be used as `like` is."""
        assert host.agent is not None
        return cls(host.agent, host, allow_debug=like.allow_debug)

    def with_env(self, **env: str) -> Agent:
        """This agent with more in its environment, which other users of its host cannot read."""
        return Agent(
            self.path, self.host, allow_debug=self.allow_debug, env={**(self._env or {}), **env}
        )

    def start(self, command: str, *args: object) -> Process:
        """Start a subcommand and leave its events to the caller."""
        # A killed Venturi must not leave an agent at work behind.
        options = [str(arg) for arg in args] + ["--end-with-parent"]
        return self.host.start([self.path, command, *options], env=self._env)

    def run(
        self,
        command: str,
        *args: object,
        on_progress: OnProgress | None = None,
        on_event: OnEvent | None = None,
    ) -> AgentResult:
        """Run a subcommand to its end.

        Raises AgentError for an error event, VEN-AGENT-DIED for an end without result,
        VEN-AGENT-PROTOCOL for output other than events, and Interrupted after Ctrl-C, once the
        agent has removed its temporary files. Exit status 3 marks an invalid result: it is in
        `exit_code`.
        """
        process = self.start(command, *args)
        try:
            return self.follow(process, command, on_progress=on_progress, on_event=on_event)
        except KeyboardInterrupt:
            process.stop(CLEAN_UP_GRACE_S)
            raise Interrupted from None
        except BaseException:
            process.stop(CLEAN_UP_GRACE_S)
            raise

    def follow(
        self,
        process: Process,
        command: str,
        *,
        on_progress: OnProgress | None = None,
        on_event: OnEvent | None = None,
        on_line: Callable[[], None] = lambda: None,
    ) -> AgentResult:
        """Read the events of a started subcommand until it ends; raises as `run` does. `on_line` is
        called for each event of any kind.
        """
        collector = _Collector(command, self.allow_debug, on_progress, on_event)
        try:
            for number, line in enumerate(process.lines(), start=1):
                on_line()
                collector.take(line, number)
            status = process.wait()
        finally:
            if on_progress is not None:
                on_progress(None)
        if status == ExitCode.INTERRUPTED:
            raise Interrupted
        if collector.error is not None:
            if status in {ExitCode.INVALID, ExitCode.USAGE}:
                collector.error.exit_code = ExitCode(status)
            raise collector.error
        if collector.identity is None or collector.data is None or status not in {0, 3}:
            raise _died(command, status, process.stderr_tail())
        return AgentResult(
            command=command,
            identity=collector.identity,
            data=collector.data,
            started_at_s=collector.started_at_s,
            elapsed_s=time.monotonic() - collector.started_at_s,
            exit_code=status,
            phases=tuple(collector.phases),
            samples=tuple(collector.samples),
            warnings=tuple(collector.warnings),
        )


def _died(command: str, status: int, tail: list[str]) -> VenturiError:
    if status < 0:
        try:
            name = signal.Signals(-status).name
        except ValueError:
            name = f"signal {-status}"
        how = f"was killed by {name}"
    else:
        how = f"ended with status {status}"
    hint = ""
    if status == -signal.SIGKILL:
        hint = "the kernel may have run out of memory (see dmesg): give it a smaller --memory"
    elif status == ExitCode.USAGE:
        hint = "agent and package have different versions: install Venturi again"
    return VenturiError(
        "VEN-AGENT-DIED",
        f"{command} {how} and gave no result",
        where={"command": command, "status": status, "stderr": "\n".join(tail) or None},
        hint=hint,
    )
