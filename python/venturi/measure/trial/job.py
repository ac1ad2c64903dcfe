"""A trial's work: a job, its choices, its context and its reports."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from venturi.core.errors import VenturiError
from venturi.core.units import format_duration
from venturi.measure.hosts import threads
from venturi.measure.hosts.agent import CLEAN_UP_GRACE_S, Agent, AgentResult, OnProgress
from venturi.measure.hosts.host import Files, LiveHost
from venturi.record.trial import Engine, Phase, Sample, Scalar, TrialWarning, Workload


@dataclass(frozen=True)
class TrialChoices:
    """The choices for a trial, before anything is measured.

    `elsewhere` says why its use of this host isn't fully counted: external daemons do a part of it.
    `uses_network`: traffic between hosts is a part of its work.
    """

    workload: Workload
    engine: Engine
    configuration: Mapping[str, Scalar]
    disks_by_role: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    network: str | None = None
    experiment: str | None = None
    repetition: int = 0
    warm_up: bool = False
    seed: int | None = None
    series: bool = True
    elsewhere: str | None = None
    uses_network: bool = False


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file to keep with the trial as `name`; copied before the job cleans up.

    `files` are the host's that has it; None: the job's host.
    """

    kind: Literal["log", "manifest", "other"]
    name: str
    path: Path
    files: Files | None = None


class JobFailed(VenturiError):  # noqa: N818 - the name says what happened
    """A failed job, with its attachments."""

    def __init__(
        self,
        code: str,
        message: str,
        *,
        where: Mapping[str, object] | None = None,
        hint: str = "",
        attachments: tuple[Attachment, ...] = (),
    ) -> None:
        super().__init__(code, message, where=where, hint=hint)
        self.attachments = attachments
        self.warnings: tuple[TrialWarning, ...] = ()


@dataclass(frozen=True)
class StepReport:
    """The results of a job's step. `invalid` says why the result is wrong."""

    phases: tuple[Phase, ...] = ()
    samples: tuple[Sample, ...] = ()
    warnings: tuple[TrialWarning, ...] = ()
    configuration: Mapping[str, Scalar] = field(default_factory=dict)
    elapsed_s: float | None = None
    workload: Workload | None = None
    network: str | None = None
    invalid: str | None = None
    attachments: tuple[Attachment, ...] = ()


@dataclass(frozen=True)
class StepContext:
    """A job's context: the agent, and the trial's own clock."""

    agent: Agent
    origin_s: float
    on_progress: OnProgress | None

    @property
    def host(self) -> LiveHost:
        """Where the job is done."""
        return self.agent.host

    def run(self, command: str, *args: object, timeout_s: float | None = None) -> AgentResult:
        """Run a subcommand of the agent, showing its progress.

        VEN-ENGINE-TIMEOUT, after the agent has ended and cleaned up, if it takes longer than
        `timeout_s`.
        """
        if timeout_s is None:
            return self.agent.run(command, *args, on_progress=self.on_progress)
        process = self.agent.start(command, *args)
        late = threading.Event()

        def end() -> None:
            late.set()
            process.stop(CLEAN_UP_GRACE_S)

        timer = threading.Timer(timeout_s, end)
        try:
            threads.start(timer)
            return self.agent.follow(process, command, on_progress=self.on_progress)
        except BaseException as error:
            if not late.is_set():
                process.stop(CLEAN_UP_GRACE_S)
                raise
            timer.join()
            if isinstance(error, KeyboardInterrupt):
                raise
            raise VenturiError(
                "VEN-ENGINE-TIMEOUT",
                f"the agent's {command} did not finish within {format_duration(timeout_s)} "
                "and was stopped",
                where={"command": command},
                hint="allow more time with --timeout",
            ) from None
        finally:
            timer.cancel()

    def since_start_s(self, monotonic_s: float | None = None) -> float:
        """Seconds from the start of the trial to `monotonic_s` (by default now)."""
        moment_s = time.monotonic() if monotonic_s is None else monotonic_s
        return moment_s - self.origin_s


class TrialJob(Protocol):
    """One trial's work on one engine. Each step raises VenturiError if it fails."""

    @property
    def chosen(self) -> TrialChoices:
        """The choices for the trial."""

    def prepare(self, step: StepContext) -> StepReport:
        """Prepare everything that isn't timed: input, space, predictions."""

    def execute(self, step: StepContext) -> StepReport:
        """The timed work; its report has `elapsed_s`."""

    def validate(self, step: StepContext) -> StepReport:
        """Whether the result is right."""

    def clean(self) -> None:
        """Remove the trial's data from disk; called however it ended."""
