"""A trial on an engine that runs in processes of its own: the same protocol for all of them.

Timed is everything from the submission until the output is durable (fsync). Start-up of the engine
is a phase of its own (`start`), and the sample `elapsed_without_start_s` is the time without it.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from venturi.errors import VenturiError
from venturi.measure import space
from venturi.measure.engines import checks
from venturi.measure.engines.durable import sync
from venturi.measure.engines.inputs import InputData
from venturi.measure.engines.protocol import Collected, Order, ProcessEngine, Task
from venturi.measure.runner import Attachment, Report, Spec, Step
from venturi.record.trial import Engine, Phase, Sample, Scalar, Workload

START = "start"
GIB = 2**30
# Heap of an engine that was given no budget. A constant: one that followed the free memory of the
# moment would make every repetition a group of its own.
DEFAULT_MEMORY_BYTES = 4 * GIB
# Shuffled data and the engine's own copies, over the input.
SCRATCH_FACTOR = 2.0
OUTPUT_FACTOR = 1.1


@dataclass
class ProcessJob:
    """One trial of `order` on `engine`."""

    engine: ProcessEngine
    order: Order
    _input: InputData | None = field(default=None, init=False)
    _task: Task | None = field(default=None, init=False)
    _collected: Collected | None = field(default=None, init=False)

    @property
    def threads(self) -> int:
        """Of the engine: as many as there are cores for us, unless chosen."""
        return self.order.threads or len(os.sched_getaffinity(0))

    @property
    def memory_bytes(self) -> int:
        """Heap of the engine."""
        return self.order.memory_bytes or DEFAULT_MEMORY_BYTES

    @cached_property
    def configuration(self) -> Mapping[str, str]:
        """Venturi's settings of the engine, then those that were chosen."""
        order = self.order
        own = self.engine.defaults(order.definition, order.size, self.threads, self.memory_bytes)
        return {**own, **order.settings}

    @property
    def spec(self) -> Spec:
        order, size = self.order, self.order.size
        configuration: dict[str, Scalar] = {
            "threads": self.threads,
            "memory_bytes": self.memory_bytes,
            "input_bytes": size.bytes,
            **self.configuration,
            **{f"workload.{name}": value for name, value in size.parameters.items()},
        }
        if (deployment := self.engine.deployment) is not None:
            configuration["deployment"] = deployment
        if order.instances > 1:
            configuration["instances"] = order.instances
        return Spec(
            workload=Workload(
                order.definition.name, order.definition.version, order.scale, size.bytes,
                size.records,
            ),
            engine=Engine(self.engine.name, self.engine.version),
            configuration=configuration,
            disks_by_role={
                role: tuple(str(path) for path in dirs)
                for role in ("input", "scratch", "output")
                if (dirs := order.folders.parents(role))
            },
            experiment=order.experiment,
            repetition=order.repetition,
            warm_up=order.warm_up,
            seed=order.seed if order.definition.seeded else None,
            series=order.series,
        )  # fmt: skip

    def prepare(self, step: Step) -> Report:
        self._require_space()
        self._input, phases = self.order.inputs.provide(step)
        self._task = task = self._placed(self._input)
        self.engine.prepare(task)
        return Report(phases=phases)

    def execute(self, step: Step) -> Report:
        task = self._task
        assert task is not None
        ended = self.engine.submit(task)
        self._collected = collected = self.engine.collect(task, ended)
        phases = list(collected.phases)
        if not any(phase.name == "sync" for phase in phases):
            synced_s = time.monotonic()
            sync(task.output)
            phases.append(Phase("sync", synced_s, time.monotonic() - synced_s))
        ended_s = max(phase.started_s + phase.elapsed_s for phase in phases)
        elapsed_s = ended_s - ended.started_s
        start_s = sum(phase.elapsed_s for phase in phases if phase.name == START)
        return Report(
            phases=tuple(
                replace(phase, started_s=step.since_start_s(phase.started_s)) for phase in phases
            ),
            samples=(
                Sample("elapsed_without_start_s", elapsed_s - start_s, "s"),
                Sample("cpu_user_s", ended.user_s, "s"),
                Sample("cpu_system_s", ended.system_s, "s"),
                # Of the largest process: the kernel does not add up those of a group.
                Sample("peak_rss_bytes", ended.peak_rss_bytes, "B"),
                *collected.samples,
            ),
            elapsed_s=elapsed_s,
            attachments=(Attachment("log", "engine.log", ended.log), *collected.attachments),
        )

    def validate(self, step: Step) -> Report:
        task, collected = self._task, self._collected
        assert task is not None
        assert self._input is not None
        assert collected is not None
        started_s = step.since_start_s()
        order = self.order
        verdict = checks.check(
            checks.Checking(
                step, order.definition, order.size, self._input, task.output, collected.answer
            )
        )
        phase = Phase("validate", started_s, step.since_start_s() - started_s)
        return Report(phases=(phase,), warnings=verdict.warnings, invalid=verdict.invalid)

    def clean(self) -> None:
        self.order.folders.empty(("output", "scratch"))

    def _require_space(self) -> None:
        order = self.order
        size_bytes = order.size.bytes or 0
        files = order.definition.job.startswith("dfsio")
        needs = {
            "input": order.inputs.missing_bytes,
            "scratch": 0 if files else round(size_bytes * SCRATCH_FACTOR),
            "output": size_bytes if files else round(size_bytes * OUTPUT_FACTOR),
        }
        space.require(space.spread(needs, {role: order.folders.parents(role) for role in needs}))

    def _placed(self, given: InputData) -> Task:
        """Makes the folders of this task; the engine sees one folder with all input files."""
        folders = self.order.folders
        scratch, out = (folders.of(role)[0] for role in ("scratch", "output"))
        for folder in (scratch, out):  # those of the repetition before, if data are kept
            for entry in folder.iterdir():
                shutil.rmtree(entry)
        places = {name: scratch / name for name in ("input", "scratch", "logs")}
        for place in places.values():
            place.mkdir()
        for number, file in enumerate(given.files if given.folder is None else ()):
            (places["input"] / f"part-{number:05d}").symlink_to(file)
        return Task(
            definition=self.order.definition,
            size=self.order.size,
            input=given.folder or places["input"],
            output=out / "result",
            scratch=places["scratch"],
            logs=places["logs"],
            threads=self.threads,
            memory_bytes=self.memory_bytes,
            configuration=self.configuration,
            timeout_s=self.order.timeout_s,
        )


def read_json(path: Path, what: str) -> Mapping[str, object]:
    """A file the engine's program must have written."""
    try:
        data = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise VenturiError(
            "VEN-ENGINE-FAILED", f"{what} wrote no result: {error}", where={"file": str(path)}
        ) from error
    assert isinstance(data, dict)
    return data
