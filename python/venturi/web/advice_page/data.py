"""What the advice and simulation pages show: plain frozen values.

The pages know nothing of the models; whoever has an answer maps it onto these. Every quantity has
its unit in its name. A quantity that is not known is a `Missing` with its reason, never 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Literal

from venturi.core.errors import VenturiError
from venturi.core.statistics.stats import Missing
from venturi.web.report.data import Fact, Number, Text

Frontier = Literal["yes", "no", "cannot tell"]
MarkKind = Literal["median", "quantile", "formula", "deadline", "measured"]


def _refused(what: str, value: object) -> VenturiError:
    return VenturiError(
        "VEN-MODEL-INPUT",
        f"{what} cannot be shown: {value}",
        where={"value": str(value)},
        hint="give Missing with the reason for what is not known",
    )


@dataclass(frozen=True, slots=True)
class Span:
    """A value and the bounds that its inputs allow, all in the unit that the field's name says.

    Raises VEN-MODEL-INPUT unless 0 < low <= value <= high, all finite.
    """

    value: float
    low: float
    high: float

    def __post_init__(self) -> None:
        if not (0 < self.low <= self.value <= self.high < math.inf):
            raise _refused("a span", (self.low, self.value, self.high))


@dataclass(frozen=True, slots=True)
class Bottleneck:
    """The narrowest resource of one phase; `certain`: whatever the truth within the ranges is."""

    phase: str
    resource: Text
    certain: bool


@dataclass(frozen=True, slots=True)
class OptionRow:
    """So many nodes of one type, and what the job takes and costs on them.

    `frontier`: whether no other option is both faster and cheaper. `lower_bound`: it takes and
    costs at least this much. `kinds` says how its inputs are known (measured, advertised, ...).
    """

    instance_type: str
    nodes: int
    time_s: Span | Missing
    cost_usd: Span | Missing
    billed_usd: Number
    bottlenecks: tuple[Bottleneck, ...]
    frontier: Frontier
    lower_bound: bool
    price_as_of: Text
    price_is_stale: bool
    kinds: tuple[str, ...]
    note: str = ""
    chosen: bool = False
    knee: bool = False


@dataclass(frozen=True, slots=True)
class BarRow:
    """The cost of the job on one type by what is taken for its network (the paper's Figure 9)."""

    instance_type: str
    storage_only_usd: Number
    ideal_network_usd: Number
    observed_network_usd: Number
    note: str = ""


@dataclass(frozen=True, slots=True)
class ExclusionRow:
    """Why `count` types were left out; `examples` names some of them."""

    reason: str
    count: int
    examples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ExplainRow:
    """One term of one phase: what it moves, how fast, and how that is known.

    `demand_bytes` is the whole cluster's, the rates are a node's. `binding`: the slowest term.
    """

    phase: str
    term: str
    formula: str
    demand_bytes: Number
    rate_bytes_per_s: Number
    low_bytes_per_s: Number
    high_bytes_per_s: Number
    time_s: Number
    kind: str
    source: Text
    as_of: Text
    binding: bool = False


@dataclass(frozen=True, slots=True)
class Explanation:
    """How one option's figures come about, and what would change them most."""

    title: str
    rows: tuple[ExplainRow, ...]
    matters_most: Text


@dataclass(frozen=True, slots=True)
class AdvicePage:
    """Which machines, how many, for how much, with what certainty.

    `reasons` are further sentences of the answer; `deadline_s` and `budget_usd` become lines in
    the picture and are None where nobody asked for them.
    """

    title: str
    question: str
    answer: str
    generated_at: datetime
    options: tuple[OptionRow, ...]
    bars: tuple[BarRow, ...]
    exclusions: tuple[ExclusionRow, ...]
    assumptions: tuple[str, ...]
    explain: tuple[Explanation, ...]
    reasons: tuple[str, ...] = ()
    deadline_s: float | None = None
    budget_usd: float | None = None
    commands: tuple[str, ...] = ()


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
            raise _refused("a histogram", (self.edges_s, self.counts))


@dataclass(frozen=True, slots=True)
class Mark:
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
    marks: tuple[Mark, ...]
    quantiles: tuple[QuantileRow, ...]
    settings: tuple[Fact, ...]
    node_times: tuple[NodeTimes, ...]
    reasons: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
