"""Pi, files, TeraGen and TeraValidate on the native engine: one command of the agent is all of the
timed work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean, pstdev

from venturi.measure.engines.protocol import Order
from venturi.measure.hosts.agent import AgentResult
from venturi.measure.hosts.agent_results import FilesMoved, Generated, PiCounted, Validated
from venturi.measure.trial import space
from venturi.measure.trial.job import Report, Spec, Step
from venturi.measure.trial.usage import usage_samples
from venturi.measure.workloads import outputs
from venturi.measure.workloads.checking import Checking
from venturi.measure.workloads.inputs import InputData
from venturi.record.trial import Engine, Phase, Sample, Scalar, Workload

WORKLOADS = frozenset({"pi", "dfsio-write", "dfsio-read", "teragen", "teravalidate"})


@dataclass
class MicroJob:
    """One trial of a workload in WORKLOADS. TeraGen writes to the first output folder alone."""

    order: Order
    engine: str
    _given: InputData | None = field(default=None, init=False)
    _answer: Mapping[str, Scalar] = field(default_factory=dict, init=False)

    @property
    def spec(self) -> Spec:
        order, size = self.order, self.order.size
        return Spec(
            workload=Workload(
                order.definition.name, order.definition.version, order.scale, size.bytes,
                size.records,
            ),
            engine=Engine(self.engine, order.agent_version),
            configuration={"threads": order.threads, "input_bytes": size.bytes},
            disks_by_role={
                role: tuple(str(path) for path in parents)
                for role, parents in self._parents.items()
            },
            experiment=order.experiment,
            repetition=order.repetition,
            warm_up=order.warm_up,
            series=order.series,
        )  # fmt: skip

    def prepare(self, step: Step) -> Report:
        order = self.order
        needs = {"input": order.inputs.missing_bytes, "output": order.size.bytes or 0}
        parents = self._parents
        space.require(space.spread({role: needs[role] for role in parents}, parents))
        self._given, phases = order.inputs.provide(step)
        if order.definition.job == "dfsio-read":
            started_s = step.since_start_s()
            self._files(step, "write")
            phases = (*phases, Phase("generate", started_s, step.since_start_s() - started_s))
        return Report(phases=phases)

    def execute(self, step: Step) -> Report:
        job = self.order.definition.job
        if job == "pi":
            return self._pi(step)
        if job == "teragen":
            return self._teragen(step)
        if job == "teravalidate":
            return self._teravalidate(step)
        result = self._files(step, job.removeprefix("dfsio-"), self.order.timeout_s)
        moved = result.read(FilesMoved)
        stored = [path.stat().st_size for path in self._stored()]
        self._answer = {
            "files": len(moved.files),
            "bytes": moved.bytes,
            "stored_files": len(stored),
            "stored_bytes": sum(stored),
        }
        return _report(step, result, moved.elapsed_s, _file_samples(moved))

    def validate(self, step: Step) -> Report:
        assert self._given is not None
        order = self.order
        started_s = step.since_start_s()
        output = self._folders()[0]
        verdict = outputs.check(
            Checking(step, order.definition, order.size, self._given, output, self._answer)
        )
        phase = Phase("validate", started_s, step.since_start_s() - started_s)
        return Report(phases=(phase,), warnings=verdict.warnings, invalid=verdict.invalid)

    def clean(self) -> None:
        self.order.folders.empty(("output",))

    @property
    def _parents(self) -> dict[str, tuple[Path, ...]]:
        """The user's folders that it uses, by role."""
        folders = self.order.folders
        match self.order.definition.job:
            case "pi":
                return {}
            case "teravalidate":
                return {"input": folders.parents("input")}
            case "teragen":
                return {"output": folders.parents("output")[:1]}
            case _:
                return {"output": folders.parents("output")}

    def _pi(self, step: Step) -> Report:
        size = self.order.size
        points = ("--points", size.records, "--parts", size.parts or 1)
        result = step.run("pi", *points, *self._threads(), timeout_s=self.order.timeout_s)
        counted = result.read(PiCounted)
        self._answer = {"inside": counted.inside}
        rate = Sample("points_per_s", counted.points / counted.elapsed_s, "1/s")
        used = usage_samples(counted.used.cpu, counted.used.peak_rss_bytes)
        samples = (rate, *used, Sample("threads", counted.threads, "1"))
        return _report(step, result, counted.elapsed_s, samples)

    def _teragen(self, step: Step) -> Report:
        path = self._folders()[0] / "part-00000"
        path.unlink(missing_ok=True)  # of the repetition before, if data are kept
        records = ("--count", self.order.size.records, "--checksum", "--output", path)
        result = step.run("gen", *records, *self._threads(), timeout_s=self.order.timeout_s)
        made = result.read(Generated)
        self._answer = {"checksum": made.checksum}
        samples = (Sample("bytes_written", made.bytes, "B"), Sample("cpu_s", made.cpu_s, "s"))
        return _report(step, result, made.elapsed_s, samples)

    def _teravalidate(self, step: Step) -> Report:
        assert self._given is not None
        inputs = [part for file in self._given.files for part in ("--input", file)]
        result = step.run("validate", *inputs, timeout_s=self.order.timeout_s)
        seen = result.read(Validated)
        self._answer = {
            "records": seen.records,
            "unordered_records": seen.unordered_records,
            "checksum": seen.checksum,
        }
        samples = (Sample("bytes_read", seen.bytes, "B"), Sample("cpu_s", seen.cpu_s, "s"))
        return _report(step, result, seen.elapsed_s, samples)

    def _files(self, step: Step, what: str, timeout_s: float | None = None) -> AgentResult:
        size = self.order.size
        files = size.parts or 1
        if what == "write":
            for path in self._stored():  # of the repetition before, if data are kept
                path.unlink()
        dirs = [part for folder in self._folders() for part in ("--dir", folder)]
        each = ("--count", files, "--bytes", (size.bytes or 0) // files)
        return step.run("files", what, *dirs, *each, *self._threads(), timeout_s=timeout_s)

    def _folders(self) -> tuple[Path, ...]:
        return self.order.folders.of("output")

    def _stored(self) -> list[Path]:
        return [path for folder in self._folders() for path in folder.glob("test_io_*")]

    def _threads(self) -> tuple[object, ...]:
        return () if self.order.threads is None else ("--threads", self.order.threads)


def _report(
    step: Step, result: AgentResult, elapsed_s: float, samples: tuple[Sample, ...]
) -> Report:
    offset_s = step.since_start_s(result.started_at_s)
    return Report(
        phases=tuple(
            Phase(phase.name, offset_s + phase.started_s, phase.elapsed_s)
            for phase in result.phases
        ),
        samples=samples,
        warnings=result.warnings,
        elapsed_s=elapsed_s,
    )


def _file_samples(moved: FilesMoved) -> tuple[Sample, ...]:
    """TestDFSIO's figures by its definitions, and the rate of all files together by the clock.

    Its throughput divides by the sum of the tasks' times, however many tasks ran at once; its
    deviation is that of the population.
    """
    rates = [file.bytes / file.elapsed_s for file in moved.files]
    busy_s = sum(file.elapsed_s for file in moved.files)
    counter = "bytes_read" if moved.operation == "read" else "bytes_written"
    return (
        Sample("dfsio_throughput_bytes_per_s", moved.bytes / busy_s, "B/s"),
        Sample("dfsio_average_io_rate_bytes_per_s", fmean(rates), "B/s"),
        Sample("dfsio_io_rate_stdev_bytes_per_s", pstdev(rates), "B/s"),
        Sample("dfsio_aggregate_bytes_per_s", moved.bytes / moved.elapsed_s, "B/s"),
        Sample(counter, moved.bytes, "B"),
        *usage_samples(moved.used.cpu, moved.used.peak_rss_bytes),
        Sample("threads", moved.threads, "1"),
    )
