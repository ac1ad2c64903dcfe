"""The input and the verdict of a workload's check."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from venturi.measure.hosts.host import Files, LiveHost
from venturi.measure.trial.job import StepContext
from venturi.measure.workloads.definition import Definition, Size
from venturi.measure.workloads.inputs import InputData
from venturi.record.trial import Scalar, TrialWarning


@dataclass(frozen=True, slots=True)
class CheckResult:
    """`invalid` says why an output is wrong; None: it is right."""

    invalid: str | None
    warnings: tuple[TrialWarning, ...] = ()


@dataclass(frozen=True)
class Portion:
    """Some of the output's files, all in one folder of the host with the display name `name`."""

    name: str
    host: LiveHost
    folder: Path
    files: tuple[Path, ...]


@dataclass(frozen=True)
class CheckInput:
    """The material of a check: the input, the output folder, and the program's results.

    Records of fixed length may be on several hosts instead, in `portions`, in the order of the
    files.

    `answer` is the result of a workload without output files: for pi the points inside.
    """

    step: StepContext
    definition: Definition
    size: Size
    given: InputData
    output: Path
    answer: Mapping[str, Scalar]
    portions: tuple[Portion, ...] | None = None

    @property
    def files(self) -> Files:
        """The host's files, including the input and `output`."""
        return self.step.host.files

    def parts(self) -> list[Path]:
        """The files of the output that have something in them, by name."""
        found = self.files.find(self.output, "part-*")
        return [each.path for each in found if each.bytes]
