"""The native engine, and `venturi-agent sort` as a job of the runner."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from venturi.core.errors import AgentError, VenturiError
from venturi.core.settings import load
from venturi.measure.engines.native import KIND, rehearsal
from venturi.measure.engines.native.command import CommandJob
from venturi.measure.engines.nodes import ClusterNodes
from venturi.measure.engines.protocol import Availability, MissingRequirement, Resources, TrialSpec
from venturi.measure.hosts.agent import Agent, repeated
from venturi.measure.hosts.agent_results import MemoryResult, SortPlan, SortResult, SortStage
from venturi.measure.hosts.host import LiveHost
from venturi.measure.trial import space
from venturi.measure.trial.folders import DataFolders
from venturi.measure.trial.job import StepContext, StepReport, TrialChoices
from venturi.measure.trial.usage import usage_samples
from venturi.measure.workloads import outputs
from venturi.measure.workloads.checking import CheckResult
from venturi.measure.workloads.definition import Definition
from venturi.measure.workloads.inputs import InputData, Inputs
from venturi.measure.workloads.programs import AgentProgram, AgentSort
from venturi.measure.workloads.registry import program
from venturi.record.trial import Engine, Phase, Sample, Scalar, Workload

NAME = KIND.name

# The rate at which a sort will find memory that has been touched lately.
_TOUCHED = "memory_second_touch_bytes_per_s"


@dataclass(frozen=True)
class Prospect:
    """The knowledge about a sort before it begins.

    `memory_bytes_per_s` is the rate at which memory can be made ready; None if unknown. Without
    rehearsals, `unrehearsed` is the reason.
    """

    plan: SortPlan
    memory_bytes_per_s: float | None
    rehearsed: tuple[SortResult, ...]
    unrehearsed: str | None


# Samples of a prediction.
Predict = Callable[[Prospect], Sequence[Sample]]


@dataclass(frozen=True)
class NativeOptions:
    """Options of a native job. None: the agent's own default.

    `outputs`, `scratch` and `replicas` are the user's own folders and override `DataFolders`.
    `touch_memory` makes the memory ready before the clock starts: the host of a virtual machine may
    have to allocate every page first, which can take longer than the sort. `rehearse` sorts a part
    of the input beforehand, for a prediction; only into `DataFolders`. `timeout_s` limits the timed
    region, `stall_s` the time without progress (0: no limit).
    """

    memory_bytes: int | None = None
    threads: int | None = None
    uniform: bool = False
    verify: bool = False
    overwrite: bool = False
    read_output_again: bool = True
    touch_memory: bool = False
    rehearse: bool = False
    outputs: tuple[Path, ...] = ()
    scratch: tuple[Path, ...] = ()
    replicas: tuple[Path, ...] = ()
    record_bytes: int | None = None
    key_bytes: int | None = None
    timeout_s: float | None = None
    stall_s: float | None = None


@dataclass
class NativeJob:
    """One sort, word count or aggregation on the native engine.

    `predict` is called for samples between planning and sorting, so that the prediction is recorded
    before its result.
    """

    definition: Definition
    inputs: Inputs
    folders: DataFolders
    options: NativeOptions
    engine_version: str
    scale: str | None = None
    experiment: str | None = None
    repetition: int = 0
    warm_up: bool = False
    seed: int | None = None
    series: bool = True
    output_factor: float = 1.0
    predict: Predict | None = None
    workload: Workload | None = None
    last_plan: SortPlan | None = field(default=None, init=False)
    last_result: SortResult | None = field(default=None, init=False)
    _input: InputData | None = field(default=None, init=False)
    _rehearsed: list[Path] = field(default_factory=list, init=False)

    @property
    def record_bytes(self) -> int:
        return self.options.record_bytes or self.definition.record_bytes

    @property
    def key_bytes(self) -> int:
        return self.options.key_bytes or self.definition.key_bytes

    @property
    def chosen(self) -> TrialChoices:
        configuration: dict[str, Scalar] = {
            "memory_bytes": self.options.memory_bytes,
            "threads": self.options.threads,
            "record_bytes": self.record_bytes,
            "key_bytes": self.key_bytes,
            "input_bytes": self.inputs.planned_bytes,
            "uniform_keys": self.options.uniform,
            "verify": self.options.verify,
        }
        roles = ("input", "scratch", "output", "replica")
        return TrialChoices(
            workload=self.workload
            or Workload(
                name=self.definition.name,
                version=self.definition.version,
                scale=self.scale,
                input_bytes=self.inputs.planned_bytes,
                input_records=self.inputs.planned_bytes // self.record_bytes
                if self.definition.format == "fixed"
                else None,
            ),
            engine=Engine(NAME, self.engine_version),
            configuration=configuration,
            disks_by_role={
                role: tuple(str(path) for path in dirs)
                for role in roles
                if (dirs := self._parents(role))
            },
            experiment=self.experiment,
            repetition=self.repetition,
            warm_up=self.warm_up,
            seed=self.seed,
            series=self.series,
        )

    def prepare(self, step: StepContext) -> StepReport:
        if not self.options.outputs:
            self._require_space()
        self._input, phases = self.inputs.provide(step)
        plan_result = step.run("sort", *self._arguments(), "--plan-only")
        plan = plan_result.read(SortPlan)
        self.last_plan = plan
        touched = self._touch_memory(step, plan) if self.options.touch_memory else ()
        rehearsed, unrehearsed = self._rehearse(step, plan)
        if touched and rehearsed:
            self._touch_memory(
                step, plan
            )  # a host may have reclaimed memory that the rehearsal left untouched
        memory_bytes_per_s = next((each.value for each in touched if each.metric == _TOUCHED), None)
        prospect = Prospect(plan, memory_bytes_per_s, rehearsed, unrehearsed)
        predicted = self.predict(prospect) if self.predict is not None else ()
        workload = replace(
            self.chosen.workload,
            input_bytes=self._input.bytes,
            input_records=self._input.records
            if self._input.records is not None
            else plan.input_records,
        )
        return StepReport(
            phases=phases,
            samples=(*predicted, *touched, *rehearsal.samples(rehearsed)),
            warnings=plan_result.warnings,
            workload=workload,
            # Only chosen values are configuration: a default that follows the currently free memory
            # would put every repetition into its own group.
            configuration={"regime_expected": plan.regime},
        )

    def execute(self, step: StepContext) -> StepReport:
        self._empty_outputs()
        result = step.run("sort", *self._arguments(), timeout_s=self.options.timeout_s)
        data = result.read(SortResult)
        self.last_result = data
        offset_s = step.since_start_s(result.started_at_s)
        return StepReport(
            phases=tuple(
                Phase(phase.name, offset_s + phase.started_s, phase.elapsed_s)
                for phase in data.phases
            ),
            samples=(*_totals(data), *_stages(data.stages, self._device_names())),
            warnings=result.warnings,
            elapsed_s=data.elapsed_s,
            workload=replace(
                self.chosen.workload, input_bytes=data.input.bytes, input_records=data.input.records
            ),
        )

    def validate(self, step: StepContext) -> StepReport:
        assert self._input is not None
        data = self.last_result
        assert data is not None
        started_s = step.since_start_s()
        invalid = _check_result(self.definition, self._input, data)
        verdict = CheckResult(invalid)
        if invalid is None and (self.options.read_output_again or self._input.answer is not None):
            expected = self._input
            if expected.checksum is None and data.checksum is not None:
                expected = replace(expected, checksum=data.checksum.input)
            verdict = outputs.output(
                step,
                self.definition.job,
                replace(expected, records=data.input.records),
                [Path(file.path) for file in data.output.files],
                record_bytes=self.record_bytes,
                key_bytes=self.key_bytes,
                format_=self.definition.format,
            )
        phase = Phase("validate", started_s, step.since_start_s() - started_s)
        return StepReport(phases=(phase,), warnings=verdict.warnings, invalid=verdict.invalid)

    def clean(self) -> None:
        for folder in self._rehearsed:
            self.folders.files.remove(folder)
        self._rehearsed.clear()
        if not self.options.outputs:
            self.folders.empty(("output", "scratch", "replica"))

    def _touch_memory(self, step: StepContext, plan: SortPlan) -> tuple[Sample, ...]:
        """Touch as much memory as the sort will; return the rates of the first and the second
        touch.
        """
        size_bytes = min(plan.memory_bytes, plan.input_bytes * 5 // 4)
        try:
            touched = step.run("memory", "--bytes", size_bytes).read(MemoryResult)
        except AgentError as error:
            return tuple(
                Sample(metric, None, "B/s", missing_reason=error.message)
                for metric in ("memory_first_touch_bytes_per_s", _TOUCHED)
            )
        return (
            Sample("memory_first_touch_bytes_per_s", touched.first_touch_bytes_per_s, "B/s"),
            Sample(_TOUCHED, touched.second_touch_bytes_per_s, "B/s"),
        )

    def _rehearse(
        self, step: StepContext, plan: SortPlan
    ) -> tuple[tuple[SortResult, ...], str | None]:
        """Rehearse the sort; return the results, or the reason for having none."""
        if not self.options.rehearse or self.options.outputs:
            return (), "the sort was not rehearsed"
        if "fixed" not in self._framing() or not plan.input_bytes:
            return (), "only a sort of fixed records can be rehearsed"
        done: list[SortResult] = []
        share = rehearsal.share_of(plan)
        for number in range(rehearsal.times(plan)):
            outputs = tuple(folder / f"rehearsal-{number}" for folder in self._dirs("output"))
            for folder in outputs:
                self.folders.files.mkdir(folder, exist_ok=True)
            # Kept until the sort is done: giving space back keeps some disks busy for seconds.
            self._rehearsed += outputs
            arguments = [
                *self._arguments(outputs, rehearsal.memory_bytes(plan, share)),
                *rehearsal.arguments(plan, share),
            ]
            try:
                done.append(step.run("sort", *arguments).read(SortResult))
            except AgentError as error:
                return (), f"the sort could not be rehearsed: {error.message}"
        return tuple(done), None

    def _parents(self, role: str) -> tuple[Path, ...]:
        chosen = {
            "output": self.options.outputs,
            "scratch": self.options.scratch,
            "replica": self.options.replicas,
        }
        return chosen.get(role) or self.folders.parents(role)

    def _dirs(self, role: str) -> tuple[Path, ...]:
        own = self._parents(role)
        return own if own != self.folders.parents(role) else self.folders.of(role)

    def _device_names(self) -> dict[str, str]:
        """Map each folder of this command to the user's folder that contains it, which the record
        shows.
        """
        return {
            str(used): str(parent)
            for role in ("input", "scratch", "output", "replica")
            for used, parent in zip(self._dirs(role), self._parents(role), strict=True)
        }

    def _require_space(self) -> None:
        size_bytes = self.inputs.planned_bytes
        output_bytes = round(size_bytes * self.output_factor)
        needs = {
            "input": self.inputs.missing_bytes,
            "scratch": size_bytes,
            "output": output_bytes,
            "replica": output_bytes,
        }
        folders = {role: self._parents(role) for role in needs}
        space.require(self.folders.files, space.spread(needs, folders))

    def _empty_outputs(self) -> None:
        """Remove our files from output folders: repetitions with kept data write to the same
        ones.
        """
        if not self.options.outputs:
            files = self.folders.files
            for folder in (*self._dirs("output"), *self._dirs("replica")):
                for entry in files.entries(folder):
                    if entry.kind == "file":
                        files.remove(entry.path)

    def _arguments(
        self, outputs: tuple[Path, ...] = (), memory_bytes: int | None = None
    ) -> list[object]:
        assert self._input is not None
        options = self.options
        arguments: list[object] = [
            *repeated("--input", self._input.files),
            *repeated("--output", outputs or self._dirs("output")),
            *repeated("--scratch", self._dirs("scratch")),
            *repeated("--replica", self._dirs("replica")),
            "--job",
            self.definition.job,
            *self._framing(),
        ]
        budget_bytes = options.memory_bytes if memory_bytes is None else memory_bytes
        if budget_bytes is not None:
            arguments += ["--memory", budget_bytes]
        if options.threads is not None:
            arguments += ["--threads", options.threads]
        if options.stall_s is not None:
            arguments += ["--stall-seconds", options.stall_s]
        flags = {
            "--indy": options.uniform,
            "--verify": options.verify,
            "--overwrite": options.overwrite,
        }
        return arguments + [flag for flag, wanted in flags.items() if wanted]

    def _framing(self) -> list[object]:
        # Generated lines have one length: to the sort they are records, all key.
        definition = self.definition
        lines = definition.job == "sort" and definition.generator != "given"
        if definition.format != "fixed" and not lines:
            return ["--format", definition.format]
        return [
            "--format",
            "fixed",
            "--record-bytes",
            self.record_bytes,
            "--key-bytes",
            self.key_bytes,
        ]


class Native:
    """The agent's engine: always installed with Venturi, with nothing to start or stop."""

    kind = KIND
    name = NAME
    deployment = None

    def __init__(
        self,
        host: LiveHost,
        *,
        environ: Mapping[str, str],
        home: Path | None = None,
        deployment: str | None = None,
        hadoop_conf: Path | None = None,
        nodes: ClusterNodes | None = None,
    ) -> None:
        self.host = host
        self._environ = environ

    def available(self) -> Availability:
        try:
            agent = Agent.find(load(self._environ), self.host)
            identity = agent.run("facts").identity
        except VenturiError as error:
            mend = "pip install --force-reinstall venturi"
            return Availability(
                NAME, None, missing=(MissingRequirement(error.message, mend, error.code),)
            )
        parts = {"agent": agent.path, "build": identity.build_profile}
        return Availability(NAME, identity.version, parts)

    def start(self, resources: Resources) -> None:
        pass

    def stop(self) -> None:
        pass

    def job(self, spec: TrialSpec) -> NativeJob | CommandJob:
        own = program(spec.definition, KIND.programs)
        if isinstance(own, AgentProgram):
            return CommandJob(spec, own, NAME)
        assert isinstance(own, AgentSort)
        return NativeJob(
            definition=spec.definition,
            inputs=spec.inputs,
            folders=spec.folders,
            options=NativeOptions(
                touch_memory=True,
                memory_bytes=spec.memory_bytes,
                threads=spec.threads,
                uniform=spec.uniform,
                verify=spec.verify,
                timeout_s=spec.timeout_s,
                stall_s=load(self._environ).stall_s,
            ),
            engine_version=spec.agent_version,
            scale=spec.scale,
            experiment=spec.experiment,
            repetition=spec.repetition,
            warm_up=spec.warm_up,
            seed=spec.seed if spec.definition.seeded else None,
            series=spec.series,
            output_factor=own.output_factor,
        )


def _totals(data: SortResult) -> tuple[Sample, ...]:
    return (
        *usage_samples(data.cpu, data.memory.peak_rss_bytes),
        Sample("bytes_read", data.bytes_read, "B"),
        Sample("bytes_written", data.bytes_written, "B"),
        Sample("spilled_bytes", data.spilled_bytes, "B"),
        Sample("retained_bytes", data.retained_bytes, "B"),
        Sample("memory_budget_bytes", data.memory.budget_bytes, "B"),
        Sample("threads", data.threads, "1"),
        Sample("records", data.input.records, "1"),
    )


def _stages(stages: Sequence[SortStage], names: Mapping[str, str]) -> tuple[Sample, ...]:
    samples: list[Sample] = []
    for stage in stages:
        values = (
            ("stage_useful_s", stage.useful_s, "s"),
            ("stage_idle_s", stage.idle_s, "s"),
            ("stage_waiting_for_memory_s", stage.waiting_for_memory_s, "s"),
            ("stage_blocked_s", stage.blocked_s, "s"),
            ("stage_bytes", stage.bytes, "B"),
            ("stage_started_s", stage.started_s, "s"),
            ("stage_ended_s", stage.ended_s, "s"),
            ("stage_workers", stage.workers, "1"),
            ("stage_cpu_s", stage.cpu_s, "s"),
            ("stage_system_s", stage.system_s, "s"),
            ("stage_core_wait_s", stage.core_wait_s, "s"),
            ("stage_page_faults", stage.page_faults, "1"),
            ("stage_major_faults", stage.major_faults, "1"),
        )
        device = stage.device and names.get(stage.device, stage.device)
        labels: dict[str, Scalar] = {"stage": stage.stage, "device": device}
        samples += [
            Sample(
                metric,
                value,
                unit,
                phase=stage.phase,
                labels=labels,
                missing_reason="not reported by the kernel" if value is None else None,
            )
            for metric, value, unit in values
        ]
    return tuple(samples)


def _check_result(definition: Definition, given: InputData, data: SortResult) -> str | None:
    """Return how the engine's own counts contradict its input, or None."""
    if given.records is not None and data.input.records != given.records:
        return f"{data.input.records} of {given.records} records were read"
    if definition.job == "sort" and data.output.records != data.input.records:
        return f"{data.output.records} records came out of {data.input.records}"
    if data.checksum is not None and data.checksum.input != data.checksum.output:
        return f"checksum {data.checksum.output} out, {data.checksum.input} in"
    return None
