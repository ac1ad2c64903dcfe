"""NetBench between the hosts of a cluster, as one trial.

A peer listens on each host's data address; an agent on one of the hosts coordinates, so control
messages take the data's network and this machine needn't reach those addresses. A round measures
every pair (alone, or disjoint pairs concurrently), then all to all among 2, 4, 8, ... and all
hosts. Rounds are repeated, which interleaves the patterns. Then the slowest hosts are excluded one
by one. After a failure the host is named and the round repeated without it; the trial is then
invalid, with the others' figures.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass

from venturi.core.errors import AgentError, VenturiError
from venturi.core.units import format_rate
from venturi.core.wording import count_of
from venturi.measure.hosts import threads
from venturi.measure.hosts.agent_results import NetReport, SocketFacts
from venturi.measure.probes.members import LostHost, ProbedHost
from venturi.measure.probes.net_rounds import (
    LEAST_MESSAGE_BYTES,
    Rounds,
    host_rates,
    message_bytes,
    next_to_cull,
)
from venturi.measure.probes.slow import SLOW_FACTOR
from venturi.measure.trial.job import JobFailed, StepContext, StepReport, TrialChoices
from venturi.record.measured_over import MEASURED_OVER
from venturi.record.trial import Engine, Phase, TrialWarning, Workload

TOKEN_VARIABLE = "VENTURI_NET_TOKEN"  # noqa: S105 - a variable's name
LISTEN_S = 3600.0
"""A peer ends by itself after this time."""
ANSWER_S = 30.0
REACH_S = 0.2
ALONE_MOST = 4
"""Up to this number of hosts, each pair is measured alone by default: more take minutes for N(N-1)
pairs.
"""
_OF_A_HOST = ("VEN-AGENT-", "VEN-HOST-", "VEN-ENGINE-TIMEOUT")


@dataclass(frozen=True)
class ClusterNetOptions:
    """Options of NetBench between hosts. `seconds` is the time of one transfer; `disjoint_pairs`
    None: each pair alone up to ALONE_MOST hosts; `scale` empty: 2, 4, 8, ...
    """

    seconds: float = 0.75
    iterations: int = 3
    sockets_per_peer: int = 1
    scale: tuple[int, ...] = ()
    disjoint_pairs: bool | None = None
    slow_factor: float = SLOW_FACTOR
    cull: bool = True


class _HostLost(Exception):  # noqa: N818 - the name says what happened
    """A host failed in the middle of a measurement."""

    def __init__(self, host: str, problem: str) -> None:
        super().__init__(host)
        self.host, self.problem = host, problem


class Listener:
    """A peer that listens on a host until `stop`."""

    def __init__(self, place: ProbedHost, token: str) -> None:
        address = f"[{place.address}]:0" if ":" in place.address else f"{place.address}:0"
        agent = place.agent.with_env(**{TOKEN_VARIABLE: token})
        self._process = agent.start("net", "--listen", address, "--listen-seconds", LISTEN_S)
        self._agent = agent
        self._known = threading.Event()
        self._address: str | None = None
        self._problem = "it didn't report its address"
        self._thread = threading.Thread(target=self._follow, daemon=True)
        try:
            threads.start(self._thread)
        except OSError:
            self._process.stop(0.0)
            raise

    def _follow(self) -> None:
        def heard(event: Mapping[str, object]) -> None:
            if event["event"] == "listening":
                self._address = str(event["address"])
                self._known.set()

        try:
            self._agent.follow(self._process, "net", on_event=heard)
        except VenturiError as error:
            self._problem = error.message
        except Exception as error:  # its host is gone
            self._problem = f"{type(error).__name__}: {error}"
        self._known.set()
        with suppress(VenturiError, OSError):
            self._process.stop(0.0)  # it has ended already, unless its events were nonsense

    def address(self) -> str:
        """Where it listens; VEN-NET-LISTEN if it does not."""
        self._known.wait(ANSWER_S)
        if self._address is None:
            raise VenturiError("VEN-NET-LISTEN", self._problem)
        return self._address

    def stop(self) -> None:
        """Wait for its end."""
        with suppress(VenturiError, OSError):
            self._process.terminate()
            self._thread.join(5.0)
            if self._thread.is_alive():
                self._process.stop(0.0)


class ClusterNetJob:
    """NetBench between `places`; `lost` are hosts that could not even be reached."""

    def __init__(
        self,
        places: Sequence[ProbedHost],
        options: ClusterNetOptions,
        *,
        engine_version: str,
        experiment: str | None = None,
        lost: Sequence[LostHost] = (),
    ) -> None:
        if len(places) < 2:
            raise VenturiError(
                "VEN-MEASURE-INPUT",
                "measuring a network needs two hosts, and there is "
                f"{count_of(len(places), 'host')}",
                where={"hosts": ", ".join(place.name for place in places)},
                hint="give two or more hosts in the cluster file",
            )
        self._places = list(places)
        self._options = options
        self._engine_version = engine_version
        self._experiment = experiment
        self._listeners: dict[str, Listener] = {}
        self._addresses: dict[str, str] = {}
        self._token = secrets.token_hex(16)
        self._lost = list(lost)
        self._invalid: list[str] = []
        self._sockets: dict[str, SocketFacts] = {}
        self._unsteady: list[str] = []
        disjoint = options.disjoint_pairs
        self._rounds = Rounds(
            len(places) > ALONE_MOST if disjoint is None else disjoint,
            options.slow_factor,
            options.sockets_per_peer,
        )

    @property
    def chosen(self) -> TrialChoices:
        """The choices of this trial."""
        configuration = asdict(self._options)
        configuration["scale"] = ",".join(map(str, self._options.scale)) or None
        configuration["disjoint_pairs"] = self._rounds.pairs_at_once
        version = hashlib.sha256(json.dumps(["netbench", "between hosts", 1]).encode())
        return TrialChoices(
            workload=Workload("netbench", version.hexdigest()[:12]),
            engine=Engine("netbench", self._engine_version),
            configuration=configuration,
            uses_network=True,
            experiment=self._experiment,
        )

    def prepare(self, step: StepContext) -> StepReport:
        """Start a peer on every host."""
        for place in self._places:
            with self._noting(place.name, "before the measurement"):
                self._listeners[place.name] = Listener(place, self._token)
        for name, listener in self._listeners.items():
            with self._noting(name, "before the measurement"):
                self._addresses[name] = listener.address()
        self._drop_lost()
        return StepReport()

    def execute(self, step: StepContext) -> StepReport:
        """The rounds, then the culling."""
        options, phases = self._options, []
        began_s = step.since_start_s()
        label, size = self._reach(step)
        for iteration in range(options.iterations):
            started_s = step.since_start_s()
            hosts, report = self._round(step, iteration, size)
            for measurement in report.measurements:
                self._rounds.take(iteration, hosts, measurement)
            phases.append(Phase(f"round {iteration}", started_s, step.since_start_s() - started_s))
        hosts = [place.name for place in self._places]
        if options.cull:
            started_s = step.since_start_s()
            self._cull(step, hosts, size)
            phases.append(Phase("culling", started_s, step.since_start_s() - started_s))
        hosts = [name for name in hosts if name not in {each.host for each in self._lost}]
        return StepReport(
            phases=tuple(phases),
            samples=self._rounds.samples(hosts),
            warnings=tuple(self._warnings(hosts)),
            configuration={
                "message_bytes": size,
                "sockets": self._told(),
                MEASURED_OVER: label,
            },
            elapsed_s=step.since_start_s() - began_s,
        )

    def validate(self, step: StepContext) -> StepReport:
        """Invalid if a host was lost, or a message."""
        said = [*(each.text for each in self._lost), *self._invalid]
        return StepReport(invalid="; ".join(said) or None)

    def clean(self) -> None:
        """End the peers."""
        for listener in self._listeners.values():
            listener.stop()
        self._listeners.clear()

    def _reach(self, step: StepContext) -> tuple[str, int]:
        """Let all send to all briefly, repeating without hosts that fail. Return the network's name
        and the length of messages for its rate.
        """
        while True:
            names = [place.name for place in self._places]
            try:
                report = self._measure(
                    step,
                    names,
                    "--pattern",
                    "all_to_all",
                    "--scale",
                    len(names),
                    "--message-bytes",
                    LEAST_MESSAGE_BYTES,
                    seconds=REACH_S,
                )
            except _HostLost as lost:
                self._lose(lost, "while all connected to all")
                continue
            rate = report.measurements[0].bytes_per_s.mean
            return report.label, message_bytes(rate, self._options.seconds)

    def _round(self, step: StepContext, iteration: int, size: int) -> tuple[list[str], NetReport]:
        """One round between the hosts that are left, turned so that not the same ones are always
        among the few.
        """
        options = self._options
        during, failures = f"in round {iteration}", 0
        while True:
            names = [place.name for place in self._places]
            turn = iteration % len(names)
            names = [*names[turn:], *names[:turn]]
            scale = _sizes(options.scale, len(names))
            pairs = ["--disjoint-pairs"] if self._rounds.pairs_at_once else []
            try:
                report = self._measure(
                    step,
                    names,
                    "--pattern",
                    "every_pair,all_to_all",
                    *pairs,
                    "--scale",
                    ",".join(map(str, scale)),
                    "--message-bytes",
                    size,
                    seconds=options.seconds,
                )
            except _HostLost as lost:
                # The reporting host isn't always the failed one: if all still reach all, the
                # failure may pass.
                before = len(self._places)
                self._reach(step)
                failures += 1
                if len(self._places) == before and failures > 1:
                    self._lose(lost, during)
                continue
            return names, report

    def _cull(self, step: StepContext, hosts: Sequence[str], size: int) -> None:
        dropped: list[str] = []
        while (slowest := next_to_cull(self._rounds, hosts, dropped)) is not None:
            dropped.append(slowest)
            left = [name for name in hosts if name not in dropped]
            for iteration in range(self._options.iterations):
                try:
                    report = self._measure(
                        step,
                        left,
                        "--pattern",
                        "all_to_all",
                        "--scale",
                        len(left),
                        "--message-bytes",
                        size,
                        seconds=self._options.seconds,
                    )
                except _HostLost as lost:
                    self._lose(lost, f"without {', '.join(dropped)}")
                    return
                rates = host_rates(left, report.measurements[0], iteration)
                self._rounds.culled.setdefault(tuple(dropped), []).extend(rates)

    def _measure(
        self, step: StepContext, hosts: Sequence[str], *args: object, seconds: float
    ) -> NetReport:
        """Run the coordinator once, on the first of the remaining hosts; each transfer takes
        `seconds`.
        """
        coordinator = self._places[0]
        peers = {self._addresses[name]: name for name in hosts}
        agent = coordinator.agent.with_env(**{TOKEN_VARIABLE: self._token})
        own = StepContext(agent, step.origin_s, step.on_progress)
        options = [option for address in peers for option in ("--peer", address)]
        transfers = len(hosts) * (len(hosts) + 8)
        limit_s = 2 * ANSWER_S + transfers * (seconds + 1.0) + 20.0
        usual = (
            "--iterations",
            1,
            "--max-seconds",
            seconds,
            "--sockets-per-peer",
            self._options.sockets_per_peer,
        )
        try:
            result = own.run("net", *options, *args, *usual, timeout_s=limit_s)
        except VenturiError as error:
            address = error.where.get("address") if isinstance(error, AgentError) else None
            if address in peers:
                raise _HostLost(peers[str(address)], error.message) from error
            if error.code.startswith(_OF_A_HOST):
                raise _HostLost(coordinator.name, error.message) from error
            raise
        report = result.read(NetReport)
        for name, told in zip(hosts, report.sockets or (), strict=False):
            if told is not None:
                self._sockets[name] = told
        for measurement in report.measurements:
            # A transfer as short as that of the first contact is never steady.
            if seconds > REACH_S:
                self._unsteady += [_named(text, peers) for text in measurement.unsteady or ()]
            if measurement.invalid_reason is not None:
                self._invalid.append(_named(measurement.invalid_reason, peers))
        return report

    def _lose(self, lost: _HostLost, during: str) -> None:
        self._lost.append(LostHost(lost.host, during, self._text(lost.problem)))
        self._drop_lost()

    def _drop_lost(self) -> None:
        """Continue without the lost hosts; an error if fewer than two are left."""
        gone = {each.host for each in self._lost}
        self._places = [place for place in self._places if place.name not in gone]
        if len(self._places) < 2:
            raise JobFailed(
                "VEN-MEASURE-HOSTS",
                f"no two hosts are left: {'; '.join(each.text for each in self._lost)}",
                where={"hosts": ", ".join(sorted(gone))},
                hint="`venturi cluster check` shows how each host is reached",
            )

    def _text(self, problem: str) -> str:
        return _named(problem, {address: name for name, address in self._addresses.items()})

    def _noting(self, name: str, during: str) -> _LossGuard:
        return _LossGuard(self._lost, name, during)

    def _told(self) -> str | None:
        """Describe the setup of connections: once if it is the same on all hosts, else by host."""
        texts = {name: _socket_text(told) for name, told in self._sockets.items()}
        if len(set(texts.values())) <= 1:
            return next(iter(texts.values()), None)
        return "; ".join(f"{name}: {text}" for name, text in sorted(texts.items()))

    def _warnings(self, hosts: Sequence[str]) -> Iterator[TrialWarning]:
        for each in self._lost:
            yield TrialWarning("VEN-MEASURE-HOSTS", each.text)
        for standing in self._rounds.standings(hosts):
            if standing.slow:
                yield TrialWarning(
                    "VEN-MEASURE-SLOW",
                    f"{standing.name}: {format_rate(standing.rate)} with one other host, "
                    f"{standing.share:.0%} of the others' median of {format_rate(standing.others)}",
                )
        if self._unsteady:
            count = len(self._unsteady)
            yield TrialWarning(
                "VEN-MEASURE-UNSTEADY",
                f"hosts received at an unsteady rate {count_of(count, 'time')}; the first "
                f"was {self._unsteady[0]}",
            )


class _LossGuard:
    """Notes a host that fails inside as lost."""

    def __init__(self, lost: list[LostHost], name: str, during: str) -> None:
        self._lost, self._name, self._during = lost, name, during

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if isinstance(error, VenturiError):
            self._lost.append(LostHost(self._name, self._during, error.message))
            return True
        if isinstance(error, OSError):
            self._lost.append(LostHost(self._name, self._during, str(error)))
            return True
        return False


def _sizes(chosen: Sequence[int], hosts: int) -> list[int]:
    """Return the numbers of participating hosts: those chosen that are possible, else 2, 4, 8, ...;
    and always all.
    """
    doubled = [1 << power for power in range(1, hosts.bit_length())]
    return sorted({*(size for size in chosen or doubled if 2 <= size <= hosts), hosts})


def _named(text: str, names: Mapping[str, str]) -> str:
    for address, name in names.items():
        text = text.replace(address, name)
    return text


def _socket_text(told: SocketFacts) -> str:
    def limit(value: int | None) -> str:
        return "unknown" if value is None else f"{value:,}"

    return (
        f"TCP {told.congestion}, no delay {'on' if told.nodelay else 'off'}, buffers up to "
        f"{limit(told.send_limit_bytes)} B (send) and {limit(told.receive_limit_bytes)} B (receive)"
    )
