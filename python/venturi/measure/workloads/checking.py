"""What the check of a workload gets to see, and what it says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from venturi.measure.trial.job import Step
from venturi.measure.workloads.definition import Definition, Size
from venturi.measure.workloads.inputs import InputData
from venturi.record.trial import Scalar, TrialWarning


@dataclass(frozen=True, slots=True)
class Verdict:
    """`invalid` says why an output is wrong; None: it is right."""

    invalid: str | None
    warnings: tuple[TrialWarning, ...] = ()


@dataclass(frozen=True)
class Checking:
    """What a check may look at: what went in, the folder that came out, and what the program said.

    `answer` is what a workload without output files found: for pi the points inside.
    """

    step: Step
    definition: Definition
    size: Size
    given: InputData
    output: Path
    answer: Mapping[str, Scalar]
