"""DiskBench, NetBench and host facts as recorded trials."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from venturi.core.errors import VenturiError
from venturi.core.units import format_bytes
from venturi.measure.hosts.agent_results import (
    CpuReport,
    DiskMeasurement,
    DiskReport,
    NetMeasurement,
    NetReport,
)
from venturi.measure.trial import space
from venturi.measure.trial.job import StepContext, StepReport, TrialChoices
from venturi.measure.trial.runner import Session, run_trial
from venturi.record.trial import (
    Engine,
    Phase,
    Sample,
    Scalar,
    Trial,
    TrialWarning,
    Workload,
)
from venturi.record.vocabulary import CORE_SPEED

DISK_MODES = ("read", "write", "read_write", "random_read", "shuffle_read")
NET_PATTERNS = ("pairwise", "all_to_all")

# (mode, role) of the agent -> metric of the record, and which of its figures is kept.
_DISK_METRICS: Mapping[tuple[str, str], tuple[str, str]] = {
    ("read", "read"): ("disk_read_bytes_per_s", "B/s"),
    ("write", "write"): ("disk_write_bytes_per_s", "B/s"),
    ("read_write", "read"): ("disk_mixed_read_bytes_per_s", "B/s"),
    ("read_write", "write"): ("disk_mixed_write_bytes_per_s", "B/s"),
    ("random_read", "read"): ("disk_random_read_iops", "1/s"),
    ("shuffle_read", "read"): ("disk_shuffle_read_bytes_per_s", "B/s"),
}


def _version(name: str, *parts: object) -> str:
    """Return the version of a probe: a digest of its work, independent of chosen sizes."""
    return hashlib.sha256(json.dumps([name, *parts]).encode()).hexdigest()[:12]


# The agent's defaults (crates/agent/src/cmd/disk.rs).
_RANDOM_SIZES = (4096, 16384, 65536, 262144, 1048576)
_RANDOM_DEPTHS = (1, 32)
_RANDOM_S, _LONGEST_S = 2.0, 10.0


@dataclass(frozen=True)
class DiskOptions:
    """Options of DiskBench. None: the agent's default. Sizes are per directory."""

    dirs: tuple[Path, ...]
    modes: tuple[str, ...] = ("read", "write", "read_write", "random_read")
    bytes: int | None = None
    block_bytes: int | None = None
    queue_depth: int | None = None
    random_block_bytes: tuple[int, ...] = ()
    random_queue_depth: tuple[int, ...] = ()
    iterations: int = 3
    min_seconds: float | None = None
    max_seconds: float | None = None
    random_seconds: float | None = None
    slow_factor: float | None = None

    @property
    def longest_s(self) -> float:
        """The time of all measurements at most, with the agent's defaults; of fast disks less."""
        depths = len(self.random_queue_depth or _RANDOM_DEPTHS)
        kinds = len(self.random_block_bytes or _RANDOM_SIZES) * depths
        random_s = _RANDOM_S if self.random_seconds is None else self.random_seconds
        other_s = _LONGEST_S if self.max_seconds is None else self.max_seconds
        each_s = (kinds * random_s if mode == "random_read" else other_s for mode in self.modes)
        return self.iterations * sum(each_s)

    def arguments(self) -> list[object]:
        """The agent's command line."""
        arguments: list[object] = []
        for folder in self.dirs:
            arguments += ["--dir", folder]
        arguments += ["--mode", ",".join(self.modes), "--iterations", self.iterations]
        for flag, value in (
            ("--bytes", self.bytes),
            ("--block-bytes", self.block_bytes),
            ("--queue-depth", self.queue_depth),
            ("--min-seconds", self.min_seconds),
            ("--max-seconds", self.max_seconds),
            ("--random-seconds", self.random_seconds),
            ("--slow-factor", self.slow_factor),
            ("--random-block-bytes", ",".join(map(str, self.random_block_bytes)) or None),
            ("--random-queue-depth", ",".join(map(str, self.random_queue_depth)) or None),
        ):
            if value is not None:
                arguments += [flag, value]
        return arguments


@dataclass(frozen=True)
class NetOptions:
    """Options of NetBench: `peers` by address, or `loopback` peers on this machine.

    `token_file` holds the secret that listening peers demand; it is never recorded.
    """

    peers: tuple[str, ...] = ()
    loopback: int | None = None
    bytes: int | None = None
    sockets_per_peer: int | None = None
    scale: tuple[int, ...] = ()
    iterations: int = 3
    max_seconds: float | None = None
    token_file: Path | None = None
    patterns: tuple[str, ...] = NET_PATTERNS

    def arguments(self, pattern: str) -> list[object]:
        """The agent's command line for one pattern."""
        arguments: list[object] = []
        for peer in self.peers:
            arguments += ["--peer", peer]
        arguments += ["--pattern", pattern, "--iterations", self.iterations]
        for flag, value in (
            ("--loopback", self.loopback),
            ("--bytes", self.bytes),
            ("--max-seconds", self.max_seconds),
            ("--token-file", self.token_file),
            ("--sockets-per-peer", self.sockets_per_peer),
            ("--scale", ",".join(map(str, self.scale)) or None),
        ):
            if value is not None:
                arguments += [flag, value]
        return arguments


@dataclass(frozen=True)
class TrialLabels:
    """The context of a probe's trial."""

    engine_version: str
    experiment: str | None = None
    series: bool = True


class _DiskJob:
    def __init__(self, options: DiskOptions, naming: TrialLabels) -> None:
        self._options = options
        self._naming = naming
        self._report: DiskReport | None = None

    @property
    def chosen(self) -> TrialChoices:
        chosen = asdict(self._options)
        dirs = tuple(str(folder) for folder in chosen.pop("dirs"))
        return TrialChoices(
            workload=Workload("diskbench", _version("diskbench", *DISK_MODES)),
            engine=Engine("diskbench", self._naming.engine_version),
            configuration={key: _scalar(value) for key, value in chosen.items()},
            disks_by_role={"input": dirs, "output": dirs},
            experiment=self._naming.experiment,
            series=self._naming.series,
        )

    def prepare(self, step: StepContext) -> StepReport:
        options = self._options
        for folder in options.dirs:
            if not step.host.files.is_folder(folder):
                raise VenturiError(
                    "VEN-MEASURE-INPUT",
                    f"{folder} is not a directory",
                    where={"dir": str(folder)},
                    hint="give existing directories, one per disk",
                )
        if options.bytes is not None:
            # Concurrent reading and writing needs the files of both.
            space.require(step.host.files, dict.fromkeys(options.dirs, 2 * options.bytes))
        return StepReport()

    def execute(self, step: StepContext) -> StepReport:
        result = step.run("disk", *self._options.arguments())
        self._report = report = result.read(DiskReport)
        samples = [sample for m in report.measurements for sample in disk_samples(m)]
        warnings = [
            TrialWarning("VEN-MEASURE-UNSTEADY", unsteady(m, self._options.dirs))
            for m in report.measurements
            # One directory alone equals all of them together: report it once.
            if not m.steady and (m.dir is not None or len(self._options.dirs) > 1)
        ]
        warnings += [
            TrialWarning(
                "VEN-MEASURE-SLOW",
                f"{slow.dir}: {slow.mode} {slow.role} at {slow.bytes_per_s / 1e6:.0f} MB/s, "
                f"the median of its peers is {slow.median_bytes_per_s / 1e6:.0f} MB/s",
            )
            for slow in report.slow
        ]
        started_s = step.since_start_s(result.started_at_s)
        methods = sorted({device.io_method for device in report.devices})
        return StepReport(
            phases=(*_shifted(result.phases, started_s),)
            or (Phase("disk", started_s, result.elapsed_s),),
            samples=tuple(samples),
            warnings=(*result.warnings, *warnings),
            configuration={"io_method": ", ".join(methods)},
            elapsed_s=result.elapsed_s,
        )

    def validate(self, step: StepContext) -> StepReport:
        assert self._report is not None
        measured = {measurement.mode for measurement in self._report.measurements}
        missing = [mode for mode in self._options.modes if mode not in measured]
        return StepReport(invalid=f"not measured: {', '.join(missing)}" if missing else None)

    def clean(self) -> None:
        """The agent removes its own files."""


class _NetJob:
    def __init__(self, options: NetOptions, naming: TrialLabels) -> None:
        self._options = options
        self._naming = naming
        self._lost: list[str] = []

    @property
    def chosen(self) -> TrialChoices:
        chosen = asdict(self._options)
        del chosen["token_file"]
        return TrialChoices(
            workload=Workload("netbench", _version("netbench", *NET_PATTERNS)),
            engine=Engine("netbench", self._naming.engine_version),
            configuration={key: _scalar(value) for key, value in chosen.items()},
            uses_network=True,
            experiment=self._naming.experiment,
            series=self._naming.series,
        )

    def prepare(self, step: StepContext) -> StepReport:
        return StepReport()

    def execute(self, step: StepContext) -> StepReport:
        phases: list[Phase] = []
        samples: list[Sample] = []
        warnings: list[TrialWarning] = []
        label = ""
        for pattern in self._options.patterns:
            result = step.run("net", *self._options.arguments(pattern))
            report = result.read(NetReport)
            label = report.label
            started_s = step.since_start_s(result.started_at_s)
            phases.append(Phase(pattern, started_s, result.elapsed_s))
            samples += [sample for m in report.measurements for sample in _net_samples(m)]
            warnings += result.warnings
            self._lost += [lost for m in report.measurements if (lost := _lost(m)) is not None]
        return StepReport(
            phases=tuple(phases),
            samples=tuple(samples),
            warnings=tuple(warnings),
            network=label,
            elapsed_s=sum(phase.elapsed_s for phase in phases),
        )

    def validate(self, step: StepContext) -> StepReport:
        return StepReport(invalid="; ".join(self._lost) or None)

    def clean(self) -> None:
        """Nothing stays behind."""


class _HostJob:
    def __init__(self, naming: TrialLabels) -> None:
        self._naming = naming

    @property
    def chosen(self) -> TrialChoices:
        return TrialChoices(
            workload=Workload("hostfacts", _version("hostfacts")),
            engine=Engine("hostfacts", self._naming.engine_version),
            configuration={},
            experiment=self._naming.experiment,
            series=False,
        )

    def prepare(self, step: StepContext) -> StepReport:
        return StepReport()

    def execute(self, step: StepContext) -> StepReport:
        facts, cpu = step.run("facts"), step.run("cpu")
        report = cpu.read(CpuReport)
        return StepReport(
            phases=tuple(
                Phase(name, step.since_start_s(each.started_at_s), each.elapsed_s)
                for name, each in (("facts", facts), ("cpu", cpu))
            ),
            samples=tuple(
                Sample(
                    CORE_SPEED,
                    value,
                    speed.unit,
                    labels={"kind": speed.kind, "threads": report.threads, "iteration": iteration},
                )
                for speed in report.speeds
                for iteration, value in enumerate(speed.per_core.iterations)
            ),
            warnings=(*facts.warnings, *cpu.warnings),
            elapsed_s=facts.elapsed_s + cpu.elapsed_s,
        )

    def validate(self, step: StepContext) -> StepReport:
        return StepReport()

    def clean(self) -> None:
        """Nothing was made."""


def probe_disk(session: Session, options: DiskOptions, experiment: str | None = None) -> Trial:
    """Measure the disks behind `options.dirs` and record them."""
    return run_trial(session, _DiskJob(options, _naming(session, experiment)))


def probe_net(session: Session, options: NetOptions, experiment: str | None = None) -> Trial:
    """Measure the network between peers (or over loopback, marked so) and record it."""
    return run_trial(session, _NetJob(options, _naming(session, experiment)))


def probe_host(session: Session, experiment: str | None = None) -> Trial:
    """Record this host's facts, in the trial's cluster, and the speed of its cores."""
    return run_trial(session, _HostJob(_naming(session, experiment)))


def _naming(session: Session, experiment: str | None) -> TrialLabels:
    return TrialLabels(engine_version=session.software.others["agent"], experiment=experiment)


def _scalar(value: object) -> Scalar:
    if value is None or isinstance(value, str | int | float | bool):
        return value
    assert isinstance(value, Sequence)
    return ",".join(map(str, value))


def _shifted(phases: Sequence[Phase], by_s: float) -> tuple[Phase, ...]:
    return tuple(Phase(p.name, p.started_s + by_s, p.elapsed_s) for p in phases)


# (mode, role) of the agent -> name in messages.
_TESTS: Mapping[tuple[str, str], str] = {
    ("read_write", "read"): "read while writing",
    ("read_write", "write"): "write while reading",
}


def unsteady(measurement: DiskMeasurement, dirs: Sequence[Path], host: str = "") -> str:
    """Name the test that did not settle, and the reason; the directory only if there are several,
    the host if it has a name.
    """
    mode, role = measurement.mode, measurement.role
    test = _TESTS.get((mode, role), mode.replace("_", " "))
    folder = (measurement.dir or "all directories together") if len(dirs) > 1 else ""
    place = f" on {' '.join(filter(None, (host, folder)))}" if host or folder else ""
    reason = measurement.unsteady_reason or "no reason given"
    blocks = f"{format_bytes(measurement.block_bytes)} blocks, depth {measurement.queue_depth}"
    return f"{test} ({blocks}){place}: {reason}"


def disk_samples(measurement: DiskMeasurement) -> list[Sample]:
    """One measurement of the agent's as samples."""
    key = (measurement.mode, measurement.role)
    if key not in _DISK_METRICS:
        raise VenturiError(
            "VEN-AGENT-PROTOCOL",
            f"disk measured {measurement.mode!r} as {measurement.role!r}",
            where={"mode": measurement.mode, "role": measurement.role},
            hint="agent and package have different versions: install Venturi again",
        )
    metric, unit = _DISK_METRICS[key]
    labels: dict[str, Scalar] = {
        "dir": measurement.dir,
        "block_bytes": measurement.block_bytes,
        "queue_depth": measurement.queue_depth,
    }
    spread = measurement.bytes_per_s if unit == "B/s" else measurement.iops
    samples: list[Sample] = []
    if spread is None:
        samples.append(Sample(metric, None, unit, labels=labels, missing_reason="not counted"))
    else:
        samples += [
            Sample(metric, value, unit, labels={**labels, "iteration": iteration})
            for iteration, value in enumerate(spread.iterations)
        ]
    if measurement.latency_s is not None:
        samples += [
            Sample(
                "disk_latency_s",
                value,
                "s",
                labels={
                    **labels,
                    "mode": measurement.mode,
                    "role": measurement.role,
                    "quantile": quantile,
                },
            )
            for quantile, value in asdict(measurement.latency_s).items()
        ]
    return samples


def _net_samples(measurement: NetMeasurement) -> list[Sample]:
    if measurement.pattern not in NET_PATTERNS:
        raise VenturiError(
            "VEN-AGENT-PROTOCOL",
            f"net measured the pattern {measurement.pattern!r}",
            where={"pattern": measurement.pattern},
            hint="agent and package have different versions: install Venturi again",
        )
    metric = f"net_{measurement.pattern}_bytes_per_s"
    labels: dict[str, Scalar] = {
        "peers": measurement.peers,
        "sockets_per_peer": measurement.sockets_per_peer,
    }
    samples = [
        Sample(metric, value, "B/s", labels={**labels, "iteration": iteration, "slowest": False})
        for iteration, value in enumerate(measurement.bytes_per_s.iterations)
    ]
    slowest: dict[str, Scalar] = {**labels, "slowest": True, "peer": measurement.slowest_peer.name}
    samples.append(Sample(metric, measurement.slowest_peer.bytes_per_s, "B/s", labels=slowest))
    return samples


def _lost(measurement: NetMeasurement) -> str | None:
    sent = (measurement.messages_sent, measurement.bytes_sent)
    received = (measurement.messages_received, measurement.bytes_received)
    if sent == received:
        return measurement.invalid_reason
    return (
        f"{measurement.pattern} with {measurement.peers} peers: {sent[0]} messages "
        f"({sent[1]} bytes) sent, {received[0]} ({received[1]} bytes) received"
    )
