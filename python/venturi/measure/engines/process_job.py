"""A trial on an engine with its own processes: the same protocol for all such engines.

The timed region lasts from the submission until the output is durable (fsync). Start-up of the
engine is a phase of its own (`start`), and the sample `elapsed_without_start_s` is the time without
it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Protocol, runtime_checkable

from venturi.core.errors import UsageError, VenturiError
from venturi.core.units import format_bytes
from venturi.measure.clusters.names import names_of
from venturi.measure.engines import account as own
from venturi.measure.engines import ignored_settings
from venturi.measure.engines.kind import MOST_INSTANCES
from venturi.measure.engines.nodes import ROLES
from venturi.measure.engines.protocol import (
    Accounting,
    CollectedAccount,
    PortionedOutput,
    ProcessEngine,
    TrialSpec,
    WorkloadEngine,
)
from venturi.measure.hosts.host import Files, LiveHost
from venturi.measure.trial import space
from venturi.measure.trial.job import Attachment, JobFailed, StepContext, StepReport, TrialChoices
from venturi.measure.trial.programs import ProcessResult, labelled
from venturi.measure.workloads import outputs
from venturi.measure.workloads.checking import CheckInput, Portion
from venturi.measure.workloads.inputs import InputData
from venturi.measure.workloads.programs import Task
from venturi.measure.workloads.registry import space_factors
from venturi.record.trial import Engine as EngineRecord
from venturi.record.trial import Phase, Sample, Scalar, TrialWarning, Workload

START = "start"
LAUNCH = "launch"
"""The phase that starts the processes for the tasks: like `start`, no work of the job's."""
SYNC = "sync"
ACCOUNT = "account"
"""The folder of the engine's own account, next to a task's logs."""
GIB = 2**30
# Heap of an engine without a chosen budget. A constant: following the currently free memory would
# put every repetition into its own group.
DEFAULT_MEMORY_BYTES = 4 * GIB
SMALL_HOST_BYTES = 2 * GIB
"""On hosts of 1.5 GiB, executors with the default heap were killed."""
_STEP_BYTES = 64 * 2**20


def threads_of(host: LiveHost, chosen: int | None) -> int:
    """Return the engine's threads: one per usable core, unless chosen."""
    return chosen or host.cores


def memory_bytes_of(chosen: int | None) -> int:
    """Heap of an engine, all of its JVMs together."""
    return chosen or DEFAULT_MEMORY_BYTES


def memory_bytes_on(hosts_bytes: Sequence[int | None]) -> int:
    """Return the engine's total heap over hosts with these memory sizes (None: unknown). Each host
    gets the heap of a single machine, but at most half the smallest host's memory, in steps of 64
    MiB.
    """
    half = min(
        (each // 2 for each in hosts_bytes if each is not None), default=DEFAULT_MEMORY_BYTES
    )
    each_bytes = min(memory_bytes_of(None), max(half // _STEP_BYTES, 1) * _STEP_BYTES)
    return each_bytes * len(hosts_bytes)


def small_hosts(hosts_bytes: Mapping[str, int | None]) -> str | None:
    """Return a warning if hosts have too little memory for an executor and its daemons."""
    small = {name: each for name, each in hosts_bytes.items() if each and each < SMALL_HOST_BYTES}
    if not small:
        return None
    least = format_bytes(min(small.values()))
    return (
        f"{names_of(list(small))} {'has' if len(small) == 1 else 'have'} {least} of memory, less "
        f"than the {format_bytes(SMALL_HOST_BYTES)} that an executor needs with its Python workers "
        "and HDFS: it may be killed; use less with --memory, or larger hosts"
    )


@runtime_checkable
class ConcurrentEngine(Protocol):
    """An engine that can execute several tasks at the same time."""

    def submit_concurrently(self, tasks: Sequence[Task]) -> tuple[ProcessResult, ...]:
        """Run all of `tasks` to their ends; raise JobFailed, after ending the others, once one
        failed.
        """


def require_instances(engine: WorkloadEngine, instances: int) -> None:
    """Raise VEN-MEASURE-WORKLOAD unless `engine` can run `instances` concurrent copies of a
    workload.
    """
    if instances == 1 or (isinstance(engine, ConcurrentEngine) and instances <= MOST_INSTANCES):
        return
    problem = (
        f"{instances} instances are more than {MOST_INSTANCES}"
        if isinstance(engine, ConcurrentEngine)
        else f"{engine.name} runs one copy of a workload at a time"
    )
    raise UsageError(
        "VEN-MEASURE-WORKLOAD",
        problem,
        where={"engine": engine.name, "instances": instances},
        hint="leave --instances out, or use it with spark",
    )


@dataclass(frozen=True)
class _Execution:
    """One execution within a trial, with all its phases. `label` identifies it."""

    label: str
    task: Task
    ended: ProcessResult
    collected: CollectedAccount
    phases: tuple[Phase, ...]

    @property
    def elapsed_s(self) -> float:
        """From its submission until its output was durable."""
        return max(map(_end_s, self.phases)) - self.ended.started_s

    @property
    def samples(self) -> Iterator[Sample]:
        start_s = sum(phase.elapsed_s for phase in self.phases if phase.name in {START, LAUNCH})
        samples = (
            Sample("elapsed_without_start_s", self.elapsed_s - start_s, "s"),
            *self.collected.samples,
        )
        if not self.label:
            yield from samples
            return
        for sample in (Sample("instance_elapsed_s", self.elapsed_s, "s"), *samples):
            yield replace(sample, labels={**sample.labels, "instance": int(self.label)})

    @property
    def attachments(self) -> Iterator[Attachment]:
        log = Attachment("log", "engine.log", self.ended.log)
        for each in (log, *self.collected.attachments):
            yield labelled(each, self.label)


@dataclass
class ProcessJob:
    """One trial of `spec` on `engine`."""

    engine: ProcessEngine
    spec: TrialSpec
    _input: InputData | None = field(default=None, init=False)
    _tasks: tuple[Task, ...] = field(default=(), init=False)
    _executions: tuple[_Execution, ...] = field(default=(), init=False)
    _execution: own.Execution | None = field(default=None, init=False)

    @property
    def threads(self) -> int:
        """The engine's threads."""
        return threads_of(self.engine.host, self.spec.threads)

    @property
    def memory_bytes(self) -> int:
        """Heap of the engine."""
        return memory_bytes_of(self.spec.memory_bytes)

    @cached_property
    def configuration(self) -> Mapping[str, str]:
        """Return Venturi's settings of the engine, overridden by the chosen ones."""
        spec = self.spec
        defaults = self.engine.defaults(spec.definition, spec.size, self.threads, self.memory_bytes)
        return {**defaults, **spec.settings}

    @property
    def chosen(self) -> TrialChoices:
        spec, size = self.spec, self.spec.size
        configuration: dict[str, Scalar] = {
            "threads": self.threads,
            "memory_bytes": self.memory_bytes,
            "input_bytes": size.bytes,
            **self.configuration,
            **{f"workload.{name}": value for name, value in size.parameters.items()},
        }
        if (deployment := self.engine.deployment) is not None:
            configuration["deployment"] = deployment
        if spec.instances > 1:
            configuration["instances"] = spec.instances
        if spec.workers is not None:
            configuration["workers"] = spec.workers
        return TrialChoices(
            workload=Workload(
                spec.definition.name,
                spec.definition.version,
                spec.scale,
                size.bytes,
                size.records,
            ),
            engine=EngineRecord(self.engine.name, self.engine.version),
            configuration=configuration,
            disks_by_role={role: dirs for role in ROLES if (dirs := self._disks(role))},
            experiment=spec.experiment,
            repetition=spec.repetition,
            warm_up=spec.warm_up,
            seed=spec.seed if spec.definition.seeded else None,
            series=spec.series,
            elsewhere=self._elsewhere,
            uses_network=self.engine.nodes is not None,
        )

    @property
    def _elsewhere(self) -> str | None:
        """Return why processes not started by Venturi do a part of the job's work; None if they
        don't.
        """
        engine, deployment = self.engine, self.engine.deployment
        if engine.nodes is not None:
            return None
        ours = deployment in engine.kind.clusters and (
            engine.owns_hdfs or deployment not in engine.kind.on_hdfs
        )
        if deployment in {None, "local"} or ours:
            return None
        return "a cluster that Venturi did not start does the work, which counts as background load"

    def prepare(self, step: StepContext) -> StepReport:
        require_instances(self.engine, self.spec.instances)
        self._require_space()
        self._input, phases = self.spec.inputs.provide(step)
        self._tasks = self._placed(self._input)
        for task in self._tasks:
            self.engine.prepare(task)
        return StepReport(phases=phases, warnings=(*self._unused(), *self._ignored()))

    def execute(self, step: StepContext) -> StepReport:
        begun_s = time.monotonic()
        try:
            self._executions = executions = self._executed()
        except JobFailed as error:
            execution = own.Execution(step.origin_s, begun_s, time.monotonic())
            account = self._account(error.attachments, execution)
            error.attachments += account.attachments
            error.warnings += account.warnings
            raise
        phases = _together(executions)
        self._execution = own.Execution(step.origin_s, begun_s, max(map(_end_s, phases)))
        ended = [each.ended for each in executions]
        return StepReport(
            phases=tuple(
                replace(phase, started_s=step.since_start_s(phase.started_s)) for phase in phases
            ),
            samples=(
                *_usage(ended, elsewhere=self.engine.deployment not in {None, "local"}),
                *(sample for each in executions for sample in each.samples),
            ),
            elapsed_s=max(map(_end_s, phases)) - min(each.started_s for each in ended),
            attachments=tuple(kept for each in executions for kept in each.attachments),
        )

    def validate(self, step: StepContext) -> StepReport:
        assert self._input is not None
        assert self._execution is not None
        started_s = step.since_start_s()
        spec = self.spec
        logs = tuple(kept for each in self._executions for kept in each.attachments)
        account = self._account(logs, self._execution)
        warnings = list(account.warnings)
        samples: list[Sample] = []
        invalid = None
        for each in self._executions:
            with self._portions(each.task) as portions:
                verdict = outputs.check(
                    CheckInput(
                        step,
                        spec.definition,
                        spec.size,
                        self._input,
                        each.task.output,
                        each.collected.answer,
                        portions,
                    )
                )
                if portions is not None and not samples:
                    samples = [Sample("validating_hosts", len(portions), "1")]
            warnings += verdict.warnings
            if invalid is None and verdict.invalid is not None:
                whose = f"instance {each.label}: " if each.label else ""
                invalid = whose + verdict.invalid
        phase = Phase("validate", started_s, step.since_start_s() - started_s)
        return StepReport(
            phases=(phase,),
            samples=tuple(samples),
            warnings=tuple(warnings),
            invalid=invalid,
            attachments=account.attachments,
        )

    def clean(self) -> None:
        self.spec.folders.empty(("output", "scratch"))

    def _require_space(self) -> None:
        spec = self.spec
        size_bytes = spec.size.bytes or 0
        several = self.engine.nodes is not None  # their disks say themselves that they are full
        _, scratch, output = space_factors(
            spec.definition, hdfs=self.engine.owns_hdfs and not several
        )
        scratch = 0.0 if several else scratch
        each = {"scratch": round(size_bytes * scratch), "output": round(size_bytes * output)}
        needs = {role: need_bytes * spec.instances for role, need_bytes in each.items()}
        needs["input"] = spec.inputs.missing_bytes
        folders = {role: self._used(role) for role in needs}
        space.require(spec.folders.files, space.spread(needs, folders))

    def _disks(self, role: str) -> tuple[str, ...]:
        """The folders of a role, of several nodes each with the node's name."""
        nodes = self.engine.nodes
        if nodes is None:
            return tuple(map(str, self.spec.folders.parents(role)))
        return tuple(f"{node.name}:{path}" for node in nodes.all for path in node.dirs[role])

    def _used(self, role: str) -> tuple[Path, ...]:
        """Return the folders named for `role` that the job really uses."""
        named = self.spec.folders.parents(role)
        if role == "input":
            return named if self.spec.inputs.spread else named[:1]
        # The output ends in one folder, even if HDFS had it on all.
        return named[:1] if role == "output" and not self.engine.owns_hdfs else named

    def _unused(self) -> Iterator[TrialWarning]:
        if self.engine.nodes is not None:
            return
        for role in ("input", "scratch", "output"):
            named, used = self.spec.folders.parents(role), self._used(role)
            if len(used) < len(named):
                said = f"of {len(named)} folders for {role} only the first was used: {named[0]}"
                yield TrialWarning("VEN-MEASURE-DISKS", said)

    def _ignored(self) -> Iterator[TrialWarning]:
        """The settings that were chosen and have no effect."""
        engine, settings = self.engine, self.spec.settings
        parents = self.spec.folders.parents("scratch") if self._elsewhere is None else ()
        scratch = parents if engine.nodes is None else engine.nodes.folders("scratch")
        for said in ignored_settings.without_effect(
            engine.name, engine.deployment, settings, scratch
        ):
            yield TrialWarning(ignored_settings.CODE, said)

    def _executed(self) -> tuple[_Execution, ...]:
        """Execute all tasks concurrently, and make their output durable."""
        tasks, engine = self._tasks, self.engine
        if len(tasks) > 1:
            assert isinstance(engine, ConcurrentEngine)
            ended = engine.submit_concurrently(tasks)
        else:
            ended = (engine.submit(tasks[0]),)
        executions = []
        for label, task, end in zip(self._labels, tasks, ended, strict=True):
            engine.host.files.sync(task.output)
            synced = Phase(SYNC, end.ended_s, time.monotonic() - end.ended_s)
            collected = engine.collect(task, end)
            phases = collected.phases
            if not any(phase.name == SYNC for phase in phases):
                phases = (*phases, synced)
            executions.append(_Execution(label, task, end, collected, phases))
        return tuple(executions)

    def _account(self, logs: Sequence[Attachment], execution: own.Execution) -> own.KeptAccount:
        """The engine's own account of the job, out of `logs`."""
        if not isinstance(self.engine, Accounting):
            return own.KeptAccount()
        folder = self._tasks[0].logs.parent / ACCOUNT
        files = self.engine.host.files
        return own.account_of(self.engine.read_account, files, logs, execution, folder)

    def _portions(self, task: Task) -> AbstractContextManager[tuple[Portion, ...] | None]:
        """The output of a task where several hosts read it again."""
        return (
            self.engine.portions(task)
            if isinstance(self.engine, PortionedOutput)
            else nullcontext()
        )

    @property
    def _labels(self) -> tuple[str, ...]:
        """The numbers of the instances; one empty label if there is only one."""
        instances = self.spec.instances
        return ("",) if instances == 1 else tuple(map(str, range(instances)))

    def _placed(self, given: InputData) -> tuple[Task, ...]:
        """Make the folders of the tasks; the engine sees one folder with all input files."""
        folders, files = self.spec.folders, self.spec.folders.files
        scratches, (out, *_) = folders.of("scratch"), folders.of("output")
        for folder in (*scratches, out):  # of the repetition or the engine before, if data are kept
            for entry in files.entries(folder):
                files.remove(entry.path)
        scratch = scratches[0]
        files.mkdir(scratch / "input")
        for number, file in enumerate(given.files if given.folder is None else ()):
            files.symlink(scratch / "input" / f"part-{number:05d}", file)
        return tuple(
            Task(
                definition=self.spec.definition,
                size=self.spec.size,
                input=given.folder or scratch / "input",
                output=out / f"result{label}",
                scratch=_made(files, scratch / f"scratch{label}"),
                spills=tuple(_made(files, folder / f"spills{label}") for folder in scratches),
                logs=_made(files, scratch / f"logs{label}"),
                threads=self.threads,
                memory_bytes=self.memory_bytes,
                configuration=self.configuration,
                timeout_s=self.spec.timeout_s,
                keep=folders.keep,
            )
            for label in self._labels
        )


def _made(files: Files, folder: Path) -> Path:
    files.mkdir(folder)
    return folder


def _end_s(phase: Phase) -> float:
    return phase.started_s + phase.elapsed_s


def _together(executions: Sequence[_Execution]) -> tuple[Phase, ...]:
    """Merge the phases of all executions: each begins when the previous one has ended everywhere,
    and ends with the last execution.
    """
    if len(executions) == 1:
        return executions[0].phases
    phases = []
    begun_s = min(each.ended.started_s for each in executions)
    for same in zip(*(each.phases for each in executions), strict=True):
        ended_s = max(begun_s, *map(_end_s, same))
        phases.append(Phase(same[0].name, begun_s, ended_s - begun_s))
        begun_s = ended_s
    return tuple(phases)


def _usage(ended: Sequence[ProcessResult], *, elsewhere: bool) -> Iterator[Sample]:
    """Yield the programs' resource usage. With `elsewhere`, processes other than Venturi's did the
    work.
    """
    figures = (
        ("cpu_user_s", sum(each.user_s for each in ended), "s"),
        ("cpu_system_s", sum(each.system_s for each in ended), "s"),
        # The largest process: the kernel doesn't add up a group's.
        ("peak_rss_bytes", max(each.peak_rss_bytes for each in ended), "B"),
    )
    reason = "the kernel counts the client's traffic, not that of processes that daemons start"
    for metric, value, unit in figures:
        if elsewhere:
            yield Sample(metric, None, unit, missing_reason=reason)
        else:
            yield Sample(metric, value, unit)


def read_json(files: Files, path: Path, what: str) -> Mapping[str, object]:
    """A file the engine's program must have written."""
    try:
        data = json.loads(files.read(path))
    except (OSError, ValueError) as error:
        raise VenturiError(
            "VEN-ENGINE-FAILED", f"{what} wrote no result: {error}", where={"file": str(path)}
        ) from error
    assert isinstance(data, dict)
    return data
