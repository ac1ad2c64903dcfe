"""The interface of a workload's programs, each kind in a module of PROGRAMS by workload.

    on_native       commands of the agent: `AgentSort` or `AgentProgram`
    on_mapreduce    classes of Hadoop's own examples and tests: `HadoopProgram`
    on_spark        functions that run inside Spark, given its session and the task as a dict

Such a module is in the folder of the workload's family. An engine may also have modules `on_FAMILY`
in its own folder, with programs that only it has to understand. If the module exists, every
workload of the family runs on that engine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from venturi.measure.hosts.agent import AgentResult
from venturi.measure.hosts.host import Files
from venturi.measure.workloads.definition import Definition, Size
from venturi.measure.workloads.inputs import InputData
from venturi.record.trial import Sample, Scalar


@dataclass(frozen=True)
class Task:
    """One execution as an engine gets it, with all its folders.

    `input` is a folder with the input files, `output` does not exist yet, `scratch` and `logs` are
    empty folders of this task alone. `spills` are such folders, one on each of the scratch disks,
    for shuffled and spilled data. `keep`: the user keeps its output.
    """

    definition: Definition
    size: Size
    input: Path
    output: Path
    scratch: Path
    spills: tuple[Path, ...]
    logs: Path
    threads: int
    memory_bytes: int
    configuration: Mapping[str, str]
    timeout_s: float | None
    keep: bool = False


@dataclass(frozen=True, slots=True)
class Findings:
    """A program's results. `answer` is the input of the workload's check: for pi the points
    inside.
    """

    answer: Mapping[str, Scalar] = field(default_factory=dict)
    samples: tuple[Sample, ...] = ()


@dataclass(frozen=True, slots=True)
class AgentSort:
    """The agent's sort doing the job of the definition; the output's bytes over the input's."""

    output_factor: float = 1.0


@dataclass(frozen=True)
class AgentTask:
    """The work of an agent command, on the host's `files`. `outputs` are empty folders, one on each
    disk that the program writes to; `threads`: None is the agent's own default.
    """

    files: Files
    size: Size
    given: InputData
    outputs: tuple[Path, ...]
    threads: int | None

    @property
    def threads_option(self) -> tuple[object, ...]:
        """The agent's option for `threads`."""
        return () if self.threads is None else ("--threads", self.threads)


@dataclass(frozen=True)
class AgentProgram:
    """One command of the agent, which is all of the timed work.

    `outputs` is the number of output folders that it writes to, None: all. `before` runs before the
    clock starts, with the same folders.
    """

    command: str
    arguments: Callable[[AgentTask], Sequence[object]]
    findings: Callable[[AgentTask, AgentResult], Findings]
    outputs: int | None = None
    before: AgentProgram | None = None


@dataclass(frozen=True, slots=True)
class HadoopTask:
    """A task where a MapReduce job runs: its folders as URIs. TestDFSIO writes to `results`."""

    task: Task
    input: str
    output: str
    results: Path


@dataclass(frozen=True, slots=True)
class HadoopRun:
    """A job that has succeeded: its client's log, its counters by group, and the program's output
    in `results`. `files` are those of the host, including the output.
    """

    files: Files
    task: Task
    log: str
    counters: Mapping[str, Mapping[str, int]]
    results: str


def in_and_out(where: HadoopTask) -> tuple[str, ...]:
    """The arguments of most programs: folders to read and to write."""
    return where.input, where.output


@dataclass(frozen=True)
class HadoopProgram:
    """A main class and its parameters.

    `settings` are fixed for a task; `defaults` are Venturi's choice by number of threads. `before`
    runs before the clock starts. `stored` names a folder below the output with files that stay in
    place and are counted there.
    """

    main: str
    arguments: Callable[[HadoopTask], Sequence[str]] = in_and_out
    settings: Callable[[HadoopTask], Mapping[str, str]] = lambda _: {}
    defaults: Callable[[int], Mapping[str, str]] = lambda _: {}
    findings: Callable[[HadoopRun], Findings] = lambda _: Findings()
    before: HadoopProgram | None = None
    stored: str | None = None
