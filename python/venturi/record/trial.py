"""The trial record: one execution of one workload on one cluster with one configuration.

These frozen dataclasses are the contract between measuring and modeling. Text enters and leaves
only through `trial_json`. An absent value is `None`, with a reason next to it, never 0.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Literal, TypeVar, dataclass_transform

from venturi.core.errors import FailureClass, VenturiError, class_of

SCHEMA_VERSION = 3
"""Version of the written records. 1 has only a name and facts of each host; 1 and 2 no labels."""

T = TypeVar("T")
Scalar = str | int | float | bool | None
EXECUTOR_LOST = "VEN-ENGINE-EXECUTOR"
"""The code of the warning that an executor ended before its application."""
DISTURBED = "VEN-MEASURE-DISTURBED"
"""The code of the warnings that others used the host while a trial executed."""
CPU_OTHERS, DISK_OTHERS, CPU_STEAL = "cpu_others_share", "disk_others_share", "cpu_steal_share"
"""Samples of other processes' use of the host during a trial; columns have the same names."""
LABEL = "label."
"""Prefix of the keys by which labels are searched: the label `commit` is `label.commit`."""
DISK_ROLES = ("input", "scratch", "output", "replica")
"""The parts that folders play in a trial."""
# Ids also name folders, so they are plain words. Venturi's own are ULIDs
# (https://github.com/ulid/spec): 48 bits of milliseconds, then 80 random bits.
ID = re.compile(r"[0-9A-Za-z][0-9A-Za-z_-]{0,63}")
_ULID_DIGITS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


@dataclass_transform(frozen_default=True)
def _record(cls: type[T]) -> type[T]:
    """A frozen dataclass that pydantic decodes strictly: an unknown key is an error."""
    # A ConfigDict is a dict. So code that only uses trials needn't load pydantic, and code that
    # decodes none doesn't build the decoders.
    config = {"extra": "forbid", "ser_json_inf_nan": "constants", "defer_build": True}
    cls.__pydantic_config__ = config  # type: ignore[attr-defined]
    return dataclass(frozen=True)(cls)


class State(StrEnum):
    """The state of a trial; see `SUCCESSORS`."""

    PLANNED = "planned"
    PREPARING = "preparing"
    EXECUTING = "executing"
    VALIDATING = "validating"
    RUNNING = "running"
    """An imported application that went on when its log was read last."""
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    INVALID = "invalid"
    INTERRUPTED = "interrupted"
    UNKNOWN = "unknown"
    """It ended, and its imported source doesn't say how."""


_ENDINGS = frozenset({State.FAILED, State.INVALID, State.INTERRUPTED})
SUCCESSORS: Mapping[State, frozenset[State]] = {
    State.PLANNED: frozenset({State.PREPARING}) | _ENDINGS,
    State.PREPARING: frozenset({State.EXECUTING}) | _ENDINGS,
    State.EXECUTING: frozenset({State.VALIDATING}) | _ENDINGS,
    State.VALIDATING: frozenset({State.SUCCEEDED}) | _ENDINGS,
    State.RUNNING: frozenset({State.SUCCEEDED, State.UNKNOWN}) | _ENDINGS,
    State.SUCCEEDED: frozenset(),
    State.FAILED: frozenset(),
    State.INVALID: frozenset(),
    State.INTERRUPTED: frozenset(),
    State.UNKNOWN: frozenset(),
}
TERMINAL = frozenset(state for state, after in SUCCESSORS.items() if not after)


class ProvenanceKind(StrEnum):
    """The kind of a record's source."""

    MEASURED = "measured"
    IMPORTED = "imported"
    SIMULATED = "simulated"


def _require_finite(what: str, *values: Scalar) -> None:
    # NaN and infinity are ways of writing "unknown" that look like numbers and spread.
    if any(isinstance(value, float) and not math.isfinite(value) for value in values):
        raise ValueError(f"{what} is not finite; an unknown value is None with a reason")


@_record
class Provenance:
    """The source of a record; `source` names a program or a data set, `digest` its content."""

    kind: ProvenanceKind
    source: str
    digest: str | None = None


@_record
class Workload:
    """The job. `version` is a hash of its definition; different versions are never compared."""

    name: str
    version: str
    scale: str | None = None
    input_bytes: int | None = None
    input_records: int | None = None


@_record
class Engine:
    """The program that runs the workload: `native`, `mapreduce`, `spark`, `diskbench`, ..."""

    name: str
    version: str


@_record
class Link:
    """A host's link to a network: its address there, and its rate if known.

    One flow gets `flow_bytes_per_s`, as over a bond of several ports, or the whole rate if None.
    """

    address: str
    bytes_per_s: float | None = None
    flow_bytes_per_s: float | None = None

    def __post_init__(self) -> None:
        _require_finite("link", self.bytes_per_s, self.flow_bytes_per_s)


@_record
class Clock:
    """A host's clock minus the clock of the machine that ran Venturi, before the first phase. The
    true value is within `error_s` of `offset_s`.
    """

    offset_s: float
    error_s: float

    def __post_init__(self) -> None:
        _require_finite("clock", self.offset_s, self.error_s)


@_record
class Host:
    """One machine. `facts` is the agent's `facts` result, unchanged.

    A host of a cluster also has its `roles` (master, worker, client), its `links` by network, its
    folders by disk class (`disks`), and its clock. `clock` is None if only one clock was used.
    """

    name: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    roles: tuple[str, ...] = ()
    links: Mapping[str, Link] = field(default_factory=dict)
    rack: str | None = None
    disks: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    clock: Clock | None = None


@_record
class Rack:
    """A rack, perhaps `within` a row of racks. Its uplink's rate is None if unknown."""

    name: str
    within: str | None = None
    uplink_bytes_per_s: float | None = None

    def __post_init__(self) -> None:
        _require_finite("rack", self.uplink_bytes_per_s)


CLUSTER_HOUR = "cluster-hour"
"""Subject of a price for all hosts of the trial together."""


@_record
class PriceQuote:
    """A price: `amount` of `currency` per `per`, with source and date."""

    amount: float
    currency: str
    per: str
    source: str
    as_of: str

    def __str__(self) -> str:
        return f"{self.amount:,.4g} {self.currency} per {self.per} ({self.source}; {self.as_of})"


@_record
class Cluster:
    """The machines of a trial and the part each disk plays.

    `disks_by_role` maps one of DISK_ROLES to directories of each host with work. `network` carried
    the data. `dilation` is the k of an emulated cluster: real machines are k times as fast. It is
    None for real machines. `dilate_cpu` is whether CPUs were slowed, too; None for real machines or
    if unknown.
    """

    hosts: tuple[Host, ...]
    disks_by_role: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    instance_type: str | None = None
    network: str | None = None
    price: PriceQuote | None = None
    name: str | None = None
    racks: tuple[Rack, ...] = ()
    dilation: float | None = None
    dilate_cpu: bool | None = None

    def __post_init__(self) -> None:
        _require_finite("dilation", self.dilation)

    def data_link(self, host: Host) -> Link | None:
        """The link of `host` that data took; None if unknown."""
        return host.links.get(self.network or "")

    @property
    def one_machine(self) -> bool:
        """Whether its several hosts are one machine, as in a lab; decided by their facts."""
        boots = {each.facts.get("boot_id") for each in self.hosts}
        return len(self.hosts) > 1 and len(boots) == 1 and None not in boots

    @property
    def layout(self) -> tuple[object, ...]:
        """The chosen settings of the cluster besides hosts, disks and network."""
        hosts = [
            (
                host.name,
                host.roles,
                host.rack,
                sorted((name, link.bytes_per_s) for name, link in host.links.items()),
                sorted(host.disks.items()),
            )
            for host in sorted(self.hosts, key=lambda each: each.name)
            if host.roles or host.rack or host.links or host.disks
        ]
        racks = sorted(
            ((each.name, each.within, each.uplink_bytes_per_s) for each in self.racks),
            key=lambda rack: (rack[0], rack[1] or "", rack[2] or 0.0),
        )
        return tuple(each for each in (hosts, racks, self.dilation, self.dilate_cpu) if each)


@_record
class Software:
    """The software behind the numbers. `build_profile` is the agent's: `release` or `debug`."""

    venturi_version: str
    git_sha: str | None
    build_profile: str | None
    kernel: str | None = None
    others: Mapping[str, str] = field(default_factory=dict)


@_record
class Sample:
    """A measured value. `value` is None only with a `missing_reason`.

    `phase` names its phase, or is None for the whole trial. `labels` distinguish samples of one
    metric (device, block size, iteration, stage).
    """

    metric: str
    value: float | None
    unit: str
    phase: str | None = None
    labels: Mapping[str, Scalar] = field(default_factory=dict)
    missing_reason: str | None = None

    def __post_init__(self) -> None:
        if (self.value is None) == (self.missing_reason is None):
            raise ValueError("a sample has either a value or a missing_reason")
        _require_finite(f"sample {self.metric}", self.value, *self.labels.values())


@_record
class Phase:
    """A timed part of a trial, in seconds since its start (monotonic clock)."""

    name: str
    started_s: float
    elapsed_s: float

    def __post_init__(self) -> None:
        _require_finite(f"phase {self.name}", self.started_s, self.elapsed_s)


@_record
class Artifact:
    """A file kept with a trial. `path` is relative to the repository's artifact folder."""

    kind: Literal["series", "log", "manifest", "other"]
    name: str
    path: str
    size_bytes: int
    sha256: str


@_record
class TrialWarning:
    """Something you must know to read the numbers."""

    code: str
    message: str


@_record
class Failure:
    """The reason why a trial did not succeed.

    `kind` is a `FailureClass` or `bug`; an imported trial has its source's name for it.
    """

    kind: str
    code: str
    message: str


@_record
class Owner:
    """The process that runs a trial; a later start checks whether it is still alive."""

    host: str
    boot_id: str
    pid: int
    process_started_ticks: int


@_record
class Trial:
    """The record.

    `started_at` is None only if an imported source doesn't state it. `elapsed_s` is the timed
    region of the workload, None until it is measured, and where an imported source has only rates.
    `labels` are the user's own names for it, such as a commit: they aren't settings, so trials with
    other labels still form one repeat group.
    """

    id: str
    workload: Workload
    engine: Engine
    cluster: Cluster
    configuration: Mapping[str, Scalar]
    software: Software
    provenance: Provenance
    started_at: datetime | None
    state: State = State.PLANNED
    experiment: str | None = None
    repetition: int = 0
    warm_up: bool = False
    seed: int | None = None
    elapsed_s: float | None = None
    phases: tuple[Phase, ...] = ()
    samples: tuple[Sample, ...] = ()
    artifacts: tuple[Artifact, ...] = ()
    warnings: tuple[TrialWarning, ...] = ()
    failure: Failure | None = None
    owner: Owner | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    schema_version: int = SCHEMA_VERSION

    def __post_init__(self) -> None:
        if not ID.fullmatch(self.id):
            raise ValueError(f"id {self.id!r} is not made of at most 64 letters, digits, - and _")
        if self.started_at is None:
            if self.provenance.kind is not ProvenanceKind.IMPORTED:
                raise ValueError("only an imported trial may lack started_at")
        elif self.started_at.tzinfo is None:
            raise ValueError("started_at has no time zone; use UTC")
        if (self.state in _ENDINGS | {State.UNKNOWN}) != (self.failure is not None):
            raise ValueError(f"state {self.state} and failure {self.failure} contradict each other")
        imported = self.provenance.kind is ProvenanceKind.IMPORTED
        if self.state is State.SUCCEEDED and self.elapsed_s is None and not imported:
            raise ValueError("a succeeded trial has a measured elapsed_s")
        _require_finite("elapsed_s", self.elapsed_s)
        _require_finite("configuration", *self.configuration.values())

    @property
    def group_key(self) -> str:
        """Digest of all settings: trials with equal keys form a repeat group."""
        chosen: dict[str, object] = {
            "workload": [
                self.workload.name,
                self.workload.version,
                self.workload.scale,
                self.workload.input_bytes,
                self.workload.input_records,
            ],
            "engine": [self.engine.name, self.engine.version],
            "hosts": sorted(host.name for host in self.cluster.hosts),
            "instance_type": self.cluster.instance_type,
            "network": self.cluster.network,
            "disks": {role: list(dirs) for role, dirs in self.cluster.disks_by_role.items()},
            "configuration": dict(self.configuration),
            "provenance": [self.provenance.kind, self.provenance.source],
        }
        if layout := self.cluster.layout:  # left out where empty, so that keys don't change
            chosen["layout"] = layout
        text = json.dumps(chosen, sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def searchable(self) -> dict[str, Scalar]:
        """The configuration, and the labels with their prefix."""
        return {**self.configuration, **{LABEL + key: each for key, each in self.labels.items()}}

    @property
    def failure_class(self) -> FailureClass | None:
        """The side that has to change; None for a success, and for a trial that has not ended."""
        if self.failure is None:
            return None
        if self.state is State.INVALID:
            return FailureClass.WRONG
        if self.state is State.INTERRUPTED:
            return FailureClass.INTERRUPTED
        return class_of(self.failure.code)

    @property
    def disturbed(self) -> bool | None:
        """Whether other processes used its host while it executed; None if unknown."""
        if any(warning.code == DISTURBED for warning in self.warnings):
            return True
        watched = any(map(self.values, (CPU_OTHERS, DISK_OTHERS, CPU_STEAL)))
        return False if watched else None

    @property
    def remarks(self) -> tuple[str, ...]:
        """Words to show after its state: `warm-up`, `disturbed`, `executor lost`."""
        lost = any(warning.code == EXECUTOR_LOST for warning in self.warnings)
        remarks = {"warm-up": self.warm_up, "disturbed": self.disturbed, "executor lost": lost}
        return tuple(word for word, holds in remarks.items() if holds)

    def values(self, metric: str, phase: str | None = None, **labels: Scalar) -> list[float]:
        """Return the present values of `metric` with a matching phase (if given) and labels."""
        return [
            sample.value
            for sample in self.samples
            if sample.metric == metric
            and sample.value is not None
            and (phase is None or sample.phase == phase)
            and all(sample.labels.get(key) == value for key, value in labels.items())
        ]

    def advance(self, state: State, **changes: Any) -> Trial:
        """This trial in `state` with `changes`; an error if the state machine forbids it."""
        if state not in SUCCESSORS[self.state]:
            raise VenturiError(
                "VEN-RECORD-STATE",
                f"trial {self.id} is {self.state} and cannot become {state}",
                where={"trial": self.id},
            )
        return replace(self, state=state, **changes)


def new_id() -> str:
    """Return a fresh ULID: sortable by time, unique without coordination."""
    number = time.time_ns() // 1_000_000 << 80 | int.from_bytes(os.urandom(10))
    return "".join(_ULID_DIGITS[number >> shift & 31] for shift in range(125, -1, -5))


def started(trial: Trial) -> datetime:
    """When `trial` began, to sort by: one without a date counts as earlier than all others."""
    return trial.started_at or datetime.min.replace(tzinfo=UTC)


def now() -> datetime:
    """The present time in UTC."""
    return datetime.now(UTC)
