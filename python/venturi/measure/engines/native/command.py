"""A trial in which one command of the agent is all of the timed work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from venturi.measure.engines.protocol import TrialSpec
from venturi.measure.hosts.agent import AgentResult
from venturi.measure.trial import space
from venturi.measure.trial.job import StepContext, StepReport, TrialChoices
from venturi.measure.workloads import outputs
from venturi.measure.workloads.checking import CheckInput
from venturi.measure.workloads.inputs import InputData
from venturi.measure.workloads.programs import AgentProgram, AgentTask
from venturi.record.trial import Engine, Phase, Scalar, Workload


@dataclass
class CommandJob:
    """One trial of `spec` by `program` on the engine called `engine`."""

    spec: TrialSpec
    program: AgentProgram
    engine: str
    _task: AgentTask | None = field(default=None, init=False)
    _answer: Mapping[str, Scalar] = field(default_factory=dict, init=False)

    @property
    def chosen(self) -> TrialChoices:
        spec, size = self.spec, self.spec.size
        return TrialChoices(
            workload=Workload(
                spec.definition.name,
                spec.definition.version,
                spec.scale,
                size.bytes,
                size.records,
            ),
            engine=Engine(self.engine, spec.agent_version),
            configuration={"threads": spec.threads, "input_bytes": size.bytes},
            disks_by_role={
                role: tuple(str(path) for path in parents)
                for role, parents in self._parents.items()
            },
            experiment=spec.experiment,
            repetition=spec.repetition,
            warm_up=spec.warm_up,
            series=spec.series,
        )

    def prepare(self, step: StepContext) -> StepReport:
        spec = self.spec
        needs = {"input": spec.inputs.missing_bytes, "output": spec.size.bytes or 0}
        parents = self._parents
        needed = space.spread({role: needs[role] for role in parents}, parents)
        space.require(spec.folders.files, needed)
        given, phases = spec.inputs.provide(step)
        self._task = task = self._placed(given)
        if (before := self.program.before) is not None:
            started_s = step.since_start_s()
            step.run(before.command, *before.arguments(task))
            phases = (*phases, Phase("generate", started_s, step.since_start_s() - started_s))
        return StepReport(phases=phases)

    def execute(self, step: StepContext) -> StepReport:
        assert self._task is not None
        program, task = self.program, self._task
        result = step.run(program.command, *program.arguments(task), timeout_s=self.spec.timeout_s)
        found = program.findings(task, result)
        self._answer = found.answer
        offset_s = step.since_start_s(result.started_at_s)
        return StepReport(
            phases=tuple(
                Phase(phase.name, offset_s + phase.started_s, phase.elapsed_s)
                for phase in result.phases
            ),
            samples=found.samples,
            warnings=result.warnings,
            elapsed_s=_elapsed_s(result),
        )

    def validate(self, step: StepContext) -> StepReport:
        assert self._task is not None
        spec, task = self.spec, self._task
        started_s = step.since_start_s()
        output = self._folders()[0]
        verdict = outputs.check(
            CheckInput(step, spec.definition, spec.size, task.given, output, self._answer)
        )
        phase = Phase("validate", started_s, step.since_start_s() - started_s)
        return StepReport(phases=(phase,), warnings=verdict.warnings, invalid=verdict.invalid)

    def clean(self) -> None:
        self.spec.folders.empty(("output",))

    @property
    def _parents(self) -> dict[str, tuple[Path, ...]]:
        """The user's folders that it uses, by role."""
        folders = self.spec.folders
        used: dict[str, tuple[Path, ...]] = {}
        if self.spec.definition.generator != "none":
            used["input"] = folders.parents("input")
        if self.program.outputs != 0:
            used["output"] = folders.parents("output")[: self.program.outputs]
        return used

    def _folders(self) -> tuple[Path, ...]:
        return self.spec.folders.of("output")

    def _placed(self, given: InputData) -> AgentTask:
        """Its folders, without the files of the repetition before, if data are kept."""
        files, used = self.spec.folders.files, self._folders()[: self.program.outputs]
        for folder in used:
            for entry in files.entries(folder):
                if entry.kind == "file":
                    files.remove(entry.path)
        return AgentTask(files, self.spec.size, given, used, self.spec.threads)


def _elapsed_s(result: AgentResult) -> float:
    """By the command's own account."""
    return float(result.data["elapsed_s"])
