"""The data of the advice and simulation pages: plain frozen values.

Every quantity has its unit in its name. A quantity that is not known is a `Missing` with its
reason, or None with the reason in `missing`, never 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Literal

from venturi.core.errors import VenturiError
from venturi.machines.advice.explain import Explanation
from venturi.machines.advice.hardware import ClusterSizePoint
from venturi.machines.advice.network_costs import NetworkCosts
from venturi.machines.advice.option import Option
from venturi.web.report.data import Number, ReportFact

Frontier = Literal["yes", "no", "cannot tell"]
MarkKind = Literal["median", "quantile", "formula", "deadline", "measured"]


@dataclass(frozen=True, slots=True)
class OptionRow:
    """An option. `frontier`: whether no other option is both faster and cheaper."""

    option: Option
    frontier: Frontier
    chosen: bool = False
    note: str = ""


@dataclass(frozen=True, slots=True)
class ExclusionRow:
    """Why `count` types were left out; `examples` names some of them."""

    reason: str
    count: int
    examples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AdvicePage:
    """Recommended machines: type, number, cost, and how certain that is.

    `reasons` are further sentences of the answer. `deadline_s` and `budget_usd` become lines in the
    chart; None if not given. `curve`: the recommended type by number of nodes.
    """

    title: str
    question: str
    answer: str
    generated_at: datetime
    options: tuple[OptionRow, ...]
    bars: tuple[NetworkCosts, ...]
    exclusions: tuple[ExclusionRow, ...]
    assumptions: tuple[str, ...]
    explain: tuple[Explanation, ...]
    reasons: tuple[str, ...] = ()
    deadline_s: float | None = None
    budget_usd: float | None = None
    commands: tuple[str, ...] = ()
    curve: tuple[ClusterSizePoint, ...] = ()


@dataclass(frozen=True, slots=True)
class Histogram:
    """`counts[i]` values from `edges_s[i]` to `edges_s[i + 1]`.

    Raises VEN-MODEL-INPUT unless there is one edge more than counts, and the edges ascend.
    """

    edges_s: tuple[float, ...]
    counts: tuple[int, ...]

    def __post_init__(self) -> None:
        rising = all(a <= b for a, b in pairwise(self.edges_s))
        finite = all(math.isfinite(edge) for edge in self.edges_s)
        fits = len(self.edges_s) == (len(self.counts) + 1 if self.counts else 0)
        if not (rising and finite and fits) or any(count < 0 for count in self.counts):
            raise VenturiError(
                "VEN-MODEL-INPUT",
                f"a histogram of {self.counts} between {self.edges_s} cannot be shown",
                hint="give one edge more than counts, in ascending order",
            )


@dataclass(frozen=True, slots=True)
class TimeMark:
    """A time worth a line in the picture; `kind` picks how it is drawn."""

    name: str
    kind: MarkKind
    at_s: float


@dataclass(frozen=True, slots=True)
class QuantileRow:
    """`name` (`p5`, `median`, ...) of the simulated trials: time, and cost where it is priced."""

    name: str
    time_s: Number
    cost_usd: Number


@dataclass(frozen=True, slots=True)
class NodeTimes:
    """When the nodes finished one phase, in seconds since that phase began, over all trials."""

    phase: str
    histogram: Histogram
    note: str = ""


@dataclass(frozen=True, slots=True)
class SimulationPage:
    """How long the job takes when nodes differ, and how sure that is.

    `finished_trials` of `trials` ended; the histogram and the quantiles are of those.
    """

    title: str
    question: str
    answer: str
    generated_at: datetime
    trials: int
    finished_trials: int
    histogram: Histogram
    marks: tuple[TimeMark, ...]
    quantiles: tuple[QuantileRow, ...]
    settings: tuple[ReportFact, ...]
    node_times: tuple[NodeTimes, ...]
    reasons: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
