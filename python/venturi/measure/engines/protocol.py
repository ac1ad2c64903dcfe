"""An engine's interface: it reports whether it is usable, and makes jobs.

available ---> start ---> job: submit, collect ---> job ... ---> stop
(asks, runs nothing)  (parts that jobs share: none in local mode)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, runtime_checkable

from venturi.core.errors import VenturiError
from venturi.measure.engines.kind import EngineKind
from venturi.measure.engines.nodes import ClusterNodes
from venturi.measure.hosts.host import Files, LiveHost
from venturi.measure.trial.folders import DataFolders
from venturi.measure.trial.job import Attachment, TrialJob
from venturi.measure.trial.programs import ProcessResult
from venturi.measure.workloads.checking import Portion
from venturi.measure.workloads.definition import Definition, Size
from venturi.measure.workloads.inputs import Inputs
from venturi.measure.workloads.programs import Task
from venturi.record.job_account import JobAccount
from venturi.record.trial import Phase, Sample, Scalar


@dataclass(frozen=True, slots=True)
class MissingRequirement:
    """A requirement that an engine lacks here, and the command that installs it."""

    what: str
    mend: str
    code: str = "VEN-ENGINE-MISSING"


@dataclass(frozen=True, slots=True)
class Availability:
    """Whether an engine can be used here. `parts` are versions and places by name."""

    engine: str
    version: str | None
    parts: Mapping[str, str] = field(default_factory=dict)
    missing: tuple[MissingRequirement, ...] = ()

    @property
    def usable(self) -> bool:
        """Whether nothing is missing."""
        return not self.missing


@dataclass(frozen=True, slots=True)
class Fetched:
    """An engine in a folder, with whether this `venturi engines install` has put it there."""

    title: str
    version: str
    folder: Path
    anew: bool


@dataclass(frozen=True)
class Resources:
    """The resources of an engine that has to be started: the user's folders by role, and its
    limits. `workers` is the number of its worker daemons per host. None: the engine's own default.
    """

    dirs: Mapping[str, tuple[Path, ...]]
    threads: int | None = None
    memory_bytes: int | None = None
    workers: int | None = None


@dataclass(frozen=True)
class TrialSpec:
    """The choices for one trial. None: the engine's own default.

    `settings` are the engine's own names (`spark.executor.cores`) and override Venturi's defaults.
    `instances` is the number of concurrent executions, `workers` that of the worker daemons.
    """

    definition: Definition
    size: Size
    inputs: Inputs
    folders: DataFolders
    agent_version: str
    scale: str | None = None
    experiment: str | None = None
    repetition: int = 0
    warm_up: bool = False
    seed: int | None = None
    threads: int | None = None
    memory_bytes: int | None = None
    uniform: bool = False
    verify: bool = False
    settings: Mapping[str, str] = field(default_factory=dict)
    instances: int = 1
    workers: int | None = None
    timeout_s: float | None = None
    series: bool = True


@dataclass(frozen=True)
class CollectedAccount:
    """The results in the engine's own account. Phases are in seconds of the monotonic clock.

    `answer` is the result of a workload without output files: for pi the points inside.
    """

    phases: tuple[Phase, ...]
    samples: tuple[Sample, ...] = ()
    attachments: tuple[Attachment, ...] = ()
    answer: Mapping[str, Scalar] = field(default_factory=dict)


class WorkloadEngine(Protocol):
    """Something workloads run on."""

    @property
    def kind(self) -> EngineKind:
        """The engine's declaration, available without loading it."""

    @property
    def name(self) -> str:
        """Its name on the command line and in records."""

    @property
    def deployment(self) -> str | None:
        """The deployment (`local`, `yarn`, ...); None if there is only one."""

    def available(self) -> Availability:
        """Look for the installed parts; starts no process, takes milliseconds."""

    def start(self, resources: Resources) -> None:
        """Start the common part of all jobs; an error if the engine isn't usable."""

    def job(self, spec: TrialSpec) -> TrialJob:
        """One trial's work; needs `start` before it is run."""

    def stop(self) -> None:
        """End everything that `start` began."""


class ProcessEngine(WorkloadEngine, Protocol):
    """An engine that runs a task in processes of its own: see `process_job.ProcessJob`."""

    @property
    def host(self) -> LiveHost:
        """Where its programs are started."""

    @property
    def nodes(self) -> ClusterNodes | None:
        """The nodes of a cluster with its daemons, with `host` as the client's; None: `host` has
        all.
        """

    @property
    def version(self) -> str:
        """The engine's version, known once it has started."""

    @property
    def owns_hdfs(self) -> bool:
        """Whether its jobs' data lie in Venturi's own HDFS, on the disks of the role `output`."""

    def defaults(
        self, definition: Definition, size: Size, threads: int, memory_bytes: int
    ) -> Mapping[str, str]:
        """Return the settings that an experienced user of the engine would choose for such a
        task.
        """

    def prepare(self, task: Task) -> None:
        """Prepare before the timed region, such as creating input files; may run the engine."""

    def submit(self, task: Task) -> ProcessResult:
        """Run `task` to its end; raise JobFailed if the engine reports a failure."""

    def collect(self, task: Task, ended: ProcessResult) -> CollectedAccount:
        """Read the engine's output about a successful task."""


@runtime_checkable
class Accounting(Protocol):
    """An engine with logs that contain an account of the job, which is kept with the trial."""

    def read_account(
        self, files: Files, log: Attachment, logs: Sequence[Attachment]
    ) -> JobAccount | None:
        """The account in `log`, one of the `logs` of a job; None if it is not such a log."""


@runtime_checkable
class PortionedOutput(Protocol):
    """An engine with output that several hosts may validate."""

    def portions(self, task: Task) -> AbstractContextManager[tuple[Portion, ...] | None]:
        """The output of `task`, collected, on those hosts until the block is left, in the order of
        the keys; None: it is in `task.output`.
        """


def require(availability: Availability) -> None:
    """VEN-ENGINE-MISSING or VEN-ENGINE-JAVA unless the engine can be used."""
    if availability.usable:
        return
    first = availability.missing[0]
    raise VenturiError(
        first.code,
        f"{availability.engine}: " + "; ".join(each.what for each in availability.missing),
        where={"engine": availability.engine},
        hint="; ".join(each.mend for each in availability.missing),
    )
